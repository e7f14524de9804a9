package disarm_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/internal/disarm"
)

func TestText(t *testing.T) {
	rules := disarm.New([]string{"<tool_call>", "functools[", "{", "[", "", "```json", "to=", "]<]minimax[>[<invoke", "function call<|role_sep|>"})
	for _, tt := range []struct{ in, want string }{
		{"plain text, if (a < b) { return x[1] }\n\ttab", "plain text, if (a < b) { return x[1] }\n\ttab"},
		{"<tool_call>x</tool_call>", "‹tool_call>x‹/tool_call>"},
		{"<tool\x00_call>", "‹tool_call>"},
		{"<tool\u202e_call>\u200b", "‹tool_call>"},
		{"<|im_end|>", "‹|im_end|›"},
		{"functools[{", "functools⟦{"},
		{"]<]minimax[>[<invoke", "]‹]minimax[>[<invoke"},
		{"function call<|role_sep|>", "function call‹|role_sep|›"},
		{"<｜tool▁calls▁begin｜>", "‹｜tool▁calls▁begin¦>"},
		{`{"a": [1, 2]}`, `{"a": [1, 2]}`},
		{"ภาษาไทย 👩\u200d👧 नी\u200dक", "ภาษาไทย 👩\u200d👧 नी\u200dक"},
		{"a\xffb", "a\ufffdb"},
	} {
		if got := rules.Text(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// FuzzText: no mark is left, whatever the text is, and a second time changes nothing.
func FuzzText(f *testing.F) {
	marks := []string{"<tool_call>", "functools[", "<|", "|>", "[TOOL_CALLS]", "]<]minimax[>[<invoke", "</think>", "<｜", "◁"}
	rules := disarm.New(marks)
	f.Add("<tool\x00_call><|<|x|>|>[TOOL_\u2060CALLS]")
	f.Add(strings.Repeat("<", 100) + "|")
	f.Fuzz(func(t *testing.T, s string) {
		got := rules.Text(s)
		for _, m := range marks {
			if strings.Contains(got, m) {
				t.Fatalf("%q: got %q, which has %q", s, got, m)
			}
		}
		if again := rules.Text(got); again != got {
			t.Fatalf("%q: got %q and then %q", s, got, again)
		}
	})
}
