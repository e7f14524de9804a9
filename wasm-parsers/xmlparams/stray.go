package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// strayMarkup reports markup that stands where it marks nothing.
const strayMarkup = "stray_markup"

// stray tells whether b begins with a tag or a token outside of a value that marks nothing there, and
// how long it is: a tag that comes once more, or a token that belongs between the first one in
// front of a function and its tag.
func (p *parser) stray(b []byte) (n int, v sdk.Verdict) {
	switch {
	case p.state == afterFunc || p.state == afterCall:
		n, v = len(p.funcClose), markup.MatchTag(b, p.funcClose)
	case p.state == inFunc && p.SeenAny():
		n, v = len(p.val.close), markup.MatchTag(b, p.val.close)
	case p.state == inFunc && p.wrapped:
		n, v = p.funcAgain(b)
	}
	if v == sdk.Yes || p.state == atFunc && p.leads > 0 {
		return n, v
	}
	if m, w := p.strayToken(b); w != sdk.No {
		return m, w
	}
	return n, v
}

// strayToken is stray for tokens.
func (p *parser) strayToken(b []byte) (n int, v sdk.Verdict) {
	for i, token := range p.lead {
		if i == 0 || token[0] != '<' { // a word, or what begins a call
			continue
		}
		if v = markup.Match(b, token); v != sdk.No {
			return len(token), v
		}
	}
	if p.state == afterCall {
		return len(p.tail), markup.MatchTag(b, p.tail)
	}
	return 0, sdk.No
}

// funcAgain tells whether b begins with the tag of the function at hand, in front of what that holds.
func (p *parser) funcAgain(b []byte) (n int, v sdk.Verdict) {
	t, v := p.fun.read(b)
	switch {
	case v == sdk.Yes && (t.closed || p.toolName(t.name) != p.Name()):
		return 0, sdk.No
	case v == sdk.Yes:
		v = p.beginsBody(b[t.n:])
	}
	return t.n, v
}

// maxAgain is how often the end of a value may come once more.
const maxAgain = 4

// skipAgain is b without ends of the value at hand that come once more behind it. A value that holds tags
// of the format may be about it: there they are text.
func (p *parser) skipAgain(b []byte) []byte {
	for range maxAgain {
		rest := p.skip(b)
		if p.val.holds || len(b)-len(rest) > maxSpace || markup.Match(rest, p.val.close) != sdk.Yes {
			break
		}
		b = rest[len(p.val.close):]
	}
	return b
}

// dropParamAgain drops the tag of the value at hand where it comes once more, on its line or the next. It reports
// false where more text is needed to tell.
func (p *parser) dropParamAgain() bool {
	rest := bytes.TrimPrefix(p.Rest(), []byte{'\n'})
	t, v := p.readParam(rest)
	switch {
	case v == sdk.No, p.Ended && v == sdk.Maybe:
		p.val.fresh = false
	case v == sdk.Maybe:
		return false
	case t.closed || string(t.name) != string(p.val.key):
		p.val.fresh = false
	default:
		p.AdvanceTo(rest[t.n:])
		p.strayed = true
	}
	return true
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
