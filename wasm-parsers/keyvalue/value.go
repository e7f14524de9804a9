package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// beginValue begins the value behind h. A key that comes again is refused: what
// was written of its first value cannot be taken back.
func (p *parser) beginValue(h *header) bool {
	if p.Seen(h.key) {
		return p.RefuseHere()
	}
	p.Member(h.key)
	p.See(h.key)
	types := h.types
	if param := p.Param(h.key); param != nil && types == 0 {
		types = param.Types
	}
	if types == 0 {
		types = abi.String // 5551234567 is no number if nobody says so
	}
	p.value.Begin(types, typed.Keep, p.Out)
	p.Repaired = p.Repaired || h.repaired || h.again
	p.Advance(h.n)
	p.state, p.inner = inValue, inner{}
	return true
}

// readValue passes on text of a value up to the next tag that may end it, and
// decides about that. A newline in front of the tag waits with it: it is markup if
// the value's own end is missing.
func (p *parser) readValue() bool {
	b := p.Rest()
	n := p.plain(b)
	newline := 0
	if n > 0 && b[n-1] == '\n' {
		newline = 1
	}
	if n > newline {
		p.value.Write(b[:n-newline], p.Out)
		p.Advance(n - newline)
		b, n = b[n-newline:], newline
	}
	if n == len(b) {
		return false
	}
	switch p.look(b[n:], newline > 0) {
	case region.Text:
		p.count(b[n:])
		p.value.Write(b[:n+1], p.Out)
		p.Advance(n + 1)
		return true
	case region.Closes:
		p.value.Write(b[:n], p.Out)
		p.Advance(n + len(p.valueClose))
	case region.Implies:
		p.Advance(n)
		p.Repaired = true
	case region.Broken:
		return p.Refuse(p.At() + n)
	default:
		return false
	}
	if p.value.End(p.MaxDepth, p.Out) {
		p.Repaired = true
	}
	p.state = inCall
	return true
}

// plain is how much of a value's text holds no tag of the format's.
func (p *parser) plain(b []byte) int {
	key, end := p.keyOpen[1], p.valueClose[2]
	for n := 0; ; n++ {
		i := bytes.IndexByte(b[n:], '<')
		if i < 0 {
			return len(b)
		}
		n += i
		if len(b)-n < 3 {
			return n
		}
		switch next := b[n+1]; {
		case next == key, next == p.callOpen[1]:
			return n
		case next == '/' && (b[n+2] == end || b[n+2] == p.callClose[2]):
			return n
		}
	}
}

// count notes a tag that is text of the value.
func (p *parser) count(b []byte) {
	switch sdk.Yes {
	case markup.MatchTag(b, p.valueOpen):
		p.inner.values++
	case markup.MatchTag(b, p.valueClose):
		if p.inner.values--; p.inner.values < 0 {
			p.inner.values, p.inner.closed = 0, true
		}
	case markup.MatchTag(b, p.callOpen):
		p.inner.calls++
	case markup.MatchTag(b, p.callClose):
		p.inner.calls = max(p.inner.calls-1, 0)
	}
}
