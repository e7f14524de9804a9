package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// strayMarkup reports markup that stands where it marks nothing.
const strayMarkup = "stray_markup"

// stray tells whether b begins with a tag or a token outside of a value that marks nothing there, and
// how long it is: the end of a function once more, or a token that belongs between the first one in
// front of a function and its tag.
func (p *parser) stray(b []byte) (n int, v sdk.Verdict) {
	if p.state == afterFunc || p.state == afterCall {
		n, v = len(p.funcClose), markup.MatchTag(b, p.funcClose)
	}
	if v == sdk.Yes || p.state == atFunc && p.leads > 0 {
		return n, v
	}
	for i, token := range p.lead {
		if i == 0 || token[0] != '<' { // a word, or what begins a call
			continue
		}
		if w := markup.Match(b, token); w != sdk.No {
			return len(token), w
		}
	}
	if v == sdk.No && p.state == afterCall {
		return len(p.tail), markup.MatchTag(b, p.tail)
	}
	return n, v
}

// dropStray drops the next n bytes, which mark nothing. It is said once the call is sure.
func (p *parser) dropStray(n int) bool {
	p.Advance(n)
	p.strayed = true
	if p.state == afterCall {
		p.From = p.At()
		p.sayStray()
	}
	return true
}

// sayStray says that markup was dropped, if it was.
func (p *parser) sayStray() {
	if p.strayed {
		p.Out.Repair(strayMarkup)
		p.strayed = false
	}
}
