package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// Markers of a CDATA section.
const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// beginCDATA begins a value that is marked as text.
func (p *parser) beginCDATA(out *sdk.Out) {
	if p.val.types == 0 {
		p.val.types = abi.String
	}
	p.beginText(out)
	p.state = inCDATA
}

// readCDATA is readValue inside a CDATA section, where only its end is markup.
func (p *parser) readCDATA(out *sdk.Out) bool {
	b := p.Rest()
	if n := bytes.IndexByte(b, cdataClose[0]); n != 0 {
		if n < 0 {
			n = len(b)
		}
		return n > 0 && p.pass(n, out)
	}
	switch markup.Match(b, cdataClose) {
	case sdk.No:
		return p.pass(1, out)
	case sdk.Maybe:
		return p.ended && p.pass(1, out)
	case sdk.Yes:
	}
	rest := p.skip(b[len(cdataClose):])
	space := len(b) - len(cdataClose) - len(rest)
	verdict := isText
	switch markup.Match(rest, p.val.close) {
	case sdk.Yes:
		verdict = p.lookBehind(rest[len(p.val.close):])
	case sdk.Maybe:
		verdict = p.wait(closes)
	case sdk.No:
		if markup.MatchAny(rest, p.funcClose, p.param.open) != sdk.No {
			verdict = p.wait(implies)
		}
	}
	return p.endCDATA(rest, space, verdict, out)
}

// endCDATA acts on what the end of a CDATA section turned out to be; rest is the
// text behind it and space the white space between. Another section goes on with
// the same value.
func (p *parser) endCDATA(rest []byte, space int, v verdict, out *sdk.Out) bool {
	switch again := markup.Match(rest, cdataOpen); {
	case space > maxSpace:
		v = isText
	case again == sdk.Yes:
		p.AdvanceTo(rest[len(cdataOpen):])
		return true
	case again == sdk.Maybe && !p.ended:
		return false
	}
	switch v {
	case isText:
		return p.pass(1, out)
	case unclear:
		return false
	case closes:
		p.AdvanceTo(rest[min(len(rest), len(p.val.close)):])
	case implies:
		p.AdvanceTo(rest)
	}
	p.endValue(out)
	return true
}
