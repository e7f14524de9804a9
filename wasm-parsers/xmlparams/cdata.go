package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// Markers of a CDATA section.
const (
	cdataOpen  = "<![CDATA["
	cdataClose = "]]>"
)

// beginCDATA begins a value that is marked as text.
func (p *parser) beginCDATA() {
	if p.val.types == 0 {
		p.val.types = abi.String
	}
	p.beginText()
	p.state = inCDATA
}

// readCDATA is readValue inside a CDATA section, where only its end is markup.
func (p *parser) readCDATA() bool {
	b := p.Rest()
	if n := bytes.IndexByte(b, cdataClose[0]); n != 0 {
		if n < 0 {
			n = len(b)
		}
		return n > 0 && p.pass(n)
	}
	switch markup.Match(b, cdataClose) {
	case sdk.No:
		return p.pass(1)
	case sdk.Maybe:
		return p.Ended && p.pass(1)
	}
	rest := p.skip(b[len(cdataClose):])
	space := len(b) - len(cdataClose) - len(rest)
	verdict := region.Text
	switch markup.Match(rest, p.val.close) {
	case sdk.Yes:
		verdict = p.lookBehind(rest[len(p.val.close):])
	case sdk.Maybe:
		verdict = p.Wait(region.Closes)
	case sdk.No:
		if markup.MatchAny(rest, p.funcClose, p.param.open) != sdk.No {
			verdict = p.Wait(region.Implies)
		}
	}
	return p.endCDATA(rest, space, verdict)
}

// endCDATA acts on what the end of a CDATA section turned out to be; rest is the
// text behind it and space the white space between. Another section goes on with
// the same value.
func (p *parser) endCDATA(rest []byte, space int, v region.Verdict) bool {
	switch again := markup.Match(rest, cdataOpen); {
	case space > maxSpace:
		v = region.Text
	case again == sdk.Yes:
		p.AdvanceTo(rest[len(cdataOpen):])
		return true
	case again == sdk.Maybe && !p.Ended:
		return false
	}
	switch v {
	case region.Text:
		return p.pass(1)
	case region.Unclear:
		return false
	case region.Closes:
		p.AdvanceTo(rest[min(len(rest), len(p.val.close)):])
	case region.Implies:
		p.AdvanceTo(rest)
	}
	p.endValue()
	return true
}
