package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// state is what a parser expects next.
type state uint8

const (
	inStart   state = iota // the wrapper or a function
	atFunc                 // the function's tag
	inFunc                 // a parameter or the function's end
	atValue                // the first bytes of a value, which say what kind it is
	inValue                // the rest of a value
	inCDATA                // the rest of a CDATA section
	inNested               // the rest of an element that holds elements
	inArgs                 // the rest of a JSON object of arguments
	inCall                 // the rest of a call as a JSON object
	afterArgs              // the function's end
	afterFunc              // the wrapper's end or another function
	afterBare              // after a function without a wrapper
)

// parser reads one region. Text waits in buf until it is clear what it is.
type parser struct {
	*format
	markup.Buffer

	tools    []sdk.Tool
	maxDepth int

	state   state
	half    []byte // a byte that may be half of Ġ or Ċ
	from    int    // end of the last call that was ended: what comes later is given back
	wrapped bool
	ended   bool // the output has ended
	cut     bool // by the token limit
	leads   int  // markers of lead that were read

	name    string
	id      string
	tool    *sdk.Tool       // nil if the tool was not offered
	seen    map[string]bool // parameters of the call
	written int             // parameters whose value was written or begun
	began   bool            // something of a function was read
	started bool            // CallStart was written, CallEnd not
	braced  bool            // the first brace of the arguments was written
	mended  bool            // a value was not strict JSON

	json   *callobject.Reader // of arguments or a call written as JSON
	isJSON bool               // the call is read by it
	val    value
	tree   tree
}

func newParser(f *format, o sdk.Options) *parser {
	return &parser{format: f, tools: o.Tools, maxDepth: o.MaxDepth, seen: map[string]bool{}}
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	if p.bpe && len(text) > 0 {
		whole, half := cutHalf(text)
		p.Append(p.half)
		text, p.half = whole, append(p.half[:0], half...)
	}
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
	case atValue:
		return p.readValueStart(out)
	case inValue:
		return p.readValue(out)
	case inCDATA:
		return p.readCDATA(out)
	case inNested:
		return p.readNested(out)
	case inArgs, inCall:
		return len(p.Rest()) > 0 && p.readJSON(out)
	case afterBare:
		return p.readAfterBare(out)
	default:
		p.Advance(spaceLen(p.Rest(), p.bpe))
		return len(p.Rest()) > 0 && p.readTag(out)
	}
}

// readTag reads a tag outside of a value.
func (p *parser) readTag(out *sdk.Out) bool {
	switch p.state {
	case atFunc:
		return p.readFunc(out)
	case inFunc:
		return p.readInFunc(out)
	case afterArgs:
		return p.readFuncEnd(out)
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
	b := p.Rest()
	wrap := p.matchWrap(b)
	if wrap == sdk.Yes {
		p.Advance(len(p.wrapOpen))
		p.wrapped = true
		p.state = atFunc
		return true
	}
	switch call := p.matchCall(b); {
	case call == sdk.Yes:
		p.state = atFunc
		return true
	case call == sdk.Maybe, wrap == sdk.Maybe:
		return false
	default:
		return p.refuse(p.At(), out)
	}
}

// readFunc reads the tag of a function and what stands in front of it.
func (p *parser) readFunc(out *sdk.Out) bool {
	b := p.Rest()
	switch lead := p.matchLead(b); {
	case p.isCall(b):
		return p.beginCall()
	case p.leads > 0 && p.leads < len(p.lead), p.leads == 0 && lead == sdk.Yes:
		return p.readLead(out)
	case p.leads == 0 && lead == sdk.Maybe:
		return false
	}
	t, v := p.fun.read(b)
	if v != sdk.Maybe && t.n > 0 || p.wrapped && markup.Match(b, p.fun.open) == sdk.Yes {
		p.began = true
	}
	switch {
	case v == sdk.Maybe:
		return false
	case v == sdk.No, t.closed && !p.closed:
		return p.refuse(p.At()+t.n, out)
	}
	p.beginFunc(t, out)
	return true
}

// readLead reads the next marker in front of a function.
func (p *parser) readLead(out *sdk.Out) bool {
	marker := p.lead[p.leads]
	switch markup.Match(p.Rest(), marker) {
	case sdk.Yes:
		p.began = true
		p.leads++
		p.Advance(len(marker))
		return true
	case sdk.Maybe:
		return false
	default:
		return p.refuse(p.At(), out)
	}
}

// beginFunc begins a call at its tag.
func (p *parser) beginFunc(t tag, out *sdk.Out) {
	p.name, p.id = string(t.name), ""
	if len(t.id) > 0 && len(t.id) <= callobject.MaxName {
		p.id = string(t.id)
	}
	p.reset()
	p.Advance(t.n)
	p.state = inFunc
	if t.closed {
		p.closeFunc(out)
	}
}

// reset forgets the last call.
func (p *parser) reset() {
	p.tool = sdk.FindTool(p.tools, p.name)
	p.leads, p.written, p.braced, p.isJSON = 0, 0, false, false
	clear(p.seen)
}

// readInFunc reads the tag of a parameter or what ends the function.
func (p *parser) readInFunc(out *sdk.Out) bool {
	b := p.Rest()
	if p.jsonArgs && b[0] == '{' && len(p.seen) == 0 {
		return p.beginArgs()
	}
	t, v := p.readParam(b)
	if v == sdk.Yes {
		return p.beginValue(t, out)
	}
	if t.n > 0 && v == sdk.No {
		return p.refuse(p.At()+t.n, out) // a tag with a name that cannot be one
	}
	if p.readEnd(b, out) {
		return true
	}
	if v == sdk.Maybe || p.maybeEnd(b) {
		return false
	}
	return p.refuse(p.At(), out)
}

// readParam reads the tag of a parameter. Where those are not told by their own name
// any other tag is none, not a bad one.
func (p *parser) readParam(b []byte) (tag, sdk.Verdict) {
	t, v := p.param.read(b)
	if p.prefix != "" && (v == sdk.No || p.matchWrap(b) == sdk.Yes) {
		return tag{}, sdk.No // another tag
	}
	return t, v
}

// start writes the beginning of the call, once.
func (p *parser) start(out *sdk.Out) {
	if !p.started {
		out.CallStart(p.name, p.id)
		p.started = true
	}
}

// brace writes the first brace of the arguments, once.
func (p *parser) brace(out *sdk.Out) {
	if !p.braced {
		out.Args([]byte{'{'})
		p.braced = true
	}
}

// member writes the key of a parameter.
func (p *parser) member(key string, out *sdk.Out) {
	p.brace(out)
	var args []byte
	if p.written > 0 {
		args = append(args, ", "...)
	}
	p.written++
	args = relaxed.AppendString(args, []byte(key))
	out.Args(append(args, ": "...))
}

// typesOf gives the types of a parameter: those that the text states, else those
// of the schema. What the text states is not known more exactly than that it is no
// string, or that it is one.
func (p *parser) typesOf(key string, t tag) sdk.Types {
	kind := string(t.kind)
	switch {
	case p.typing == byString && kind == "true", p.typing == byType && kind == "raw":
		return abi.String
	case p.typing == byString && kind == "false", p.typing == byType && kind == "json":
		return 0
	}
	if param := sdk.FindParam(p.tool, key); param != nil {
		return param.Types
	}
	return 0
}
