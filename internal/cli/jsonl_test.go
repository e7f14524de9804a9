package cli

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestParseCheck reads some of the texts of the chain's own tests through the
// program: with their own parsers and with auto, in all ways to cut them. The chain's
// tests read all of them.
func TestParseCheck(t *testing.T) {
	t.Parallel()
	const data = "../../gateway/chain/testdata/"
	texts, err := os.ReadFile(data + "texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var some []string
	for line := range strings.Lines(string(texts)) {
		if some = append(some, line); len(some)%12 != 0 {
			some[len(some)-1] = "\n"
		}
	}
	status, stdout, stderr := command(t, strings.Join(some, ""), "parse", "--check", "--tools", data+"tools.json")
	if status != 0 || !regexp.MustCompile(`^\d{2} texts mean what they should, in all of \d{4,} ways`).MatchString(stdout) {
		t.Errorf("got exit status %d\n%s%s", status, stdout, stderr)
	}
}

// TestManyShortCalls checks that a text of many calls is read to its end: what a
// parser is fed and gives back does not count against the limit of input.
func TestManyShortCalls(t *testing.T) {
	t.Parallel()
	const n = 3000
	text := strings.Repeat(`<tool_call>{"name": "f", "arguments": {}}</tool_call>`+"\n", n)
	status, stdout, stderr := command(t, text, "parse", "--parser", "hermes")
	var got struct {
		Content  string
		Calls    []any `json:"tool_calls"`
		Warnings []string
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 0 {
		t.Fatalf("got exit status %d, %v: %s", status, err, stderr)
	}
	if len(got.Calls) != n || got.Content != "" || got.Warnings != nil {
		t.Errorf("got %d calls, content %.100q, warnings %q, want %d calls alone", len(got.Calls), got.Content, got.Warnings, n)
	}
}
