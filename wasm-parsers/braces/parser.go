package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart  state = iota // what begins the region
	atCall                // what stands in front of a name
	inName                // the function's name
	atKey                 // after a brace: a key, or the end of the object
	nextKey               // after a comma: a key, or the end if the comma was trailing
	atValue               // after a colon: a value
	atItem                // after a bracket: a value, or the end of the array
	nextItem              // after a comma: a value, or the end if the comma was trailing
	inQuoted              // inside a string between the format's quotes
	inString              // inside a string between JSON's or Python's
	inBare                // inside a value without quotes
	atComma               // after a value
	atEnd                 // after the arguments
)

// parser reads one region. Text waits until it is clear what it is.
type parser struct {
	format
	markup.Buffer

	tools    []sdk.Tool
	maxDepth int

	state state
	from  int // end of the last call that was ended: what comes later is given back
	ended bool
	cut   bool // ended by the token limit

	name    string
	tool    *sdk.Tool // nil if the tool was not offered
	began   bool      // something of a call was read
	started bool      // CallStart was written, CallEnd not
	mended  bool      // the call is not quite as it should be written
	stack   []byte    // the open brackets
	spare   int       // braces too many behind the arguments
	comma   bool      // one is to be written before the next key or value
	types   sdk.Types // of the value at hand

	value  typed.Value     // between the format's quotes
	quoted bool            // it holds the quote as text
	inner  int             // calls that begin in its text and have not ended there
	json   *relaxed.Reader // of a string between other quotes
	bare   bare
}

func newParser(f format, o sdk.Options) *parser {
	p := &parser{format: f, tools: o.Tools, maxDepth: o.MaxDepth}
	if p.maxDepth < 1 {
		p.maxDepth = abi.DefaultMaxDepth
	}
	return p
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
		return p.readMarker(p.open, atCall, out)
	case inName:
		return p.readName(out)
	case inQuoted:
		return p.readQuoted(out)
	case inString:
		return p.readString(out)
	case inBare:
		return p.readBare(out)
	default:
		p.AdvanceTo(markup.SkipSpace(p.Rest()))
		return len(p.Rest()) > 0 && p.readBetween(out)
	}
}

// readBetween reads what white space may stand in front of.
func (p *parser) readBetween(out *sdk.Out) bool {
	switch p.state {
	case atCall:
		return p.readMarker(call, inName, out)
	case atKey, nextKey:
		return p.readKey(out)
	case atComma:
		return p.readComma(out)
	case atEnd:
		return p.readEnd(out)
	default:
		return p.beginValue(out)
	}
}

// refuse gives the region back up to the next byte.
func (p *parser) refuse(out *sdk.Out) bool {
	out.Malformed(p.from, max(p.At(), 1))
	return false
}

func (p *parser) readMarker(marker string, next state, out *sdk.Out) bool {
	switch markup.Match(p.Rest(), marker) {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(out)
	case sdk.Yes:
	}
	p.Advance(len(marker))
	p.state, p.began = next, next == inName
	return true
}

// readName reads the function's name and the brace behind it. A call without
// arguments may lack both braces.
func (p *parser) readName(out *sdk.Out) bool {
	name, n, v := p.format.name(p.Rest())
	switch v {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(out)
	case sdk.Yes:
	}
	p.name, p.tool = string(name), sdk.FindTool(p.tools, string(name))
	out.CallStart(p.name, "")
	p.started, p.mended, p.comma, p.spare = true, false, false, 0
	p.Advance(n)
	p.state = atEnd
	if p.Rest()[0] == '{' {
		p.Advance(1)
		p.state, p.stack = atKey, append(p.stack[:0], '{')
	}
	out.Args([]byte{'{'})
	return true
}

// readKey reads a key and its colon, or the end of the object.
func (p *parser) readKey(out *sdk.Out) bool {
	b := p.Rest()
	if b[0] == '}' {
		p.mended = p.mended || p.state == nextKey
		p.closeBracket(out)
		return true
	}
	key, n, v := p.key(b)
	switch v {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(out)
	case sdk.Yes:
	}
	p.types = 0
	if len(p.stack) == 1 {
		if param := sdk.FindParam(p.tool, string(key)); param != nil {
			p.types = param.Types
		}
	}
	p.writeComma(out)
	out.Args(append(relaxed.AppendString(nil, key), ": "...))
	p.Advance(n)
	p.state = atValue
	return true
}

// readComma reads what may follow a value. The end of the call is good for all
// brackets that are missing.
func (p *parser) readComma(out *sdk.Out) bool {
	b := p.Rest()
	array := p.array()
	switch c := b[0]; {
	case c == ',' && array:
		p.state, p.comma = nextItem, true
	case c == ',':
		p.state, p.comma = nextKey, true
	case c == p.closer():
		p.closeBracket(out)
		return true
	default:
		return p.readMissing(out)
	}
	p.Advance(1)
	return true
}

// readMissing reads the end of the call where brackets are missing.
func (p *parser) readMissing(out *sdk.Out) bool {
	switch markup.Match(p.Rest(), p.close) {
	case sdk.Maybe:
		return false
	case sdk.No:
		return p.refuse(out)
	case sdk.Yes:
	}
	for len(p.stack) > 1 {
		out.Args([]byte{p.closer()})
		p.stack = p.stack[:len(p.stack)-1]
	}
	p.mended = true
	p.state = atEnd
	return true
}

// array reports whether the innermost bracket is an array's.
func (p *parser) array() bool { return p.stack[len(p.stack)-1] == '[' }

// closer is what closes the innermost bracket: in ASCII two behind what opens it.
func (p *parser) closer() byte { return p.stack[len(p.stack)-1] + 2 }

// closeBracket reads what closes the innermost bracket. That of the arguments waits
// until the call is sure.
func (p *parser) closeBracket(out *sdk.Out) {
	p.Advance(1)
	p.comma = false
	if len(p.stack) == 1 {
		p.state = atEnd
		return
	}
	out.Args([]byte{p.closer()})
	p.stack = p.stack[:len(p.stack)-1]
	p.state = atComma
}

func (p *parser) writeComma(out *sdk.Out) {
	if p.comma {
		out.Args([]byte(", "))
		p.comma = false
	}
}
