package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// gotten collects what files of want should be for an answer to pass. The first
// answer that a file is about decides.
type gotten map[string]string

func (g gotten) set(name, text string) {
	if _, ok := g[name]; !ok {
		g[name] = strings.TrimRight(text, "\n") + "\n"
	}
}

// wants reports whether the case has the file, or asks for it.
func (c *Case) wants(name string, has bool) bool { return has || slices.Contains(c.Asked, name) }

// collect takes what an answer would have the files of want be.
func (c *Case) collect(g gotten, a *answered, r *reply, e *exchange) {
	w := &c.Want
	if c.wants("want/status", w.Status != nil) {
		g.set("want/status", strconv.Itoa(a.status))
	}
	if c.wants("want/error.json", w.Error != nil) {
		g.set("want/error.json", encode(part(w.Error, a.body), "  "))
	}
	switch {
	case r == nil:
	case r.failure == nil && c.wants("want/response.json", w.Answers != nil):
		g.set("want/response.json", formatAnswers(w.Answers, r.answers))
	case r.failure != nil && c.wants("want/stream_error.json", w.StreamError != nil):
		g.set("want/stream_error.json", encode(part(w.StreamError, r.failure), "  "))
	}
	if r != nil {
		c.collectWire(g, a, r, e)
	}
}

// collectWire is collect for the files that have the answer as it is on the wire.
func (c *Case) collectWire(g gotten, a *answered, r *reply, e *exchange) {
	w := &c.Want
	if !e.stream && c.wants("want/body.json", w.Body != nil) {
		g.set("want/body.json", encode(json.RawMessage(a.body), "  "))
	}
	if e.stream && c.wants("want/frames.jsonl", w.Frames != nil) {
		g.set("want/frames.jsonl", strings.Join(r.data, "\n"))
	}
	if e.asFile && c.wants("want/stream.jsonl", w.Stream != nil) {
		g.set("want/stream.jsonl", strings.Join(r.deltas, "\n"))
	}
}

// formatAnswers writes answers as want/response.json has them. A call has an id if
// the case wanted one before.
func formatAnswers(want, got []Answer) string {
	var list []string
	for i := range got {
		var ids []Call
		if i < len(want) {
			ids = want[i].ToolCalls
		}
		list = append(list, got[i].format(ids))
	}
	if len(list) == 1 {
		return list[0]
	}
	return "[" + strings.Join(list, ",\n") + "]"
}

func (a *Answer) format(ids []Call) string {
	var members []string
	add := func(name, value string) { members = append(members, fmt.Sprintf("  %s: %s", quote(name), value)) }
	if a.Content != "" {
		add("content", quote(a.Content))
	}
	if a.Reasoning != "" {
		add("reasoning", quote(a.Reasoning))
	}
	var calls []string
	for i, c := range a.ToolCalls {
		id, args := "", c.Arguments
		if i < len(ids) && ids[i].ID != "" {
			id = `"id": ` + quote(c.ID) + ", "
		}
		if !json.Valid(args) {
			args = json.RawMessage(quote(string(args)))
		}
		calls = append(calls, fmt.Sprintf("    {%s\"name\": %s, \"arguments\": %s}", id, quote(c.Name), args))
	}
	if calls != nil {
		add("tool_calls", "[\n"+strings.Join(calls, ",\n")+"\n  ]")
	}
	add("finish_reason", quote(a.FinishReason))
	return "{\n" + strings.Join(members, ",\n") + "\n}"
}

// part is got with the members only that want has, or all of it where want is empty.
func part(want json.RawMessage, got []byte) any {
	g, err := decode(got)
	if err != nil {
		return string(got)
	}
	if want == nil {
		return g
	}
	w, _ := decode(want) // it was read when the case was
	return common(w, g)
}

func common(want, got any) any {
	w, isObject := want.(map[string]any)
	g, ok := got.(map[string]any)
	if !isObject || !ok {
		return got
	}
	out := map[string]any{}
	for k, v := range g {
		if sub, wanted := w[k]; wanted {
			out[k] = common(sub, v)
		}
	}
	return out
}
