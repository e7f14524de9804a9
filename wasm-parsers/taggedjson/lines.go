package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// lines is what a format needs that has one call a line, or a list of them: a line or an element
// that is no call loses none of the others, and is text of the answer.
type lines struct {
	broken bool   // a line has ended since the last object
	object int    // where the object at hand begins
	line   []byte // the object at hand, as long as nothing of it was shown
	bad    []byte // lines and elements that are none, until a call comes
}

// see notes whether white space in front of b ends a line.
func (p *parser) see(b []byte) {
	for i := 0; p.oneLine && i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n'); i++ {
		p.broken = p.broken || b[i] == '\n'
	}
}

// keep keeps what was read of an object that may be given out as text.
func (p *parser) keep(read []byte) {
	if (p.oneLine || p.inList()) && !p.call.Shown() {
		p.line = append(p.line, read...)
	}
}

// beginLine begins a line that is no call.
func (p *parser) beginLine() bool {
	p.endCall()
	p.bad = append(p.bad, p.line...)
	p.line, p.state = p.line[:0], inLine
	return true
}

// readLine reads such a line, up to its end or that of the body.
func (p *parser) readLine() bool {
	b := p.Rest()
	n := 0
	for n < len(b) && b[n] != '\n' && b[n] != '<' {
		n++
	}
	switch {
	case n > 0:
	case b[0] == '\n':
		n, p.state = 1, afterCall
		p.broken = true
	default:
		v := markup.MatchTag(b, p.form.close)
		if v == sdk.Yes {
			p.state, p.broken = afterCall, false
			return true
		}
		if v == sdk.Maybe && !p.Ended {
			return false
		}
		n = 1
	}
	p.bad = append(p.bad, b[:n]...)
	p.Advance(n)
	return true
}

// writeBad gives lines that were no calls out, where another is one. It reports false where
// there is none.
func (p *parser) writeBad(call bool) bool {
	if len(p.bad) == 0 {
		return true
	}
	if !call {
		return false
	}
	p.Out.Content(p.bad)
	p.bad = p.bad[:0]
	return true
}
