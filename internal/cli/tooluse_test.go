package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolAccounts: tokens and money of all rounds are in the accounts, calls in the metrics and
// the trace, and the run in the log.
func TestToolAccounts(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("date: 2026-11-01\nprices:\n  - {model: m, currency: USD, input: 2, cache_read: 1, output: 4}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var spans buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		spans.Write(b)
	}))
	defer collector.Close()
	url, _ := script(t, "native", oneSearch)
	config := strings.Replace(shop.config(url, "m", "none", ""), `admin: {listen: "off"}`, `admin: {listen: "127.0.0.1:0"}`, 1)
	g := serve(t, config+"prices: "+prices+"\ntracing: {endpoint: "+collector.URL+"}\n")
	r := g.chat(strings.Replace(askShop, `"stream":true`, `"stream":false`, 1))
	if r.status != http.StatusOK || r.header.Get("x-callgate-tool-run") != "rounds=2;calls=1;stop=answer" || r.header.Get("x-callgate-cached-tokens") != "100/200" || r.header.Get("x-callgate-saved") != "0.25;usd=0.0001" {
		t.Errorf("got status %d and the headers %v", r.status, r.header)
	}
	var got struct {
		Accounts struct {
			Total struct {
				Requests    int
				InputTokens int `json:"input_tokens"`
				Money       []struct{ Cost float64 }
			}
		}
	}
	body := g.operator("GET", "/admin/prefix").body
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Accounts.Total.InputTokens != 200 || len(got.Accounts.Total.Money) != 1 {
		t.Errorf("%v: got %s, want 200 tokens", err, body)
	}
	scrape := g.operator("GET", "/metrics").body
	for _, want := range []string{`callgate_tool_runs_total{stop="answer"} 1`, `callgate_tool_run_calls_total{outcome="ok",server="shop"} 1`, `callgate_tool_run_rounds_sum 2`,
		`callgate_tool_run_call_duration_seconds_count{server="shop"} 1`, `callgate_tokens_total{provider="up",type="prompt"} 200`} {
		if !strings.Contains(scrape, want) {
			t.Errorf("got no %s in the metrics", want)
		}
	}
	if !strings.Contains(g.stderr.String(), `"tool_run":"rounds=2;calls=1;stop=answer"`) {
		t.Errorf("got the log\n%s\nwant the run in it", g.stderr)
	}
	g.cancel()
	g.wait()
	if text := spans.String(); !strings.Contains(text, "execute_tool search") || strings.Count(text, "chat") < 2 {
		t.Errorf("got %d bytes of spans, want one of the call and one of each round", len(text))
	}
}

// TestToolTimeoutOfRoute: a route's tool_timeout ends a call whose server has no timeout of its own,
// long before the time for all rounds is over.
func TestToolTimeoutOfRoute(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	shop.do = func(_ http.ResponseWriter, r *http.Request, _ string) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	url, bodies := script(t, "native", oneSearch)
	g := serve(t, shop.config(url, "m", "none", "    tools: {tool_timeout: 100ms, attempts: 1, timeout: 9s, answer_time: 1s}"))
	r := g.chat(strings.Replace(askShop, `"stream":true`, `"stream":false`, 1))
	if got := r.header.Get("x-callgate-tool-run"); got != "rounds=2;calls=1;failed=1;stop=answer" {
		t.Errorf("got status %d and the run %q, want the call ended by tool_timeout", r.status, got)
	}
	if last := bodies()[len(bodies())-1]; !strings.Contains(last, `\"type\":\"timeout\"`) {
		t.Errorf("got %s, want the model told of the timeout", last)
	}
}

// TestToolLimitsShown: the limits of a model and of the request stand in the answer's headers, streamed or not, in
// execution and in the trace.
func TestToolLimitsShown(t *testing.T) {
	t.Parallel()
	var spans buffer
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		spans.Write(b)
	}))
	defer collector.Close()
	shop := newToolShop(t)
	url, _ := script(t, "native", oneSearch)
	tools := "    execution_metadata: body\n    tools: {max_rounds: 5, warn_at: 0.5, idle_rounds: 2, parallel: 3, attempts: 1, timeout: 30s, answer_time: 5s, tool_timeout: 1500ms, max_result: 1KiB, max_results: 2KiB}"
	g := serve(t, shop.config(url, "m", "none", tools)+"tracing: {endpoint: "+collector.URL+"}\n")
	const want = "rounds=5;warn=3;idle=2;time=30s;answer=5s;tool=1.5s;attempts=1;parallel=3;result=1024;results=2048"
	if r := g.chat(askShop); r.header.Get("x-callgate-tool-limits") != want {
		t.Errorf("streamed: got %q, want %s", r.header.Get("x-callgate-tool-limits"), want)
	}
	r := g.chat(strings.Replace(askShop, `"stream":true`, `"stream":false,"max_tool_calls":7`, 1))
	if r.header.Get("x-callgate-tool-limits") != want+";calls=7" {
		t.Errorf("got %q, want %s;calls=7", r.header.Get("x-callgate-tool-limits"), want)
	}
	if limits := `"limits":{"rounds":5,"warn":3,"idle":2,"calls":7,"parallel":3,"attempts":1,"time_ms":30000,"answer_ms":5000,"tool_ms":1500,"result_bytes":1024,"results_bytes":2048}`; !strings.Contains(r.body, limits) {
		t.Errorf("got %s, want %s", r.body, limits)
	}
	g.cancel()
	g.wait()
	if !strings.Contains(spans.String(), want+";calls=7") {
		t.Errorf("got no limits in the trace")
	}
}

// TestToolRunSpent: each round counts for the client's limits. One that they refuse in the midst of the run ends it with
// what was found, no call is made any more, and the next request is refused.
func TestToolRunSpent(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
		return "", []modelCall{{fmt.Sprint("call_", results), "shop__search", fmt.Sprintf(`{"q":"%d"}`, results)}}
	})
	g := serve(t, shop.config(url, "m", "none", "")+"key_limits: [{requests: 2, per: 24h}]\n")
	r := g.chat(strings.Replace(askShop, `"stream":true`, `"stream":true,"stream_options":{"include_usage":true}`, 1))
	a := readAnswer(t, r)
	a.one(t, r, "length")
	if len(bodies()) != 2 || len(shop.made()) != 2 || !strings.Contains(a.text, "/search 0") || !strings.Contains(a.text, "/search 1") || !strings.Contains(r.body, "partial_answer:error") {
		t.Errorf("got %d rounds, %d calls and\n%s", len(bodies()), len(shop.made()), r.body)
	}
	if r := g.chat(askShop); r.status != http.StatusTooManyRequests || len(bodies()) != 2 {
		t.Errorf("got status %d and %d rounds, want the next request refused", r.status, len(bodies()))
	}
}

// TestToolKeys: a key may use the tools that its list names, and a client's credentials stay with
// the gateway.
func TestToolKeys(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	var seen buffer
	shop.do = func(w http.ResponseWriter, r *http.Request, _ string) {
		fmt.Fprintln(&seen, r.Header)
		io.WriteString(w, "found")
	}
	url, bodies := script(t, "native", oneSearch)
	var keys []string
	var list string
	for _, tools := range []string{"", ", tools: [shop__order]", ", tools: [\"shop__sea*\"]", ", tools: []"} {
		keys = append(keys, fmt.Sprintf("cg-key-of-client-%d", len(keys)))
		list += fmt.Sprintf("  - {name: k%d, hash: %q%s}\n", len(keys), hashOf(keys[len(keys)-1]), tools)
	}
	g := serve(t, shop.config(url, "m", "none", "    tools: {servers: [shop]}")+"keys:\n"+list)
	for i, want := range []string{"shop__order shop__search", "shop__order", "shop__search", ""} {
		r := g.chat(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "authorization", "Bearer "+keys[i], "x-secret", "mine")
		if r.status != http.StatusOK {
			t.Fatalf("got status %d: %s", r.status, r.body)
		}
		var first struct {
			Tools []struct{ Function struct{ Name string } }
		}
		all := bodies()
		if err := json.Unmarshal([]byte(all[len(all)-1]), &first); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range first.Tools {
			names = append(names, tool.Function.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("key %d: got the tools %q, want %q", i+1, got, want)
		}
	}
	if got := seen.String(); strings.Contains(got, "Bearer") || strings.Contains(got, "Secret") || got == "" {
		t.Errorf("got the headers %s, want none of the client's", got)
	}
	if got := len(shop.made()); got != 2 {
		t.Errorf("got %d calls, want those of the two keys that may search: %v", got, shop.made())
	}
}

// TestToolAnswerCache: where answers are kept, a tool is still called for each request: an answer
// with calls is never kept.
func TestToolAnswerCache(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, _ := script(t, "native", oneSearch)
	g := serve(t, shop.config(url, "m", "none", "    answer_cache: memory"))
	ask := strings.Replace(askShop, `"model":"m"`, `"model":"m","temperature":0`, 1)
	for n := range 3 {
		r := g.chat(ask)
		readAnswer(t, r)
		if got := len(shop.made()); got != n+1 {
			t.Errorf("request %d: got %d calls, want one for each request", n+1, got)
		}
	}
}

// TestToolApprovalOverHTTP: a client of chat completions agrees to a call.
func TestToolApprovalOverHTTP(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url, bodies := script(t, "native", func(results int, _ received) (string, []modelCall) {
		if results == 0 {
			return "I will order.", []modelCall{{"call_1", "shop__order", `{"item":"x","n":"2"}`}}
		}
		return "Ordered.", nil
	})
	g := serve(t, strings.Replace(shop.config(url, "m", "none", ""), "    untrusted: false", "    untrusted: false\n    approval: all", 1))
	for _, stream := range []bool{true, false} {
		ask := fmt.Sprintf(`{"model":"m","stream":%v,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi %v"}%%s],"tools":[{"type":"mcp","server_label":"shop"}]}`, stream, stream)
		before := len(shop.made())
		r := g.chat(fmt.Sprintf(ask, ""))
		a := readAnswer(t, r)
		a.one(t, r, "tool_calls")
		if len(a.calls) != 1 || a.calls[0].name != "shop__order" || a.calls[0].args != `{"item":"x","n":2}` || len(shop.made()) != before {
			t.Fatalf("got the calls %v and %v made, want one to agree to, with its arguments repaired", a.calls, shop.made())
		}
		more := fmt.Sprintf(`,{"role":"assistant","content":%s,"tool_calls":[{"id":%q,"type":"function","function":{"name":"shop__order","arguments":%s}}]},{"role":"tool","tool_call_id":%q,"content":"{\"approve\":true}"}`,
			jsonText(a.text), a.calls[0].id, jsonText(a.calls[0].args), a.calls[0].id)
		r = g.chat(fmt.Sprintf(ask, more))
		a = readAnswer(t, r)
		a.one(t, r, "stop")
		if got := shop.made(); len(got) != before+1 || got[before] != `POST /order{"item":"x","n":2}` || a.text != "Ordered." {
			t.Errorf("got the calls %v and %q, want the one that was agreed to", got, a.text)
		}
		all := bodies()
		if last := all[len(all)-1]; strings.Contains(last, "approve") || !strings.Contains(last, `\"server\":\"shop\"`) {
			t.Errorf("got %s, want the result in the place of the client's word", last)
		}
	}
}
