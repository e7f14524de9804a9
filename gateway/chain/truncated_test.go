package chain_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// TestTruncated cuts every text off at every byte, as a token limit does and as a
// model that stops does. What comes out as a call is one that the whole text has,
// with arguments that it has. At a token limit a call that was complete is not lost by
// what follows it either; a model that stops behind an argument has ended its call.
func TestTruncated(t *testing.T) {
	t.Parallel()
	offered := tools(t)
	for _, c := range texts(t) {
		if c.Parser == "auto" || c.InReasoning != "" || len(c.Want.Calls) == 0 {
			continue
		}
		if strings.HasPrefix(c.ID, "qwen3_coder/x2_") {
			continue // its value ends with what ends a value, and is whole without it
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			p := plan(c.Parser)
			opts := chain.Options{Tools: func() []abi.Tool { return offered }, Reasoning: map[string]chain.Reasoning{"": chain.Auto, "open": chain.Open}[c.Start]}
			for _, reason := range []string{"stop", "length"} {
				before := 0
				for n := range len(c.Input) {
					got := read(p, opts, []string{c.Input[:n]}, reason)
					if len(got.calls) < before && reason == "length" || len(got.calls) > len(c.Want.Calls) {
						t.Fatalf("%s after %q: %d calls, %d before", reason, c.Input[:n], len(got.calls), before)
					}
					before = len(got.calls)
					for i, call := range got.calls {
						if want := c.Want.Calls[i]; call.Name != want.Name || !within(call.Arguments, want.Arguments) {
							t.Fatalf("%s after %q: %s %s, want what is in %s %s", reason, c.Input[:n], call.Name, call.Arguments, want.Name, want.Arguments)
						}
					}
				}
			}
		})
	}
}

// within reports whether all arguments are among those that are wanted, with the same
// values.
func within(got string, want json.RawMessage) bool {
	var g, w map[string]any
	if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal(want, &w) != nil {
		return false
	}
	for key, value := range g {
		if !reflect.DeepEqual(w[key], value) {
			return false
		}
	}
	return true
}
