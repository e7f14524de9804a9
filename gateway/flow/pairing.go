package flow

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/wire"
)

// pairing is an answer whose calls are noted while it is read, to be compared with another one. over
// is told when it is closed, unless it broke off.
type pairing struct {
	gateway.Reply
	callCollector
	over func(rollout.Answer)
}

// Next implements gateway.Reply.
func (p *pairing) Next() (*wire.Frame, error) {
	f, err := p.Reply.Next()
	if f != nil {
		p.frame(f)
	}
	if err != nil || f != nil && f.Whole {
		p.ended, p.failed = true, err != nil && err != io.EOF
	}
	return f, err
}

// Close implements gateway.Reply.
func (p *pairing) Close() error {
	over := p.over
	p.over = nil
	if over != nil && p.ended && !p.failed {
		over(p.answer())
	}
	return p.Reply.Close()
}

// drain reads the answer to its end.
func (p *pairing) drain() error {
	for {
		f, err := p.Next()
		switch {
		case err == io.EOF || err == nil && f != nil && f.Whole:
			return nil
		case err != nil:
			return err
		}
	}
}

// callCollector notes the calls of an answer's first choice, as a client sees them.
type callCollector struct {
	summary       *gateway.Summary
	calls         []collectedCall
	bytes         int
	ended, failed bool
}

// collectedCall is a call, by the index of its entries.
type collectedCall struct {
	index           int
	name, arguments []byte
}

// maxNoted is how many bytes of calls are noted, and noted what each takes by itself; answers with more are
// compared by what came first.
const maxNoted, noted = 256 << 10, 64

// frame reads a frame of the answer as the client gets it.
func (t *callCollector) frame(f *wire.Frame) {
	if f.Done {
		return
	}
	if !f.Changed() {
		t.data(f.Data)
		return
	}
	if f.Whole {
		t.data(f.Bytes())
		return
	}
	blocks := wire.NewReader(bytes.NewReader(f.AppendTo(nil)), 0)
	for {
		b, err := blocks.Next()
		if err != nil {
			return
		}
		t.data(b.Data)
	}
}

// data reads a chunk or a completion.
func (t *callCollector) data(data []byte) {
	if len(data) == 0 || data[0] != '{' || !bytes.Contains(data, []byte(`"tool_calls"`)) {
		return
	}
	choices := wire.Find(data, wire.Span{End: len(data)}, "choices")
	if choices.Empty() || data[choices.Start] != '[' {
		return
	}
	wire.Elements(data, choices.Start, func(_ int, choice wire.Span) bool {
		if index := string(wire.Find(data, choice, "index").Of(data)); index != "0" && index != "" {
			return true
		}
		for _, member := range [...]string{"delta", "message"} {
			body := wire.Find(data, choice, member)
			if body.Empty() || data[body.Start] != '{' {
				continue
			}
			if calls := wire.Find(data, body, "tool_calls"); !calls.Empty() && data[calls.Start] == '[' {
				wire.Elements(data, calls.Start, func(n int, entry wire.Span) bool {
					t.entry(data, entry, n)
					return true
				})
			}
		}
		return true
	})
}

// entry reads an entry of tool_calls, the n-th of its list.
func (t *callCollector) entry(data []byte, entry wire.Span, n int) {
	if data[entry.Start] != '{' || t.bytes > maxNoted {
		return
	}
	index, err := strconv.Atoi(string(wire.Find(data, entry, "index").Of(data)))
	if err != nil {
		index = n
	}
	var c *collectedCall
	for i := range t.calls {
		if t.calls[i].index == index {
			c = &t.calls[i]
		}
	}
	if c == nil {
		t.calls = append(t.calls, collectedCall{index: index})
		c = &t.calls[len(t.calls)-1]
		t.bytes += noted
	}
	function := wire.Find(data, entry, "function")
	if function.Empty() || data[function.Start] != '{' {
		return
	}
	before := len(c.name) + len(c.arguments)
	if name := wire.Find(data, function, "name"); !name.IsNull(data) && data[name.Start] == '"' {
		c.name = wire.AppendDecoded(c.name, name.Of(data))
	}
	if arguments := wire.Find(data, function, "arguments"); !arguments.IsNull(data) && data[arguments.Start] == '"' {
		c.arguments = wire.AppendDecoded(c.arguments, arguments.Of(data))
	}
	t.bytes += len(c.name) + len(c.arguments) - before
}

// answer is what there is to compare.
func (t *callCollector) answer() rollout.Answer {
	s := t.summary
	a := rollout.Answer{Broken: s.Broken(), Ghost: s.IsGhost(), Failed: t.failed || s.UpstreamError, FirstToken: s.FirstToken, Took: time.Since(s.Requested)}
	if s.Usage.Reported {
		a.Input, a.Output = s.Usage.Input, s.Usage.Output
	}
	for _, c := range t.calls {
		a.Calls = append(a.Calls, rollout.Call{Name: string(c.name), Arguments: string(c.arguments)})
	}
	return a
}
