package keyvalue

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the wrapper or a call
	atCall                 // a call's tag, inside the wrapper
	inName                 // the function's name
	inCall                 // a header or the call's end
	inValue                // the rest of a value
	inJSON                 // the rest of an object: of a call, or of its arguments
	afterCall              // the wrapper's end or another call
)

// parser reads one region.
type parser struct {
	region.Params
	*tags

	format  *format
	state   state
	wrapped bool
	json    callobject.Reader // of an object
	isJSON  bool              // it is the call at hand
	braces  int               // closing ones behind it that close nothing
	strays  int               // tags that were there once more, and were not reported
	value   typed.Value
	inner   inner
}

// inner is what is known of the tags that the value at hand holds as text.
type inner struct {
	calls, values int  // how many are open
	closed        bool // a value was closed that is not open
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{Params: p.Params, format: p.format, value: p.value, json: p.json}
	p.Begin(p, o)
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	switch p.state {
	case inStart:
		return p.readStart()
	case inName:
		return p.readName()
	case inValue:
		return p.readValue()
	case inJSON:
		return len(p.Rest()) > 0 && p.readJSON()
	default:
		rest := skipSpace(p.Rest())
		p.AdvanceTo(rest)
		if len(rest) == 0 || len(rest) == 1 && rest[0] == '\\' && !p.Ended {
			return false
		}
		return p.readTag()
	}
}

// readTag reads a tag outside of a value.
func (p *parser) readTag() bool {
	switch p.state {
	case atCall:
		return p.readCall()
	case inCall:
		return p.readInCall()
	default:
		return p.readAfterCall()
	}
}

// readStart reads the tag that begins the region, which tells the suffix of all.
func (p *parser) readStart() bool {
	suffix, n, v := p.format.opening(p.Rest(), p.format.wrap)
	next := atCall
	if v == sdk.No {
		suffix, n, v = p.format.opening(p.Rest(), p.format.call)
		next = inName
	}
	if !p.Require(v) {
		return false
	}
	p.tags = p.format.tags(suffix)
	p.Advance(n)
	p.wrapped = next == atCall
	p.state, p.Began = next, next == inName
	return true
}

// readCall reads the tag of a call inside the wrapper.
func (p *parser) readCall() bool {
	if !p.dropAgain(p.wrapOpen) || !p.Marker(p.callOpen) {
		return false
	}
	p.state, p.Began = inName, true
	return true
}

func (p *parser) readName() bool {
	if !p.dropAgain(p.callOpen) {
		return false
	}
	if rest := chars.SkipSpace(p.Rest()); p.format.json && len(rest) > 0 && rest[0] == '{' {
		p.AdvanceTo(rest)
		p.beginJSON("")
		return true
	}
	name, n, v := p.name(p.Rest())
	if !p.Require(v) {
		return false
	}
	p.Call(string(name), "")
	p.Advance(n)
	p.state = inCall
	return true
}

// dropAgain drops a tag that was read and comes once more. It reports false where more text is needed.
func (p *parser) dropAgain(tag string) bool {
	rest, n, v := again(p.Rest(), tag)
	if n > 0 {
		p.AdvanceTo(skipSpace(rest))
		p.strays += n
	}
	return v == sdk.Yes || p.Ended
}

// readInCall reads a header or what ends the call.
func (p *parser) readInCall() bool {
	b := p.Rest()
	switch {
	case markup.MatchTag(b, p.callClose) == sdk.Yes:
		p.Advance(len(p.callClose))
		p.endCall()
		return true
	case p.SeenAny() && markup.MatchTag(b, p.valueClose) == sdk.Yes: // once more
		p.Advance(len(p.valueClose))
		p.strays++
		return true
	case p.format.json && p.readAroundJSON(b):
		return true
	case markup.MatchTag(b, p.sep) == sdk.Yes && !p.SeenAny():
		p.Advance(len(p.sep)) // on a line of its own
		return true
	case markup.MatchTag(b, p.callOpen) == sdk.Yes && p.SeenAny(), p.wrapped && markup.MatchTag(b, p.wrapClose) == sdk.Yes:
		p.endCall() // whose own end is missing
		return true
	case markup.MatchAny(b, p.callClose, p.sep, p.callOpen, p.wrapClose) == sdk.Maybe:
		return false
	case p.isJSON: // nothing may follow JSON
		return p.RefuseHere()
	}
	var h header
	switch p.header(b, &h) {
	case sdk.Yes:
		return p.beginValue(&h)
	case sdk.Maybe:
		return false
	default:
		return p.RefuseHere()
	}
}
