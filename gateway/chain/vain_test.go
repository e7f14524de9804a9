package chain_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// TestCallBehindDecoys holds that a call is read behind more beginnings of calls than a text has that
// is about them, that it is said where there were so many more that it is not read, and that
// it is read again behind ordinary text.
func TestCallBehindDecoys(t *testing.T) {
	t.Parallel()
	const (
		call   = "\n<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call>"
		budget = "parse_budget"
	)
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 200)
	for _, c := range []struct {
		name, decoy string
		times       int
		gap         string
		called      bool
	}{
		{"blocks of code", "```\nx := f(1)\n```\n\nThen:\n\n", 400, "", true},
		{"blocks of JSON", "```json\n{\"name\": \"x\", \"value\": [1, 2]}\n```\n\nThen:\n\n", 400, "", true},
		{"blocks of JSON in a list", "1. Do this:\n```json\n{\"name\": \"get_time\"}\n```\n", 500, "", true},
		{"openers in prose", "The tag <tool_call> begins a call. ", 500, "", true},
		{"examples", "Write <tool_call>{\"name\": NAME}</tool_call>, as I said. ", 120, "", true},
		{"examples of XML", "Like <function=NAME> and <tools>{ or <xml>{. ", 100, "", true},
		{"quoted calls", "`<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call>` is one. ", 500, "", true},
		{"lines of an agent", "Thought: I look.\nAction: none is needed\nObservation: the value is 12.\n", 300, "", true},
		{"tags in a page", "<response> <answer> <json> text of a page that has tags of its own, and goes on </json>\n", 150, "", true},
		{"spam", "<tool_call>{", 3000, "", false},
		{"spam, and a page of prose", "<tool_call>{", 3000, prose, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			offered := tools(t)
			opts := chain.Options{Tools: func() []abi.Tool { return offered }}
			for _, parsers := range []string{"auto", "hermes"} {
				p, text := plan(parsers), strings.Repeat(c.decoy, c.times)+c.gap+call
				whole := read(p, opts, []string{text}, "stop")
				spam := strings.HasPrefix(c.name, "spam")
				if got := slices.Contains(whole.warnings, budget); got != spam {
					t.Errorf("%s: got warnings %q, want %s: %v", parsers, whole.warnings, budget, spam)
				}
				if got := len(whole.calls) > 0 && whole.calls[len(whole.calls)-1].Name == "get_time"; got != c.called {
					t.Errorf("%s: got calls %v, want one: %v", parsers, whole.calls, c.called)
				}
				if !c.called && whole.content != text {
					t.Errorf("%s: got %d bytes of content, want the text as it is", parsers, len(whole.content))
				}
				for _, size := range []int{11, 4000} {
					if got := read(p, opts, pieces(text, size), "stop"); !reflect.DeepEqual(got, whole) {
						t.Errorf("%s, in pieces of %d: got calls %v, warnings %q, want those of the whole: %v, %q", parsers, size, got.calls, got.warnings, whole.calls, whole.warnings)
					}
					if got := readPlain(p, opts, pieces(text, size), "stop"); !reflect.DeepEqual(got, whole) {
						t.Errorf("%s, in pieces of %d, the short way: got calls %v, warnings %q, want those of the whole: %v, %q", parsers, size, got.calls, got.warnings, whole.calls, whole.warnings)
					}
				}
			}
		})
	}
}
