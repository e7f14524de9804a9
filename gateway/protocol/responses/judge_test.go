package responses_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

var sequence = regexp.MustCompile(`"sequence_number":\d+`)

// TestJudge changes a good stream, event by event, and wants each change to be noticed: what
// judges streams in all other tests is not blind.
func TestJudge(t *testing.T) {
	t.Parallel()
	_, out := chunks(t, parse(t, `{"model":"m","input":"x","stream":true`+tools+`}`),
		delta(`{"reasoning_content":"a"}`), delta(`{"reasoning_content":"b"}`), delta(`{"content":"c"}`), delta(`{"content":"d"}`), delta(`{"refusal":"e"}`),
		delta(call(0, "c0", "f", "")), delta(piece(0, "{")), delta(piece(0, "}")), delta(call(1, "c1", "patch", `{\"input\":\"x\"}`)), finish("tool_calls"),
		`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}`, "[DONE]")
	check(t, out)
	var events []string
	for _, block := range strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n") {
		if !strings.HasPrefix(block, ":") {
			events = append(events, block)
		}
	}
	notices := func(what string, events []string) {
		t.Helper()
		n := -1
		text := sequence.ReplaceAllStringFunc(strings.Join(events, "\n\n")+"\n\n", func(string) string {
			n++
			return fmt.Sprintf(`"sequence_number":%d`, n)
		})
		if text == string(out) {
			return
		}
		if _, err := responsestest.CheckStream([]byte(text)); err == nil {
			t.Errorf("nobody notices %s", what)
		}
	}
	for i, e := range events {
		name, _, _ := strings.Cut(e, "\n")
		notices("that there is no "+name, slices.Delete(slices.Clone(events), i, i+1))
		if !strings.Contains(name, "response.created") {
			notices("that it comes twice: "+name, slices.Insert(slices.Clone(events), i, e))
		}
		if i > 0 {
			swapped := slices.Clone(events)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			notices("that it comes too early: "+name, swapped)
		}
		for _, c := range []struct{ old, new string }{
			{`"output_index":`, `"output_index":1`}, {`"content_index":`, `"content_index":1`}, {`"summary_index":`, `"summary_index":1`}, {`"id":"`, `"id":"x`},
			{`"item_id":"`, `"item_id":"x`}, {`"call_id":"`, `"call_id":"x`}, {`"type":"response.`, `"type":"response.x`}, {`"delta":"`, `"delta":"x`}, {`"text":"`, `"text":"x`},
			{`"arguments":"`, `"arguments":"x`}, {`"input":"`, `"input":"x`}, {`"status":"`, `"status":"x`}, {`"total_tokens":`, `"total_tokens":1`}, {`"logprobs":[]`, `"x":[]`},
			{`"service_tier":`, `"x":`}, {`"error":`, `"x":`}, {`"strict":`, `"x":`},
		} {
			changed := slices.Clone(events)
			if changed[i] = strings.Replace(e, c.old, c.new, 1); changed[i] != e {
				notices(fmt.Sprintf("%s in place of %s in %s", c.new, c.old, name), changed)
			}
		}
	}
}
