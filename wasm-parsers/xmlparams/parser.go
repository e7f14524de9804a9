package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
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
	afterCall              // the same, behind a token that has made the call sure
	afterBare              // after a function without a wrapper
)

// parser reads one region.
type parser struct {
	region.Params
	*format

	first   *format // whose others are looked at where a region begins
	state   state
	half    bool // a byte waits that may be half of Ġ or Ċ
	wrapped bool
	glued   bool              // no white space stands behind the last tag
	leads   int               // markers of lead that were read
	strayed bool              // markup was dropped that marks nothing
	json    callobject.Reader // of arguments or a call written as JSON
	isJSON  bool              // the call is read by it
	braces  int               // closing ones behind it that close nothing
	val     value
	tree    tree
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	*p = parser{
		Params: p.Params, format: p.first, first: p.first, json: p.json, tree: p.tree,
		val: value{key: p.val.key[:0], text: p.val.text, raw: p.val.raw[:0], items: p.val.items[:0]},
	}
	p.Begin(p, o)
	return nil
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	if p.bpe && len(text) > 0 {
		p.appendHalf()
		text, p.half = cutHalf(text)
	}
	p.Params.Feed(text, out)
}

// appendHalf goes on with the byte that waits.
func (p *parser) appendHalf() {
	if p.half {
		p.Append([]byte{bpeFirst})
	}
}

// Step implements region.Format.
func (p *parser) Step() bool {
	if p.val.fresh && (p.state == atValue || p.state == inValue) {
		return p.dropParamAgain()
	}
	switch p.state {
	case inStart:
		return p.readStart()
	case atValue:
		return p.readValueStart()
	case inValue:
		return p.readValue()
	case inCDATA:
		return p.readCDATA()
	case inNested:
		return p.readNested()
	case inArgs, inCall:
		return len(p.Rest()) > 0 && p.readJSON()
	case afterBare:
		return p.readAfterBare()
	default:
		space := spaceLen(p.Rest(), p.bpe)
		p.glued = p.glued && space == 0
		p.Advance(space)
		return len(p.Rest()) > 0 && p.readTag()
	}
}

// readTag reads a tag outside of a value.
func (p *parser) readTag() bool {
	if n, v := p.stray(p.Rest()); v == sdk.Yes {
		return p.dropStray(n)
	} else if v == sdk.Maybe {
		return false
	}
	switch p.state {
	case atFunc:
		return p.readFunc()
	case inFunc:
		return p.readInFunc()
	case afterArgs:
		return p.readFuncEnd()
	case afterCall:
		return p.readAfterCall()
	default:
		return p.readAfterFunc()
	}
}

func (p *parser) readStart() bool {
	b := p.Rest()
	p.choose(b)
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
		return p.RefuseHere()
	}
}

// readFunc reads the tag of a function and what stands in front of it.
func (p *parser) readFunc() bool {
	b := p.Rest()
	switch lead := p.matchLead(b); {
	case p.jsonCall && p.wrapped && p.leads == 0 && b[0] != '<':
		return p.readNoTag(b)
	case p.leads > 0 && p.leads < len(p.lead), p.leads == 0 && lead == sdk.Yes:
		return p.readLead()
	case p.leads == 0 && lead == sdk.Maybe:
		return false
	}
	if n, v := p.garbled(b); p.wrapped && v == sdk.Maybe {
		return false
	} else if p.wrapped && v == sdk.Yes {
		p.Advance(n)
	}
	return p.readFuncTag(p.Rest())
}

// readFuncTag reads the tag of a function.
func (p *parser) readFuncTag(b []byte) bool {
	t, v := p.fun.read(b)
	if v != sdk.Maybe && t.n > 0 || p.wrapped && markup.Match(b, p.fun.open) == sdk.Yes {
		p.Began = true
	}
	switch {
	case v == sdk.Maybe:
		return false
	case v == sdk.No, t.closed && !p.closed:
		return p.Refuse(p.At() + t.n)
	}
	return p.beginFunc(t)
}

// readLead reads the next marker in front of a function. Behind the first the others may be missing,
// and a word may be another one.
func (p *parser) readLead() bool {
	if b := p.Rest(); p.leads > 0 && markup.Match(b, p.lead[p.leads]) == sdk.No {
		switch markup.Match(b, p.fun.open) {
		case sdk.Yes:
			return p.readFuncTag(b)
		case sdk.Maybe:
			return false
		}
		if n, v := p.otherWord(b); v == sdk.Maybe {
			return false
		} else if v == sdk.Yes {
			p.Advance(n)
			p.leads++
			return true
		}
	}
	if !p.Marker(p.lead[p.leads]) {
		return false
	}
	p.Began = true
	p.leads++
	return true
}

// maxWord is how long a word in front of a function may be.
const maxWord = 32

// otherWord tells how long a word is that stands in b where the markers have one of their own, and
// whether the marker behind it follows.
func (p *parser) otherWord(b []byte) (n int, v sdk.Verdict) {
	if p.leads+1 >= len(p.lead) || !chars.IsLetter(p.lead[p.leads][0]) {
		return 0, sdk.No
	}
	for n < len(b) && (chars.IsLetter(b[n]) || b[n] == '_') {
		n++
	}
	switch {
	case n == 0 && len(b) > 0, n > maxWord:
		return 0, sdk.No
	case n == len(b):
		return 0, sdk.Maybe
	}
	return n, markup.Match(b[n:], p.lead[p.leads+1])
}

// beginFunc begins a call at its tag.
func (p *parser) beginFunc(t tag) bool {
	if !chars.HasWord(t.name) {
		return p.Refuse(p.At() + 1)
	}
	id := ""
	if len(t.id) <= callobject.MaxName {
		id = string(t.id)
	}
	p.Call(p.toolName(t.name), id)
	p.leads, p.isJSON, p.braces = 0, false, 0
	p.Advance(t.n)
	p.state, p.glued = inFunc, true
	if t.closed {
		p.closeFunc()
	}
	return true
}

// readInFunc reads the tag of a parameter or what ends the function.
func (p *parser) readInFunc() bool {
	b := p.Rest()
	if p.jsonArgs && b[0] == '{' && !p.SeenAny() {
		return p.beginArgs()
	}
	t, v := p.readParam(b)
	if v == sdk.Yes {
		return p.beginValue(t)
	}
	if t.n > 0 && v == sdk.No {
		return p.Refuse(p.At() + t.n) // a tag with a name that cannot be one
	}
	if p.readEnd(b) {
		return true
	}
	if v == sdk.Maybe || p.maybeEnd(b) {
		return false
	}
	return p.RefuseHere()
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

// typesOf gives the types of a parameter: those that the text states, else those
// of the schema. What the text states is not known more exactly than that it is no
// string, or that it is one.
func (p *parser) typesOf(key []byte, t tag) sdk.Types {
	switch {
	case p.typing == byString && string(t.kind) == "true", p.typing == byType && string(t.kind) == "raw":
		return abi.String
	case p.typing == byString && string(t.kind) == "false", p.typing == byType && string(t.kind) == "json":
		return 0
	}
	if param := p.Param(key); param != nil && param.Types != 0 {
		return param.Types
	}
	if p.nested {
		return 0 // what it holds says whether it is text
	}
	return abi.String // 5551234567 is no number if nobody says so
}

// toolName is the name of the tool that a tag's name means.
func (p *parser) toolName(name []byte) string {
	if p.doubled {
		return region.Undoubled(string(name), p.Tools)
	}
	return string(name)
}
