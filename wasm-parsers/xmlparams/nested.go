package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// readNested reads text of the innermost element, its end, or the tag of one in it.
func (p *parser) readNested() bool {
	b := p.Rest()
	if n := bytes.IndexByte(b, p.mark()); n != 0 {
		if n < 0 {
			n = len(b)
		}
		p.tree.text = append(p.tree.text, b[:n]...)
		p.Advance(n)
		return n > 0
	}
	top := p.tree.top()
	switch markup.Match(b, top.close) {
	case sdk.Yes:
		return p.closeElement(len(top.close))
	case sdk.Maybe:
		return false
	}
	if top.kind == isAny || top.kind == isDict || top.kind == isList {
		read := p.param.readAny // the items of a list have no names
		if p.nested {
			read = p.readParam
		}
		switch t, v := read(b); v {
		case sdk.Maybe:
			return false
		case sdk.Yes:
			return p.openElement(t)
		}
	}
	if p.prefix != "" && markup.Match(b, p.prefix) == sdk.Yes {
		return p.RefuseHere() // a tag that is not legal here, which no text is like
	}
	p.tree.text = append(p.tree.text, b[0])
	p.Advance(1)
	return true
}

func (p *parser) openElement(t tag) bool {
	e := element{kind: p.kindOf(t), key: string(t.name), close: p.closeOf(t.name)}
	if !p.tree.push(e, p.MaxDepth) || t.closed && !p.tree.pop(p.MaxDepth) {
		return p.RefuseHere()
	}
	p.Advance(t.n)
	return true
}

// closeElement closes the innermost element at its end, which is n bytes long.
func (p *parser) closeElement(n int) bool {
	if len(p.tree.open) == 1 && !p.tree.mixed() {
		p.Advance(n)
		p.endValue()
		return true
	}
	if len(p.tree.open) == 1 || !p.tree.pop(p.MaxDepth) {
		return p.RefuseHere()
	}
	p.Advance(n)
	return true
}

// kindOf is what the text says of an element.
func (p *parser) kindOf(t tag) kind {
	if p.typing != byType {
		return isAny
	}
	switch string(t.kind) {
	case "dict":
		return isDict
	case "list":
		return isList
	case "json":
		return isJSON
	case "raw":
		return isRaw
	}
	return isAny
}
