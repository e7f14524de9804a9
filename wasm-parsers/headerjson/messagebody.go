package headerjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// pass passes text on.
func (m *messages) pass(b []byte) {
	if m.place != inCode {
		m.Out.Content(b)
		return
	}
	m.escaped = relaxed.AppendEscaped(m.escaped[:0], b)
	m.Out.Args(m.escaped)
}

// readBody reads up to the first byte of a call's arguments.
func (m *messages) readBody(data []byte) (n int, wait bool) {
	rest := chars.SkipSpace(data)
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
			m.endCall()
			return space, false
		case sdk.Maybe:
			if !m.Ended {
				return 0, true
			}
		}
	}
	if m.call.Name != interpreter {
		m.Out.Malformed(m.From, m.At()+space)
		return 0, true
	}
	m.call.Show(m.Out)
	m.Out.Args([]byte(`{"` + codeKey + `": "`))
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

func (m *messages) readArgs(data []byte) int {
	n, status := m.call.Feed(data)
	if len(m.call.Args) > 0 {
		m.call.Show(m.Out)
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		m.call.Pass(m.Out)
		m.Out.Malformed(m.From, m.At()+n)
	case callobject.Done:
		m.endCall()
	}
	return n
}

// endCall ends a call whose arguments are complete, which nothing need follow.
func (m *messages) endCall() {
	m.call.End(m.Out)
	m.place = behind
}

// endCode ends a call that is code, which the end of the message makes complete.
func (m *messages) endCode() {
	if m.place == inCode {
		m.Out.Args([]byte(`"}`))
		m.Out.CallEnd()
		m.place = behind
	}
}
