package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// routed is a request and where it must go, a line of testdata/routing/*.jsonl.
type routed struct {
	Name   string
	Header map[string]string
	Body   map[string]any
	Raw    string // in the place of the body
	Status int
	Route  string // x-callgate-route
	// Provider is not compared if it is empty, and Model is what the upstream is asked for.
	Provider, Model string
}

func routedCases(t *testing.T, file string) (cases []routed) {
	t.Helper()
	data, err := os.ReadFile("testdata/routing/" + file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c routed
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		cases = append(cases, c)
	}
	return cases
}

// ask sends the request of a case, as it is or as a stream.
func (c routed) ask(g *gate, stream bool) result {
	body := c.Raw
	if body == "" {
		if stream {
			c.Body["stream"] = true
		}
		b, _ := json.Marshal(c.Body) // it came from JSON
		body = string(b)
	}
	r := g.request("POST", "/v1/chat/completions", body)
	for name, value := range c.Header {
		r.Header.Set(name, value)
	}
	return g.do(r)
}

// check holds that a case went where it must go.
func (c routed) check(t *testing.T, r result) {
	t.Helper()
	clean(t, r)
	route, model := r.header.Get("x-callgate-route"), r.header.Get("x-callgate-model")
	if r.status != c.Status || route != c.Route || model != c.Model {
		t.Errorf("%s: got status %d, route %q, model %q, want %d, %q, %q; body %s", c.Name, r.status, route, model, c.Status, c.Route, c.Model, cut(r.body, 0, 300))
	}
	if got := provider(r); c.Provider != "" && got != c.Provider {
		t.Errorf("%s: got provider %s, want %s", c.Name, got, c.Provider)
	}
	said := ""
	for _, piece := range contents.FindAllStringSubmatch(r.body, -1) {
		said += piece[1]
	}
	if c.Status == http.StatusOK && said != "asked for "+c.Model {
		t.Errorf("%s: got the answer %q, want that of %s", c.Name, said, c.Model)
	}
}

// contents are the texts of an answer or of a stream's pieces.
var contents = regexp.MustCompile(`"content":"([^"]*)"`)

// echo answers with the name of the model that it is asked for.
func echo(w http.ResponseWriter, r received) {
	var body struct{ Model string }
	json.Unmarshal([]byte(r.body), &body)
	answerWith(w, r, "asked for "+body.Model)
}

// TestRoutingExample serves examples/routing.yaml with upstreams of its own in the place of
// the vendors', and asks each rule, whole and streamed.
func TestRoutingExample(t *testing.T) {
	sites := map[string]*site{}
	for variable, name := range map[string]string{
		"MOONSHOT_BASE_URL": "moonshot", "DASHSCOPE_BASE_URL": "qwen", "OPENAI_BASE_URL": "openai", "LOCAL_BASE_URL": "local",
	} {
		sites[name] = newSite(t, echo)
		t.Setenv(variable, sites[name].url)
	}
	for _, key := range []string{"MOONSHOT_API_KEY", "DASHSCOPE_API_KEY", "OPENAI_API_KEY"} {
		t.Setenv(key, canary)
	}
	example, err := os.ReadFile("../../examples/routing.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, "admin: {listen: \"127.0.0.1:0\"}\n"+string(example))
	for _, stream := range []bool{false, true} {
		for _, c := range routedCases(t, "example.jsonl") {
			asked := sites[c.Provider].asked.Load()
			c.check(t, c.ask(g, stream))
			if got := sites[c.Provider].asked.Load() - asked; got != 1 {
				t.Errorf("%s: %s was asked %d times, want once", c.Name, c.Provider, got)
			}
		}
	}
	if got := g.get("/v1/models").body; !strings.Contains(got, `"default"`) || strings.Contains(got, "*") {
		t.Errorf("got models %s, want the alias among them and no pattern", got)
	}
}

// TestRoutingExampleChecks holds that the example is good as it is, on any machine.
func TestRoutingExampleChecks(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := command(t, "", "check", "../../examples/routing.yaml")
	if status != 0 || !strings.Contains(stdout, "examples/routing.yaml is good") {
		t.Errorf("got exit status %d\n%s", status, stderr)
	}
}

// TestRoutingConditions sends what meets each sort of condition, and what nearly does.
func TestRoutingConditions(t *testing.T) {
	up := newSite(t, echo)
	t.Setenv("UPSTREAM", up.url)
	file, err := os.ReadFile("testdata/routing/conditions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, string(file))
	met := map[string]int{}
	for _, c := range routedCases(t, "conditions.jsonl") {
		c.check(t, c.ask(g, false))
		if parts := strings.Split(c.Route, ";"); parts[0] == "all" || parts[0] == "qwen-*-max" {
			rule := "none"
			for _, part := range parts {
				if number, ok := strings.CutPrefix(part, "rule="); ok {
					rule = number
				}
			}
			met[fmt.Sprintf(`callgate_route_rules_total{route=%q,rule=%q}`, parts[0], rule)]++
		}
	}
	text := g.adminDo("GET", "/metrics").body
	for series, n := range met {
		if want := fmt.Sprintf("%s %d\n", series, n); !strings.Contains(text, want) {
			t.Errorf("got metrics without %q", want)
		}
	}
	if len(met) != 9 {
		t.Errorf("got %d series of rules, want 9: %v", len(met), met)
	}
	if log := g.stderr.String(); !strings.Contains(log, `"route":"all;alias=faster;rule=2"`) || strings.Contains(log, "premium") || strings.Contains(log, "gold") {
		t.Errorf("got a log without the route, or with what the request says: %s", cut(log, 0, 2000))
	}
}

// TestRoutingHuge holds that metadata of megabytes is read in one go.
func TestRoutingHuge(t *testing.T) {
	t.Setenv("UPSTREAM", newSite(t, echo).url)
	file, err := os.ReadFile("testdata/routing/conditions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, string(file))
	var members strings.Builder
	for i := range 150_000 { // limits.values allows 200,000
		fmt.Fprintf(&members, `"key%d":"premium",`, i)
	}
	for name, want := range map[string]string{`"budget":"premium"`: "all;rule=2", `"last":"premium"`: "all"} {
		r := g.chat(`{"model":"all","metadata":{` + members.String() + name + `},"messages":[{"role":"user","content":"Hello"}]}`)
		if got := r.header.Get("x-callgate-route"); got != want || r.status != http.StatusOK {
			t.Errorf("%s: got status %d, route %q, want %q", name, r.status, got, want)
		}
	}
}

// TestRoutingFails holds that a rule whose targets fail does not send its requests where
// the model's go, and that the error says which rule it was.
func TestRoutingFails(t *testing.T) {
	t.Parallel()
	s := &setup{}
	other, second := well(t), well(t)
	s.provider("broken", down(t), "retry: {max_retries: 0}")
	s.provider("well", other.url, "")
	s.provider("second", second.url, "")
	s.models.WriteString(`  m:
    targets: [{provider: well, model: up}]
    rules:
      - {when: {metadata: {region: eu}}, targets: [{provider: broken, model: up}]}
      - {when: {metadata: {region: us}}, targets: [{provider: broken, model: up}, {provider: second, model: up}]}
`)
	g := serve(t, s.String())
	const body = `{"model":"m","metadata":{"region":%q},"messages":[{"role":"user","content":"Hello"}]}`
	r := g.chat(fmt.Sprintf(body, "eu"))
	if r.status < 500 || other.asked.Load() != 0 || r.header.Get("x-callgate-route") != "m;rule=1" {
		t.Errorf("got status %d, route %q and %d questions to the model's target, want an error of rule 1 and none", r.status, r.header.Get("x-callgate-route"), other.asked.Load())
	}
	r = g.chat(fmt.Sprintf(body, "us"))
	if r.status != 200 || provider(r) != "second" || other.asked.Load() != 0 {
		t.Errorf("got status %d from %s, want 200 from the rule's second target", r.status, provider(r))
	}
}

// TestRoutingWarm holds that routing by prefix knows the targets of rules too.
func TestRoutingWarm(t *testing.T) {
	t.Parallel()
	s := &setup{}
	s.head.WriteString("cache_salt: pepper\n")
	for _, name := range []string{"a", "b", "c", "d"} {
		s.provider(name, newSite(t, (&warmSite{}).serve).url, "")
	}
	s.models.WriteString(`  m:
    routing: prefix
    targets: [{provider: a, model: up}, {provider: b, model: up}]
    rules: [{when: {metadata: {budget: premium}}, targets: [{provider: c, model: up}, {provider: d, model: up}]}]
  also: {alias: m}
`)
	g := serve(t, s.String())
	messages := []map[string]string{{"role": "system", "content": strings.Repeat("You are a careful assistant. ", 300)}}
	where := ""
	for turn, model := range []string{"m", "also", "m"} {
		messages = append(messages, map[string]string{"role": "user", "content": strings.Repeat(fmt.Sprintf("question %d. ", turn), 200)})
		b, _ := json.Marshal(map[string]any{"model": model, "metadata": map[string]string{"budget": "premium"}, "messages": messages})
		r := g.chat(string(b))
		reason, _, _ := cacheHeader(t, r)
		if name := provider(r); name != "c" && name != "d" || turn > 0 && (name != where || reason != "cached") {
			t.Errorf("turn %d: got %s, %s, want a target of the rule that keeps the conversation", turn, name, reason)
		}
		where = provider(r)
		messages = append(messages, map[string]string{"role": "assistant", "content": healthyText})
	}
}

// TestTargets follows a request in what the operator is told of its target.
func TestTargets(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	busy := newSite(t, func(w http.ResponseWriter, r received) {
		arrived <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		answerWith(w, r, healthyText)
	})
	s := &setup{}
	s.provider("busy", busy.url, "")
	s.provider("broken", down(t), "retry: {max_retries: 0}")
	s.models.WriteString("  m: {targets: [{provider: busy, model: up}]}\n  named: {targets: [{provider: busy}]}\n  n: {targets: [{provider: broken}]}\n  any-*: {targets: [{provider: busy}]}\n")
	g := serve(t, s.String())
	if got := g.targets("busy/up"); got.Running != 0 || got.LastOutcome != "" || got.FirstToken != 0 || !got.LastAt.IsZero() || got.Breaker != "closed" {
		t.Errorf("got %+v before the first request, want nothing", got)
	}
	answers := make(chan result, 3)
	for i, model := range []string{"m", "m", "any-thing"} {
		go func() { answers <- g.chat(prompt(model, "Hello", i == 1)) }()
		<-arrived
	}
	if up, others := g.targets("busy/up"), g.targets("busy/*"); up.Running != 2 || others.Running != 1 {
		t.Errorf("got %d and %d running, want 2 and 1", up.Running, others.Running)
	}
	if text := g.adminDo("GET", "/metrics").body; !strings.Contains(text, `callgate_target_running{model="up",provider="busy"} 2`) ||
		strings.Contains(text, `callgate_target_latency_seconds{model="up"`) {
		t.Errorf("got metrics without 2 running requests, or with a latency")
	}
	close(release)
	for range 3 {
		clean(t, <-answers)
	}
	var up gateway.TargetState
	await(t, "the requests are over", func() bool {
		up = g.targets("busy/up")
		return up.Running == 0 && g.targets("busy/*").Running == 0
	})
	if up.FirstToken <= 0 || up.Answer < up.FirstToken || up.LastOutcome != "ok" || up.LastAt.IsZero() {
		t.Errorf("got %+v behind two answers, want times and an outcome", up)
	}
	if text := g.adminDo("GET", "/metrics").body; !strings.Contains(text, `callgate_target_latency_seconds{model="up",provider="busy"} `) {
		t.Error("got metrics without a latency")
	}
	g.chat(prompt("n", "Hello", false))
	if got := g.targets("broken/n"); got.LastOutcome == "ok" || got.LastOutcome == "" || got.FirstToken != 0 || got.Running != 0 {
		t.Errorf("got %+v behind a failure, want its code and no time", got)
	}
	if got := g.targets("busy/named"); got.LastOutcome != "" {
		t.Errorf("got %+v of a target that nobody has asked, want nothing", got)
	}
}

// targets is the state of a target, as the operator sees it.
func (g *gate) targets(name string) gateway.TargetState {
	g.t.Helper()
	r := g.adminDo("GET", "/admin/targets")
	var list struct{ Targets []gateway.TargetState }
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		g.t.Fatalf("got targets %q, want a list: %v", r.body, err)
	}
	for _, s := range list.Targets {
		if s.Provider+"/"+s.Model == name {
			return s
		}
	}
	g.t.Fatalf("got targets %q, want %s among them", r.body, name)
	return gateway.TargetState{}
}

// TestRoutingByMetadataOfResponses holds that rules see the metadata of the Responses API, which
// goes to no upstream, and that a conversation's summary is made where its turns are answered.
func TestRoutingByMetadataOfResponses(t *testing.T) {
	t.Parallel()
	answered := func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, `"metadata"`) {
			t.Errorf("got the metadata upstream: %s", r.body)
		}
		send(w, completion("fine"))
	}
	home, away := newSite(t, answered), newSite(t, answered)
	g := serve(t, fmt.Sprintf(`
admin: {listen: off}
store: {compact_tokens: 400}
providers: {home: {type: openai, base_url: %q}, away: {type: openai, base_url: %q}}
models:
  m:
    rules: [{when: {metadata: {market: DE}, language: th}, targets: [{provider: home}]}]
    targets: [{provider: away}]
`, home.url, away.url))
	conversation := text(g.call(200, "POST", "/v1/conversations", ""), "id")
	const turns = 6
	for i := range turns {
		got := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"The weather in turn %d %s","metadata":{"market":"DE","language":"th"},"conversation":%q}`, i, strings.Repeat("x", 300), conversation)))
		if route := got.header.Get("x-callgate-route"); got.status != http.StatusOK || route != "m;rule=1;language=th" {
			t.Errorf("turn %d: got %d by the route %q, want rule 1: %s", i, got.status, route, got.body)
		}
	}
	if home, away := home.asked.Load(), away.asked.Load(); home <= turns || away > 0 {
		t.Errorf("got %d requests with the rule's provider and %d with the other, want all of %d turns and of their summaries with the first", home, away, turns)
	}
}
