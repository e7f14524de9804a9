package all_test

import (
	"testing"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/sdktest"
	"github.com/callgate/callgate/wasm-parsers/all"
)

func TestSpecs(t *testing.T) {
	t.Parallel()
	last := 100
	seen := map[string]bool{}
	for _, s := range all.Specs() {
		if s.Priority > last || s.Priority < 1 {
			t.Errorf("priority of %s = %d, want %d or less", s.Name, s.Priority, last)
		}
		last = s.Priority
		if seen[s.Name] {
			t.Errorf("%s is the name of two parsers", s.Name)
		}
		seen[s.Name] = true
	}
}

// TestNothing feeds every parser things that are nobody's format.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, s := range all.Specs() {
		opts := sdk.Options{}
		if s.Name == "custom" {
			opts.Settings = []abi.Setting{{Key: "start", Value: "<c>"}}
		}
		inputs := append([]string{"", "\x00", "\xff\xfe", "  \n", "text"}, s.Triggers...)
		for _, input := range append(inputs, s.Starts...) {
			for _, reason := range []sdk.Reason{sdk.Stop, sdk.Length} {
				sdktest.Stable(t, s, opts, input, reason)
			}
		}
	}
}
