package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// keeping is the configuration of a gateway that keeps the answers of its model m, with
// further keys of the model, and none of its model plain.
func keeping(url, head, keys string) string {
	return head + "\nadmin: {listen: \"127.0.0.1:0\"}\nproviders: {up: {type: openai, base_url: \"" + url + "\", api_key: " + canary + ", parser: auto}}\n" +
		"models:\n  m: {targets: [{provider: up, model: up}], answer_cache: memory" + keys + "}\n  plain: {targets: [{provider: up, model: up}]}\n"
}

// repeatable is a request that can be answered alike.
func repeatable(text string, stream bool) string {
	return fmt.Sprintf(`{"model":"m","temperature":0,"stream":%v,"messages":[{"role":"user","content":%q}],"tools":%s}`, stream, text, twoTools)
}

// numbered answers every request with the number of it.
func numbered(t *testing.T) *site {
	t.Helper()
	var s *site
	s = newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, fmt.Sprintf("Answer %d.", s.asked.Load())) })
	return s
}

// comment is a block of a stream that is none of the answer.
var comment = regexp.MustCompile(`(?m)^:.*\n(\r?\n)?`)

// bare is a body without comments.
func bare(r result) string { return comment.ReplaceAllString(r.body, "") }

// cached checks what the header says of the cache, and returns the body.
func (g *gate) cached(r result, want string) string {
	g.t.Helper()
	clean(g.t, r)
	if got := r.header.Get("x-callgate-cache"); got != want || r.status != http.StatusOK {
		g.t.Errorf("got status %d and x-callgate-cache %q, want 200 and %q: %s", r.status, got, want, cut(r.body, 0, 300))
	}
	return bare(r)
}

// TestAnswerCache holds that the second of two equal requests gets the bytes of the first,
// that its headers say so, and that nobody else is asked or counted.
func TestAnswerCache(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, func(w http.ResponseWriter, r received) {
				w.Header().Set("x-request-id", "upstreams")
				w.Header().Set("x-ratelimit-remaining-requests", "7")
				if r.wantsStream() {
					w.Header().Set("content-type", events)
					send(w, ": upstream's own\n\n", role, delta("Hi."), finish, `data: {"choices":[],"usage":{"prompt_tokens":700,"completion_tokens":3}}`+"\n\n", done)
					return
				}
				w.Header().Set("content-type", "application/json")
				io.WriteString(w, strings.TrimSuffix(completion("Hi."), "}")+`, "usage": {"prompt_tokens": 700,"completion_tokens":3}}`)
			})
			g := serve(t, keeping(s.url, "log: {level: info}", ""))
			first, second := g.chat(repeatable("hi", stream)), g.chat(repeatable("hi", stream))
			equalBytes(t, "answers", g.cached(second, "hit"), g.cached(first, "miss"))
			for name, want := range map[string]string{
				"x-callgate-provider": "up", "x-callgate-model": "up", "x-callgate-attempts": "0", "content-type": first.header.Get("content-type"),
				"x-ratelimit-remaining-requests": "", "x-callgate-upstream-request-id": "",
			} {
				if got := second.header.Get(name); got != want {
					t.Errorf("got %s %q, want %q", name, got, want)
				}
			}
			if age, err := strconv.Atoi(second.header.Get("age")); err != nil || age > 30 || first.header.Get("age") != "" {
				t.Errorf("got age %q and before %q, want seconds and none", second.header.Get("age"), first.header.Get("age"))
			}
			if id := second.header.Get("x-request-id"); id == "" || id == first.header.Get("x-request-id") {
				t.Errorf("got the request id %q twice", id)
			}
			if other := g.chat(strings.Replace(repeatable("hi", stream), `"m"`, `"plain"`, 1)); other.header.Get("x-callgate-cache") != "" {
				t.Errorf("got %q from a model without a cache", other.header.Get("x-callgate-cache"))
			}
			if got := s.asked.Load(); got != 2 {
				t.Errorf("got %d requests upstream, want 2", got)
			}
			metrics := g.adminDo("GET", "/metrics").body
			for _, want := range []string{
				`callgate_answer_cache_total{outcome="hit"} 1`, `callgate_answer_cache_total{outcome="miss"} 1`, "callgate_answer_cache_entries 1",
				`callgate_tokens_total{provider="up",type="prompt"} 1400`, `callgate_circuit_requests_total{provider="up"} 2`,
				`callgate_upstream_attempts_total{outcome="ok",provider="up",reason="first"} 2`,
			} {
				if !strings.Contains(metrics, want+"\n") {
					t.Errorf("got no %s in the metrics", want)
				}
			}
			if accounts := g.adminDo("GET", "/admin/prefix").body; !strings.Contains(accounts, `"input_tokens":1400`) {
				t.Errorf("got the accounts %s, want 1400 tokens", accounts)
			}
			await(t, "the log", func() bool { return strings.Contains(g.stderr.String(), `"answer_cache":"hit"`) })
		})
	}
}

// TestAnswerContents asks twice for each answer of the test data: those of kept come once
// from upstream, and those of refused, which are no plain and complete text, each time.
func TestAnswerContents(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/answers/*/*")
	if err != nil || len(files) < 30 {
		t.Fatalf("got %d files, error %v", len(files), err)
	}
	bodies := map[string][]byte{}
	for _, file := range files {
		if bodies[filepath.Base(file)], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	s := newSite(t, func(w http.ResponseWriter, r received) {
		name := regexp.MustCompile(`file ([\w.]+)`).FindStringSubmatch(r.body)[1]
		w.Header().Set("content-type", "application/json")
		if strings.HasSuffix(name, ".sse") {
			w.Header().Set("content-type", events)
		}
		w.Write(bodies[name])
	})
	g := serve(t, keeping(s.url, "log: {level: error}", ""))
	for _, file := range files {
		name := filepath.Base(file)
		body := repeatable("What is the weather? file "+name, strings.HasSuffix(name, ".sse"))
		before := s.asked.Load()
		first, second := g.chat(body), g.chat(body)
		want, requests := "hit", int64(1)
		if strings.Contains(file, "refused") {
			want, requests = "miss", 2
		}
		if got := s.asked.Load() - before; got != requests || second.header.Get("x-callgate-cache") != want {
			t.Errorf("%s: got %d requests upstream and %q, want %d and %q: %v\n%s", file, got, second.header.Get("x-callgate-cache"), requests, want, first.header, first.body)
		}
		if want == "hit" {
			equalBytes(t, file, bare(second), bare(first))
			if strings.Contains(second.body, "\n:") || strings.HasPrefix(second.body, ":") {
				t.Errorf("%s: got a comment in %q", file, second.body)
			}
		}
	}
}

// TestAnswerRequests sends each request of the test data twice.
func TestAnswerRequests(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/answers/requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, func(w http.ResponseWriter, r received) {
		text := healthyText
		if strings.Contains(r.body, "json_object") { // what is no JSON then is not kept
			text = `{"well": true}`
		}
		answerWith(w, r, text)
	})
	g := serve(t, keeping(s.url, "", ""))
	for line := range strings.Lines(string(data)) {
		want, members, _ := strings.Cut(strings.TrimSpace(line), " ")
		if want == "#" {
			continue
		}
		body := `{"model":"m",` + strings.TrimSpace(members)
		if !strings.Contains(members, "messages") {
			body += `,"messages":[{"role":"user","content":"hi"}]`
		}
		first := g.chat(body + "}")
		if got := first.header.Get("x-callgate-cache"); (got == "miss") != (want == "hit") {
			t.Errorf("%s: got %q at first", members, got)
		}
		if got := g.chat(body + "}").header.Get("x-callgate-cache"); got != want {
			t.Errorf("%s: got %q, want %q", members, got, want)
		}
	}
}

// TestAnswerDiffers holds that whatever may change an answer has an answer of its own, and
// that what is about one request has not.
func TestAnswerDiffers(t *testing.T) {
	t.Parallel()
	s := numbered(t)
	g := serve(t, keeping(s.url, "", ""))
	base := repeatable("hi", false)
	g.cached(g.chat(base), "miss")
	for name, body := range map[string]string{
		"stream": repeatable("hi", true), "space": base + " ", "text": repeatable("Hi", false),
		"tools":  strings.Replace(base, "get_time", "get_day", 1),
		"format": strings.Replace(base, "{", `{"response_format":{"type":"text"},`, 1),
		"top_p":  strings.Replace(base, "{", `{"top_p":1,`, 1),
		"seed":   strings.Replace(base, "{", `{"seed":1,`, 1),
		"choice": strings.Replace(base, "{", `{"tool_choice":"none",`, 1),
		"user":   strings.Replace(base, "{", `{"user":"a",`, 1),
	} {
		if got := g.chat(body).header.Get("x-callgate-cache"); got != "miss" {
			t.Errorf("%s: got %q, want a miss", name, got)
		}
	}
	for _, member := range []string{"x", "data_sources", "mcp_servers", "web_search_options"} { // nobody knows what they do
		if got := g.chat(strings.Replace(base, "{", `{"`+member+`":{},`, 1)).header.Get("x-callgate-cache"); got != "bypass" {
			t.Errorf("%s: got %q, want bypass", member, got)
		}
	}
	for name, want := range map[string]string{
		"openai-beta": "miss", "anthropic-beta": "miss", "x-tier": "miss", "helicone-user-id": "miss",
		"x-request-id": "hit", "traceparent": "hit", "user-agent": "hit", "accept": "hit", "accept-encoding": "hit", "x-stainless-retry-count": "hit",
		"x-stainless-lang": "hit", "idempotency-key": "hit", "x-callgate-max-retries": "hit", "x-forwarded-for": "hit", "cookie": "hit",
		"x-azure-ref": "hit", "x-amz-cf-id": "hit", "b3": "hit", "x-b3-traceid": "hit", "uber-trace-id": "hit", "request-id": "hit",
		"x-envoy-attempt-count": "hit", "x-original-forwarded-for": "hit", "true-client-ip": "hit", "x-client-ip": "hit",
	} {
		if got := g.chat(base, name, "1").header.Get("x-callgate-cache"); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := g.chat(base, name, "1").header.Get("x-callgate-cache"); got != "hit" {
			t.Errorf("%s: got %q once more, want a hit", name, got)
		}
	}
}

// TestAnswerControl holds that a client can have a fresh answer, and keep its own to itself.
func TestAnswerControl(t *testing.T) {
	t.Parallel()
	s := numbered(t)
	g := serve(t, keeping(s.url, "", ""))
	body := repeatable("hi", false)
	for i, row := range []struct{ control, cache, text string }{
		{"no-store", "bypass", "Answer 1."},
		{"", "miss", "Answer 2."},
		{"", "hit", "Answer 2."},
		{"No-Cache", "bypass", "Answer 3."},
		{"max-stale=7", "hit", "Answer 3."},
		{"max-age=0, foo", "bypass", "Answer 4."},
		{"", "hit", "Answer 4."},
		{"no-cache, no-store", "bypass", "Answer 5."},
		{"", "hit", "Answer 4."},
	} {
		if got := g.cached(g.chat(body, "cache-control", row.control), row.cache); !strings.Contains(got, row.text) {
			t.Errorf("%d: got %s for %q, want %s", i, got, row.control, row.text)
		}
	}
}

func TestAnswerTTL(t *testing.T) {
	t.Parallel()
	s := numbered(t)
	g := serve(t, keeping(s.url, "", ", answer_cache_ttl: 1s"))
	for n := 1; n <= 2; n++ {
		await(t, "a new answer", func() bool {
			r := g.chat(repeatable("hi", false))
			return r.header.Get("x-callgate-cache") == "miss" && strings.Contains(r.body, fmt.Sprintf("Answer %d.", n))
		})
	}
}

// TestAnswerRoom holds that answers make room for newer ones, and that one that is larger
// than the limit is not kept, however it comes.
func TestAnswerRoom(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(w http.ResponseWriter, r received) {
		size, _ := strconv.Atoi(regexp.MustCompile(`size (\d+)`).FindStringSubmatch(r.body)[1])
		if !r.wantsStream() {
			answerWith(w, r, strings.Repeat("x", size))
			return
		}
		w.Header().Set("content-type", events)
		for range size / 1000 {
			io.WriteString(w, delta(strings.Repeat("x", 1000)))
		}
		send(w, finish, done)
	})
	g := serve(t, keeping(s.url, "answer_store: {memory: 1MiB, largest: 400KiB}", ""))
	ask := func(n, size int, stream bool, want string) {
		t.Helper()
		if r := g.chat(repeatable(fmt.Sprintf("%d size %d", n, size), stream)); len(g.cached(r, want)) < size {
			t.Errorf("got %d bytes, want %d", len(r.body), size)
		}
	}
	for _, stream := range []bool{false, true} {
		ask(1, 300_000, stream, "miss")
		ask(1, 300_000, stream, "hit")
		ask(1, 500_000, stream, "miss")
		ask(1, 500_000, stream, "miss")
	}
	for n := 2; n < 5; n++ { // room for three
		ask(n, 300_000, false, "miss")
	}
	ask(2, 300_000, false, "hit")
	ask(1, 300_000, false, "miss")
	ask(3, 300_000, false, "miss")
	ask(2, 300_000, false, "hit")
	metrics := g.adminDo("GET", "/metrics").body
	var size float64
	if m := regexp.MustCompile(`(?m)^callgate_answer_cache_bytes (\S+)$`).FindStringSubmatch(metrics); m != nil {
		size, _ = strconv.ParseFloat(m[1], 64)
	}
	if size < 900_000 || size > 1<<20 {
		t.Errorf("got %g bytes kept, want 900 KB to 1 MiB", size)
	}
}

// TestAnswerLarge holds that a large stored stream comes whole, and to a slow reader too.
func TestAnswerLarge(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("0123456789", 60_000)
	g := serve(t, keeping(newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", events)
		for piece := range len(text) / 6000 {
			io.WriteString(w, delta(text[piece*6000:][:6000]))
		}
		send(w, finish, done)
	}).url, "", ""))
	first := g.cached(g.chat(repeatable("hi", true)), "miss")
	resp, err := g.open(t.Context(), repeatable("hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var second bytes.Buffer
	for {
		n, err := io.CopyN(&second, resp.Body, 50_000)
		if n == 0 || err != nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if resp.Header.Get("x-callgate-cache") != "hit" || len(first) < len(text) {
		t.Errorf("got %q and %d bytes, want a hit of %d", resp.Header.Get("x-callgate-cache"), len(first), len(text))
	}
	equalBytes(t, "streams", second.String(), first)
}
