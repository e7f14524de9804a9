package sdktest

import (
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/contract"
)

// Call is a complete call.
type Call = contract.Call

// Calls gives the calls among events that were ended.
func Calls(events []sdk.Event) []Call { return contract.Calls(events) }

// Begins reports whether got are the first calls of whole.
func Begins(whole, got []Call) bool { return contract.Begins(whole, got) }

// BeginsCut is Begins, but the last of got may lack the last arguments that whole has.
func BeginsCut(whole, got []Call) bool { return contract.BeginsCut(whole, got) }

// maxString is how long a gateway lets a format or an example be.
const maxString = 256

// Example checks what a manifest shows to people. Formats and the example fit on a
// line of at most 256 bytes. The example begins with a trigger or a start of the
// parser, CanParse takes it, and it is read as the call want and nothing else,
// however it is cut. Example gives the events, which Format writes.
func Example(tb testing.TB, spec sdk.Spec, opts sdk.Options, want Call) []sdk.Event {
	tb.Helper()
	for _, s := range append(slices.Clone(spec.Formats), spec.Example) {
		if s == "" || len(s) > maxString || strings.Contains(s, "\n") {
			tb.Errorf("%s: %q is not a line of 1 to %d bytes", spec.Name, s, maxString)
		}
	}
	begins := func(s string) bool { return strings.HasPrefix(spec.Example, s) }
	if !slices.ContainsFunc(spec.Triggers, begins) && !slices.ContainsFunc(spec.Starts, begins) {
		tb.Errorf("%s: no trigger begins the example %q", spec.Name, spec.Example)
	}
	if spec.CanParse != nil {
		Verdicts(tb, spec, map[string]sdk.Verdict{spec.Example[:min(len(spec.Example), abi.MaxHead)]: sdk.Yes})
	}
	got := Stable(tb, spec, opts, spec.Example, sdk.Stop)
	events := Format([]sdk.Event{
		{Kind: abi.CallStart, Name: want.Name, ID: want.ID}, {Kind: abi.Args, Text: want.Args}, {Kind: abi.CallEnd},
		{Kind: abi.End, To: len(spec.Example)},
	})
	if Format(got) != events {
		tb.Errorf("%s: its example %q gives:\n%s\nwant:\n%s", spec.Name, spec.Example, Format(got), events)
	}
	return got
}
