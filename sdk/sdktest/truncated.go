package sdktest

import (
	"iter"
	"testing"

	"github.com/callgate/callgate/sdk"
)

// Cut is the beginning of an input, and what a parser makes of it if the output ends
// there.
type Cut struct {
	Text   string
	Reason sdk.Reason
	Events []sdk.Event
	Calls  []Call
}

// Truncated gives what Run gives for every beginning of input, from the empty one to
// input itself, first as an output that the model ended and then as one that a token
// limit cut off. Begins and BeginsCut compare the calls with those of all of it:
//
//	whole := sdktest.Calls(sdktest.Run(t, spec, opts, input, sdk.Stop))
//	for cut := range sdktest.Truncated(t, spec, opts, input) {
//		if !sdktest.BeginsCut(whole, cut.Calls) {
//			t.Errorf("%q (%d) gives the calls %q, the whole %q", cut.Text, cut.Reason, cut.Calls, whole)
//		}
//	}
func Truncated(tb testing.TB, spec sdk.Spec, opts sdk.Options, input string) iter.Seq[Cut] {
	tb.Helper()
	return func(yield func(Cut) bool) {
		tb.Helper()
		for n := range len(input) + 1 {
			for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
				events := Run(tb, spec, opts, input[:n], reason)
				if !yield(Cut{Text: input[:n], Reason: reason, Events: events, Calls: Calls(events)}) {
					return
				}
			}
		}
	}
}
