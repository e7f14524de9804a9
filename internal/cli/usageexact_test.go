package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// script answers by what a request is, and bills each answer by a usage of its own.
func (b *biller) script(t *testing.T) string {
	t.Helper()
	call := func(name, arguments string) string {
		return fmt.Sprintf(`"content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":%q,"arguments":%q}}]`, name, arguments)
	}
	return upstream(t, func(w http.ResponseWriter, r received) {
		has := func(text string) bool { return strings.Contains(r.body, text) }
		message, reason, failing := `"content":"An answer."`, "stop", false
		switch results := strings.Count(r.body, `"role":"tool"`); {
		case r.URL.Path == "/judge/v1/chat/completions":
			message = `"content":"yes"`
		case has("order it all") && results < 3:
			message, reason = call("shop__search", fmt.Sprintf(`{"q":"x%d"}`, results)), "tool_calls"
		case has("delete the task") && has("You MUST call"):
			message, reason = call("delete_task", `{"title":"Rent"}`), "tool_calls"
		case has("delete the task"):
			message = `"content":"Done! I've deleted the task Rent."`
		case has("weather") && !has("role\":\"tool") && strings.Count(r.body, `"role"`) == 1:
			message, reason = call("weather", `{}`), "tool_calls"
		case has("weather"):
			message, reason = call("weather", `{"city":"Bonn"}`), "tool_calls"
		case r.URL.Path == "/first/v1/chat/completions":
			failing = true
		}
		if has("leave me") {
			b.untilGone(w, r)
			return
		}
		_, usage := b.next()
		if !r.wantsStream() {
			w.Header().Set("content-type", "application/json")
			if failing { // it has worked, and has nothing to say
				message = `"content":""`
			}
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":%q}],"usage":%s}`, message, reason, usage)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		if failing { // it says what it has used, and breaks down
			fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":%s}\n\n", usage)
			io.WriteString(w, "data: {\"error\":{\"message\":\"broken\",\"type\":\"server_error\"}}\n\n")
			return
		}
		fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",%s},\"finish_reason\":null}]}\n\n", message)
		fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\n", reason)
		if has(`"include_usage":true`) {
			fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":%s}\n\n", usage)
		}
		io.WriteString(w, done)
	})
}

// untilGone streams until its client leaves, and says in each chunk what it has used so far, as servers do that
// are asked for it. It bills what it has said last.
func (b *biller) untilGone(w http.ResponseWriter, r received) {
	_, usage := b.next()
	w.Header().Set("content-type", "text/event-stream")
	send(w, strings.TrimSuffix(delta("One"), "}\n\n")+`,"usage":`+usage+"}\n\n")
	<-r.Context().Done()
}

// spentText finds what a budget says is spent in the message of its refusal.
var spentText = regexp.MustCompile(`has no room: ([0-9.]+(?: USD)?) are used or held`)

// budget is what the gateway's budget in money has spent, in US dollars: a request that is too dear is told.
func (g *gate) budget(header ...string) string {
	g.t.Helper()
	r := g.chat(`{"model":"dear","messages":[{"role":"user","content":"hi"}]}`, header...)
	m := spentText.FindStringSubmatch(r.body)
	if m == nil || r.status != http.StatusTooManyRequests {
		g.t.Fatalf("got %d %.500s, want that there is no room", r.status, r.body)
	}
	return m[1]
}

// TestUsageExact holds that the ledger and a budget in money have what a scripted upstream billed, to the
// nano-dollar and after each step, over all ways in which one request of a client becomes none, one or several of
// an upstream.
func TestUsageExact(t *testing.T) {
	t.Parallel()
	b := &biller{}
	base := strings.TrimSuffix(b.script(t), "/v1")
	shop := newToolShop(t)
	prices := writePrices(t, t.TempDir())
	g := serve(t, fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
prices: %q
key_limits: [{usd: 100, per: total}]
usage: {store: sqlite, path: %q}
providers:
  up: {type: openai, base_url: %[3]q, api_key: k, retry: {max_retries: 0}}
  first: {type: openai, base_url: "%[4]s/first/v1", api_key: k, retry: {max_retries: 0}}
  judge: {type: openai, base_url: "%[4]s/judge/v1", api_key: k}
tool_servers:
  shop:
    type: http
    private_network: true
    requests: [{name: search, description: Searches., parameters: {type: object, properties: {q: {type: string}}, required: [q]}, url: "%[5]s/search?q={q}"}]
    reads: [search]
    untrusted: false
models:
  m: {targets: [{provider: up, model: real}]}
  kept: {targets: [{provider: up, model: real}], answer_cache: memory}
  asks: {targets: [{provider: up, model: real, on_invalid_call: reask}]}
  guarded: {guard: enforce, guard_judge: judge/real, targets: [{provider: up, model: real}]}
  two: {targets: [{provider: first, model: real}, {provider: up, model: real}]}
  dear: {targets: [{provider: up, model: dear}]}
`, prices, filepath.Join(t.TempDir(), "usage.db"), base+"/v1", base, shop.URL))
	chat := func(model, text, more string) string {
		return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}]%s}`, model, text, more)
	}
	const stream, usage = `,"stream":true`, `,"stream":true,"stream_options":{"include_usage":true}`
	const weather = `,"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	const tasks = `,"tools":[{"type":"function","function":{"name":"delete_task","description":"Deletes a task.","parameters":{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}}}]`
	const ours = `,"tools":[{"type":"mcp","server_label":"shop"}]`
	total := int64(0)
	for _, step := range []struct {
		name, path, body string
		answers          int // of upstreams
	}{
		{"whole", "", chat("m", "hi", ""), 1},
		{"stream", "", chat("m", "hi", stream), 1},
		{"stream with its usage", "", chat("m", "hi", usage), 1},
		{"messages", "/v1/messages", chat("m", "hi", `,"max_tokens":50`), 1},
		{"messages, streamed", "/v1/messages", chat("m", "hi", `,"max_tokens":50,"stream":true`), 1},
		{"responses", "/v1/responses", `{"model":"m","input":"hi"}`, 1},
		{"responses, streamed", "/v1/responses", `{"model":"m","input":"hi","stream":true}`, 1},
		{"run of tools", "", chat("m", "order it all", ours), 4},
		{"run of tools, streamed", "", chat("m", "order it all", stream+ours), 4},
		{"run of tools for responses", "/v1/responses", `{"model":"m","input":"order it all","stream":true` + ours + `}`, 4},
		{"asked again", "", chat("asks", "weather?", weather), 2},
		{"asked again, streamed", "", chat("asks", "weather?", stream+weather), 2},
		{"a judge, and a call that is demanded", "", chat("guarded", "delete the task Rent", tasks), 3},
		{"the same, streamed", "", chat("guarded", "delete the task Rent", stream+tasks), 3},
		{"an answer to keep", "", chat("kept", "hi", `,"temperature":0`), 1},
		{"the answer that was kept", "", chat("kept", "hi", `,"temperature":0`), 0},
		{"a stream to keep", "", chat("kept", "hi", `,"temperature":0`+stream), 1},
		{"the stream that was kept", "", chat("kept", "hi", `,"temperature":0`+stream), 0},
		{"fallback", "", chat("two", "hi", ""), 2},
		{"fallback, streamed", "", chat("two", "hi", stream), 2},
		{"a client that leaves", "", chat("m", "leave me", stream), 1},
	} {
		before := len(b.billed)
		if strings.Contains(step.body, "leave me") {
			g.leave(step.body)
		} else {
			path := step.path
			if path == "" {
				path = "/v1/chat/completions"
			}
			if r := g.do(g.request("POST", path, step.body)); r.status != http.StatusOK || r.err != nil || strings.Contains(r.body, `"error":{`) {
				t.Errorf("%s: got status %d, %v, %.1000s", step.name, r.status, r.err, r.body)
			}
		}
		await(t, "the end of all holds", func() bool { return strings.Contains(g.adminDo("GET", "/metrics").body, "callgate_limit_holds 0\n") })
		if n := len(b.billed) - before; n != step.answers {
			t.Errorf("%s: the upstream has billed %d answers, want %d", step.name, n, step.answers)
		}
		sum := usageSum{}
		for _, s := range g.usage("group=total") {
			sum = s
		}
		was := total
		if total = sum.Nano; total != b.total() || sum.Answers != int64(len(b.billed)) || sum.Unpriced != 0 {
			t.Errorf("%s: the ledger has %s USD for %d answers (%d without a price), want %s for %d", step.name, billing.USD(total), sum.Answers, sum.Unpriced, billing.USD(b.total()), len(b.billed))
		}
		spent := g.budget()
		if want := limit.Dollars(b.total()) + " USD"; spent != want {
			t.Errorf("%s: the budget has spent %s, want %s", step.name, spent, want)
		}
		t.Logf("%-40s %d answers, billed %s USD; so far billed %s, ledger %s, budget %s", step.name, len(b.billed)-before, billing.USD(total-was), limit.Dollars(b.total()), limit.Dollars(total), spent)
	}
	for _, s := range g.usage("group=purpose") {
		t.Logf("%s: %d answers, %s USD, %d of them estimated", s.Group["purpose"], s.Answers, billing.USD(s.Nano), s.Estimated)
	}
}

// leave asks for a stream, and leaves once it has begun.
func (g *gate) leave(body string) {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	resp, err := g.open(ctx, body)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAtLeast(resp.Body, make([]byte, 500), 50); err != nil {
		g.t.Error(err)
	}
}

// TestUsageConversation holds that what a conversation costs which the gateway keeps is known by its id: its
// responses, their rounds of tools, and those in the background; a session that the client names itself counts
// instead.
func TestUsageConversation(t *testing.T) {
	t.Parallel()
	b := &biller{}
	g := serve(t, usageConfig(t, b.serve(t, false), "store: {kind: sqlite, path: "+filepath.Join(t.TempDir(), "store.db")+"}\n"))
	want := map[string]int64{}
	ask := func(session, body string) {
		t.Helper()
		at := len(b.billed)
		r := g.do(g.request("POST", "/v1/responses", body))
		if r.status != http.StatusOK {
			t.Fatalf("got %d %.300s", r.status, r.body)
		}
		await(t, "the answer", func() bool { b.mu.Lock(); defer b.mu.Unlock(); return len(b.billed) > at })
		await(t, "the end of all holds", func() bool {
			s := g.usage("group=total")
			return len(s) > 0 && s[0].Answers == int64(at+1)
		})
		want[session] += b.billed[at]
	}
	for i := range 3 {
		id := text(g.call(200, "POST", "/v1/conversations", `{}`), "id")
		ask(id, `{"model":"m","input":"hi","conversation":"`+id+`"}`)
		ask(id, `{"model":"m","input":"and","stream":true,"conversation":{"id":"`+id+`"},"metadata":{"topic":"x"}}`)
		ask(id, `{"model":"m","input":"later","background":true,"conversation":"`+id+`"}`)
		ask(fmt.Sprint("own-", i), `{"model":"m","input":"mine","conversation":"`+id+`","metadata":{"session":"own-`+fmt.Sprint(i)+`"}}`)
	}
	ask("", `{"model":"m","input":"hi"}`)
	got := map[string]int64{}
	for _, s := range g.usage("group=session") {
		got[s.Group["session"]] = s.Nano
	}
	if len(want) != 7 || !maps.Equal(got, want) {
		t.Errorf("got costs by session %v, want %v", got, want)
	}
	t.Logf("the upstream billed %v, and the ledger has %v", want, got)
}

// TestLimitRestart holds that budgets in memory go on where they were when a gateway is started again that keeps a
// ledger: after SIGTERM, and after SIGKILL, in which case rows wait in the journal; by key, team, model and pattern,
// in tokens and in money. What began anew, as a rate does, does so.
func TestLimitRestart(t *testing.T) {
	t.Parallel()
	b := &biller{}
	dir := t.TempDir()
	prices := writePrices(t, dir)
	config := fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
prices: %q
usage: {store: sqlite, path: %q}
providers: {up: {type: openai, base_url: %q, api_key: k}}
teams: {red: {limits: [{usd: 100, per: month}]}}
keys:
  - {name: own, hash: %q, limits: [{usd: 100, per: total}, {requests: 9, per: 744h}]}
  - {name: one, hash: %q, team: red}
  - {name: two, hash: %q, team: red}
  - {name: some, hash: %q, limits: [{usd: 100, per: week, models: [m, dear]}]}
  - {name: free, hash: %q}
models:
  m: {targets: [{provider: up, model: real}]}
  other: {targets: [{provider: up, model: real}]}
  small: {targets: [{provider: up, model: real}], limits: [{tokens: 3250, per: day}]}
  dear: {targets: [{provider: up, model: dear}]}
`, prices, filepath.Join(dir, "usage.db"), b.serve(t, false), hashOf("k-own"), hashOf("k-one"), hashOf("k-two"), hashOf("k-some"), hashOf("k-free"))
	bearer := func(key string) []string { return []string{"authorization", "Bearer k-" + key} }
	spent, small := map[string]int64{}, int64(0)
	ask := func(g *gate, key, model string) result {
		return g.chat(fmt.Sprintf(`{"model":%q,"max_tokens":80,"messages":[{"role":"user","content":"hi"}]}`, model), bearer(key)...)
	}
	work := func(g *gate) {
		t.Helper()
		for _, w := range []struct {
			key, model string
			to         []string
		}{{"own", "m", []string{"own"}}, {"one", "other", []string{"one", "two"}}, {"two", "m", []string{"one", "two"}}, {"some", "m", []string{"some"}}, {"some", "other", nil}, {"free", "small", nil}} {
			if r := ask(g, w.key, w.model); r.status != http.StatusOK {
				t.Fatalf("%s asks %s: got %d %.300s", w.key, w.model, r.status, r.body)
			}
			n := len(b.billed) - 1
			for _, k := range w.to {
				spent[k] += b.billed[n]
			}
			if w.model == "small" {
				small += int64(1000+n) + int64(50+n%13)
			}
		}
	}
	check := func(g *gate, when string) {
		t.Helper()
		for _, key := range []string{"own", "one", "two", "some"} {
			if got, want := g.budget(bearer(key)...), limit.Dollars(spent[key])+" USD"; got != want {
				t.Errorf("%s: the budget of %s has spent %s, want %s", when, key, got, want)
			}
			t.Logf("%s: the budget of %s has spent %s USD", when, key, limit.Dollars(spent[key]))
		}
	}
	first := serve(t, config)
	work(first)
	check(first, "before")
	first.cancel()
	first.wait()
	second := serve(t, config)
	check(second, "after SIGTERM")
	work(second)
	check(second, "and more")
	if r := ask(second, "own", "m"); r.header.Get("x-ratelimit-remaining-requests") != "7" { // a rate is not seeded, and a refusal takes nothing of it
		t.Errorf("got %s requests that remain, want 7", r.header.Get("x-ratelimit-remaining-requests"))
	}
	spent["own"] += b.billed[len(b.billed)-1]
	second.cancel()
	second.wait()
	file := configFile(t, strings.Replace(config, `"127.0.0.1:0"`, "off", 1))
	p := startKillable(t, file)
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+p.addr+"/v1/chat/completions", readerOf(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("authorization", "Bearer k-own")
		r.Header.Set("content-type", "application/json")
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("got %d", resp.StatusCode)
		}
		spent["own"] += b.billed[len(b.billed)-1]
	}
	p.kill() // rows wait in the journal
	third := serve(t, config)
	check(third, "after SIGKILL")
	if r := ask(third, "free", "small"); r.status != http.StatusOK {
		t.Errorf("got %d %.300s, want room for one more", r.status, r.body)
	}
	n := len(b.billed) - 1
	small += int64(1000+n) + int64(50+n%13)
	if r := ask(third, "free", "small"); r.status != http.StatusTooManyRequests || !strings.Contains(r.body, fmt.Sprintf("has no room: %d are used or held", small)) {
		t.Errorf("got %d %.300s, want that %d tokens are used", r.status, r.body, small)
	}
}

// TestUsageThrownAway holds that a stream that is thrown away is not waited for long: its upstream says nothing more
// behind a call that is refused, or goes on. The model is asked again, the stream is ended, and its row is estimated.
func TestUsageThrownAway(t *testing.T) {
	t.Parallel()
	for name, goesOn := range map[string]bool{"silent": false, "goes on": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			url := upstream(t, func(w http.ResponseWriter, r received) {
				first := strings.Count(r.body, `"role"`) == 1
				arguments := `{\"city\":\"Bonn\"}`
				if first {
					arguments = `{}`
				}
				w.Header().Set("content-type", "text/event-stream")
				send(w, `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"weather","arguments":"`+arguments+`"}}]},"finish_reason":null}]}`+"\n\n")
				for first {
					if goesOn {
						io.WriteString(w, delta("more and more "))
						w.(http.Flusher).Flush()
					}
					select {
					case <-r.Context().Done():
						close(ended)
						return
					case <-time.After(10 * time.Millisecond):
					}
				}
				send(w, strings.Replace(finish, `"stop"`, `"tool_calls"`, 1), "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\n", done)
			})
			g := serve(t, strings.Replace(usageConfig(t, url, "usage: {store: memory}\n"), "model: real}", "model: real, on_invalid_call: reask}", 1))
			r := g.chat(`{"model":"m","stream":true,"messages":[{"role":"user","content":"weather?"}],"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`)
			if r.status != http.StatusOK || !strings.Contains(r.body, "Bonn") || !strings.HasSuffix(r.body, done) {
				t.Errorf("got %d %v %.1000s", r.status, r.err, r.body)
			}
			<-ended
			if s := g.usage("group=total"); len(s) != 1 || s[0].Answers != 2 || s[0].Estimated != 1 {
				t.Errorf("got %+v, want two answers, of which one is estimated", s)
			}
		})
	}
}
