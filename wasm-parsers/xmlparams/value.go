package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// value is the parameter that is being read, or that was read and is held.
type value struct {
	key   []byte
	types sdk.Types
	close string      // its end
	text  typed.Value // what streams
	trim  typed.Trim  // what is markup at its ends
	maybe bool        // unless its first byte is no newline
	empty bool        // no text was read
	fresh bool        // nothing of it was looked at
	ends  bool        // its text holds an end of a value or of a function
	holds bool        // or the beginning of a value
	inner int         // elements that its text has opened and not closed

	// A value is held if what follows decides how it is written: another with the
	// same key makes an array of both, and a lone wrapper of arguments is opened.
	hold  bool
	raw   []byte   // its text
	items [][]byte // the values with this key, as JSON
	lone  bool     // raw may hold all arguments
}

// beginValue begins the value of a parameter at its tag.
func (p *parser) beginValue(t tag) bool {
	key, v := t.name, &p.val
	again := len(v.items) > 0 && string(v.key) == string(key)
	if p.Seen(key) && !again {
		return p.RefuseHere()
	}
	if !again {
		p.flushHeld()
	}
	p.Start()
	lone := p.isLone(key)
	p.See(key)
	p.Advance(t.n)
	v.key = append(v.key[:0], key...)
	v.types, v.close, v.empty = p.typesOf(key, t), p.closeOf(key), true
	v.lone, v.raw = lone, v.raw[:0]
	v.ends, v.holds, v.inner = false, false, 0
	v.fresh = !p.nested || v.types == abi.String
	v.trim, v.maybe = p.trim, p.trim == typed.Newline && p.glued
	v.hold = lone || p.nested && v.types&abi.Array != 0
	kind := p.kindOf(t)
	switch {
	case kind == isDict || kind == isList:
		p.tree.begin(kind, v.types, v.close)
		p.state = inNested
	case p.cdata || p.nested && v.types != abi.String:
		p.state = atValue
	default:
		p.beginText()
	}
	if t.closed {
		p.endValue()
	}
	return true
}

// closeOf is the end of parameter key.
func (p *parser) closeOf(key []byte) string {
	if p.paramClose != "" {
		return p.paramClose
	}
	return p.prefix + "</" + string(key) + ">"
}

// readValueStart reads a value up to where it is clear what kind it is.
func (p *parser) readValueStart() bool {
	b := p.Rest()
	rest := chars.SkipSpace(b)
	space := len(b) - len(rest)
	if space <= maxSpace {
		cdata, element := sdk.No, sdk.No
		if p.cdata {
			cdata = markup.Match(rest, cdataOpen)
		}
		if p.nested {
			_, element = p.readParam(rest)
		}
		switch {
		case cdata == sdk.Yes:
			p.Advance(space + len(cdataOpen))
			p.beginCDATA()
			return true
		case element == sdk.Yes:
			p.Advance(space)
			p.tree.begin(isAny, p.val.types, p.val.close)
			p.state = inNested
			return true
		case (cdata == sdk.Maybe || element == sdk.Maybe) && !p.Ended:
			return false
		}
	}
	p.beginText()
	return true
}

// beginText begins a value that is text.
func (p *parser) beginText() {
	p.state = inValue
	if v := &p.val; !v.hold {
		p.Member(v.key)
		v.text.Begin(v.types, v.trim, p.Out)
	}
}

// keepsNewlines decides about a value whose tag touches the one before it: where the model writes
// no newlines between tags, one at the end of a value is the model's.
func (p *parser) keepsNewlines(b []byte) {
	v := &p.val
	if !v.maybe || len(b) == 0 {
		return
	}
	if v.maybe = false; b[0] != '\n' {
		v.trim = typed.Keep
		v.text.Keep()
	}
}

// write takes the next bytes of a value that is text.
func (p *parser) write(b []byte) {
	v := &p.val
	if v.empty && len(b) > 0 {
		v.empty = false
		if p.nested && v.types == 0 && !v.hold { // nothing at all is null, and all else text
			v.text.Begin(abi.String, p.trim, p.Out)
		}
	}
	if v.hold {
		v.raw = append(v.raw, b...)
		return
	}
	v.text.Write(b, p.Out)
}

// readValue passes on text of a value up to the next tag, and decides about that. A
// newline in front of a tag waits with it: it is no part of a value that has lost
// its end.
func (p *parser) readValue() bool {
	b := p.Rest()
	p.keepsNewlines(b)
	n := bytes.IndexByte(b, p.mark())
	if n < 0 {
		n = len(b)
	}
	newline := 0
	if p.val.trim == typed.Keep && n > 0 && b[n-1] == '\n' {
		newline = 1
	}
	if n > newline {
		p.write(b[:n-newline])
		p.Advance(n - newline)
		return true
	}
	if n == len(b) { // nothing, or a newline
		return p.Ended && n > 0 && p.pass(n)
	}
	switch p.look(b[newline:], newline > 0) {
	case region.Text:
		p.count(b[newline:])
		n = newline + 1
		if next := bytes.IndexByte(b[n:], p.mark()); next > 0 && b[n+next-1] != '\n' {
			n += next // in one piece with what is text anyway
		}
		return p.pass(n)
	case region.Closes:
		p.pass(newline)
		p.Advance(len(p.val.close))
	case region.Implies:
		p.Advance(newline)
	case region.Broken:
		return p.RefuseHere()
	default:
		return false
	}
	p.endValue()
	return true
}

// count notes a tag that is text of the value.
func (p *parser) count(b []byte) {
	v := &p.val
	v.ends = v.ends || markup.Match(b, v.close) == sdk.Yes || markup.Match(b, p.funcClose) == sdk.Yes
	v.holds = v.holds || v.ends || p.prefix == "" && markup.Match(b, p.param.open) == sdk.Yes
	if p.prefix == "" || markup.Match(b, p.prefix) != sdk.Yes {
		return
	}
	if b = b[len(p.prefix):]; markup.Match(b, "</") == sdk.Yes {
		v.inner--
	} else if len(b) > 1 && b[0] == '<' && isAttr(b[1]) {
		v.inner++
	}
}

// pass writes the next n bytes as text of the value.
func (p *parser) pass(n int) bool {
	p.write(p.Rest()[:n])
	p.Advance(n)
	return true
}

// endValue writes what is left of a value, or holds it.
func (p *parser) endValue() {
	v := &p.val
	nested := p.state == inNested
	p.state, p.glued = inFunc, true
	switch {
	case nested:
		json, repaired := p.tree.end(p.MaxDepth)
		p.Repaired = p.Repaired || repaired
		v.items = append(v.items, json)
	case v.lone:
		return
	case v.hold:
		json, repaired := v.json(p.nested, p.MaxDepth)
		p.Repaired = p.Repaired || repaired
		v.items = append(v.items, json)
	case p.nested && v.empty && v.types != abi.String:
		p.Out.Args([]byte(absent(v.types)))
		return
	default:
		if v.text.End(p.MaxDepth, p.Out) {
			p.Repaired = true
		}
		return
	}
	if !v.hold {
		p.flushHeld()
	}
}
