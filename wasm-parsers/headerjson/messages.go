package headerjson

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
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
	*dialect

	tools   []sdk.Tool
	call    *callobject.Reader
	place   place
	held    []byte // read, but not decided
	pos     int    // end of what was fed
	from    int    // where the header of the call at hand began
	final   bool   // there is no more text
	started bool   // CallStart was written for the call
	escaped []byte
}

func newMessages(d *dialect, o sdk.Options) *messages {
	return &messages{dialect: d, tools: o.Tools, call: callobject.New(callobject.Keys{}, o.MaxDepth)}
}

// Feed implements sdk.Parser.
func (m *messages) Feed(text []byte, out *sdk.Out) {
	m.pos += len(text)
	if len(m.held) > 0 {
		text = append(m.held, text...)
	}
	m.read(text, out)
}

// read reads what it can of data, which ends at pos, and holds the rest.
func (m *messages) read(data []byte, out *sdk.Out) {
	for wait := false; len(data) > 0 && !wait && !out.Ended(); {
		var n int
		n, wait = m.step(data, out)
		data = data[n:]
	}
	m.held = append(m.held[:0], data...)
	if !out.Ended() {
		m.writeArgs(out)
	}
}

// step reads some of data and says how much, or that it waits for more.
func (m *messages) step(data []byte, out *sdk.Out) (n int, wait bool) {
	switch m.place {
	case atStart:
		return m.readStart(data, out)
	case beforeArg:
		return m.readBody(data, out)
	case inArgs:
		return m.readArgs(data, out), false
	case behind:
		if n := len(data) - len(markup.SkipSpace(data)); n > 0 {
			return n, false
		}
		return m.readMarker(data, out)
	default:
		if n := m.plain(data); n > 0 {
			m.pass(data[:n], out)
			return n, false
		}
		return m.readMarker(data, out)
	}
}

// plain is how many bytes b begins with that no marker begins with.
func (m *messages) plain(b []byte) int {
	n := bytes.IndexByte(b, '<')
	if n < 0 {
		n = len(b)
	}
	if m.ordinary {
		if i := bytes.IndexByte(b[:n], m.markers[0][0]); i >= 0 {
			n = i
		}
	}
	return n
}

// readStart reads the first header, whose marker is mostly in the prompt. A name
// without one must be an offered tool's if the markers are ordinary text.
func (m *messages) readStart(data []byte, out *sdk.Out) (n int, wait bool) {
	rest, v := cut(data, m.markers...)
	if v == sdk.Maybe {
		return 0, true
	}
	name, n, w := m.message(rest)
	if w == sdk.Maybe {
		return 0, true
	}
	bare := v == sdk.No && m.ordinary && name != toAll
	if w == sdk.No || bare && sdk.FindTool(m.tools, name) == nil {
		out.Malformed(0, 1)
		return 0, true
	}
	return m.open(name, data, len(data)-len(rest)+n), false
}

// open begins a message to name with a header of n bytes.
func (m *messages) open(name string, data []byte, n int) int {
	m.from = m.pos - len(data)
	if m.place = inAnswer; name != toAll {
		m.call.ResetArgs(name)
		m.place, m.started = beforeArg, false
	}
	return n
}

// readMarker reads the marker that data may begin with; if it is none its first
// byte is text.
func (m *messages) readMarker(data []byte, out *sdk.Out) (n int, wait bool) {
	if rest, v := cut(data, m.ends...); v != sdk.No {
		return m.readEnd(len(data)-len(rest), v, out, data)
	}
	if _, v := cut(data, m.turnEnds...); v != sdk.No {
		return m.readEnd(0, v, out, data)
	}
	name, n, v := m.next(data)
	switch {
	case v == sdk.Maybe && !m.final:
		return 0, true
	case v == sdk.Yes:
		m.endCode(out)
		return m.open(name, data, n), false
	case v == sdk.Maybe && m.place == inCode: // half a header is none either
		return len(data), false
	case m.place == behind:
		m.place = inAnswer
	}
	m.pass(data[:1], out)
	return 1, false
}

// readEnd reads an end of the output, of which n bytes are the parser's.
func (m *messages) readEnd(n int, v sdk.Verdict, out *sdk.Out, data []byte) (int, bool) {
	switch {
	case v == sdk.Yes:
		m.endCode(out)
		out.End(m.pos - len(data) + n)
	case m.final && m.place == inCode: // half a token is no code
		return len(data), false
	case m.final:
		m.pass(data[:1], out)
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
	if len(m.tools) > 0 {
		return sdk.FindTool(m.tools, name) != nil
	}
	return name != toAll && bytes.HasPrefix(markup.SkipSpace(body), []byte("{"))
}

// Finish implements sdk.Parser. What may be half a header is text, unless a token
// limit has cut it.
func (m *messages) Finish(reason sdk.Reason, out *sdk.Out) {
	if m.place == atStart {
		m.finishStart(reason, out)
		return
	}
	inHeader := m.inHeader()
	m.final = true
	if reason != sdk.Length || !inHeader {
		m.read(bytes.Clone(m.held), out)
	}
	if out.Ended() {
		return
	}
	inCall := m.place == beforeArg || m.place == inArgs
	switch {
	case reason == sdk.Length && (inHeader || inCall || m.place == inCode):
		out.Cut()
	case inCall:
		out.Malformed(m.from, m.pos)
		return
	default:
		m.endCode(out)
	}
	out.End(m.pos)
}

// finishStart ends an output that is half a header.
func (m *messages) finishStart(reason sdk.Reason, out *sdk.Out) {
	if reason == sdk.Length && m.inHeader() {
		out.Cut()
		out.End(m.pos)
		return
	}
	out.Malformed(0, m.pos)
}

// inHeader reports whether what is held is half a header: a marker and a part of a
// name, which must be an offered tool's if the markers are ordinary text.
func (m *messages) inHeader() bool {
	rest, v := cut(m.held, m.markers...)
	if v != sdk.Yes || len(m.tools) == 0 || !m.ordinary {
		return v == sdk.Yes
	}
	name, _, _ := strings.Cut(string(rest), "\n")
	for _, t := range m.tools {
		if strings.HasPrefix(t.Name, strings.TrimRight(name, " \t\r")) {
			return true
		}
	}
	return false
}
