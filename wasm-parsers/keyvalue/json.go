package keyvalue

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxBraces is how many closing braces behind a complete object are dropped.
const maxBraces = 2

// beginJSON begins an object in the place of tags: the arguments of the function called name, or
// with no name a whole call.
func (p *parser) beginJSON(name string) {
	p.json.Init(callobject.Hermes(), p.MaxDepth)
	if name != "" {
		p.json.ResetArgs(name)
	}
	p.state, p.braces, p.Began = inJSON, 0, true
}

// readJSON reads some of the object.
func (p *parser) readJSON() bool {
	status := callobject.More
	for len(p.Rest()) > 0 && status == callobject.More {
		if p.json.LacksBrace() {
			rest := chars.SkipSpace(p.Rest())
			v := markup.MatchTag(rest, p.callClose)
			if v == sdk.Yes {
				p.json.Repair()
				status = callobject.Done
				break
			}
			if v == sdk.Maybe && len(rest) > 0 && !p.Ended {
				break
			}
		}
		var n int
		n, status = p.json.Feed(p.Rest())
		p.Advance(n)
		if !p.Started && p.json.Certain() {
			p.Call(p.json.Name, p.json.ID)
			p.Start()
		}
	}
	if p.Started {
		p.Out.Args(p.json.Args)
		p.json.Args = p.json.Args[:0]
		p.Braced = true
	}
	switch status {
	case callobject.Bad:
		return p.RefuseHere()
	case callobject.Done:
		p.state, p.isJSON = inCall, true
		return true
	}
	return false
}

// readAroundJSON reads an object in the place of tags, or what ends a call that was one.
func (p *parser) readAroundJSON(b []byte) bool {
	switch {
	case b[0] == '{' && !p.SeenAny() && !p.isJSON:
		p.beginJSON(p.Name())
	case b[0] == '}' && p.isJSON && p.braces < maxBraces:
		p.json.Repair()
		p.braces++
		p.Advance(1)
	case p.isJSON && markup.MatchTag(b, p.callOpen) == sdk.Yes:
		p.endCall()
	default:
		return false
	}
	return true
}
