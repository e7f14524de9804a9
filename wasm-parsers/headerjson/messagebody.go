package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// pass passes text on.
func (m *messages) pass(b []byte, out *sdk.Out) {
	if m.place != inCode {
		out.Content(b)
		return
	}
	m.escaped = relaxed.AppendEscaped(m.escaped[:0], b)
	out.Args(m.escaped)
}

// readBody reads up to the first byte of a call's arguments.
func (m *messages) readBody(data []byte, out *sdk.Out) (n int, wait bool) {
	rest := markup.SkipSpace(data)
	space := min(len(data)-len(rest), maxSpace+1)
	switch {
	case space > maxSpace:
	case len(rest) == 0:
		return 0, true
	case rest[0] == '{':
		m.place = inArgs
		return space, false
	case !m.ordinary:
		switch m.marks(rest) {
		case sdk.Yes: // a call without arguments
			m.call.Args = append(m.call.Args, '{')
			m.endCall(out)
			return space, false
		case sdk.Maybe:
			if !m.final {
				return 0, true
			}
		case sdk.No:
		}
	}
	if m.call.Name != interpreter {
		out.Malformed(m.from, m.pos-len(data)+space)
		return 0, true
	}
	m.start(out)
	out.Args([]byte(`{"` + codeKey + `": "`))
	m.place = inCode
	return 0, false
}

// marks tells whether b begins with a marker.
func (m *messages) marks(b []byte) sdk.Verdict {
	if _, v := cut(b, m.markers...); v != sdk.No {
		return v
	}
	_, v := cut(b, m.ends...)
	return v
}

func (m *messages) readArgs(data []byte, out *sdk.Out) int {
	n, status := m.call.Feed(data)
	if len(m.call.Args) > 0 {
		m.start(out)
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		m.writeArgs(out)
		out.Malformed(m.from, m.pos-len(data)+n)
	case callobject.Done:
		m.endCall(out)
	}
	return n
}

func (m *messages) start(out *sdk.Out) {
	if !m.started {
		out.CallStart(m.call.Name, "")
		m.started = true
	}
}

// writeArgs passes on what is certain of the arguments.
func (m *messages) writeArgs(out *sdk.Out) {
	if m.started && m.place == inArgs {
		out.Args(m.call.Args)
		m.call.Args = m.call.Args[:0]
	}
}

// endCall ends a call whose arguments are complete, which nothing need follow.
func (m *messages) endCall(out *sdk.Out) {
	m.start(out)
	out.Args(append(m.call.Args, '}'))
	m.call.Report(out)
	out.CallEnd()
	m.place = behind
}

// endCode ends a call that is code, which the end of the message makes complete.
func (m *messages) endCode(out *sdk.Out) {
	if m.place == inCode {
		out.Args([]byte(`"}`))
		out.CallEnd()
		m.place = behind
	}
}
