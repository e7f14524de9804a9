package main

import (
	"os"
	"regexp"
	"testing"
)

// TestParseCheck reads the texts of the chain's own tests through the program: with
// their own parsers and with auto, in all ways to cut them.
func TestParseCheck(t *testing.T) {
	t.Parallel()
	const data = "../../gateway/chain/testdata/"
	texts, err := os.ReadFile(data + "texts.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := command(t, string(texts), "parse", "--check", "--tools", data+"tools.json")
	if status != 0 || !regexp.MustCompile(`^\d{3} texts mean what they should, in all of \d{5,} ways`).MatchString(stdout) {
		t.Errorf("got exit status %d\n%s%s", status, stdout, stderr)
	}
}
