package cli

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// TestUsageMirrorRuns holds that what a mirror copies is in the ledger to the nano-dollar, and on nobody's bill, also where a request has several
// answers: runs of tools, calls that are asked for again, a judge.
func TestUsageMirrorRuns(t *testing.T) {
	t.Parallel()
	b := &biller{}
	base := strings.TrimSuffix(b.script(t), "/v1")
	shop := newToolShop(t)
	g := serve(t, fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
prices: %q
usage: {store: sqlite, path: %q}
keys: [{name: app, hash: %q, limits: [{usd: 100, per: total}]}]
providers:
  up: {type: openai, base_url: %[4]q, api_key: k, retry: {max_retries: 0}}
  judge: {type: openai, base_url: "%[5]s/judge/v1", api_key: k}
tool_servers:
  shop:
    type: http
    private_network: true
    requests: [{name: search, description: Searches., parameters: {type: object, properties: {q: {type: string}}, required: [q]}, url: "%[6]s/search?q={q}"}]
    reads: [search]
    untrusted: false
models:
  m: {targets: [{provider: up, model: real}]}
  asks: {targets: [{provider: up, model: real, on_invalid_call: reask}]}
  guarded: {guard: enforce, guard_judge: judge/real, targets: [{provider: up, model: real}]}
  dear: {targets: [{provider: up, model: dear}]}
rollouts:
- {name: try, match: {models: [m, asks, guarded]}, arms: [{name: a, weight: 100}, {name: b, weight: 0, override: {parser: hermes}}], mirror: {percent: 100, arm: b}}
`, writePrices(t, t.TempDir()), filepath.Join(t.TempDir(), "usage.db"), hashOf("k-app"), base+"/v1", base, shop.URL))
	const weather = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	const tasks = `,"tools":[{"type":"function","function":{"name":"delete_task","description":"Deletes a task.","parameters":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}}]`
	bearer := []string{"authorization", "Bearer k-app"}
	for _, stream := range []string{"", `,"stream":true`} {
		for _, body := range []string{
			`{"model":"m","messages":[{"role":"user","content":"order it all"}],"tools":[{"type":"mcp","server_label":"shop"}]`,
			`{"model":"asks","messages":[{"role":"user","content":"weather?"}]` + weather,
			`{"model":"guarded","messages":[{"role":"user","content":"delete the task Rent"}]` + tasks,
			`{"model":"m","messages":[{"role":"user","content":"hi"}]`,
		} {
			if r := g.do(g.request("POST", "/v1/chat/completions", body+stream+"}", bearer...)); r.status != http.StatusOK {
				t.Fatalf("%s: got %d %.500s", body, r.status, r.body)
			}
			await(t, "the copies", func() bool {
				client, mirror := byPurpose(g)
				return client.Answers == mirror.Answers
			})
		}
	}
	client, mirror := byPurpose(g)
	t.Logf("clients: %d answers, %s USD; copies: %d answers, %s USD", client.Answers, billing.USD(client.Nano), mirror.Answers, billing.USD(mirror.Nano))
	if client.Nano+mirror.Nano != b.total() || client.Answers != 20 {
		t.Errorf("got %d answers of clients, want 20, and %s USD in the ledger, want %s", client.Answers, billing.USD(client.Nano+mirror.Nano), billing.USD(b.total()))
	}
	if got, want := g.budget(bearer...), limit.Dollars(client.Nano)+" USD"; got != want {
		t.Errorf("the budget has spent %s, want %s", got, want)
	}
}

// byPurpose is what the ledger has of clients' requests, and of copies, which have no key.
func byPurpose(g *gate) (client, mirror usageSum) {
	for _, s := range g.usage("group=purpose,key") {
		to := &client
		if s.Group["purpose"] == "mirror" && s.Group["key"] == "" {
			to = &mirror
		}
		to.Nano, to.Answers = to.Nano+s.Nano, to.Answers+s.Answers
	}
	return client, mirror
}
