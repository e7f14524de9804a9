package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// isCall reports whether b begins a call that is a JSON object.
func (p *parser) isCall(b []byte) bool { return p.jsonCall && p.wrapped && p.leads == 0 && b[0] == '{' }

// nameLine reads the line of a name that JSON follows, and the white space behind it. n is the
// length of both.
func nameLine(b []byte) (name []byte, n int, v sdk.Verdict) {
	end := 0
	for end < len(b) && markup.IsName(b[end]) {
		end++
	}
	rest := chars.SkipSpace(b[end:])
	gap := b[end : len(b)-len(rest)]
	switch {
	case end > maxName, len(gap) > maxSpace, !chars.HasWord(b[:end]) && end < len(b):
		return nil, 0, sdk.No
	case len(rest) == 0:
		return nil, 0, sdk.Maybe
	case rest[0] != '{' || bytes.IndexByte(gap, '\n') < 0:
		return nil, 0, sdk.No
	}
	return b[:end], len(b) - len(rest), sdk.Yes
}

// readNoTag begins a call that is written without tags.
func (p *parser) readNoTag(b []byte) bool {
	if p.isCall(b) {
		return p.beginCall()
	}
	return p.readNameLine(b)
}

// readNameLine begins a call that is a line with the name and then the object of its arguments.
func (p *parser) readNameLine(b []byte) bool {
	name, n, v := nameLine(b)
	if v != sdk.Yes {
		return p.Require(v)
	}
	p.Call(string(name), "")
	p.Advance(n)
	p.Began, p.braces = true, 0
	return p.beginArgs()
}

// beginArgs begins a function's body that is the object of its arguments.
func (p *parser) beginArgs() bool {
	p.json.Init(callobject.Hermes(), p.MaxDepth)
	p.json.ResetArgs(p.Name())
	p.state, p.isJSON = inArgs, true
	return true
}

// beginCall begins a call that is an object with a name and arguments.
func (p *parser) beginCall() bool {
	p.Call("", "")
	p.json.Init(callobject.Hermes(), p.MaxDepth)
	p.leads, p.state, p.isJSON, p.Began, p.braces = 0, inCall, true, true, 0
	return true
}

// readJSON reads some of a JSON object, whose strings may hold any tag.
func (p *parser) readJSON() bool {
	status := callobject.More
	for len(p.Rest()) > 0 && status == callobject.More {
		if v := p.endsJSON(); v == sdk.Yes {
			p.json.Repair()
			status = callobject.Done
			break
		} else if v == sdk.Maybe {
			break
		}
		var n int
		n, status = p.json.Feed(p.Rest())
		p.Advance(n)
		if !p.Started && p.json.Name != "" && len(p.json.Args) > 0 {
			p.Call(p.json.Name, p.json.ID)
			p.Start()
		}
	}
	if p.Started {
		p.Out.Args(p.json.Args)
		p.json.Args = p.json.Args[:0]
		p.Braced = true
	}
	switch {
	case status == callobject.Bad:
		return p.RefuseHere()
	case status == callobject.Done && p.state == inCall:
		p.state = afterFunc
	case status == callobject.Done:
		p.state = afterArgs
	default:
		return false
	}
	return true
}

// endsJSON tells whether the end of the wrapper stands behind a call that lacks only its brace.
func (p *parser) endsJSON() sdk.Verdict {
	if p.state != inCall || !p.json.LacksBrace() {
		return sdk.No
	}
	rest := p.skip(p.Rest())
	v := markup.MatchTag(rest, p.wrapClose)
	if v == sdk.Maybe && (p.Ended || len(rest) == 0) {
		return sdk.No
	}
	return v
}

// maxBraces is how many closing braces behind a complete object are dropped.
const maxBraces = 2

// readBrace drops a brace behind JSON that closes nothing.
func (p *parser) readBrace(b []byte) bool {
	if !p.isJSON || b[0] != '}' || p.braces == maxBraces {
		return false
	}
	p.json.Repair()
	p.braces++
	p.Advance(1)
	return true
}

// readFuncEnd reads the end of a function whose arguments are complete.
func (p *parser) readFuncEnd() bool {
	b := p.Rest()
	if p.readEnd(b) || p.readBrace(b) {
		return true
	}
	if p.maybeEnd(b) {
		return false
	}
	return p.RefuseHere()
}
