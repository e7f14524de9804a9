package cli

import (
	"net/http"
	"strings"
	"testing"
)

// TestDemoBeside holds that the demo is there beside a file, that its names are listed only where
// nothing else is, and that it has names without a slash.
func TestDemoBeside(t *testing.T) {
	t.Parallel()
	url := static(t, 200, "application/json", `{"object":"list","data":[{"id":"mine"}]}`)
	const ask = `{"model":"NAME","messages":[{"role":"user","content":"What is the weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`
	for name, row := range map[string]struct {
		config string
		args   []string
		listed bool // the demo's models are
		ask    string
	}{
		"nothing else":       {listed: true, ask: "demo-hermes"},
		"an upstream":        {args: []string{"--upstream", url}, ask: "demo-hermes"},
		"a file":             {config: "providers: {up: {type: openai, base_url: \"" + url + "\"}}\nmodels: {mine: {targets: [{provider: up}]}}\n", ask: "demo/hermes"},
		"a file that has it": {config: "providers: {up: {type: openai, base_url: \"" + url + "\"}, demo: {type: demo}}\nmodels: {mine: {targets: [{provider: up}]}}\n", ask: "demo/hermes", listed: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, row.config, row.args...)
			if out := g.get("/v1/models"); strings.Contains(out.body, "demo/hermes") != row.listed || row.config != "" && !strings.Contains(out.body, `"mine"`) {
				t.Errorf("got %s, want the demo's models in it: %t", out.body, row.listed)
			}
			out := g.do(g.request("POST", "/v1/chat/completions", strings.Replace(ask, "NAME", row.ask, 1)))
			if out.status != http.StatusOK || !strings.Contains(out.body, `"get_weather"`) {
				t.Errorf("%s: got status %d and %s, want a call", row.ask, out.status, out.body)
			}
		})
	}
}
