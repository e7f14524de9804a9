// Package conformancetest runs the suite of package conformance in a Go test, each case
// as a subtest. It is apart so that programs with the suite in them have no package
// testing.
package conformancetest

import (
	"testing"

	"github.com/callgate/callgate/conformance"
)

// Run runs the suite on a target whose upstream is up. It ends with how many cases
// passed and how many were skipped, by reason.
func Run(t *testing.T, target conformance.Target, up *conformance.Upstream, o conformance.Options) {
	t.Helper()
	progress := o.Progress
	o.Progress = func(out *conformance.Outcome) {
		if progress != nil {
			progress(out)
		}
		t.Run(out.Case.Name, func(t *testing.T) { tell(t, out) })
	}
	report, err := conformance.Run(t.Context(), target, up, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range report.Areas() {
		t.Logf("%s: %d passed, %d failed, %d known to fail, in %d exchanges", a.Area, a.Passed, a.Failed+a.KnownPassed, a.KnownFailed, a.Exchanges)
	}
	for _, s := range report.Skipped() {
		t.Logf("%d skipped: %s", s.Cases, s.Reason)
	}
	for _, n := range report.Notes {
		t.Log(n)
	}
}

// tell makes an outcome that of a test.
func tell(t *testing.T, o *conformance.Outcome) {
	t.Helper()
	switch o.Verdict {
	case conformance.Skipped:
		t.Skip(o.Skipped)
	case conformance.KnownFailed:
		t.Logf("fails, as is known: %s: %s", o.Failures[0].Exchange, o.Failures[0].Faults[0])
	case conformance.Failed, conformance.KnownPassed:
		if o.Beyond {
			t.Skipf("beyond the run's level: %s", o.Details())
		}
		t.Errorf("%s\nrule: %s\n%s", o.Case.About, o.BrokenRule(), o.Details())
	}
}
