package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// beginValue begins the value behind h. A key that comes again is refused: what
// was written of its first value cannot be taken back.
func (p *parser) beginValue(h *header, out *sdk.Out) bool {
	key := string(h.key)
	if p.seen[key] {
		return p.refuse(p.At(), out)
	}
	p.start(out)
	var args []byte
	if len(p.seen) > 0 {
		args = append(args, ", "...)
	}
	args = relaxed.AppendString(args, h.key)
	out.Args(append(args, ": "...))
	p.seen[key] = true
	types := h.types
	if param := sdk.FindParam(p.tool, key); param != nil && types == 0 {
		types = param.Types
	}
	p.value.Begin(types, typed.Keep, out)
	p.mended = p.mended || h.mended
	p.Advance(h.n)
	p.state, p.inner = inValue, inner{}
	return true
}

// readValue passes on text of a value up to the next tag that may end it, and
// decides about that. A newline in front of the tag waits with it: it is markup if
// the value's own end is missing.
func (p *parser) readValue(out *sdk.Out) bool {
	b := p.Rest()
	n := p.plain(b)
	newline := 0
	if n > 0 && b[n-1] == '\n' {
		newline = 1
	}
	if n > newline {
		p.value.Write(b[:n-newline], out)
		p.Advance(n - newline)
		b, n = b[n-newline:], newline
	}
	if n == len(b) {
		return false
	}
	switch p.look(b[n:], newline > 0) {
	case isText:
		p.count(b[n:])
		p.value.Write(b[:n+1], out)
		p.Advance(n + 1)
		return true
	case closes:
		p.value.Write(b[:n], out)
		p.Advance(n + len(p.valueClose))
	case implies:
		p.Advance(n)
		p.mended = true
	case broken:
		return p.refuse(p.At()+n, out)
	default:
		return false
	}
	if p.value.End(p.maxDepth, out) {
		p.mended = true
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
	case match(b, p.valueOpen):
		p.inner.values++
	case match(b, p.valueClose):
		if p.inner.values--; p.inner.values < 0 {
			p.inner.values, p.inner.closed = 0, true
		}
	case match(b, p.callOpen):
		p.inner.calls++
	case match(b, p.callClose):
		p.inner.calls = max(p.inner.calls-1, 0)
	}
}
