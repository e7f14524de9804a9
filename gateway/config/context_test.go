package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestContextTokens holds that the smallest context counts of all targets that a model's requests may go to, and that
// asking costs the same however many models there are: it is done with each request.
func TestContextTokens(t *testing.T) { //nolint:paralleltest // allocations of others would be counted
	var b strings.Builder
	b.WriteString(`
providers: {p: {type: demo}, q: {type: demo}}
models:
  both: {targets: [{provider: p, context_tokens: 4000}, {provider: q, context_tokens: 1000}]}
  some: {targets: [{provider: p}, {provider: q, context_tokens: 3000}]}
  none: {targets: [{provider: p}]}
  meant: {alias: both}
  "own*": {targets: [{provider: p, context_tokens: 500}]}
  ruled: {targets: [{provider: p, context_tokens: 4000}], rules: [{when: {tools: true}, targets: [{provider: q, context_tokens: 200}]}]}
  trial: {targets: [{provider: p, context_tokens: 4000}]}
rollouts:
  - {name: r, match: {models: [trial]}, arms: [{name: control, weight: 50}, {name: new, weight: 50, override: {targets: [{provider: q, context_tokens: 300}]}}]}
`)
	c := parsed(t, b.String())
	known := c.ContextTokens()
	for model, want := range map[string]int{"both": 1000, "some": 3000, "none": 0, "meant": 1000, "own-x": 500, "ruled": 200, "trial": 300, "p/both": 0, "nobody": 0} {
		if got := known(model); got != want {
			t.Errorf("%s: got %d, want %d", model, got, want)
		}
	}
	if parsed(t, "providers: {p: {type: demo}}\nmodels: {m: {targets: [{provider: p}]}}").ContextTokens() != nil {
		t.Error("got a function where no context is known")
	}

	b.Reset()
	b.WriteString("providers: {p: {type: demo}}\nmodels:\n")
	for n := range 500 {
		fmt.Fprintf(&b, "  m%d: {targets: [{provider: p, context_tokens: %d}]}\n", n, n+1)
	}
	known = parsed(t, b.String()).ContextTokens()
	if n := testing.AllocsPerRun(100, func() { known("m42") }); n > 2 || known("m42") != 43 {
		t.Errorf("got %v allocations for one of 500 models, and %d tokens", n, known("m42"))
	}
}
