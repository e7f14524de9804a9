package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// inList reports whether what is read are the elements of a list, one of which may be no call: where
// an element ends is certain as long as it is JSON, so that the next one is no guess. JSON that is
// broken may go on anywhere, and gives up the rest of the list.
func (p *parser) inList() bool { return p.array && !p.form.loose }

// isValue reports whether c begins a value of JSON that is no object.
func isValue(c byte) bool {
	switch c {
	case '"', '[', '-', 't', 'f', 'n':
		return true
	}
	return c >= '0' && c <= '9'
}

// beginOther begins an element that is no object, unless what stands there ends the list.
func (p *parser) beginOther(c byte) bool {
	switch p.form.matchEnd(p.Rest()) {
	case sdk.Yes:
		return p.readTrailing(c)
	case sdk.Maybe:
		return false
	}
	p.beginObject()
	p.state = inOther
	return true
}

// readOther reads the rest of an element that is no call.
func (p *parser) readOther() bool {
	at := p.At()
	n, status := p.call.Skip(p.Rest())
	read := p.Rest()[:n]
	if len(p.resync.end) > 1 {
		p.resync.read(read, at)
	}
	p.keep(read)
	p.Advance(n)
	switch status {
	case callobject.Bad:
		return p.Refuse(p.badEnd(p.At()))
	case callobject.More:
		return false
	}
	if len(p.bad) > 0 {
		p.bad = append(p.bad, ',')
	}
	p.bad = append(p.bad, p.line...)
	p.line, p.state = p.line[:0], afterCall
	return true
}
