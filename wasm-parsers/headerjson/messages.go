package headerjson

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// place is where a reader of messages stands.
type place uint8

const (
	atStart   place = iota // the first header
	inAnswer               // text for the user
	behind                 // directly behind a call
	beforeArg              // the first byte of a call's arguments
	inArgs                 // the arguments
	inCode                 // code, which is the value of one argument
)

// messages reads an output that is a row of messages.
type messages struct {
	region.Region // From is where the header of the call at hand began
	*dialect

	call    callobject.Reader
	place   place
	header  bool // the output ended in half a header
	half    bool // which is not read, as what the output ended in
	escaped []byte
}

// Reset implements sdk.Reusable.
func (m *messages) Reset(o sdk.Options) error {
	m.place, m.header, m.half = atStart, false, false
	m.Begin(m, o)
	m.call.Init(callobject.Keys{}, o.MaxDepth)
	return nil
}

// Step implements region.Format.
func (m *messages) Step() bool {
	b := m.Rest()
	if len(b) > 0 && !m.half {
		n, wait := m.step(b)
		if m.Advance(n); !wait {
			return true
		}
	}
	if m.place == inArgs {
		m.call.Pass(m.Out)
	}
	return false
}

// step reads some of data and says how much, or that it waits for more.
func (m *messages) step(data []byte) (n int, wait bool) {
	switch m.place {
	case atStart:
		return m.readStart(data)
	case beforeArg:
		return m.readBody(data)
	case inArgs:
		return m.readArgs(data), false
	case behind:
		if n := len(data) - len(chars.SkipSpace(data)); n > 0 {
			return n, false
		}
		return m.readMarker(data)
	default:
		if n := m.plain(data); n > 0 {
			m.pass(data[:n])
			return n, false
		}
		return m.readMarker(data)
	}
}

// plain is how many bytes b begins with that no marker begins with.
func (m *messages) plain(b []byte) int {
	first := "<"
	if m.ordinary { // both at once: a search for each would go to the end of the text again and again
		first = "<>"
	}
	if n := bytes.IndexAny(b, first); n >= 0 {
		return n
	}
	return len(b)
}

// readStart reads the first header, whose marker is mostly in the prompt. A name
// without one must be an offered tool's if the markers are ordinary text.
func (m *messages) readStart(data []byte) (n int, wait bool) {
	rest, v := cut(data, m.markers...)
	if v == sdk.Maybe {
		return 0, true
	}
	name, n, w := m.message(rest)
	if w == sdk.Maybe {
		return 0, true
	}
	bare := v == sdk.No && m.ordinary && name != toAll
	if w == sdk.No || bare && sdk.FindTool(m.Tools, name) == nil {
		m.Out.Malformed(0, 1)
		return 0, true
	}
	return m.open(name, len(data)-len(rest)+n), false
}

// open begins a message to name with a header of n bytes.
func (m *messages) open(name string, n int) int {
	m.From = m.At()
	if m.place = inAnswer; name != toAll {
		m.call.ResetArgs(name)
		m.place = beforeArg
	}
	return n
}

// readMarker reads the marker that data may begin with; if it is none its first
// byte is text.
func (m *messages) readMarker(data []byte) (n int, wait bool) {
	if rest, v := cut(data, m.ends...); v != sdk.No {
		return m.readEnd(len(data)-len(rest), v, data)
	}
	if _, v := cut(data, m.turnEnds...); v != sdk.No {
		return m.readEnd(0, v, data)
	}
	name, n, v := m.next(data)
	switch {
	case v == sdk.Maybe && !m.Ended:
		return 0, true
	case v == sdk.Yes:
		m.endCode()
		return m.open(name, n), false
	case v == sdk.Maybe && m.place == inCode: // half a header is none either
		return len(data), false
	case m.place == behind:
		m.place = inAnswer
	}
	m.pass(data[:1])
	return 1, false
}

// readEnd reads an end of the output, of which n bytes are the parser's.
func (m *messages) readEnd(n int, v sdk.Verdict, data []byte) (int, bool) {
	switch {
	case v == sdk.Yes:
		m.endCode()
		m.Out.End(m.At() + n)
	case m.Ended && m.place == inCode: // half a token is no code
		return len(data), false
	case m.Ended:
		m.pass(data[:1])
		return 1, false
	}
	return 0, true
}

// next reads the header that b begins with. In text the ordinary marker is one of
// text unless an offered tool follows it; a prompt of Python's is such text.
func (m *messages) next(b []byte) (name string, n int, v sdk.Verdict) {
	rest, v := cut(b, m.markers...)
	if v != sdk.Yes {
		return "", 0, v
	}
	name, n, v = m.message(rest)
	if v == sdk.Yes && m.ordinary && m.place != behind && !m.meant(name, rest[n:]) {
		v = sdk.No
	}
	return name, len(b) - len(rest) + n, v
}

// meant reports whether a header in the middle of text is one.
func (m *messages) meant(name string, body []byte) bool {
	if len(m.Tools) > 0 {
		return sdk.FindTool(m.Tools, name) != nil
	}
	return name != toAll && bytes.HasPrefix(chars.SkipSpace(body), []byte("{"))
}

// Finish implements sdk.Parser. What may be half a header is text, unless a token
// limit has cut it.
func (m *messages) Finish(reason sdk.Reason, out *sdk.Out) {
	m.header = m.inHeader()
	m.half = m.place == atStart || reason == sdk.Length && m.header
	m.Region.Finish(reason, out)
}

// Over implements region.Format.
func (m *messages) Over() {
	all := m.Fed()
	inCall := m.place == beforeArg || m.place == inArgs
	switch {
	case m.Cut && (m.header || inCall || m.place == inCode):
		m.Out.Cut()
	case m.place == atStart:
		m.Out.Malformed(0, all)
		return
	case inCall:
		m.Out.Malformed(m.From, all)
		return
	default:
		m.endCode()
	}
	m.Out.End(all)
}

// inHeader reports whether what is held is half a header: a marker and a part of a
// name, which must be an offered tool's if the markers are ordinary text.
func (m *messages) inHeader() bool {
	rest, v := cut(m.Rest(), m.markers...)
	if v != sdk.Yes || len(m.Tools) == 0 || !m.ordinary {
		return v == sdk.Yes
	}
	name, _, _ := strings.Cut(string(rest), "\n")
	for _, t := range m.Tools {
		if strings.HasPrefix(t.Name, strings.TrimRight(name, " \t\r")) {
			return true
		}
	}
	return false
}
