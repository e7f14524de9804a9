package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the wrapper or a function
	atFunc                 // the function's tag
	inFunc                 // a parameter or the function's end
	inValue                // the rest of a value
	afterFunc              // the wrapper's end or another function
	afterBare              // after a function without a wrapper
)

// parser reads one region. Text waits in buf until it is clear what it is.
type parser struct {
	*format

	tools    []sdk.Tool
	maxDepth int

	state   state
	buf     []byte
	used    int // bytes at the front of buf that were read
	pos     int // of the first byte of buf in the region
	from    int // end of the last call that was ended: what comes later is given back
	wrapped bool
	ended   bool // the output has ended
	cut     bool // by the token limit

	name    string
	tool    *sdk.Tool       // nil if the tool was not offered
	seen    map[string]bool // parameters of the call
	began   bool            // something of a function was read
	started bool            // CallStart was written, CallEnd not
	mended  bool            // a value was not strict JSON
	value   typed.Value
}

func newParser(f *format, o sdk.Options) *parser {
	return &parser{format: f, tools: o.Tools, maxDepth: o.MaxDepth, seen: map[string]bool{}}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	p.buf = append(p.buf, text...)
	p.run(out)
}

func (p *parser) run(out *sdk.Out) {
	for !out.Ended() && p.step(out) {
	}
	p.pos += p.used
	p.buf = p.buf[:copy(p.buf, p.buf[p.used:])]
	p.used = 0
}

// rest is the text that was not read yet.
func (p *parser) rest() []byte { return p.buf[p.used:] }

// at is the place of the next byte in the region.
func (p *parser) at() int { return p.pos + p.used }

// step reads something, or reports that it needs more text.
func (p *parser) step(out *sdk.Out) bool {
	switch p.state {
	case inStart:
		return p.readStart(out)
	case inValue:
		return p.readValue(out)
	case afterBare:
		return p.readAfterBare(out)
	default:
		p.used = len(p.buf) - len(markup.SkipSpace(p.rest()))
		return len(p.rest()) > 0 && p.readTag(out)
	}
}

// readTag reads a tag outside of a value.
func (p *parser) readTag(out *sdk.Out) bool {
	switch p.state {
	case atFunc:
		return p.readFunc(out)
	case inFunc:
		return p.readInFunc(out)
	default:
		return p.readAfterFunc(out)
	}
}

// refuse gives the region back up to byte to.
func (p *parser) refuse(to int, out *sdk.Out) bool {
	out.Malformed(p.from, max(to, 1))
	return false
}

func (p *parser) readStart(out *sdk.Out) bool {
	b := p.rest()
	if markup.Match(b, p.wrapOpen) == sdk.Yes {
		p.used += len(p.wrapOpen)
		p.wrapped = true
		p.state = atFunc
		return true
	}
	switch markup.MatchAny(b, p.wrapOpen, p.funcOpen) {
	case sdk.Yes:
		p.state = atFunc
		return true
	case sdk.Maybe:
		return false
	default:
		return p.refuse(p.at(), out)
	}
}

func (p *parser) readFunc(out *sdk.Out) bool {
	name, n, v := tag(p.rest(), p.funcOpen)
	if n > 0 || p.wrapped && markup.Match(p.rest(), p.funcOpen) == sdk.Yes {
		p.began = true
	}
	if v == sdk.Maybe {
		return false
	}
	if v == sdk.No {
		return p.refuse(p.at()+n, out)
	}
	p.name, p.tool = string(name), sdk.FindTool(p.tools, string(name))
	clear(p.seen)
	p.used += n
	p.state = inFunc
	return true
}

// readInFunc reads the tag of a parameter or what ends the function.
func (p *parser) readInFunc(out *sdk.Out) bool {
	b := p.rest()
	key, n, v := tag(b, p.paramOpen)
	if v == sdk.Yes {
		return p.beginValue(string(key), n, out)
	}
	if n > 0 {
		return p.refuse(p.at()+n, out) // a tag with a name that cannot be one
	}
	switch {
	case markup.Match(b, p.funcClose) == sdk.Yes:
		p.start(out)
		p.used += len(p.funcClose)
		p.state = afterFunc
		if !p.wrapped {
			p.endCall(out)
			p.state = afterBare
		}
		return true
	case p.wrapped && markup.Match(b, p.wrapClose) == sdk.Yes:
		p.start(out) // the function's end is missing
		p.state = afterFunc
		return true
	}
	if v == sdk.Maybe || p.maybeEnd(b) {
		return false
	}
	return p.refuse(p.at(), out)
}

// start writes the beginning of the call, once.
func (p *parser) start(out *sdk.Out) {
	if !p.started {
		out.CallStart(p.name, "")
		out.Args([]byte("{"))
		p.started = true
	}
}

// beginValue begins the value of parameter key, whose tag is n bytes long.
func (p *parser) beginValue(key string, n int, out *sdk.Out) bool {
	if p.seen[key] {
		return p.refuse(p.at(), out)
	}
	p.start(out)
	var args []byte
	if len(p.seen) > 0 {
		args = append(args, ", "...)
	}
	args = relaxed.AppendString(args, []byte(key))
	args = append(args, ": "...)
	p.seen[key] = true
	param := sdk.FindParam(p.tool, key)
	var types sdk.Types
	if param != nil {
		types = param.Types
	}
	out.Args(args)
	p.value.Begin(types, p.trim, out)
	p.used += n
	p.state = inValue
	return true
}

// readValue passes on text of a value up to the next tag, and decides about that.
func (p *parser) readValue(out *sdk.Out) bool {
	b := p.rest()
	if n := bytes.IndexByte(b, '<'); n != 0 {
		if n < 0 {
			n = len(b)
		}
		p.value.Write(b[:n], out)
		p.used += n
		return n > 0
	}
	switch p.look(b) {
	case isText:
		p.value.Write(b[:1], out)
		p.used++
		return true
	case closes:
		p.used += len(p.paramClose)
	case implies:
	default:
		return false
	}
	if p.value.End(p.maxDepth, out) {
		p.mended = true
	}
	p.state = inFunc
	return true
}
