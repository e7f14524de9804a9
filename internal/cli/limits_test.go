package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/redistest"
)

// limited is a configuration whose model m has the given limits for all requests together.
func limited(base, limits, more string) string {
	return fmt.Sprintf(`
providers:
  up: {type: openai, base_url: %q, api_key: sk-upstream, retry: {max_retries: 0}}
models:
  m: {targets: [{provider: up, model: real}]}
passthrough: {/v1/files: up}
admin: {listen: "127.0.0.1:0"}
key_limits: [%s]
%s`, base, limits, more)
}

// usages is an upstream whose answers report 10 and 5 tokens.
func usages(t *testing.T) (base string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	return upstream(t, func(w http.ResponseWriter, r received) {
		asked.Add(1)
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			io.WriteString(w, delta("hello there"))
			io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
			if strings.Contains(r.body, `"include_usage":true`) {
				io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\n")
			}
			io.WriteString(w, "data: [DONE]\n\n")
			return
		}
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
	}), asked
}

// remaining is what a header says is left of the tokens.
func remaining(t *testing.T, r result) int {
	t.Helper()
	n, err := strconv.Atoi(r.header.Get("x-ratelimit-remaining-tokens"))
	if err != nil {
		t.Fatalf("got status %d, header %v, %.300s, want a number of tokens that remain", r.status, r.header, r.body)
	}
	return n
}

// TestLimitHeadersOfErrors holds that a client with limits hears of those also with an upstream's error, and
// nothing of the limits that the gateway has there.
func TestLimitHeadersOfErrors(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusTooManyRequests, http.StatusInternalServerError} {
		base := upstream(t, func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", "application/json")
			w.Header().Set("x-ratelimit-limit-requests", "10000")
			w.Header().Set("x-ratelimit-remaining-requests", "9999")
			w.Header().Set("x-ratelimit-remaining-images", "3")
			w.WriteHeader(status)
			io.WriteString(w, `{"error":{"message":"no","type":"t","param":null,"code":null}}`)
		})
		g := serve(t, limited(base, "{requests: 9, per: 744h}", ""))
		for path, body := range map[string]string{
			"/v1/chat/completions": prompt("m", "hi", false),
			"/v1/messages":         `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
			"/v1/responses":        `{"model":"m","input":"hi"}`,
		} {
			h := g.do(g.request("POST", path, body)).header
			if limit, left, other := h.Get("x-ratelimit-limit-requests"), h.Get("x-ratelimit-remaining-requests"), h.Get("x-ratelimit-remaining-images"); limit != "9" || left == "9999" || left == "" || other != "" {
				t.Errorf("%s, status %d: got a limit of %q, of which %q are left, and %q images; want the client's own", path, status, limit, left, other)
			}
		}
	}
}

const slowly = "{tokens: 100000, per: 744h}" // of which one comes back in 27 seconds

// spent is how many tokens a request has used, by what two equal ones before and behind it hold.
func (g *gate) spent(use func()) int {
	probe := func() int {
		return remaining(g.t, g.chat(`{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"probe"}]}`))
	}
	before := probe()
	use()
	return before - probe() - 15 // the first one's
}

// TestLimitHeaders holds what clients are told of their limits, in each protocol.
func TestLimitHeaders(t *testing.T) {
	t.Parallel()
	base, asked := usages(t)
	g := serve(t, limited(base, "{requests: 2, per: 744h}, "+slowly, ""))
	r := g.chat(prompt("m", "hi", false))
	for name, want := range map[string]string{"x-ratelimit-limit-requests": "2", "x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "372h0m0s", "x-ratelimit-limit-tokens": "100000"} {
		if got := r.header.Get(name); r.status != http.StatusOK || got != want {
			t.Errorf("got status %d, %s %q, want %q", r.status, name, got, want)
		}
	}
	g.chat(prompt("m", "hi", true))
	r = g.chat(prompt("m", "hi", false))
	if r.status != http.StatusTooManyRequests || !strings.Contains(r.body, `"type":"requests"`) || !strings.Contains(r.body, `"code":"rate_limit_exceeded"`) ||
		!strings.Contains(r.body, "The limit of 2 requests per 744h (all) is reached. Try again in") || r.header.Get("retry-after") == "" || r.header.Get("retry-after-ms") == "" || r.header.Get("x-ratelimit-remaining-requests") != "0" {
		t.Errorf("got status %d, %v, %s, want that the limit is reached", r.status, r.header, r.body)
	}
	for path, body := range map[string]string{
		"/v1/messages":              `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1/responses":             `{"model":"m","input":"hi"}`,
		"/v1/embeddings":            `{"model":"m","input":"hi"}`,
		"/v1/files":                 `x`,
		"/v1/completions":           `{"model":"m","prompt":"hi"}`,
		"/v1/messages/count_tokens": `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
	} {
		r := g.do(g.request("POST", path, body))
		if path == "/v1/messages/count_tokens" { // it has an estimate of its own
			continue
		}
		if r.status != http.StatusTooManyRequests || r.header.Get("retry-after") == "" {
			t.Errorf("%s: got status %d, %s, want 429", path, r.status, r.body)
		}
		if path == "/v1/messages" && !strings.Contains(r.body, `"type":"rate_limit_error"`) {
			t.Errorf("got %s, want the protocol's own form", r.body)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("got %d requests at the upstream, want 2", n)
	}
	if text := g.adminDo("GET", "/metrics").body; !strings.Contains(text, `callgate_limit_requests_total{kind="requests",outcome="admitted",scope="all"} 2`) || !strings.Contains(text, "callgate_limit_holds 0\n") {
		t.Errorf("got no metrics of limits in %s", text)
	}
}

// TestLimitBudget holds what a budget that is spent says, and that SDKs do not come back for it.
func TestLimitBudget(t *testing.T) {
	t.Parallel()
	base, asked := usages(t)
	// 10 and 5 tokens cost 0.000025 USD; the request holds about 20 and 1.
	g := serve(t, limited(base, "{usd: 0.0001, per: month}", "assume_price: {input: 1, output: 3}\n"))
	body := `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hello"}]}`
	var last result
	for range 10 {
		if last = g.chat(body); last.status != http.StatusOK {
			break
		}
	}
	if last.status != http.StatusTooManyRequests || !strings.Contains(last.body, `"type":"insufficient_quota"`) || !strings.Contains(last.body, `"code":"insufficient_quota"`) ||
		!strings.Contains(last.body, "The budget of 0.0001 USD per month (all) has no room: 0.0001 USD are used or held, 0 USD are left") ||
		last.header.Get("x-should-retry") != "false" || last.header.Get("retry-after") != "" || asked.Load() != 4 {
		t.Errorf("got status %d after %d requests, %v, %s, want 429 for good after 4", last.status, asked.Load(), last.header, last.body)
	}
}

// TestLimitTooLarge holds what a request is told that no window of its budget has room for: when the next one begins would
// send it away until then, to be refused once more.
func TestLimitTooLarge(t *testing.T) {
	t.Parallel()
	base, asked := usages(t)
	for one, budget := range map[string]string{"{usd: 0.0001, per: month}": "0.0001 USD per month", "{usd: 0.0001, per: total}": "0.0001 USD per total", "{tokens: 50, per: day}": "50 tokens per day"} {
		g := serve(t, limited(base, one, "assume_price: {input: 1, output: 3}\n"))
		r := g.chat(`{"model":"m","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`)
		if r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "The budget of "+budget+" (all) has no room: ") ||
			!strings.Contains(r.body, " That is more than all of it. Make it shorter, or lower its max_tokens.") || strings.Contains(r.body, "begins anew") {
			t.Errorf("%s: got status %d, %s, want that it is too large, and what to lower", one, r.status, r.body)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("got %d requests at the upstream, want none", n)
	}
}

// TestLimitStreams holds that streams are counted by the usage that the upstream is asked for, which a
// client that has not asked does not see.
func TestLimitStreams(t *testing.T) {
	t.Parallel()
	base, _ := usages(t)
	g := serve(t, limited(base, slowly, ""))
	for options, want := range map[string]bool{"": false, `"stream_options":{},`: false, `"stream_options":{"include_usage":false},`: false, `"stream_options":{"x":1,"include_usage":true},`: true} {
		var r result
		n := g.spent(func() {
			r = g.chat(`{"model":"m",` + options + `"stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		})
		if n != 15 || strings.Contains(r.body, `"usage"`) != want || !strings.Contains(r.body, "hello there") || !strings.HasSuffix(r.body, "data: [DONE]\n\n") {
			t.Errorf("%s: got %d tokens counted, want 15; the client got %s, want the usage in it: %v", options, n, r.body, want)
		}
	}
	for path, body := range map[string]string{
		"/v1/messages": `{"model":"m","stream":true,"max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, "/v1/responses": `{"model":"m","stream":true,"input":"hi"}`,
		"/v1/embeddings": `{"model":"m","input":"hi"}`,
	} {
		if n := g.spent(func() { g.do(g.request("POST", path, body)) }); n != 15 {
			t.Errorf("%s: got %d tokens counted, want 15", path, n)
		}
	}
}

// TestLimitCompletions holds that a stream of completions, which is relayed as it is, counts by its text and not by
// what stands around each token where its client has not asked for the usage.
func TestLimitCompletions(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, r received) {
		if !r.wantsStream() {
			io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		for range 720 {
			send(w, `data: {"id":"cmpl-1","object":"text_completion","created":1,"choices":[{"text":"word ","index":0,"logprobs":null,"finish_reason":null}],"model":"m"}`+"\n\n")
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})
	g := serve(t, limited(base, slowly, ""))
	if n := g.spent(func() { g.do(g.request("POST", "/v1/completions", `{"model":"m","prompt":"hi","stream":true}`)) }); n < 1000 || n > 1110 {
		t.Errorf("got %d tokens counted, want about 1000", n)
	}
}

// TestLimitUsageForms holds that the usage counts wherever an upstream reports it, that a 0 is a 0, and that what is not reported, or
// cannot be, is estimated.
func TestLimitUsageForms(t *testing.T) {
	t.Parallel()
	end := `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]%s}` + "\n\n"
	for name, tt := range map[string]struct {
		answer      string
		least, most int
	}{
		"in the last chunk with choices": {delta("hi") + fmt.Sprintf(end, `,"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`) + "data: [DONE]\n\n", 18, 18},
		"zero":                           {delta("hi") + fmt.Sprintf(end, `,"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`) + "data: [DONE]\n\n", 0, 0},
		"in every chunk":                 {strings.Replace(delta("hi"), "}\n", `,"usage":{"prompt_tokens":11,"completion_tokens":1,"total_tokens":12}}`+"\n", 1) + fmt.Sprintf(end, `,"usage":{"prompt_tokens":11,"completion_tokens":9,"total_tokens":20}`) + "data: [DONE]\n\n", 20, 20},
		"less than nothing":              {delta(strings.Repeat("word ", 720)) + fmt.Sprintf(end, `,"usage":{"prompt_tokens":-11,"completion_tokens":-7,"total_tokens":-18}`) + "data: [DONE]\n\n", 1000, 1110},
		"half a token":                   {delta(strings.Repeat("word ", 720)) + fmt.Sprintf(end, `,"usage":{"prompt_tokens":11,"completion_tokens":7.5}`) + "data: [DONE]\n\n", 1000, 1110},
		"odd cached tokens":              {delta("hi") + fmt.Sprintf(end, `,"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":-1}}`) + "data: [DONE]\n\n", 18, 18},
		"none":                           {delta(strings.Repeat("word ", 720)) + fmt.Sprintf(end, "") + "data: [DONE]\n\n", 1000, 1110},
		"it breaks off":                  {delta(strings.Repeat("word ", 720)), 1000, 1110},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := upstream(t, func(w http.ResponseWriter, r received) {
				if !r.wantsStream() {
					io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
					return
				}
				w.Header().Set("content-type", "text/event-stream")
				io.WriteString(w, tt.answer)
			})
			g := serve(t, limited(base, slowly, ""))
			if n := g.spent(func() { g.chat(prompt("m", "hi", true)) }); n < tt.least || n > tt.most {
				t.Errorf("got %d tokens counted, want %d to %d", n, tt.least, tt.most)
			}
		})
	}
}

// TestLimitCutForms holds that a stream which is cut is a whole one in each protocol: all that comes is JSON, and each choice that
// was not at its end has one.
func TestLimitCutForms(t *testing.T) {
	t.Parallel()
	chunk := func(choices string) string {
		return `data: {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [` + choices + "]}\n\n"
	}
	base := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "text/event-stream")
		if strings.Contains(r.body, `"n":3`) {
			send(w, chunk(`{"index":1,"delta":{"content":"One"},"finish_reason":null}`)+chunk(`{"index":2,"delta":{"content":"Two"},"finish_reason":null}`)+chunk(`{"index":1,"delta":{},"finish_reason":"stop"}`))
		}
		for range 400 {
			send(w, chunk(`{"index":0,"delta":{"content":"`+strings.Repeat("word ", 72)+`"},"finish_reason":null}`))
		}
		io.WriteString(w, "data: [DONE]\n\n")
	})
	for _, tt := range []struct {
		path, body string
		ends       []string // once each
	}{
		{"/v1/chat/completions", prompt("m", "hi", true), []string{`"index":0,"delta":{},"finish_reason":"length"`, "data: [DONE]"}},
		{"/v1/chat/completions", `{"model":"m","stream":true,"n":3,"messages":[{"role":"user","content":"hi"}]}`,
			[]string{`"index":0,"delta":{},"finish_reason":"length"`, `"index":1,"delta":{},"finish_reason"`, `"index":2,"delta":{},"finish_reason":"length"`, "data: [DONE]"}},
		{"/v1/messages", `{"model":"m","stream":true,"max_tokens":100000,"messages":[{"role":"user","content":"hi"}]}`, []string{`"stop_reason":"max_tokens"`, "event: message_stop"}},
		{"/v1/responses", `{"model":"m","stream":true,"input":"hi"}`, []string{"event: response.incomplete", `"reason":"max_output_tokens"`}},
	} {
		g := serve(t, limited(base, "{tokens: 20000, per: day, on_exceed: cut}", "usage: {store: memory}\n"))
		r := g.do(g.request("POST", tt.path, tt.body))
		if r.status != http.StatusOK {
			t.Fatalf("%s: got status %d, %s", tt.path, r.status, r.body)
		}
		if tt.path == "/v1/chat/completions" && !strings.Contains(r.body, " warnings=budget_cut:all") {
			t.Errorf("%s: got no warning that a budget cut it: …%s", tt.path, r.body[max(len(r.body)-300, 0):])
		}
		await(t, "a word in the log, the metrics and the ledger", func() bool {
			return strings.Contains(g.stderr.String(), `"warnings":"budget_cut:all"`) && strings.Contains(g.adminDo("GET", "/metrics").body, `callgate_warnings_total{kind="budget_cut"} 1`) &&
				strings.Contains(g.adminDo("GET", "/admin/usage?group=status").body, `"budget_cut"`)
		})
		if scrape := g.adminDo("GET", "/metrics").body; strings.Contains(scrape, "client_closed_request") {
			t.Errorf("%s: the metrics say that the client left", tt.path)
		}
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" && !json.Valid([]byte(data)) {
				t.Errorf("%s: got the event %s, want JSON", tt.path, data)
			}
		}
		for _, end := range tt.ends {
			if n := strings.Count(r.body, end); n != 1 {
				t.Errorf("%s: got %d times %s, want it once: …%s", tt.path, n, end, r.body[max(len(r.body)-1000, 0):])
			}
		}
	}
}

// TestLimitGone holds that a client that leaves pays for what came, and that nothing is held afterwards.
func TestLimitGone(t *testing.T) {
	t.Parallel()
	left := make(chan struct{})
	base := upstream(t, func(w http.ResponseWriter, r received) {
		if !r.wantsStream() {
			io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		send(w, delta(strings.Repeat("word ", 720)))
		<-r.Context().Done()
		close(left)
	})
	g := serve(t, limited(base, slowly+", {concurrency: 1}", ""))
	n := g.spent(func() {
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := g.open(ctx, prompt("m", "hi", true))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAtLeast(resp.Body, make([]byte, 5000), 3000); err != nil {
			t.Fatal(err)
		}
		if r := g.chat(prompt("m", "hi", false)); r.status != http.StatusTooManyRequests || !strings.Contains(r.body, "The limit of 1 requests at a time (all) is reached") {
			t.Errorf("got status %d, %s, want that one runs already", r.status, r.body)
		}
		cancel()
		resp.Body.Close()
		<-left
		await(t, "the end of the hold", func() bool { return strings.Contains(g.adminDo("GET", "/metrics").body, "callgate_limit_holds 0\n") })
	})
	if n < 1000 || n > 1110 {
		t.Errorf("got %d tokens counted, want about 1000 of what came, and the prompt", n)
	}
}

// TestLimitCut holds that a stream which outgrows a budget is cut where that is wanted, and finished else.
func TestLimitCut(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "text/event-stream")
		for range 400 {
			send(w, delta(strings.Repeat("word ", 72))) // 100 tokens
		}
		io.WriteString(w, "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	})
	for policy, reason := range map[string]string{"cut": "length", "finish": "stop"} {
		g := serve(t, limited(base, "{tokens: 10000, per: day, on_exceed: "+policy+"}", ""))
		r := g.chat(prompt("m", "hi", true))
		n := strings.Count(r.body, "word ") / 72 * 100
		if r.status != http.StatusOK || !strings.Contains(r.body, `"finish_reason":"`+reason+`"`) || !strings.HasSuffix(r.body, "data: [DONE]\n\n") {
			t.Errorf("%s: got status %d, …%s", policy, r.status, r.body[max(len(r.body)-300, 0):])
		}
		if policy == "cut" && (n < 8000 || n > 11100) || policy == "finish" && n != 40000 {
			t.Errorf("%s: got about %d tokens of 10000", policy, n)
		}
		if r := g.chat(prompt("m", "hi", true)); r.status != http.StatusTooManyRequests {
			t.Errorf("%s: got status %d afterwards, want that the budget is spent", policy, r.status)
		}
	}
}

// TestLimitReask holds that answers that were thrown away count, since upstreams bill them.
func TestLimitReask(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	base := upstream(t, func(w http.ResponseWriter, r received) {
		arguments := `{}`
		if n.Add(1)%2 == 0 || !strings.Contains(r.body, "tools") {
			arguments = `{\"city\":\"Bonn\"}`
		}
		call := `"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weather","arguments":"` + arguments + `"}}]`
		if !strings.Contains(r.body, "tools") {
			call = `"content":"hi"`
			n.Add(-1)
		}
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant",`+call+`},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
	})
	g := serve(t, strings.Replace(limited(base, slowly, ""), "model: real}", "model: real, on_invalid_call: reask}", 1))
	var r result
	spent := g.spent(func() {
		r = g.chat(`{"model":"m","messages":[{"role":"user","content":"weather?"}],"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`)
	})
	if spent != 30 || !strings.Contains(r.body, "Bonn") {
		t.Errorf("got %d tokens counted for %s, want 30: those of both answers", spent, r.body)
	}
}

// TestLimitRedis holds that gateways with a Redis have their limits in common, exactly.
func TestLimitRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	base, asked := usages(t)
	config := limited(base, "{requests: 25, per: 744h, redis_away: closed}, {tokens: 1000000, per: month}, {concurrency: 100}", fmt.Sprintf("redis: {url: %q, key_prefix: %q}\ncache_salt: pepper\nlog: {level: error}\n", server.URL(), server.KeyPrefix()))
	gates := []*gate{serve(t, config), serve(t, config)}
	var wg sync.WaitGroup
	var admitted, late atomic.Int64 // late: a Redis on a loaded machine did not answer in time, and has perhaps counted
	for _, g := range gates {
		for range 4 {
			wg.Go(func() {
				for range 10 {
					switch r := g.chat(prompt("m", "hi", false)); r.status {
					case http.StatusOK:
						admitted.Add(1)
					case http.StatusTooManyRequests:
					case http.StatusServiceUnavailable:
						late.Add(1)
					default:
						t.Errorf("got status %d, %s", r.status, r.body)
					}
				}
			})
		}
	}
	wg.Wait()
	if got := admitted.Load(); got != asked.Load() || got > 25 || got < 25-late.Load() {
		t.Errorf("got %d admitted and %d at the upstream, and Redis late for %d, want exactly 25 of 80", got, asked.Load(), late.Load())
	}
}

// TestLimitTeams holds that the limits of a key, its team and its model hold together, and that those of another key do not.
func TestLimitTeams(t *testing.T) {
	t.Parallel()
	base, _ := usages(t)
	hash := hashOf
	g := serve(t, fmt.Sprintf(`
providers:
  up: {type: openai, base_url: %q, api_key: sk-upstream}
models:
  m: {targets: [{provider: up}], limits: [{requests: 8, per: 744h}]}
  free: {targets: [{provider: up}]}
key_limits: [{requests: 5, per: 744h}]
teams:
  red: {limits: [{requests: 4, per: 744h}]}
keys:
  - {name: a, hash: %q, team: red, limits: [{requests: 3, per: 744h, models: [m]}]}
  - {name: b, hash: %q, team: red, limits: []}
  - {name: c, hash: %q}
`, base, hash("key-a"), hash("key-b"), hash("key-c")))
	ask := func(key, model string, times int) (ok int, last result) {
		for range times {
			if last = g.chat(prompt(model, "hi", false), "authorization", "Bearer "+key); last.status == http.StatusOK {
				ok++
			}
		}
		return ok, last
	}
	for _, step := range []struct {
		key, model string
		want       int
		says       string
	}{
		{"key-a", "m", 3, `The limit of 3 requests per 744h (key \"a\", models \"m\") is reached`},
		{"key-a", "free", 1, `(team \"red\")`}, // the key's is for m alone; of the team one is left
		{"key-b", "m", 0, `The limit of 4 requests per 744h (team \"red\")`},
		{"key-c", "m", 5, `The limit of 5 requests per 744h (key \"c\")`},
	} {
		if n, last := ask(step.key, step.model, 6); n != step.want || !strings.Contains(last.body, step.says) {
			t.Errorf("%s, %s: got %d let pass, then %s, want %d and %s", step.key, step.model, n, last.body, step.want, step.says)
		}
	}
}

// TestLimitPrices holds that a budget in money and a model without a price do not go together.
func TestLimitPrices(t *testing.T) {
	t.Parallel()
	base, _ := usages(t)
	var said buffer
	if code := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "-c", configFile(t, limited(base, "{usd: 1, per: month}", ""))}, readerOf(""), io.Discard, &said); code == 0 ||
		!strings.Contains(said.String(), "key_limits[0] is in usd, and nobody knows what up/real costs (models.m)") {
		t.Errorf("got exit status %d, %s", code, &said)
	}
	g := serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {\"*\": {targets: [{provider: up}]}}\nkey_limits: [{usd: 1, per: month}]\n", base))
	if r := g.chat(prompt("whatever", "hi", false)); r.status != http.StatusForbidden || !strings.Contains(r.body, "price_unknown") {
		t.Errorf("got status %d, %s, want that nobody knows the price", r.status, r.body)
	}
}

// TestLimitAwayCounted holds that metrics count what is refused while the Redis is away, and that it is.
func TestLimitAwayCounted(t *testing.T) {
	t.Parallel()
	base, _ := usages(t)
	g := serve(t, limited(base, "{requests: 1, per: 744h}, {concurrency: 9}", "redis: {url: \"redis://127.0.0.1:1\"}\ncache_salt: pepper\n"))
	for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		if r := g.chat(prompt("m", "hi", false)); r.status != want {
			t.Fatalf("got status %d, %s; want %d", r.status, r.body, want)
		}
	}
	text := g.adminDo("GET", "/metrics").body
	for _, want := range []string{`{kind="requests",outcome="refused",scope="all"} 1`, `{kind="concurrency",outcome="refused",scope="all"} 0`, `{kind="requests",outcome="admitted",scope="all"} 1`} {
		if !strings.Contains(text, "callgate_limit_requests_total"+want+"\n") {
			t.Errorf("got metrics without %s", want)
		}
	}
	if !strings.Contains(text, "callgate_limit_away_total 2\n") {
		t.Error("got metrics that do not count 2 requests without the Redis")
	}
}

// TestLimitAway holds what clients get while the Redis is away.
func TestLimitAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	base, _ := usages(t)
	config := func(limits string) string {
		return limited(base, limits, fmt.Sprintf("redis: {url: %q, key_prefix: %q}\ncache_salt: pepper\nlog: {level: error}\n", server.URL(), server.KeyPrefix()))
	}
	closed := serve(t, config("{requests: 100, per: 744h, redis_away: closed}"))
	await(t, "the limits", func() bool { return closed.chat(prompt("m", "hi", false)).status == http.StatusOK }) // on a loaded machine the first connection may take too long
	server.Stop()
	if r := closed.chat(prompt("m", "hi", false)); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "limits_unavailable") || r.header.Get("retry-after") == "" {
		t.Errorf("got status %d, %s, want 503", r.status, r.body)
	}
	server.Restart()
	await(t, "the limits again", func() bool {
		time.Sleep(50 * time.Millisecond)
		return closed.chat(prompt("m", "hi", false)).status == http.StatusOK
	})
}
