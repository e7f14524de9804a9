package keyvalue_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/keyvalue"
)

// TestTruncated cuts every golden input at every byte: calls that were complete
// before the cut stay, and the last is what was written of it up to the end of a
// value, or nothing. Values that hold the ends of others as text are left out.
func TestTruncated(t *testing.T) {
	t.Parallel()
	for _, spec := range keyvalue.Specs() {
		for file, input := range inputs(t, "testdata/"+spec.Name) {
			whole := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input, sdk.Stop))
			text := strings.Contains(file, "in_value") || strings.Contains(file, "ending_value") || strings.Contains(file, "much_space")
			for n := range input {
				for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
					got := calls(sdktest.Run(t, spec, sdk.Options{Tools: tools}, input[:n], reason))
					if !begins(whole, got) && !text && len(whole) > 0 {
						t.Errorf("%s: %q (%d) gives %q, the whole %q", file, input[:n], reason, got, whole)
					}
				}
			}
		}
	}
}

// begins reports whether the calls in got are the first of whole, the last of them
// maybe without its last arguments.
func begins(whole, got []string) bool {
	last := len(got) - 1
	if last < 0 {
		return true
	}
	return len(got) <= len(whole) && slices.Equal(got[:last], whole[:last]) &&
		strings.HasPrefix(whole[last], strings.TrimSuffix(got[last], "}"))
}

// calls are the names and arguments of the complete calls.
func calls(events []sdk.Event) []string {
	var done []string
	var call string
	for _, e := range events {
		switch e.Kind {
		case abi.CallStart:
			call = e.Name
		case abi.Args:
			call += e.Text
		case abi.CallEnd:
			done = append(done, call)
		}
	}
	return done
}

// inputs are the inputs of the golden cases of dir.
func inputs(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.case"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in %s (%v)", dir, err)
	}
	all := map[string]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "-- input --\n")
		text, _, _ = strings.Cut(text, "-- events --\n")
		input := ""
		for line := range strings.Lines(text) {
			var piece string
			if err := json.Unmarshal([]byte(line), &piece); err != nil {
				t.Fatal(err)
			}
			input += piece
		}
		if len(input) < 1000 {
			all[file] = input
		}
	}
	return all
}
