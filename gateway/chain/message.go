package chain

import (
	"strings"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Call is a complete tool call.
type Call struct {
	ID        string // what the model wrote, or ""
	Name      string
	Arguments string // JSON
}

// Message joins the events of one choice to a whole answer.
type Message struct {
	Content   strings.Builder
	Reasoning strings.Builder
	Cut       bool // the output ended inside a call, which is lost

	calls []*partial
}

type partial struct {
	Call
	args strings.Builder
	done bool
}

// Add joins the next events.
func (m *Message) Add(events []abi.Event) {
	for _, e := range events {
		switch e.Kind {
		case abi.Content:
			m.Content.WriteString(e.Text)
		case abi.Reasoning:
			m.Reasoning.WriteString(e.Text)
		case abi.CallStart:
			m.calls = append(m.calls, &partial{Call: Call{ID: e.ID, Name: e.Name}})
		case abi.Args:
			m.last().args.WriteString(e.Text)
		case abi.CallEnd:
			m.last().done = true
		case abi.Cut:
			m.Cut = true
		case wire.WasReasoning:
			m.Reasoning.WriteString(m.Content.String())
			m.Content.Reset()
		}
	}
}

// last is the call that events belong to: a chain has one open at a time.
func (m *Message) last() *partial { return m.calls[len(m.calls)-1] }

// Calls returns the complete calls in the order of the text. Calls that were cut
// or taken back are not among them.
func (m *Message) Calls() []Call {
	var calls []Call
	for i := range m.calls {
		if p := m.calls[i]; p.done {
			p.Arguments = p.args.String()
			calls = append(calls, p.Call)
		}
	}
	return calls
}
