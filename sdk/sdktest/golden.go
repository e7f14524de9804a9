package sdktest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/contract"
)

var update = flag.Bool("update", false, "rewrite the events of golden files")

// GoldenAll is Golden for each parser of a family, in a sub-test with its name; the
// cases are in a folder of dir with its name.
func GoldenAll(t *testing.T, dir string, specs ...sdk.Spec) {
	t.Helper()
	for _, spec := range specs {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			Golden(t, spec, filepath.Join(dir, spec.Name))
		})
	}
}

// Golden runs the cases in the *.case files of dir with Stable; contract.Case shows what
// such a file looks like, and contract.ReadCases where the offered tools stand. A call in a case
// must not be one that CanParse declines. With the flag -update the events are written anew, to be read before they are committed.
func Golden(t *testing.T, spec sdk.Spec, dir string) {
	t.Helper()
	for _, c := range Cases(t, dir) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			events := Stable(t, spec, c.Options, c.Input, c.Reason)
			checkTaken(t, spec, c.Input, events)
			got := Format(events)
			if *update {
				if err := os.WriteFile(filepath.Join(dir, c.Name+contract.Extension), []byte(c.File(got)), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != c.Events {
				t.Errorf("%s\n%q gives:\n%s\nwant:\n%s", c.Why, c.Input, got, c.Events)
			}
		})
	}
}

// Case is one golden file.
type Case = contract.Case

// Cases reads the golden files of dir, for tests that take their inputs and do more
// with them than Golden does. They are sorted by name; a folder without any fails
// the test.
func Cases(tb testing.TB, dir string) []Case {
	tb.Helper()
	cases, err := contract.ReadCases(dir)
	if err != nil || len(cases) == 0 {
		tb.Fatalf("no cases in %s (%v)", dir, err)
	}
	return cases
}

// Format writes events as text, one a line, as golden files hold them.
func Format(events []sdk.Event) string { return contract.Format(events) }
