package anthropic_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn is one answer, as a whole and as a stream.
type drawn struct {
	blocks []map[string]any
	events []string
}

var (
	words  = rapid.StringMatching(`[a-z "\\\n/<é😀]{1,12}`)
	inputs = rapid.SampledFrom([]string{`{}`, `{"a":1}`, `{"b":[1.50,"x\"y"],"c":{"d":null}}`, `{"é":"😀 \u00e9"}`})
)

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(b.String())
}

func event(fields ...any) string {
	m := map[string]any{}
	for i := 0; i < len(fields); i += 2 {
		m[fields[i].(string)] = fields[i+1]
	}
	return "data: " + encode(m) + "\n\n"
}

// pieces cuts a text at random places between characters.
func pieces(t *rapid.T, s string) []string {
	var all []string
	rest := []rune(s)
	for len(rest) > 0 {
		n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
		all, rest = append(all, string(rest[:n])), rest[n:]
	}
	return all
}

// block draws a block of a kind and adds it in both forms. An empty input may have a
// delta of its own, except where the answer was cut: a whole one does not tell then
// whether the input was complete.
func (d *drawn) block(t *rapid.T, kind string, cut bool) {
	i := len(d.blocks)
	start, whole := map[string]any{"type": kind}, map[string]any{"type": kind}
	var deltas []map[string]any
	stream := func(delta, field, text string) {
		for _, p := range pieces(t, text) {
			deltas = append(deltas, map[string]any{"type": delta, field: p})
		}
	}
	switch kind {
	case "text":
		text := words.Draw(t, "text")
		start["text"], whole["text"] = "", text
		stream("text_delta", "text", text)
	case "thinking":
		text := words.Draw(t, "thinking")
		start["thinking"], whole["thinking"] = "", text
		start["signature"], whole["signature"] = "", "SIG+/="
		stream("thinking_delta", "thinking", text)
		stream("signature_delta", "signature", "SIG+/=")
	case "redacted_thinking":
		start["data"], whole["data"] = "ZZ", "ZZ"
	default: // a call, of a tool here or at the server
		input := inputs.Draw(t, "input")
		id := fmt.Sprint("id_", i)
		start["id"], start["name"], start["input"] = id, "f", map[string]any{}
		whole["id"], whole["name"], whole["input"] = id, "f", json.RawMessage(input)
		if input != `{}` || !cut && rapid.Bool().Draw(t, "empty delta") {
			stream("input_json_delta", "partial_json", input)
		}
	}
	d.blocks = append(d.blocks, whole)
	d.events = append(d.events, event("type", "content_block_start", "index", i, "content_block", start))
	for _, delta := range deltas {
		if rapid.IntRange(0, 9).Draw(t, "ping") == 0 {
			d.events = append(d.events, event("type", "ping"))
		}
		d.events = append(d.events, event("type", "content_block_delta", "index", i, "delta", delta))
	}
	d.events = append(d.events, event("type", "content_block_stop", "index", i))
}

// TestWholeAndStream checks that a whole answer and its stream say the same.
func TestWholeAndStream(t *testing.T) {
	t.Parallel()
	kinds := rapid.SampledFrom([]string{"text", "thinking", "redacted_thinking", "tool_use", "tool_use", "server_tool_use"})
	reasons := rapid.SampledFrom([]string{"end_turn", "tool_use", "max_tokens", "stop_sequence", "refusal", "pause_turn", "what_is_this"})
	rapid.Check(t, func(rt *rapid.T) {
		reason := reasons.Draw(rt, "reason")
		d := drawn{events: []string{event("type", "message_start", "message", map[string]any{"id": "m", "model": "c", "usage": map[string]any{"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 1}})}}
		for range rapid.IntRange(0, 6).Draw(rt, "blocks") {
			d.block(rt, kinds.Draw(rt, "kind"), reason == "max_tokens")
		}
		d.events = append(d.events, event("type", "message_delta", "delta", map[string]any{"stop_reason": reason}, "usage", map[string]any{"output_tokens": 9}), event("type", "message_stop"))
		if d.blocks == nil {
			d.blocks = []map[string]any{}
		}
		answer := encode(map[string]any{"id": "m", "model": "c", "content": d.blocks, "stop_reason": reason, "usage": map[string]any{"input_tokens": 7, "cache_read_input_tokens": 5, "output_tokens": 9}})

		whole, err := ask(t, open(t, answering("application/json", strings.NewReader(answer))), plainBody)
		if err != nil {
			rt.Fatal(err)
		}
		stream, err := ask(t, open(t, answering("text/event-stream", strings.NewReader(strings.Join(d.events, "")))), streamBody)
		if err != nil || !stream.done {
			rt.Fatalf("got %v, end marker %v, want a whole stream", err, stream.done)
		}
		got, want := comparable(rt, assemble(t, stream)), comparable(rt, assemble(t, whole))
		if !reflect.DeepEqual(got, want) {
			rt.Errorf("of the answer %s\nthe stream says %s\n  the whole says %s", answer, encode(got), encode(want))
		}
		if ordered(stream.warnings) != ordered(whole.warnings) {
			rt.Errorf("warnings: the stream has %q, the whole %q", stream.warnings, whole.warnings)
		}
	})
}

// comparable is a message whose JSON is compared by its values, except for the
// arguments of calls, which are compared by their bytes.
func comparable(t *rapid.T, m message) any {
	values := func(raw []json.RawMessage) (all []any) {
		for _, r := range raw {
			var v any
			if err := json.Unmarshal(r, &v); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
		return all
	}
	return map[string]any{
		"content": m.Content, "reasoning": m.Reasoning, "thoughts": values(m.Thoughts), "blocks": values(m.Own.Blocks),
		"calls": m.Calls, "finish": m.finish, "usage": m.usage,
	}
}

func ordered(lines string) string {
	counts := map[string]bool{}
	for line := range strings.Lines(lines) {
		counts[strings.TrimSpace(line)] = true
	}
	return encode(counts)
}
