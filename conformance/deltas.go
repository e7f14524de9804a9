package conformance

import (
	"encoding/json"
	"fmt"
)

// delta is a line of want/stream.jsonl: what one chunk says of one choice, without
// what is empty, and without ids, which a gateway may make.
type delta struct {
	Index        int         `json:"index,omitempty"` // of the choice
	Role         string      `json:"role,omitempty"`
	Content      string      `json:"content,omitempty"`
	Reasoning    string      `json:"reasoning_content,omitempty"`
	ToolCalls    []callDelta `json:"tool_calls,omitempty"`
	FinishReason string      `json:"finish_reason,omitempty"`
}

type callDelta struct {
	Index     int    `json:"index"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// reduce is the delta of a choice. A chunk that says nothing has none.
func reduce(choice int, m *message, finish string) (d delta, ok bool) {
	d = delta{Index: choice, Role: m.Role, Content: text(m.Content), Reasoning: m.thoughts(), FinishReason: finish}
	for i := range m.ToolCalls {
		w := &m.ToolCalls[i]
		c := callDelta{Name: text(w.Function.Name), Arguments: text(w.Function.Arguments)}
		if w.Index != nil {
			c.Index = *w.Index
		}
		d.ToolCalls = append(d.ToolCalls, c)
	}
	return d, d.Role != "" || d.Content != "" || d.Reasoning != "" || d.ToolCalls != nil || finish != ""
}

// String is the delta as a line of want/stream.jsonl.
func (d *delta) String() string { return encode(d, "") }

// setStream reads want/stream.jsonl, and writes each line anew so that lines can be
// compared.
func (w *Want) setStream(b []byte) error {
	for line := range lines(b) {
		var d delta
		if err := strict([]byte(line), &d); err != nil {
			return fmt.Errorf("%w in %.80s", err, line)
		}
		w.Stream = append(w.Stream, d.String())
	}
	return nil
}

// joinDeltas takes deltas apart and joins neighbours that say more of the same, so
// that it does not matter how they were cut. The role is left out: it has a rule of
// its own. So is a call that the token limit has cut, of which a stream may have
// shown more or less.
func joinDeltas(lines []string) []string {
	var parts []delta
	for _, line := range lines {
		var d delta
		_ = json.Unmarshal([]byte(line), &d) // String wrote it
		for _, p := range d.parts() {
			if last := len(parts) - 1; last < 0 || !parts[last].extend(&p) {
				parts = append(parts, p)
			}
		}
	}
	var joined []string
	for i, p := range parts {
		cut := i == len(parts)-2 && parts[i+1].FinishReason == "length" && p.ToolCalls != nil
		if cut && !json.Valid([]byte(p.ToolCalls[0].Arguments)) {
			continue
		}
		joined = append(joined, p.String())
	}
	return joined
}

// parts are the things that a delta says, each alone.
func (d *delta) parts() []delta {
	var out []delta
	if d.Reasoning != "" {
		out = append(out, delta{Index: d.Index, Reasoning: d.Reasoning})
	}
	if d.Content != "" {
		out = append(out, delta{Index: d.Index, Content: d.Content})
	}
	for _, c := range d.ToolCalls {
		out = append(out, delta{Index: d.Index, ToolCalls: []callDelta{c}})
	}
	if d.FinishReason != "" {
		out = append(out, delta{Index: d.Index, FinishReason: d.FinishReason})
	}
	return out
}

// extend adds a part that says more of the same. It reports whether p does.
func (d *delta) extend(p *delta) bool {
	switch {
	case d.Index != p.Index:
		return false
	case d.Content != "" && p.Content != "":
		d.Content += p.Content
	case d.Reasoning != "" && p.Reasoning != "":
		d.Reasoning += p.Reasoning
	case d.ToolCalls != nil && p.ToolCalls != nil && d.ToolCalls[0].Index == p.ToolCalls[0].Index && p.ToolCalls[0].Name == "":
		d.ToolCalls[0].Arguments += p.ToolCalls[0].Arguments
	default:
		return false
	}
	return true
}

// pieces counts the deltas that bring arguments.
func pieces(lines []string) int {
	n := 0
	for _, line := range lines {
		var d delta
		_ = json.Unmarshal([]byte(line), &d) // String wrote it
		for _, c := range d.ToolCalls {
			if c.Arguments != "" {
				n++
			}
		}
	}
	return n
}

// checkDeltas compares a stream's deltas with want/stream.jsonl: one by one if they
// were cut as the file shows, else joined.
func (c *Case) checkDeltas(w *Want, r *reply, e *exchange) (faults []string) {
	if n := pieces(r.deltas); e.single && n < w.Deltas {
		faults = append(faults, fmt.Sprintf("the arguments come in %d pieces, want at least %d", n, w.Deltas))
	}
	if w.Stream == nil {
		return faults
	}
	want, got := w.Stream, r.deltas
	if !e.exact {
		want, got = joinDeltas(want), joinDeltas(got)
	}
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return append(faults, fmt.Sprintf("delta %d of the stream: got %s, want %s", i, got[i], want[i]))
		}
	}
	if len(want) != len(got) {
		faults = append(faults, fmt.Sprintf("the stream has %d deltas, want %d", len(got), len(want)))
	}
	return faults
}
