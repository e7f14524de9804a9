package ledger

import (
	"strings"
	"testing"
)

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
		if got := onlyReads([]byte(args)); got != want {
			t.Errorf("%s: got %v, want %v", args, got, want)
		}
	}
}

// FuzzOnlyReads reads any arguments without a panic.
func FuzzOnlyReads(f *testing.F) {
	f.Add(`{"command":"git log | head"}`)
	f.Fuzz(func(t *testing.T, text string) {
		if onlyReads([]byte(text)) && !strings.HasPrefix(strings.TrimSpace(text), "{") {
			t.Errorf("%q: got arguments that only read, want no judgement of what is no object", text)
		}
	})
}
