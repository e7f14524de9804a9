package keyvalue

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the wrapper or a call
	atCall                 // a call's tag, inside the wrapper
	inName                 // the function's name
	inCall                 // a header or the call's end
	inValue                // the rest of a value
	afterCall              // the wrapper's end or another call
)

// parser reads one region. Text waits until it is clear what it is.
type parser struct {
	*tags
	markup.Buffer

	format   format
	tools    []sdk.Tool
	maxDepth int

	state   state
	from    int // end of the last call that was ended: what comes later is given back
	wrapped bool
	ended   bool // the output has ended
	cut     bool // by the token limit

	name    string
	tool    *sdk.Tool       // nil if the tool was not offered
	seen    map[string]bool // keys of the call
	began   bool            // something of a call was read
	started bool            // CallStart was written, CallEnd not
	mended  bool            // the call is not quite as it should be written
	value   typed.Value
	inner   inner
}

// inner is what is known of the tags that the value at hand holds as text.
type inner struct {
	calls, values int  // how many are open
	closed        bool // a value was closed that is not open
}

func newParser(f format, o sdk.Options) *parser {
	return &parser{format: f, tools: o.Tools, maxDepth: o.MaxDepth, seen: map[string]bool{}}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	p.Append(text)
	p.run(out)
}

func (p *parser) run(out *sdk.Out) {
	for !out.Ended() && p.step(out) {
	}
	p.Drop()
}

// step reads something, or reports that it needs more text.
func (p *parser) step(out *sdk.Out) bool {
	switch p.state {
	case inStart:
		return p.readStart(out)
	case inName:
		return p.readName(out)
	case inValue:
		return p.readValue(out)
	default:
		rest := skipSpace(p.Rest())
		p.AdvanceTo(rest)
		if len(rest) == 0 || len(rest) == 1 && rest[0] == '\\' && !p.ended {
			return false
		}
		return p.readTag(out)
	}
}

// readTag reads a tag outside of a value.
func (p *parser) readTag(out *sdk.Out) bool {
	switch p.state {
	case atCall:
		return p.readCall(out)
	case inCall:
		return p.readInCall(out)
	default:
		return p.readAfterCall(out)
	}
}

// refuse gives the region back up to byte to.
func (p *parser) refuse(to int, out *sdk.Out) bool {
	out.Malformed(p.from, max(to, 1))
	return false
}

// readStart reads the tag that begins the region, which tells the suffix of all.
func (p *parser) readStart(out *sdk.Out) bool {
	suffix, n, v := p.format.opening(p.Rest(), p.format.wrap)
	next := atCall
	if v == sdk.No {
		suffix, n, v = p.format.opening(p.Rest(), p.format.call)
		next = inName
	}
	switch v {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(p.At(), out)
	case sdk.Yes:
	}
	p.tags = p.format.tags(suffix)
	p.Advance(n)
	p.wrapped = next == atCall
	p.state, p.began = next, next == inName
	return true
}

// readCall reads the tag of a call inside the wrapper.
func (p *parser) readCall(out *sdk.Out) bool {
	switch match(p.Rest(), p.callOpen) {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(p.At(), out)
	case sdk.Yes:
	}
	p.Advance(len(p.callOpen))
	p.state, p.began = inName, true
	return true
}

func (p *parser) readName(out *sdk.Out) bool {
	name, n, v := p.tags.name(p.Rest())
	switch v {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(p.At(), out)
	case sdk.Yes:
	}
	p.name, p.tool = string(name), sdk.FindTool(p.tools, string(name))
	clear(p.seen)
	p.Advance(n)
	p.state = inCall
	return true
}

// readInCall reads a header or what ends the call.
func (p *parser) readInCall(out *sdk.Out) bool {
	b := p.Rest()
	switch {
	case match(b, p.callClose) == sdk.Yes:
		p.Advance(len(p.callClose))
		p.endCall(out)
		return true
	case match(b, p.sep) == sdk.Yes && len(p.seen) == 0:
		p.Advance(len(p.sep)) // on a line of its own
		return true
	case match(b, p.callOpen) == sdk.Yes && len(p.seen) > 0, p.wrapped && match(b, p.wrapClose) == sdk.Yes:
		p.endCall(out) // whose own end is missing
		return true
	case matchAny(b, p.callClose, p.sep, p.callOpen, p.wrapClose) == sdk.Maybe:
		return false
	}
	var h header
	switch p.header(b, &h) {
	case sdk.Yes:
		return p.beginValue(&h, out)
	case sdk.Maybe:
		return false
	default:
		return p.refuse(p.At(), out)
	}
}

// start writes the beginning of the call, once.
func (p *parser) start(out *sdk.Out) {
	if !p.started {
		out.CallStart(p.name, "")
		out.Args([]byte("{"))
		p.started = true
	}
}
