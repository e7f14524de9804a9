package cli

import (
	"strings"
	"testing"
)

// TestMetricsOfATargetTwice lists a target twice, and a model whose name is that of all others: a scrape
// has each series once.
func TestMetricsOfATargetTwice(t *testing.T) {
	t.Parallel()
	g := serve(t, `
listen: 127.0.0.1:0
admin: {listen: 127.0.0.1:0}
providers:
  a: {type: openai, base_url: "http://127.0.0.1:1/v1"}
models:
  x:
    quality: report
    targets: [{provider: a, model: x, weight: 1}, {provider: a, weight: 2}, {provider: a, model: y, weight: 1}]
  z: {targets: [{provider: a, model: "*"}]}
`)
	r := g.adminDo("GET", "/metrics")
	if text := g.stderr.String(); strings.Contains(text, "error gathering metrics") {
		t.Errorf("the scrape fails: %s", text)
	}
	for _, line := range []string{
		`callgate_quality_share{model="x",parser="native",provider="a",route="x"} 0.75`,
		`callgate_quality_weight_factor{model="x",parser="native",provider="a",route="x"} 1`,
		`callgate_target_running{model="*",provider="a"} 0`,
	} {
		if !strings.Contains(r.body, "\n"+line+"\n") {
			t.Errorf("got no line %s", line)
		}
	}
}
