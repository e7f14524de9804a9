package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// biller is an upstream that bills: its answers have usages of their own, and it adds up what they cost by the
// prices of billerPrices.
type biller struct {
	mu     sync.Mutex
	billed []int64        // by the number of the answer
	asked  map[string]int // how often, by the session
}

const billerPrices = `
prices:
  - {model: real, input: 2.5, cache_read: 0.25, output: 10, reasoning: 20, request: 0.001, tiers: [{above: 1100, input: 5, cache_read: 0.5, output: 15, reasoning: 30}]}
  - {model: dear, input: 1000000, output: 1000000}
`

// writePrices writes billerPrices into a folder, and returns the file's name.
func writePrices(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "prices.yaml")
	if err := os.WriteFile(name, []byte(billerPrices), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// next is the usage of the next answer, as JSON, and its number, which its input tokens tell.
func (b *biller) next() (n int, usage string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n = len(b.billed)
	input, cached, output, reasoning := int64(1000+n), int64(n%7*100), int64(50+n%13), int64(n%5*10)
	nano := int64(1_000_000)
	if input > 1100 {
		nano += (input-cached)*5000 + cached*500 + (output-reasoning)*15_000 + reasoning*30_000
	} else {
		nano += (input-cached)*2500 + cached*250 + (output-reasoning)*10_000 + reasoning*20_000
	}
	b.billed = append(b.billed, nano)
	return n, fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`,
		input, output, input+output, cached, reasoning)
}

func (b *biller) count(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.asked == nil {
		b.asked = map[string]int{}
	}
	b.asked[session]++
}

func (b *biller) total() (sum int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.billed {
		sum += n
	}
	return sum
}

// last is what the last answer has cost, as clients are told.
func (b *biller) last() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return "usd=" + strings.TrimRight(billing.USD(b.billed[len(b.billed)-1]), "0")
}

// serve answers whole or as a stream; every fifth request fails before it is billed.
func (b *biller) serve(t *testing.T, failing bool) string {
	t.Helper()
	var asked sync.Map
	return upstream(t, func(w http.ResponseWriter, r received) {
		if _, again := asked.LoadOrStore(r.body, true); failing && !again && strings.Contains(r.body, "fails once") {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":{"message":"no"}}`)
			return
		}
		n, usage := b.next()
		b.count(between(r.body, `"session":"`, `"`))
		if !r.wantsStream() {
			w.Header().Set("content-type", "application/json")
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"answer %d."},"finish_reason":"stop"}],"usage":%s}`, n, usage)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		io.WriteString(w, delta(fmt.Sprintf("answer %d.", n))+finish)
		fmt.Fprintf(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":%s}\n\n", usage)
		io.WriteString(w, done)
	})
}

func usageConfig(t *testing.T, url, more string) string {
	t.Helper()
	prices := writePrices(t, t.TempDir())
	return fmt.Sprintf("providers:\n  up: {type: openai, base_url: %q, api_key: sk-upstream, retry: {max_retries: 2, base_delay: 1ms}}\nmodels: {m: {targets: [{provider: up, model: real}]}}\n"+
		"admin: {listen: \"127.0.0.1:0\"}\nprices: %q\n%s", url, prices, more)
}

// TestUsageOfErrors holds that an error says what the answers have cost that it stands in the place of, over every
// protocol, and nothing where no upstream bills anything, or the price is not known.
func TestUsageOfErrors(t *testing.T) {
	t.Parallel()
	b := &biller{}
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, "refused") {
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, `{"error":{"message":"no"}}`)
			return
		}
		_, usage := b.next()
		w.Header().Set("content-type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"stop"}],"usage":%s}`, usage)
	})
	g := serve(t, usageConfig(t, url, "usage: {store: memory}\n"))
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"%s","messages":[{"role":"user","content":"%s"}]}`,
		"/v1/responses":        `{"model":"%s","input":"%s"}`,
		"/v1/messages":         `{"model":"%s","max_tokens":99,"messages":[{"role":"user","content":"%s"}]}`,
	} {
		before := b.total()
		r := g.do(g.request("POST", path, fmt.Sprintf(body, "m", "hi")))
		spent := gateway.Dollars(b.total() - before)
		if r.status != http.StatusBadGateway || r.header.Get("X-Callgate-Cost") != "usd="+spent {
			t.Errorf("%s: got %d with the cost %q after %s attempts, want usd=%s: %s", path, r.status, r.header.Get("X-Callgate-Cost"), r.header.Get("X-Callgate-Attempts"), spent, r.body)
		}
		for model, text := range map[string]string{"m": "refused", "up/nobody-knows": "hi"} {
			r := g.do(g.request("POST", path, fmt.Sprintf(body, model, text)))
			if r.status < 500 || r.header.Get("X-Callgate-Cost") != "" {
				t.Errorf("%s, %s: got %d with the cost %q, want none", path, text, r.status, r.header.Get("X-Callgate-Cost"))
			}
		}
	}
}

// TestUsage holds that the ledger has what the upstream billed, to the nano-dollar, through the whole program: whole
// answers, streams, and retries; by session; and that callgate usage prints it.
func TestUsage(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"memory": "usage: {store: memory}\n", "sqlite": "usage: {store: sqlite, path: " + filepath.Join(t.TempDir(), "usage.db") + "}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &biller{}
			g := serve(t, usageConfig(t, b.serve(t, true), more))
			for i := range 30 {
				text := "hi"
				if i%5 == 0 {
					text = fmt.Sprint("fails once ", i)
				}
				body := fmt.Sprintf(`{"model":"m","stream":%v,"metadata":{"session":"s-%d"},"messages":[{"role":"user","content":%q}]}`, i%2 == 1, i%3, text)
				if r := g.chat(body); r.status != http.StatusOK || !strings.Contains(r.body, "answer ") {
					t.Fatalf("got %d %.300s", r.status, r.body)
				} else if i%2 == 0 && r.header.Get("X-Callgate-Cost") != b.last() || i%2 == 1 && !strings.Contains(r.body, " cost="+b.last()) {
					t.Errorf("got the header %q and the body %.1000s, want the cost %s", r.header.Get("X-Callgate-Cost"), r.body, b.last())
				} else if i%2 == 1 && strings.Contains(r.body, "prompt_tokens") {
					t.Errorf("got %.1000s, want no usage that nobody asked for", r.body)
				}
			}
			total := g.usage("group=total")[0]
			if e := total; e.Nano != b.total() || e.Answers != 30 || e.Unpriced != 0 || e.Estimated != 0 {
				t.Errorf("got %+v, want 30 answers for %d", e, b.total())
			}
			t.Logf("the upstream billed %s USD for 30 answers, and the ledger has %s", billing.USD(b.total()), billing.USD(total.Nano))
			if list := g.usage("group=session"); len(list) != 3 || list[0].Group["session"] != "s-0" || list[0].Answers != 10 {
				t.Errorf("got %+v, want three sessions", list)
			}
			if r := g.adminDo("GET", "/admin/usage?grop=day"); r.status != http.StatusBadRequest || !strings.Contains(r.body, `There is no parameter \"grop\"`) {
				t.Errorf("got %d %s", r.status, r.body)
			}
			admin := "http://" + adminOn.FindStringSubmatch(g.stdout.String())[1]
			for _, c := range []struct{ args, want string }{
				{"--by total", billing.USD(b.total())}, {"--by model,served --csv", "model,served,answers"}, {"--by row --filter session=s-1", `"session":"s-1"`}, {"--filter session=s-1", "ANSWERS"},
			} {
				var out, errs bytes.Buffer
				if status := run(t.Context(), append([]string{"usage", "--admin", admin}, strings.Fields(c.args)...), readerOf(""), &out, &errs); status != 0 || !strings.Contains(out.String(), c.want) {
					t.Errorf("%s: got status %d, %s%s, want %q", c.args, status, out.String(), errs.String(), c.want)
				}
			}
			metrics := g.adminDo("GET", "/metrics").body
			for _, want := range []string{"callgate_usage_rows_total 30\n", "callgate_usage_rows_dropped_total 0\n", `callgate_usage_cost_usd_total{model="real",team=""}`} {
				if !strings.Contains(metrics, want) {
					t.Errorf("the metrics do not say %s", want)
				}
			}
		})
	}
}

// TestUsageArms holds that the ledger tells the arms of a rollout apart: what each has cost is what the upstream
// billed for its answers, to the nano-dollar, and a request that is in none has no arm.
func TestUsageArms(t *testing.T) {
	t.Parallel()
	b := &biller{}
	g := serve(t, usageConfig(t, b.serve(t, false), "usage: {store: memory}\nrollouts:\n- {name: try, match: {headers: {x-try: [\"*\"]}}, unit: user, arms: [{name: a, weight: 50}, {name: b, weight: 50, override: {parser: hermes}}]}\n"))
	want := map[string]int64{}
	for i := range 24 {
		body := fmt.Sprintf(`{"model":"m","stream":%v,"user":"u-%d","messages":[{"role":"user","content":"hi"}]}`, i%2 == 1, i)
		var header []string
		if i%4 != 0 {
			header = []string{"x-try", "1"}
		}
		r := g.chat(body, header...)
		if r.status != http.StatusOK {
			t.Fatalf("got %d %.300s", r.status, r.body)
		}
		want[r.header.Get("x-callgate-arm")] += b.billed[len(b.billed)-1]
	}
	got := map[string]int64{}
	for _, s := range g.usage("group=arm") {
		got[s.Group["arm"]] = s.Nano
	}
	if len(want) != 3 || !maps.Equal(got, want) {
		t.Errorf("got costs by arm %v, want %v", got, want)
	}
	for arm, nano := range want {
		if s := g.usage("group=total&arm=" + url.QueryEscape(arm)); len(s) != 1 || s[0].Nano != nano {
			t.Errorf("arm %q: got %+v, want %d", arm, s, nano)
		}
	}
	t.Logf("the upstream billed %v, and the ledger has %v", want, got)
}

// usageSum is an entry of an answer to GET /admin/usage.
type usageSum struct {
	Group                        map[string]string
	Answers, Unpriced, Estimated int64
	Nano                         int64 `json:"cost_nano_usd"`
}

// usage asks for sums of the ledger.
func (g *gate) usage(query string) []usageSum {
	g.t.Helper()
	var page struct{ Entries []usageSum }
	r := g.adminDo("GET", "/admin/usage?"+query)
	if err := json.Unmarshal([]byte(r.body), &page); err != nil || r.status != http.StatusOK {
		g.t.Fatalf("got %d %.300s, error %v", r.status, r.body, err)
	}
	return page.Entries
}

// TestUsageKilled kills the gateway with SIGKILL while clients talk to it, several times. Every answer that a client
// has got whole is in the ledger, once, and with what the upstream billed for it; each request of the upstream has a
// row, and a row that is of none was begun and not sent.
func TestUsageKilled(t *testing.T) {
	t.Parallel()
	b := &biller{}
	file := filepath.Join(t.TempDir(), "usage.db")
	config := configFile(t, strings.Replace(usageConfig(t, b.serve(t, false), "usage: {store: sqlite, path: "+file+"}\n"), `"127.0.0.1:0"`, "off", 1))
	client := &http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	seen := map[int]bool{}
	for life := range 4 {
		p := startKillable(t, config)
		var clients sync.WaitGroup
		for i := range 4 {
			clients.Go(func() {
				for j := 0; ; j++ {
					body := fmt.Sprintf(`{"model":"m","stream":%v,"metadata":{"session":"%d-%d-%d"},"messages":[{"role":"user","content":"hi"}]}`, (i+j)%2 == 0, life, i, j)
					status, text, ok := p.ask(t.Context(), client, "POST", "/v1/chat/completions", body)
					if !ok {
						return // it was killed
					}
					if status != http.StatusOK { // it starts
						time.Sleep(10 * time.Millisecond)
						continue
					}
					n := 0
					if _, err := fmt.Sscanf("answer "+between(text, "answer ", "."), "answer %d", &n); err != nil {
						t.Errorf("got %.300s", text)
						return
					}
					mu.Lock()
					seen[n] = true
					kill := len(seen)%25 == 0
					mu.Unlock()
					if kill {
						_ = p.cmd.Process.Kill()
					}
				}
			})
		}
		clients.Wait()
		p.kill()
	}
	g := serve(t, strings.Replace(readFile(t, config), "listen: off", `listen: "127.0.0.1:0"`, 1))
	rows, sessions, unfinished := map[int]int64{}, map[string]int{}, 0
	text := g.adminDo("GET", "/admin/usage?group=row&format=jsonl&limit=10000").body
	for line := range strings.Lines(text) {
		var r billing.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Nano == nil {
			t.Fatalf("%v in %s", err, line)
		}
		if sessions[r.Session]++; r.Status == billing.Unfinished {
			unfinished++
		}
		if b.asked[r.Session] == 0 && r.Status != billing.Unfinished {
			t.Errorf("a row of session %s is %s, and its upstream was not asked", r.Session, r.Status)
		}
		if r.Estimated {
			continue // it was cut off by a client that left, or by the end
		}
		n := int(r.Input) - 1000
		if _, twice := rows[n]; twice {
			t.Errorf("answer %d is there twice", n)
		}
		rows[n] = *r.Nano
	}
	for n := range seen {
		if nano, ok := rows[n]; !ok || nano != b.billed[n] {
			t.Errorf("answer %d: got a row %v with %d, want %d", n, ok, nano, b.billed[n])
		}
	}
	for n, nano := range rows {
		if nano != b.billed[n] {
			t.Errorf("answer %d: got %d, want %d", n, nano, b.billed[n])
		}
	}
	for session, n := range b.asked {
		if sessions[session] != n {
			t.Errorf("the upstream was asked %d times in session %s, and the ledger has %d rows of it", n, session, sessions[session])
		}
	}
	if len(seen) < 50 {
		t.Errorf("got %d answers, want more", len(seen))
	}
	t.Logf("%d answers were got whole, and the ledger has all of them; the upstream billed %d, the ledger has %d, and %d that are unfinished", len(seen), len(b.billed), len(rows), unfinished)
}

// TestUsageUnfinished kills the gateway with SIGKILL in the middle of answers: of a stream that has begun, of one that
// has not, of a whole one, and of one that is asked a second time. At the next start each upstream's request has a
// row, once, which says that it is an estimate; the one that had failed before has none.
func TestUsageUnfinished(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	url := upstream(t, func(w http.ResponseWriter, r received) {
		session := between(r.body, `"session":"`, `"`)
		mu.Lock()
		asked[session]++
		n := asked[session]
		mu.Unlock()
		switch {
		case session == "refused once" && n == 1:
			w.WriteHeader(http.StatusServiceUnavailable)
			io.WriteString(w, `{"error":{"message":"no"}}`)
			return
		case session == "begun":
			w.Header().Set("content-type", "text/event-stream")
			send(w, delta("It has begun."))
		case session == "whole and over":
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Over."},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
			return
		}
		<-r.Context().Done()
	})
	file := filepath.Join(t.TempDir(), "usage.db")
	config := configFile(t, strings.Replace(usageConfig(t, url, "usage: {store: sqlite, path: "+file+"}\n"), `"127.0.0.1:0"`, "off", 1))
	p := startKillable(t, config)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(session string) bool {
		status, _, ok := p.ask(t.Context(), client, "POST", "/v1/chat/completions", fmt.Sprintf(`{"model":"m","stream":%v,"metadata":{"session":%q},"messages":[{"role":"user","content":"Tell me everything."}]}`, !strings.Contains(session, "whole"), session))
		return ok && status == http.StatusOK
	}
	await(t, "the start", func() bool { return ask("whole and over") })
	answered := asked["whole and over"]
	var clients sync.WaitGroup
	sessions := []string{"begun", "not begun", "whole", "refused once"}
	for _, session := range sessions {
		clients.Go(func() { ask(session) })
	}
	await(t, "all requests at the upstream", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return asked["begun"] == 1 && asked["not begun"] == 1 && asked["whole"] == 1 && asked["refused once"] == 2
	})
	p.kill()
	clients.Wait()
	for range 2 { // the second start finds the same
		g := serve(t, strings.Replace(readFile(t, config), "listen: off", `listen: "127.0.0.1:0"`, 1))
		got := map[string]billing.Record{}
		rows := g.adminDo("GET", "/admin/usage?group=row&format=jsonl").body
		for line := range strings.Lines(rows) {
			var r billing.Record
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			got[r.Session] = r
		}
		if n := strings.Count(rows, "\n"); n != len(sessions)+answered {
			t.Errorf("got %d rows, want %d:\n%s", n, len(sessions)+answered, rows)
		}
		for _, session := range sessions {
			if r := got[session]; r.Status != billing.Unfinished || !r.Estimated || r.Input < 10 || r.Nano == nil || *r.Nano <= 1_000_000 || r.Purpose == "" || r.Served != "real" || r.Request == "" {
				t.Errorf("%s: got %+v, want an estimate", session, r)
			}
		}
		if r := got["whole and over"]; r.Status != "ok" || r.Estimated || r.Output != 5 {
			t.Errorf("got %+v, want what was reported", r)
		}
		if list := g.usage("group=total&status=unfinished"); len(list) != 1 || list[0].Answers != int64(len(sessions)) || list[0].Estimated != list[0].Answers {
			t.Errorf("got %+v", list)
		}
		t.Logf("the upstream was asked %v; the ledger has\n%s", asked, rows)
		g.cancel()
		g.wait()
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestUsageMirror holds that the ledger has what the upstream billed for a mirror's copies too, as nobody's: on no
// key's bill, in no session, and in no budget, also behind a restart, where budgets begin with what the ledger has.
func TestUsageMirror(t *testing.T) {
	t.Parallel()
	b := &biller{}
	dir := t.TempDir()
	prices := writePrices(t, dir)
	config := fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
prices: %q
usage: {store: sqlite, path: %q}
providers: {up: {type: openai, base_url: %q, api_key: k}}
keys: [{name: app, hash: %q, limits: [{usd: 100, per: month}]}]
models:
  m: {targets: [{provider: up, model: real}], limits: [{usd: 0.174, per: month}]}
  dear: {targets: [{provider: up, model: dear}]}
rollouts:
- {name: try, match: {models: [m]}, arms: [{name: a, weight: 100}, {name: b, weight: 0, override: {parser: hermes}}], mirror: {percent: 100, arm: b}}
`, prices, filepath.Join(dir, "usage.db"), b.serve(t, false), hashOf("k-app"))
	g := serve(t, config)
	client := int64(0)
	for i := range 24 {
		body := fmt.Sprintf(`{"model":"m","stream":%v,"metadata":{"session":"s"},"messages":[{"role":"user","content":"hi %d"}]}`, i%2 == 1, i)
		if r := g.chat(body, "authorization", "Bearer k-app"); r.status != http.StatusOK {
			t.Fatalf("got %d %.300s", r.status, r.body)
		}
		for end := time.Now().Add(patience); len(g.usage("group=request")) < 2*(i+1); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("got %+v, want a copy of each request", g.usage("group=request"))
			}
		}
	}
	for _, s := range g.usage("group=purpose,key,session,arm") {
		want := map[string]string{"purpose": "answer", "key": "app", "session": "s", "arm": "try/a"}
		if s.Group["purpose"] == "mirror" {
			want = map[string]string{"purpose": "mirror", "key": "", "session": "", "arm": "try/b"}
		} else {
			client = s.Nano
		}
		if !maps.Equal(s.Group, want) || s.Answers != 24 || s.Unpriced != 0 || s.Estimated != 0 {
			t.Errorf("got %+v, want 24 answers of %v", s, want)
		}
	}
	total := g.usage("group=total")[0]
	if total.Nano != b.total() || total.Answers != 48 {
		t.Errorf("got %+v, want 48 answers for %d", total, b.total())
	}
	t.Logf("the upstream billed %s USD, and the ledger has %s, of which the client has %s", billing.USD(b.total()), billing.USD(total.Nano), billing.USD(client))
	for _, when := range []string{"before", "after"} {
		if got, want := g.budget("authorization", "Bearer k-app"), limit.Dollars(client)+" USD"; got != want {
			t.Errorf("%s a restart: the budget has spent %s, want %s", when, got, want)
		}
		g.cancel()
		g.wait()
		g = serve(t, config)
	}
	if r := g.chat(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "authorization", "Bearer k-app"); r.status != http.StatusOK {
		t.Errorf("got %d %.300s, want room in the model's budget, of which clients have spent a half", r.status, r.body)
	}
}
