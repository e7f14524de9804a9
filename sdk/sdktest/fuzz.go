package sdktest

import (
	"testing"

	"github.com/callgate/callgate/sdk"
)

// maxFuzzed is the longest input of Fuzz: every way of cutting a longer one would take
// too long to try many.
const maxFuzzed = 400

// Fuzz runs what the fuzzer makes up through Stable, with one of specs. Seeds are added
// before, as a parser's place in specs, the input and whether a token limit cut it:
//
//	f.Add(uint8(0), spec.Example, false)
//	f.Add(uint8(0), spec.Example[:20], true)
//	sdktest.Fuzz(f, sdk.Options{}, spec)
func Fuzz(f *testing.F, opts sdk.Options, specs ...sdk.Spec) {
	f.Helper()
	f.Fuzz(func(t *testing.T, which uint8, input string, length bool) {
		if len(input) > maxFuzzed {
			return // longer than the cuts are meant for
		}
		reason := sdk.Stop
		if length {
			reason = sdk.Length
		}
		Stable(t, specs[int(which)%len(specs)], opts, input, reason)
	})
}
