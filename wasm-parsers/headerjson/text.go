package headerjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// text is a body that may be no JSON. Between its tags, of which a newline each is
// part, it is the value of one argument. Nothing in it is escaped, so an end tag in
// it is told from its own by where it stands and what follows it.
type text struct {
	raw     []byte // what is not decided yet, or not given out
	decided bool   // it is no JSON
	begun   bool   // its first newline was read
	line    bool   // raw begins a line
	escaped []byte
}

func (p *parser) beginText() {
	p.state = inText
	p.text = text{raw: p.text.raw[:0], escaped: p.text.escaped[:0], line: true}
}

// readText reads what there is of the body.
func (p *parser) readText() bool {
	b, t := p.Rest(), &p.text
	if !t.decided {
		n := chars.Space(b, 0)
		t.raw = append(t.raw, b[:n]...)
		p.Advance(n)
		if n == len(b) {
			return false
		}
		if t.decided = b[n] != '{'; !t.decided {
			p.state = inObject
		}
		return true
	}
	p.AdvanceTo(nil)
	p.passText(append(t.raw, b...), p.At())
	return true
}

// passText gives out what is certain of b, which ends at byte end of the region.
func (p *parser) passText(b []byte, end int) {
	t := &p.text
	t.escaped = t.escaped[:0]
	if !t.begun {
		t.begun = true
		b = trimNewline(b)
	}
	for len(b) > 0 {
		n := 0
		for n < len(b) && b[n] != '\n' && b[n] != '\r' && b[n] != '<' {
			n++
		}
		if n > 0 {
			t.escaped, t.line = relaxed.AppendEscaped(t.escaped, b[:n]), false
			b = b[n:]
			continue
		}
		n, v := p.lookEnd(b)
		if v == sdk.Maybe {
			break
		}
		if v == sdk.Yes {
			p.writeText()
			p.endText()
			p.From = end - len(b) + n
			p.Out.End(p.From)
			return
		}
		t.escaped, t.line = relaxed.AppendEscaped(t.escaped, b[:1]), b[0] == '\n'
		b = b[1:]
	}
	p.writeText()
	t.raw = append(t.raw[:0], b...)
}

func trimNewline(b []byte) []byte {
	if rest, found := bytes.CutPrefix(b, []byte("\r\n")); found {
		return rest
	}
	return bytes.TrimPrefix(b, []byte("\n"))
}

// maxSpace is how much white space is looked through for what follows an end tag.
const maxSpace = 64

// lookEnd tells whether b, which begins with a line break or <, begins with the end of
// the body, of n bytes. At the beginning of a line an end tag ends it unless
// another one follows; in the middle of one only if nothing but a call or a special
// token follows.
func (p *parser) lookEnd(b []byte) (n int, v sdk.Verdict) {
	if len(b) == 1 && b[0] == '\r' {
		return 0, p.wait(sdk.Maybe, sdk.No)
	}
	tag := trimNewline(b)
	line := p.text.line || len(tag) < len(b)
	if v := markup.Match(tag, p.end); v != sdk.Yes {
		return 0, p.wait(v, sdk.No)
	}
	tag = tag[len(p.end):]
	n = len(b) - len(tag)
	rest := chars.SkipSpace(tag)
	switch {
	case len(tag)-len(rest) > maxSpace && line:
		return n, sdk.Yes
	case len(tag)-len(rest) > maxSpace:
		return n, sdk.No
	case len(rest) == 0 && p.Cut && !line:
		return n, sdk.No // the token limit may have cut the line here
	case len(rest) == 0:
		return n, p.wait(sdk.Maybe, sdk.Yes)
	}
	switch again := markup.Match(rest, p.end); {
	case again == sdk.Yes:
		return n, sdk.No
	case again == sdk.Maybe:
		return n, p.wait(again, sdk.Yes)
	case line:
		return n, sdk.Yes
	}
	return n, p.wait(markup.MatchAny(rest, p.open, "<|"), sdk.Yes)
}

// wait is v, but final instead of Maybe if there is no more text.
func (p *parser) wait(v, final sdk.Verdict) sdk.Verdict {
	if v == sdk.Maybe && p.Ended {
		return final
	}
	return v
}

// writeText passes on what is certain of the text.
func (p *parser) writeText() {
	if len(p.text.escaped) == 0 {
		return
	}
	if !p.call.Shown() {
		p.call.Show(p.Out)
		p.Out.Args([]byte(`{"` + p.textKey + `": "`))
	}
	p.Out.Args(p.text.escaped)
	p.text.escaped = p.text.escaped[:0]
}

// endText ends the call.
func (p *parser) endText() {
	if p.call.Shown() {
		p.Out.Args([]byte(`"}`))
	} else {
		p.call.Show(p.Out)
		p.Out.Args([]byte("{}"))
	}
	p.Out.CallEnd()
}

// finishText reads what is left of the text at the end of the output. It reports
// whether that ended the body.
func (p *parser) finishText() bool {
	if p.text.decided {
		p.passText(p.text.raw, p.Fed())
	}
	return p.Out.Ended()
}
