package sdktest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Verdicts asks CanParse of each head and wants the answer that want has for it.
func Verdicts(tb testing.TB, spec sdk.Spec, want map[string]sdk.Verdict) {
	tb.Helper()
	for head, verdict := range want {
		if got := spec.CanParse([]byte(head)); got != verdict {
			tb.Errorf("%s: CanParse(%q) = %d, want %d", spec.Name, head, got, verdict)
		}
	}
}

// Heads is Verdicts with heads from a file, for every one of specs that has a
// CanParse. Besides, each head is an input of Stable, as half an output is. The file
// is JSON: {"my_parser": {"<call>{": "yes", "<call": "maybe", "<call>(": "no"}}.
func Heads(tb testing.TB, file string, specs ...sdk.Spec) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		tb.Fatal(err)
	}
	var heads map[string]map[string]string
	if err := json.Unmarshal(data, &heads); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	words := map[string]sdk.Verdict{"no": sdk.No, "yes": sdk.Yes, "maybe": sdk.Maybe}
	for _, spec := range specs {
		if spec.CanParse == nil {
			continue
		}
		if len(heads[spec.Name]) == 0 {
			tb.Errorf("%s has no heads of %s", file, spec.Name)
		}
		want := map[string]sdk.Verdict{}
		for head, word := range heads[spec.Name] {
			verdict, ok := words[word]
			if !ok {
				tb.Fatalf("%s: %q of %s is %q, want yes, no or maybe", file, head, spec.Name, word)
			}
			want[head] = verdict
			Stable(tb, spec, sdk.Options{}, head, sdk.Stop)
		}
		Verdicts(tb, spec, want)
	}
}

// checkVerdicts asks CanParse with every head of the input.
func checkVerdicts(tb testing.TB, spec sdk.Spec, input string) {
	tb.Helper()
	if spec.CanParse == nil {
		return
	}
	final := sdk.Maybe
	for n := range min(len(input), abi.MaxHead) + 1 {
		got := spec.CanParse([]byte(input[:n]))
		if final != sdk.Maybe && got != final {
			tb.Fatalf("CanParse of %s said %d and then %d on %q", spec.Name, final, got, input[:n])
		}
		final = got
	}
}

// checkTaken checks that CanParse does not decline what is read as a call: no gateway would give it
// to the parser.
func checkTaken(tb testing.TB, spec sdk.Spec, input string, events []sdk.Event) {
	tb.Helper()
	if spec.CanParse == nil || len(Calls(events)) == 0 {
		return
	}
	if v := spec.CanParse([]byte(input[:min(len(input), abi.MaxHead)])); v == sdk.No || v == sdk.Maybe && len(input) >= abi.MaxHead {
		tb.Errorf("%s: CanParse(%.300q) = %d, but it is read as a call", spec.Name, input, v)
	}
}
