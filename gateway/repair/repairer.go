package repair

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/sdk/relaxed"
)

// repairer reads one object of nearly JSON, from its beginning. Its reader is given a piece of a
// string or a single byte at a time, so that it is known of every byte that it writes which
// bytes of the text it stands for.
type repairer struct {
	walk
	reader *relaxed.Reader
	sent   int  // what is before it was given out
	quote  byte // what ends the string that is being read, 0 outside of one
	skip   int  // bytes of the reader's output that strict has given out
	same   bool // all that was given out is what came in
}

// begin makes m ready for an object that begins at start. The reader reads again what strict
// has read up to sent; that has gone out, so nothing of it is written a second time.
func (m *repairer) begin(maxDepth, start, sent int, inText bool) {
	if m.reader == nil || m.reader.MaxDepth() != maxDepth {
		m.reader = relaxed.NewReader(maxDepth)
	}
	m.reader.Reset()
	*m = repairer{walk: walk{frames: m.frames, maxDepth: maxDepth, at: start}, reader: m.reader, sent: sent, skip: sent - start, same: true}
	m.frames.reset()
	if inText {
		m.quote = '"'
	}
}

// read reads what is new of text, and appends what is certain of it.
func (m *repairer) read(out, text []byte, t *typing) []byte {
	out = m.feed(out, text, m.sent, t)
	for m.at < len(text) && !m.closed && m.fault == nil {
		n := 1
		switch c := text[m.at]; {
		case m.quote == 0:
			if c == '"' || c == '\'' {
				m.quote = c
			}
		case c == m.quote:
			m.quote = 0
		default:
			var kind unit
			switch n, kind = nextUnit(text[m.at:]); kind {
			case unitCut:
				return out
			case unitUTF8, unitHalf:
				m.refuseUnit(kind)
				return out
			}
		}
		out = m.feed(out, text, m.at+n, t)
	}
	return out
}

// feed gives the reader the text up to end.
func (m *repairer) feed(out, text []byte, end int, t *typing) []byte {
	for m.at < end && m.fault == nil {
		n, tok := m.reader.Feed(text[m.at:end])
		m.at += n
		if certain := m.note(text, tok); m.fault == nil {
			out = m.take(out, text, certain, t)
		}
	}
	return out
}

// note deals with what the reader has just read, and returns the place up to which what it has
// written stands for the text.
func (m *repairer) note(text []byte, tok relaxed.Token) (certain int) {
	switch tok {
	case relaxed.Bad:
		m.refuseByte(text[m.at])
	case relaxed.Key:
		if !m.frames.key(m.reader.Key()) {
			m.refuseKey(m.at - 1)
		}
	case relaxed.ObjectOpen:
		m.frames.open('{')
		return m.at - 1 // the reader holds the brace
	case relaxed.ArrayOpen:
		m.frames.open('[')
	case relaxed.ObjectClose, relaxed.ArrayClose:
		m.frames.close()
		m.closed = len(m.frames.stack) == 0
	case relaxed.String, relaxed.Number, relaxed.Bool, relaxed.Null:
		m.frames.value()
	case relaxed.More, relaxed.Done:
		if m.quote == 0 {
			return m.at - 1 // the first byte of a number or a word, which the reader holds
		}
	}
	return m.at
}

// take appends what the reader has written, which stands for the text up to certain.
func (m *repairer) take(out, text []byte, certain int, t *typing) []byte {
	piece := m.reader.Out
	if len(piece) == 0 {
		return out
	}
	m.reader.Out = piece[:0]
	skip := min(m.skip, len(piece))
	m.skip -= skip
	if piece = piece[skip:]; certain <= m.sent {
		return out
	}
	m.same = m.same && bytes.Equal(piece, text[m.sent:certain])
	m.sent = certain
	held := t.holding()
	out = append(out, t.read(piece)...)
	if !held && t.holding() {
		t.heldAt = certain - 1 // a string begins with one byte
	}
	return out
}

// refuseByte notes a byte that cannot be read.
func (m *repairer) refuseByte(c byte) {
	if (c == '{' || c == '[') && m.reader.Depth() == m.maxDepth {
		m.refuseDepth()
		return
	}
	m.refuse(m.at, describe(c)+" cannot stand here.", hintStrict)
}

// describe names a byte.
func describe(c byte) string {
	switch {
	case c == '\n' || c == '\r':
		return "a new line"
	case c > ' ' && c < 0x7f:
		return strconv.QuoteRune(rune(c))
	}
	return "this character"
}
