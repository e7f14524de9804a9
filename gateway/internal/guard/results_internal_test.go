package guard

import (
	"os"
	"strings"
	"testing"
)

func TestHasFailed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		verdict, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if verdict == "#" {
			continue
		}
		if got, want := hasFailed(result), verdict == "failed"; got != want {
			t.Errorf("%s: got failed %v, want %v", result, got, want)
		}
	}
	if hasFailed("") {
		t.Error("got an empty result failed, want it fine")
	}
}

func TestOnlyReads(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		`{"command":"grep -rn timeout ."}`:        true,
		`{"cmd":"git log -3 | head"}`:             true,
		`{"query":"SELECT count(*) FROM orders"}`: true,
		`{"command":"grep 'a|b' x.go"}`:           true,
		`{"command":"cat a > b"}`:                 false,
		`{"command":"ls; rm -rf x"}`:              false,
		`{"command":"ls && make"}`:                false,
		`{"command":"cat $(touch x)"}`:            false,
		`{"command":"find . -delete"}`:            false,
		`{"command":"grep x | xargs rm"}`:         false,
		`{"command":"git push"}`:                  false,
		`{"command":"sed -i s/a/b/ x"}`:           false,
		`{"command":"python x.py"}`:               false,
		`{"command":"grep 'x"}`:                   false,
		`{"command":""}`:                          false,
		`{"path":"x"}`:                            false,
		`{"command":["ls"]}`:                      false,
		`ls`:                                      false,
		`{"command":"ls"`:                         false,
		``:                                        false,
	} {
		if got := onlyReads(args); got != want {
			t.Errorf("%s: got %v, want %v", args, got, want)
		}
	}
}

// FuzzHasFailed reads any result and any arguments without a panic.
func FuzzHasFailed(f *testing.F) {
	text, err := os.ReadFile("testdata/results.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, result, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		f.Add(result)
	}
	f.Add(`{"command":"git log | head"}`)
	f.Add(`{"status":{"status":{"status":{"status":{"status":"error"}}}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		failed := hasFailed(text)
		if failed && strings.TrimSpace(text) == "" {
			t.Error("got an empty result failed, want it fine")
		}
		if onlyReads(text) && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			t.Errorf("%q: got arguments that only read, want no judgement of what is no object", text)
		}
	})
}
