package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestModelByName holds that GET /v1/models/{id} finds what chat accepts, listed or not: the demo's
// names without a slash, its names beside a file, and those that a pattern leads to a target which has
// them. It finds nothing that no target has, and nothing that the key may not ask for.
func TestModelByName(t *testing.T) {
	t.Parallel()
	url := static(t, http.StatusOK, "application/json", `{"object":"list","data":[{"id":"mine-1"}]}`)
	up := "providers: {up: {type: openai, base_url: \"" + url + "\"}}\n"
	for name, row := range map[string]struct {
		config string
		args   []string
		ids    map[string]int // status by id
	}{
		"the demo":    {ids: map[string]int{"demo/hermes": 200, "demo-hermes": 200, "demo-none": 404, "demo/none": 404, "demo-*": 404, "hermes": 404}},
		"an upstream": {args: []string{"--upstream", url}, ids: map[string]int{"mine-1": 200, "mine-2": 404, "demo-hermes": 200, "demo/hermes": 200}},
		"a file":      {config: up + "models: {\"mine-*\": {targets: [{provider: up}]}}\n", ids: map[string]int{"mine-1": 200, "mine-2": 404, "up/mine-1": 200, "up/none": 404, "demo/hermes": 200, "none": 404}},
		"a name that the target has": {config: up + "models: {\"fast-*\": {targets: [{provider: up, model: mine-1}]}, plain: {targets: [{provider: up}]}}\n",
			ids: map[string]int{"fast-1": 200, "plain": 200, "fast": 404}},
		"an upstream that lists nothing": {config: "providers: {up: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}}\nmodels: {\"mine-*\": {targets: [{provider: up}]}}\n",
			ids: map[string]int{"mine-2": 200, "up/mine-2": 404}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, row.config, row.args...)
			for id, status := range row.ids {
				for _, headers := range [][]string{nil, {"anthropic-version", "2023-06-01"}} {
					got := g.get("/v1/models/"+id, headers...)
					if got.status != status || status == http.StatusOK && !strings.Contains(got.body, fmt.Sprintf(`"id":%q`, id)) {
						t.Errorf("%s with headers %q: got status %d and %s, want %d", id, headers, got.status, got.body, status)
					}
				}
			}
		})
	}
}

// TestModelByNameOfKey holds that a key finds the models that it may ask for, and no others.
func TestModelByNameOfKey(t *testing.T) {
	t.Parallel()
	g := serve(t, "providers: {demo: {type: demo}}\nmodels: {\"demo-*\": {targets: [{provider: demo}]}}\nkeys: [{name: a, hash: \""+hashOf("cg-a")+"\", models: [demo-h*]}]\n")
	for id, status := range map[string]int{"demo-hermes": 200, "demo-mistral": 404, "demo/hermes": 404} {
		if got := g.get("/v1/models/"+id, bearer("cg-a")...); got.status != status {
			t.Errorf("%s: got status %d and %s, want %d", id, got.status, got.body, status)
		}
	}
}

// TestModelsLoop holds that a list of models ends where a base_url leads back to the gateway: it passes
// five gateways, as any request does, and no more.
func TestModelsLoop(t *testing.T) {
	t.Parallel()
	for kind, path := range map[string]string{"openai": "/v1", "anthropic": ""} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var addr atomic.Pointer[string]
			var asked atomic.Int64
			back := upstream(t, func(w http.ResponseWriter, r received) {
				if asked.Add(1) > 20 { // the circle has shown itself
					w.WriteHeader(http.StatusLoopDetected)
					return
				}
				passOn(w, r, http.MethodGet, "http://"+*addr.Load()+r.URL.Path)
			})
			g := serve(t, fmt.Sprintf("providers: {up: {type: %s, base_url: %q, api_key: k}}\nmodels: {mine: {targets: [{provider: up}]}}\n",
				kind, strings.TrimSuffix(back, "/v1")+path))
			addr.Store(&g.addr)
			for path, status := range map[string]int{"/v1/models": http.StatusOK, "/v1/models/none": http.StatusNotFound} {
				asked.Store(0)
				if got := g.get(path); got.status != status {
					t.Errorf("%s: got status %d, %s, want %d", path, got.status, got.body, status)
				}
				if n := asked.Load(); n != 5 {
					t.Errorf("%s went round %d times, want 5", path, n)
				}
			}
			if log := g.stderr.String(); !strings.Contains(log, "leads back to one of them") {
				t.Errorf("the log does not say that a base_url leads back:\n%s", log)
			}
		})
	}
}
