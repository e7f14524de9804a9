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

// TestDemoAlone names the demo where a model is meant: the error tells how its models are named, the plainest first.
func TestDemoAlone(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ config, model, says string }{
		"listed":        {"providers: {demo: {type: demo}}", "demo", `The model \"demo\" does not exist. Models of the provider \"demo\" are named demo/MODEL: demo/hermes, demo/longcat, demo/ernie45. GET /v1/models lists all names.`},
		"other case":    {"providers: {demo: {type: demo}}", "Demo", `are named demo/MODEL: demo/hermes`},
		"not listed":    {"providers: {up: {type: openai, base_url: \"http://127.0.0.1:1\"}}\nmodels: {mine: {targets: [{provider: up}]}}\n", "demo", `are named demo/MODEL."`},
		"an upstream's": {"providers: {up: {type: openai, base_url: \"http://127.0.0.1:1\"}}\nmodels: {mine: {targets: [{provider: up}]}}\n", "up", `Models of the provider \"up\" are named up/MODEL."`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := serve(t, row.config).chat(`{"model":"` + row.model + `","messages":[{"role":"user","content":"x"}]}`)
			if out.status != http.StatusNotFound || !strings.Contains(out.body, row.says) || !strings.Contains(out.body, "model_not_found") {
				t.Errorf("got status %d and %s, want it to say %s", out.status, out.body, row.says)
			}
		})
	}
}
