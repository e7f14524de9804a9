package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/rollout"
)

// armsConfig is a gateway with a model m at the provider old, and a provider new.
func armsConfig(old, next, rollouts string) string {
	return fmt.Sprintf(`
providers:
  old: {type: openai, base_url: %q, api_key: %s, tool_calls: repair}
  new: {type: openai, base_url: %q, api_key: %[2]s, tool_calls: repair, circuit_breaker: {failure_threshold: 1000}}
models:
  m: {targets: [{provider: old, model: up}]}
  other: {targets: [{provider: old, model: up}]}
rollouts:
%[4]s
`, old, canary, next, rollouts)
}

// rollout is the state of a rollout, as the operator sees it.
func (g *gate) rollout(name string) rollout.Snapshot {
	g.t.Helper()
	var list struct{ Rollouts []rollout.Snapshot }
	r := g.adminDo("GET", "/admin/rollouts")
	if err := json.Unmarshal([]byte(r.body), &list); err != nil || r.status != http.StatusOK {
		g.t.Fatalf("got status %d, %q, %v", r.status, r.body, err)
	}
	i := slices.IndexFunc(list.Rollouts, func(s rollout.Snapshot) bool { return s.Name == name })
	if i < 0 {
		g.t.Fatalf("got rollouts %s, want one called %s", r.body, name)
	}
	return list.Rollouts[i]
}

// byUser is the body of a user's request.
func byUser(user string) string {
	return fmt.Sprintf(`{"model":"m","user":%q,"messages":[{"role":"user","content":"hello"}]}`, user)
}

// TestRolloutReload widens an arm from 10 to 50 and 100 % of users by reloads, over whole answers and
// streams: each user is where the header says, nobody who is in the arm leaves it, and the shares are
// right to within chance.
func TestRolloutReload(t *testing.T) {
	t.Parallel()
	old, next := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "old") }), newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "new") })
	file := func(percent int) string {
		return armsConfig(old.url, next.url, fmt.Sprintf("- {name: next, unit: user, arms: [{name: control, weight: %d}, {name: new, weight: %d, override: {provider: new}}]}", 100-percent, percent))
	}
	g := serveChanging(t, file(10))
	inside := map[string]bool{}
	const users = 300
	for _, percent := range []int{10, 50, 100} {
		if percent > 10 {
			g.applied(file(percent), "rollouts.next.arms.control.weight", "rollouts.next.arms.new.weight")
		}
		n := 0
		for i := range users {
			user := fmt.Sprintf("user-%d", i)
			r := g.chat(strings.Replace(byUser(user), `{`, fmt.Sprintf(`{"stream":%t,`, i%2 == 1), 1))
			clean(t, r)
			in := r.header.Get("x-callgate-arm") == "next/new"
			if answered := strings.Contains(strings.ReplaceAll(r.body, `"},"finish`, ""), `content":"new`); in != answered {
				t.Fatalf("%s: got arm %q and the answer %s", user, r.header.Get("x-callgate-arm"), r.body)
			}
			if inside[user] && !in {
				t.Errorf("at %d %%: %s has left the arm", percent, user)
			}
			if inside[user] = in; in {
				n++
			}
		}
		if share := n * 100 / users; share < percent-7 || share > percent+7 {
			t.Errorf("at %d %%: got %d of %d users in the arm", percent, n, users)
		}
		if got := g.rollout("next"); got.Arms[1].Requests != n || got.Arms[0].Requests != users-n {
			t.Errorf("at %d %%: got %d and %d requests, want %d and %d, and figures that begin anew", percent, got.Arms[0].Requests, got.Arms[1].Requests, users-n, n)
		}
	}
}

// TestRolloutSticks holds that a conversation keeps its arm in all its turns, and that conversations
// are told apart by their key, system prompt and first message.
func TestRolloutSticks(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "fine") })
	g := serveChanging(t, armsConfig(up.url, up.url, "- {name: r, arms: [{name: a, weight: 50}, {name: b, weight: 50, override: {parser: hermes}}]}"))
	arms := map[string]int{}
	for i := range 60 {
		first := fmt.Sprintf(`{"role":"system","content":"be kind"},{"role":"user","content":"question %d"}`, i)
		one := g.chat(`{"model":"m","messages":[` + first + `]}`)
		two := g.chat(`{"model":"m","temperature":1,"messages":[` + first + `,{"role":"assistant","content":"fine"},{"role":"user","content":"and more"}]}`)
		if a, b := one.header.Get("x-callgate-arm"), two.header.Get("x-callgate-arm"); a != b || a == "" {
			t.Errorf("got arms %q and %q for two turns", a, b)
		}
		arms[one.header.Get("x-callgate-arm")]++
	}
	if arms["r/a"] < 12 || arms["r/b"] < 12 {
		t.Errorf("got conversations %v, want both arms", arms)
	}
	if r := g.chat(`{"model":"old/up","messages":[{"role":"user","content":"x"}]}`); r.header.Get("x-callgate-arm") != "" {
		t.Errorf("got arm %q for a model that is not listed", r.header.Get("x-callgate-arm"))
	}
}

// TestRolloutMatch holds which requests a rollout is about: by model, key and header, none that a rule
// leads elsewhere, and the first rollout that is met.
func TestRolloutMatch(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "fine") })
	g := serve(t, fmt.Sprintf(`
keys: [{name: beta-1, hash: %q}, {name: prod, hash: %q}]
providers: {up: {type: openai, base_url: %q, api_key: k}}
models:
  m: {targets: [{provider: up}], rules: [{when: {metadata: {where: eu}}, targets: [{provider: up, model: eu}]}]}
  other: {targets: [{provider: up}]}
  name: {alias: m}
rollouts:
- {name: one, match: {models: [m], keys: ["beta-*"]}, arms: [{name: a, weight: 0}, {name: b, weight: 100}]}
- {name: two, match: {headers: {x-try: ["1", "yes*"]}}, arms: [{name: a, weight: 0}, {name: b, weight: 100}]}
`, config.HashKey("k-beta"), config.HashKey("k-prod"), up.url))
	for _, tt := range []struct{ key, try, body, want string }{
		{"k-beta", "", `{"model":"m"`, "one/b"},
		{"k-beta", "1", `{"model":"m"`, "one/b"},
		{"k-beta", "", `{"model":"name"`, "one/b"},
		{"k-prod", "", `{"model":"m"`, ""},
		{"k-prod", "yes please", `{"model":"m"`, "two/b"},
		{"k-prod", "2", `{"model":"m"`, ""},
		{"k-beta", "", `{"model":"other"`, ""},
		{"k-beta", "1", `{"model":"other"`, "two/b"},
		{"k-beta", "1", `{"model":"m","metadata":{"where":"eu"}`, ""},
	} {
		r := g.chat(tt.body+`,"messages":[{"role":"user","content":"hi"}]}`, "authorization", "Bearer "+tt.key, "x-try", tt.try)
		if got := r.header.Get("x-callgate-arm"); r.status != http.StatusOK || got != tt.want {
			t.Errorf("%+v: got status %d and arm %q", tt, r.status, got)
		}
	}
}

// TestRolloutForced has clients name their arm: without keys everybody may, with keys those that may.
// What there is not is said with what there is; such requests are in no figure.
func TestRolloutForced(t *testing.T) {
	t.Parallel()
	old, next := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "old") }), newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "new") })
	text := armsConfig(old.url, next.url, "- {name: next, match: {models: [m]}, arms: [{name: control, weight: 100}, {name: new, weight: 0, override: {provider: new}}]}")
	open := serveChanging(t, text)
	const hi = `,"messages":[{"role":"user","content":"hi"}]}`
	for _, tt := range []struct {
		model, arm string
		status     int
		want       string
	}{
		{"m", "next/new", 200, `"new"`},
		{"m", "next/control", 200, `"old"`},
		{"m", "next/nwe", 400, `Similar ones: next/new`},
		{"m", "else", 400, `names a rollout and its arm`},
		{"other", "next/new", 400, `is not about this request for the model`},
		{"old/up", "next/new", 400, `is not about this request for the model`},
	} {
		r := open.chat(`{"model":"`+tt.model+`"`+hi, "x-callgate-arm", tt.arm)
		if r.status != tt.status || !strings.Contains(r.body, tt.want) || tt.status == 200 && r.header.Get("x-callgate-arm") != tt.arm {
			t.Errorf("%+v: got status %d, arm %q, %s", tt, r.status, r.header.Get("x-callgate-arm"), r.body)
		}
	}
	if got := open.rollout("next").Arms[1]; got.Requests != 0 || got.LeftOut["forced"] != 1 {
		t.Errorf("got %+v, want one request that is left out", got)
	}
	if r := open.do(open.request("POST", "/v1/embeddings", `{"model":"m","input":"x"}`, "x-callgate-arm", "next/new")); r.status != 400 || !strings.Contains(r.body, "leave the header x-callgate-arm out") {
		t.Errorf("got status %d, %s for embeddings, want 400", r.status, r.body)
	}
	keyed := serve(t, text+fmt.Sprintf("keys: [{name: test, hash: %q, arms: [\"next/*\"]}, {name: app, hash: %q}]\n", config.HashKey("k-test"), config.HashKey("k-app")))
	for key, want := range map[string]int{"k-test": 200, "k-app": 403} {
		r := keyed.chat(`{"model":"m"`+hi, "x-callgate-arm", "next/new", "authorization", "Bearer "+key)
		if r.status != want || want == 403 && !strings.Contains(r.body, "arm_not_allowed") {
			t.Errorf("%s: got status %d, %s, want %d", key, r.status, r.body, want)
		}
	}
}

// TestRolloutMixed has the targets of an arm fail: the control's answer instead, which the header says,
// and the whole conversation is in no figure. With fallback: none it fails.
func TestRolloutMixed(t *testing.T) {
	t.Parallel()
	var broken atomic.Bool
	broken.Store(true)
	old := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "old") })
	next := newSite(t, func(w http.ResponseWriter, r received) {
		if broken.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		answerWith(w, r, "new")
	})
	file := func(more string) string {
		return armsConfig(old.url, next.url, "- {name: next, arms: [{name: control, weight: 0}, {name: new, weight: 100, override: {provider: new, model: up"+more+"}}]}")
	}
	g := serveChanging(t, file(""))
	ask := func(text string) result {
		return g.chat(`{"model":"m","messages":[{"role":"user","content":` + jsonText(text) + `}]}`)
	}
	if r := ask("one"); r.status != 200 || r.header.Get("x-callgate-arm") != "next/new;mixed" || !strings.Contains(r.body, "old") {
		t.Errorf("got status %d, arm %q, %s, want the control's answer", r.status, r.header.Get("x-callgate-arm"), r.body)
	}
	broken.Store(false)
	if r := ask("one"); r.header.Get("x-callgate-arm") != "next/new" || !strings.Contains(r.body, "new") {
		t.Errorf("got arm %q, %s for the next turn, want the arm's answer", r.header.Get("x-callgate-arm"), r.body)
	}
	ask("two")
	if got := g.rollout("next").Arms[1]; got.Requests != 1 || got.LeftOut["mixed"] != 2 {
		t.Errorf("got %d requests and %v left out, want 1, and 2 mixed", got.Requests, got.LeftOut)
	}
	g.wantMetric(`callgate_rollout_requests_total{arm="new",result="mixed",rollout="next"}`, 2)
	broken.Store(true)
	g.applied(file(", fallback: none"), "rollouts.next.arms.new.override.fallback")
	if r := ask("three"); r.status != http.StatusServiceUnavailable {
		t.Errorf("got status %d with fallback: none, want the upstream's 503", r.status)
	}
	if got := g.rollout("next").Arms[1]; got.Failed != 1 {
		t.Errorf("got %+v, want one that failed", got)
	}
}

// toolTurn is the body of a request with two tools.
func toolTurn(text string) string { return prompt("m", text, false) }

// TestRolloutStops has an arm whose model calls what nobody offers: at 200 requests it is stopped, in
// log, metrics and the admin API, all get the control, and stay there behind a reload, until the
// operator lets it go on.
func TestRolloutStops(t *testing.T) {
	t.Parallel()
	old := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, turnOf(r, "native", "", modelCall{"c", "get_weather", `{"city":"Oslo"}`}))
	})
	next := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, turnOf(r, "native", "", modelCall{"c", "send_flowers", `{}`}))
	})
	file := func(control, arm int) string {
		return armsConfig(old.url, next.url, fmt.Sprintf("- {name: next, unit: request, arms: [{name: control, weight: %d}, {name: new, weight: %d, override: {provider: new, model: up}}]}", control, arm))
	}
	g := serveChanging(t, file(50, 50))
	asked := 0
	for ; asked < 900 && g.rollout("next").Arms[1].Stopped == nil; asked++ {
		if r := g.chat(toolTurn("weather")); r.status != 200 {
			t.Fatalf("got status %d, %s", r.status, r.body)
		}
	}
	s := g.rollout("next")
	if a := s.Arms[1]; a.Stopped == nil || a.Requests != 200 || a.Failed != 200 || a.Live != 0 || a.Verdict != rollout.Worse || s.Arms[0].Live != 100 || s.Arms[0].Clean != s.Arms[0].Requests {
		t.Fatalf("got %+v behind %d requests, want an arm that is stopped at its 200th", s.Arms, asked)
	}
	before := next.asked.Load()
	for range 20 {
		if r := g.chat(toolTurn("weather")); r.header.Get("x-callgate-arm") != "next/control" {
			t.Errorf("got arm %q, want the control", r.header.Get("x-callgate-arm"))
		}
	}
	g.wantMetric(`callgate_rollout_stopped{arm="new",rollout="next"}`, 1)
	g.wantMetric(`callgate_rollout_stops_total{arm="new",rollout="next"}`, 1)
	g.wantMetric(`callgate_rollout_weight{arm="new",rollout="next"}`, 0)
	if log := g.stderr.String(); strings.Count(log, `"action":"stop"`) != 1 || !strings.Contains(log, `"by":"figures"`) {
		t.Errorf("got no line of the log for the stop")
	}
	if page := g.adminDo("GET", "/ui").body; !strings.Contains(page, "The arm new of the rollout next did worse than the control, and is stopped.") {
		t.Error("got a first page that says nothing of the stop")
	}
	g.applied(file(10, 90), "rollouts.next.arms.control.weight", "rollouts.next.arms.new.weight")
	if g.chat(toolTurn("weather")); next.asked.Load() != before || g.rollout("next").Arms[1].Stopped == nil {
		t.Error("got an arm that goes on behind a reload")
	}
	if r := g.adminDo("POST", "/admin/rollouts/next/resume?arm=nwe"); r.status != 404 || !strings.Contains(r.body, `Did you mean \"new\"?`) || !strings.Contains(r.body, `"param":"arm"`) {
		t.Errorf("got status %d, %s for an arm that is not there", r.status, r.body)
	}
	if r := g.adminDo("POST", "/admin/rollouts/next/stop?arm=control"); r.status != 400 || !strings.Contains(r.body, "is never stopped") {
		t.Errorf("got status %d, %s for the control", r.status, r.body)
	}
	if r := g.adminDo("POST", "/admin/rollouts/nxt/stop"); r.status != 404 || !strings.Contains(r.body, `Did you mean \"next\"?`) {
		t.Errorf("got status %d, %s for a rollout that is not there", r.status, r.body)
	}
	r := g.adminDo("POST", "/admin/rollouts/next/resume")
	if r.status != 200 || g.rollout("next").Arms[1].Stopped != nil {
		t.Errorf("got status %d, %s for resume", r.status, r.body)
	}
	for range 20 {
		g.chat(toolTurn("weather"))
	}
	if next.asked.Load() == before {
		t.Error("got no request for the arm behind resume")
	}
	if page := g.adminDo("GET", "/ui/rollouts").body; !strings.Contains(page, "not enough data: ") || !strings.Contains(page, `value="stop"`) || !strings.Contains(page, `href="/ui/rollouts" aria-current="page"`) {
		t.Errorf("got page %s, want an arm that can be stopped", page)
	}
	if r := g.adminForm("/ui/rollouts/arm", "rollout=next&arm=new&action=stop"); r.status != http.StatusSeeOther {
		t.Errorf("got status %d, %s for the button", r.status, r.body)
	}
	if page := g.adminDo("GET", "/ui/rollouts?arm=next/new").body; !strings.Contains(page, "stopped by the operator") || !strings.Contains(page, `value="resume"`) || !strings.Contains(page, "The arm <code>next/new</code>") {
		t.Errorf("got page %s, want an arm that is stopped", page)
	}
	for form, want := range map[string]int{"rollout=next&arm=nwe&action=stop": 404, "rollout=next&arm=&action=stop": 400, "rollout=next&arm=new&action=widen": 400} {
		if r := g.adminForm("/ui/rollouts/arm", form); r.status != want {
			t.Errorf("%s: got status %d, want %d", form, r.status, want)
		}
	}
	if a := g.rollout("next").Arms[1]; a.Stopped == nil || a.Stopped.By != "operator" || a.Stops != 2 {
		t.Errorf("got %+v, want an arm that the operator has stopped", a)
	}
}

// TestRolloutBehaviour overrides behaviour alone: the model is the same, and in the arm the guard
// enforces.
func TestRolloutBehaviour(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		if strings.Count(r.body, `"role":"user"`) > 1 {
			io.WriteString(w, turnOf(r, "native", "", modelCall{"c", "delete_task", `{"id":7}`}))
			return
		}
		io.WriteString(w, completion("Done! I have deleted the task 7 for you."))
	})
	g := serveChanging(t, armsConfig(up.url, up.url, "- {name: guard, arms: [{name: control, weight: 100}, {name: enforce, override: {guard: enforce}}]}"))
	const body = `{"model":"m","messages":[{"role":"user","content":"Delete task 7"}],"tools":[{"type":"function","function":{"name":"delete_task","parameters":{"type":"object","properties":{"id":{"type":"integer"}}}}}]}`
	if r := g.chat(body); strings.Contains(r.body, "tool_calls\":[") {
		t.Errorf("control: got %s, want the claim", r.body)
	}
	if r := g.chat(body, "x-callgate-arm", "guard/enforce"); !strings.Contains(r.body, `"name":"delete_task"`) {
		t.Errorf("enforce: got %s, want the call", r.body)
	}
	if got := g.rollout("guard").Arms[0]; got.Ghosts != 1 || got.Failed != 1 {
		t.Errorf("got %+v, want a ghost that counts as failed", got)
	}
}

// TestRolloutMirror copies requests of the control to an arm, in which tools run for the client: the
// copies have the live results, no tool runs twice, nobody is billed, the client's answer is the same
// bytes, and pairs are compared.
func TestRolloutMirror(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	live, _ := script(t, "native", func(results int, _ received) (string, []modelCall) {
		if results == 0 {
			return "", []modelCall{{"c1", "shop__search", `{"q":"red shoes"}`}}
		}
		return "There are red shoes.", nil
	})
	copied, bodies := script(t, "native", func(results int, r received) (string, []modelCall) {
		if results == 0 {
			return "", []modelCall{{"c9", "shop__search", `{ "q" : "red\u0020shoes" }`}}
		}
		return "", []modelCall{{"c9", "shop__order", `{"item":"shoes"}`}}
	})
	text := strings.Replace(shop.config(live, "m", "none", "    tools: {servers: [shop]}"), `admin: {listen: "off"}`, "", 1)
	text = strings.Replace(text, "tool_servers:", fmt.Sprintf("  next: {type: openai, base_url: %q, parser: none}\ntool_servers:", copied), 1)
	text += "rollouts:\n- {name: next, arms: [{name: control, weight: 100}, {name: new, override: {provider: next, model: up}}], mirror: {percent: 100, arm: new, concurrency: 3}}\n"
	g := serveChanging(t, text)
	const requests = 5
	for range requests {
		r := g.chat(`{"model":"m","messages":[{"role":"user","content":"find red shoes"}]}`)
		if r.status != 200 || !strings.Contains(r.body, "There are red shoes.") || r.header.Get("x-callgate-arm") != "next/control" {
			t.Fatalf("got status %d, arm %q, %s", r.status, r.header.Get("x-callgate-arm"), r.body)
		}
	}
	await(t, "the pairs", func() bool { return g.rollout("next").Pairs.Pairs == 2*requests })
	s := g.rollout("next")
	if p := s.Pairs; p.Failed != 0 || p.SameTools != requests || p.SameArguments != requests || p.Live.Called != requests || p.Mirror.Called != 2*requests ||
		p.Live.Input != 2*requests*100 || p.Mirror.Output != 2*requests*10 || p.Live.Took <= 0 || p.Mirror.Took <= 0 || p.Mirror.Valid != 2*requests {
		t.Errorf("got pairs %+v, want %d with the same search, and as many where one orders", p, requests)
	}
	if got := s.Arms[1].Requests + s.Arms[1].LeftOut["mixed"]; got != 0 {
		t.Errorf("got %d requests of the mirror's among the figures, want none", got)
	}
	if calls := shop.made(); len(calls) != requests || !strings.HasPrefix(calls[0], "GET /search") {
		t.Errorf("got calls %q, want one search for each request, and no order", calls)
	}
	results := 0
	for _, b := range bodies() {
		if strings.Contains(b, `"role":"tool"`) && strings.Contains(b, "red shoes") && strings.Contains(b, "found") {
			results++
		}
	}
	if results != requests {
		t.Errorf("got %d copies with the live result, want %d", results, requests)
	}
	g.wantMetric(`callgate_tokens_total{provider="next",type="prompt"}`, math.NaN())
	g.wantMetric(`callgate_rollout_mirrors_total{result="taken",rollout="next"}`, 2*requests)
	g.wantMetric(`callgate_rollout_mirrors_total{result="dropped",rollout="next"}`, 0)
	if n := strings.Count(g.stderr.String(), `"msg":"mirrored request"`); n != 2*requests {
		t.Errorf("got %d lines of the log for copies, want %d", n, 2*requests)
	}
}

// TestRolloutMirrorDrops fills the mirror's queue: the client's answers come all the same, and what is
// dropped is counted. Without mirror: there is no copy at all.
func TestRolloutMirrorDrops(t *testing.T) {
	t.Parallel()
	begun, end := make(chan bool, 100), make(chan bool)
	old := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "old") })
	next := newSite(t, func(w http.ResponseWriter, r received) {
		begun <- true
		select {
		case <-end:
		case <-r.Context().Done():
		}
		answerWith(w, r, "new")
	})
	arms := "- {name: next, arms: [{name: control, weight: 100}, {name: new, override: {provider: new, model: up}}]"
	g := serveChanging(t, armsConfig(old.url, next.url, arms+", mirror: {percent: 100, arm: new, concurrency: 1, queue: 2}}"))
	ask := func() {
		if r := g.chat(byUser("u")); r.status != 200 || !strings.Contains(r.body, "old") {
			t.Errorf("got status %d, %s", r.status, r.body)
		}
	}
	ask()
	<-begun
	for range 5 {
		ask()
	}
	g.wantMetric(`callgate_rollout_mirrors_total{result="taken",rollout="next"}`, 3)
	g.wantMetric(`callgate_rollout_mirrors_total{result="dropped",rollout="next"}`, 3)
	close(end)
	await(t, "the pairs", func() bool { return g.rollout("next").Pairs.Pairs == 3 })
	g.applied(armsConfig(old.url, next.url, arms+"}"), "rollouts.next.mirror.percent", "rollouts.next.mirror.arm", "rollouts.next.mirror.concurrency", "rollouts.next.mirror.queue")
	before := next.asked.Load()
	ask()
	if next.asked.Load() != before || g.rollout("next").MirrorQueue.Taken != 0 {
		t.Error("got a copy without mirror:")
	}
}

// TestRolloutShadow reads the text of all answers with another parser: the answers are what they are
// without, the differences are counted by kind, and no sample says what the model wrote.
func TestRolloutShadow(t *testing.T) {
	t.Parallel()
	const secret = "Reykjavik"
	answers := []string{
		`<tool_call>{"name": "get_weather", "arguments": {"city": "` + secret + `"}}</tool_call>`,
		`[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "` + secret + `"}}]`,
		"It is cold in " + secret + ".",
	}
	up := newSite(t, func(w http.ResponseWriter, r received) {
		for i, a := range answers {
			if strings.Contains(r.body, fmt.Sprintf("question %d", i)) {
				answerWith(w, r, a)
			}
		}
	})
	file := func(more string) string {
		return fmt.Sprintf("providers: {up: {type: openai, base_url: %q, api_key: %s, parser: hermes}}\nmodels: {m: {targets: [{provider: up, model: up}]}}\n%s", up.url, canary, more)
	}
	plain := serve(t, file(""))
	g := serveChanging(t, file("rollouts:\n- {name: read, arms: [{name: control, weight: 100}, {name: none}], shadow: {parser: mistral}}\n"))
	for i := range answers {
		for _, stream := range []bool{false, true} {
			body := prompt("m", fmt.Sprintf("question %d", i), stream)
			if got, want := g.chat(body).body, plain.chat(body).body; got != want && withoutIDs(got) != withoutIDs(want) {
				t.Errorf("question %d: got\n%s\nwant\n%s", i, got, want)
			}
		}
	}
	await(t, "all texts to be read", func() bool { return g.rollout("read").Diffs.Read == 2*len(answers) })
	d := g.rollout("read").Diffs
	if d.Kinds["missing_call"] != 2 || d.Kinds["extra_call"] != 2 || d.Kinds["same"] != 2 || d.Kinds["other_text"] != 4 {
		t.Errorf("got kinds %v, want two of each call, and two that are the same", d.Kinds)
	}
	if len(d.Samples) != 4 || d.Samples[0].Request == "" || d.Samples[0].Model != "up" || d.Samples[0].Live != 1 || d.Samples[0].Other != 0 {
		t.Errorf("got samples %+v, want four of those that differ", d.Samples)
	}
	if r := g.adminDo("GET", "/admin/rollouts"); strings.Contains(r.body, secret) || strings.Contains(g.stderr.String(), secret) {
		t.Error("got what the model wrote in the admin API or the log")
	}
	g.wantMetric(`callgate_rollout_shadow_total{kind="missing_call",rollout="read"}`, 2)
	if n := up.asked.Load(); n != int64(4*len(answers)) {
		t.Errorf("got %d requests for the upstream, want %d: no second call of the model", n, 4*len(answers))
	}
}

// withoutIDs takes the ids of calls out of an answer, which are made anew each time.
func withoutIDs(body string) string { return ids.ReplaceAllString(body, `"id":""`) }

var ids = regexp.MustCompile(`"id":"[^"]*"`)

// TestRolloutProtocols has the arm's header in all protocols, whole and streamed, and one arm for a
// conversation in each.
func TestRolloutProtocols(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "fine") })
	g := serveChanging(t, armsConfig(up.url, up.url, "- {name: r, unit: user, arms: [{name: a, weight: 50}, {name: b, weight: 50}]}"))
	seen := map[string]bool{}
	for _, user := range []string{"ann", "bob", "cid", "dan", "eve", "fay"} {
		arms := map[string]bool{}
		for _, stream := range []bool{false, true} {
			for path, body := range map[string]string{
				"/v1/chat/completions": `{"model":"m","user":%q,"stream":%t,"messages":[{"role":"user","content":"hi"}]}`,
				"/v1/responses":        `{"model":"m","safety_identifier":%q,"stream":%t,"input":"hi","store":false}`,
				"/v1/messages":         `{"model":"m","metadata":{"user_id":%q},"stream":%t,"max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`,
			} {
				r := g.do(g.request("POST", path, fmt.Sprintf(body, user, stream), "anthropic-version", "2023-06-01"))
				if r.status != 200 {
					t.Fatalf("%s: got status %d, %s", path, r.status, r.body)
				}
				arms[r.header.Get("x-callgate-arm")] = true
				seen[r.header.Get("x-callgate-arm")] = true
			}
		}
		if len(arms) != 1 {
			t.Errorf("%s: got arms %v, want one in all protocols", user, arms)
		}
	}
	if len(seen) != 2 || seen[""] {
		t.Errorf("got arms %v, want both", seen)
	}
}

// TestRolloutParsers holds that parsers which are not there are found before anything is served: in an
// arm, in its targets, and where another one reads.
func TestRolloutParsers(t *testing.T) {
	t.Parallel()
	for place, rollouts := range map[string]string{
		"rollouts[0].arms[1].override.parser":            "- {name: r, arms: [{name: a, weight: 100}, {name: b, override: {parser: hermse}}]}",
		"rollouts[0].arms[1].override.targets[0].parser": "- {name: r, arms: [{name: a, weight: 100}, {name: b, override: {targets: [{provider: new, parser: hermse}]}}]}",
		"rollouts[0].shadow.parser":                      "- {name: r, arms: [{name: a, weight: 100}, {name: b}], shadow: {parser: hermse}}",
	} {
		said := &buffer{}
		status := run(t.Context(), []string{"check", configFile(t, armsConfig("http://127.0.0.1:1/v1", "http://127.0.0.1:1/v1", rollouts))}, readerOf(""), said, said)
		if status != exitUsage || !strings.Contains(said.String(), place+`: there is no parser "hermse"; did you mean "hermes"?`) {
			t.Errorf("%s: got exit status %d, %s", place, status, cut(said.String(), 0, 400))
		}
	}
}
