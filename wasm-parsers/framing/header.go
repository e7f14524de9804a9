package framing

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxHeader is how many bytes a header may have. Longer ones are text.
const maxHeader = 512

// readHeader reads a header to its end, which another marker may be.
func (p *parser) readHeader() bool {
	b := p.Rest()
	n, m, v := p.headerEnd(b)
	switch {
	case v == sdk.Yes:
		p.Advance(n)
		p.endHeader(b[:n], m)
		return true
	case v == sdk.Maybe && !p.Ended:
		return false
	case v == sdk.Maybe:
		return p.cutHeader(b)
	}
	p.noHeader(b)
	return true
}

// headerEnd finds the marker that ends the header that b begins with. A header is one
// line, but there may be white space of any kind around its markers. What ends a header ends every one
// that begins before it, so no byte is looked at for two of them, nor again when more has come.
func (p *parser) headerEnd(b []byte) (n int, m *marker, v sdk.Verdict) {
	at := p.At()
	for n = max(1, p.looked-at); n < len(b) && n <= maxHeader; n++ {
		p.looked = at + n
		switch {
		case b[n] == '\n' && b[n-1] != '>':
			rest := chars.SkipSpace(b[n:])
			if len(rest) > 0 && rest[0] != '<' {
				return n, nil, sdk.No
			}
			n = len(b) - len(rest) - 1
		case chars.IsSpace(b[n]) && b[n-1] == '>':
			n = len(b) - len(chars.SkipSpace(b[n:])) - 1
		case b[n] == '<':
			if m, v = p.marker(b[n:], inHeader); v != sdk.No {
				return n, m, v
			}
		case b[n] == '{' && p.braced && p.read(b[:n]).name != "":
			return n, &p.brace, sdk.Yes
		}
	}
	if len(b) <= maxHeader {
		return n, nil, sdk.Maybe
	}
	return n, nil, sdk.No
}

// dropAgain drops the end of a header that comes once more.
func (p *parser) dropAgain() bool {
	b := chars.SkipSpace(p.Rest())
	v := markup.Match(b, p.ended.text)
	switch {
	case v == sdk.Yes:
		p.AdvanceTo(b[len(p.ended.text):])
		p.Out.Repair("stray_markup")
		return true
	case v == sdk.Maybe && !p.Ended && len(p.Rest())-len(b) <= maxSpace:
		return false
	}
	p.ended = nil
	return true
}

// endHeader ends the header at marker m. A message that ends there has no body.
func (p *parser) endHeader(header []byte, m *marker) {
	msg := p.read(header)
	switch {
	case msg.broken:
		p.where = inBad
		return
	case m.does == endsHead:
		p.Advance(len(m.text))
		p.beginMessage(msg)
		if m == &p.brace {
			p.Out.Repair("args_json")
		} else {
			p.ended = m
		}
		return
	case m.does == skips && p.headText:
		p.headerText(header)
	case m.does == skips && msg.name != "":
		p.beginMessage(msg)
	case m.does == skips:
		p.saidInHead(header, msg)
	case m.does == nests && msg.name != "": // the marker between them is missing
		p.Out.Repair("args_json")
	}
	p.act(m)
}

// saidInHead passes on the text of a header that lacks its end, of a message without a body.
func (p *parser) saidInHead(header []byte, msg message) {
	if p.said == nil {
		return
	}
	if text := p.said(header); len(text) > 0 {
		p.beginMessage(msg)
		p.text.write(text)
	}
}

// headerText passes on the text of what turned out to be no header.
func (p *parser) headerText(b []byte) {
	b = b[p.markup(b):]
	p.text.begin(isContent)
	p.text.write(b)
}

// cutHeader deals with a header in which the output ended. That of a call stays: it
// is a call that was cut. Any other says nothing.
func (p *parser) cutHeader(b []byte) bool {
	whole := b
	if i := bytes.LastIndexByte(b, '<'); i > 0 && bytes.IndexByte(b[i:], '>') < 0 { // half a marker
		whole = b[:i]
	}
	switch msg := p.read(whole); {
	case msg.name != "", msg.broken && p.Cut:
		return false
	case msg.broken:
		p.AdvanceTo(nil)
		p.where = inBad
		return false
	case p.headText, b[0] != '<':
		p.headerText(b)
	case !p.Cut:
		p.saidInHead(b, p.read(b))
	}
	p.AdvanceTo(nil)
	p.where = between
	return true
}

// noHeader gives text back that looked like a header. What is markup of its front is
// dropped.
func (p *parser) noHeader(b []byte) {
	if b[0] != '<' {
		p.beginMessage(message{kind: isContent})
		p.text.write(b[:1])
		p.Advance(1)
		return
	}
	p.where = between
	p.Advance(max(p.markup(b), 1))
}

// markup is the length of the marker that b begins with; a word is no markup. One
// that counts in text is longer than one that does not.
func (p *parser) markup(b []byte) int {
	for _, where := range [...]place{inText, anywhere} {
		if m, v := p.marker(b, where); v == sdk.Yes && b[0] == '<' {
			return len(m.text)
		}
	}
	return 0
}
