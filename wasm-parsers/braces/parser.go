package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
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

// parser reads one region.
type parser struct {
	region.Params
	*format

	state  state
	stack  []byte         // the open brackets
	spare  int            // braces too many behind the arguments
	comma  bool           // one is to be written before the next key or value
	types  sdk.Types      // of the value at hand
	value  typed.Value    // between the format's quotes
	quoted bool           // it holds the quote as text
	inner  int            // calls that begin in its text and have not ended there
	said   []byte         // the first of its text
	json   relaxed.Reader // of a string between other quotes
	bare   bare
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{Params: p.Params, format: p.format, stack: p.stack[:0], value: p.value, json: p.json, said: p.said[:0]}
	p.Begin(p, o)
	return nil
}

// Step implements region.Format.
func (p *parser) Step() bool {
	switch p.state {
	case inStart:
		return p.readOpen()
	case inName:
		return p.readName()
	case inQuoted:
		return p.readQuoted()
	case inString:
		return p.readString()
	case inBare:
		return p.readBare()
	default:
		return p.SkipSpace() && p.readBetween()
	}
}

// readBetween reads what white space may stand in front of.
func (p *parser) readBetween() bool {
	switch p.state {
	case atCall:
		return p.readLead()
	case atKey, nextKey:
		return p.readKey()
	case atComma:
		return p.readComma()
	case atEnd:
		return p.readEnd()
	default:
		return p.beginValue()
	}
}

func (p *parser) readOpen() bool {
	if !p.Marker(p.open) {
		return false
	}
	p.state, p.Began = atCall, false
	return true
}

func (p *parser) readLead() bool {
	n, v := lead(p.Rest())
	if !p.Require(v) {
		return false
	}
	p.Repaired = p.Repaired || n != len(call)
	p.Advance(n)
	p.state, p.Began = inName, true
	return true
}

// readName reads the function's name and the brace behind it. A call without
// arguments may lack both braces.
func (p *parser) readName() bool {
	name, n, v := p.name(p.Rest())
	if !p.Require(v) {
		return false
	}
	p.Call(string(name), "")
	p.Brace()
	p.comma, p.spare = false, 0
	p.Advance(n)
	p.state = atEnd
	if p.Rest()[0] == '{' {
		p.Advance(1)
		p.state, p.stack = atKey, append(p.stack[:0], '{')
	}
	return true
}

// readKey reads a key and its colon, or the end of the object.
func (p *parser) readKey() bool {
	b := p.Rest()
	if b[0] == '}' {
		p.Repaired = p.Repaired || p.state == nextKey
		p.closeBracket()
		return true
	}
	key, n, v := p.key(b)
	if !p.Require(v) {
		return false
	}
	p.types = 0
	if len(p.stack) == 1 {
		if p.Seen(key) {
			return p.RefuseHere()
		}
		p.See(key)
		if param := p.Param(key); param != nil {
			p.types = param.Types
		}
	}
	p.writeComma()
	p.Key(key)
	p.Advance(n)
	p.state = atValue
	return true
}

// readComma reads what may follow a value. The end of the call is good for all
// brackets that are missing.
func (p *parser) readComma() bool {
	b := p.Rest()
	array := p.array()
	switch c := b[0]; {
	case c == ',' && array:
		p.state, p.comma = nextItem, true
	case c == ',':
		p.state, p.comma = nextKey, true
	case c == p.closer():
		p.closeBracket()
		return true
	default:
		return p.readMissing()
	}
	p.Advance(1)
	return true
}

// readMissing reads the end of the call where brackets are missing.
func (p *parser) readMissing() bool {
	if !p.Require(markup.Match(p.Rest(), p.close)) {
		return false
	}
	for len(p.stack) > 1 {
		p.Out.Args([]byte{p.closer()})
		p.stack = p.stack[:len(p.stack)-1]
	}
	p.Repaired = true
	p.state = atEnd
	return true
}

// array reports whether the innermost bracket is an array's.
func (p *parser) array() bool { return p.stack[len(p.stack)-1] == '[' }

// closer is what closes the innermost bracket: in ASCII two behind what opens it.
func (p *parser) closer() byte { return p.stack[len(p.stack)-1] + 2 }

// closeBracket reads what closes the innermost bracket. That of the arguments waits
// until the call is sure.
func (p *parser) closeBracket() {
	p.Advance(1)
	p.comma = false
	if len(p.stack) == 1 {
		p.state = atEnd
		return
	}
	p.Out.Args([]byte{p.closer()})
	p.stack = p.stack[:len(p.stack)-1]
	p.state = atComma
}

func (p *parser) writeComma() {
	if p.comma {
		p.Out.Args([]byte(", "))
		p.comma = false
	}
}
