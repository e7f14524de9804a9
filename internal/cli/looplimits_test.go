package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// everCalling is an upstream that calls get_weather in every answer, unless it is to call no tool, each
// time for 10 and 5 tokens. Its calls have the ids that name makes of their numbers.
func everCalling(t *testing.T, name func(n int64) string) (base string, asked *atomic.Int64) {
	t.Helper()
	asked = &atomic.Int64{}
	const used = `"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}`
	return upstream(t, func(w http.ResponseWriter, r received) {
		n := asked.Add(1)
		calls := fmt.Sprintf(`"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Town %d\"}"}}]`, name(n), n)
		reason := "tool_calls"
		if strings.Contains(r.body, `"tool_choice":"none"`) {
			calls, reason = `"content":"That is all."`, "stop"
		}
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			chunk := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"real","choices":[`
			fmt.Fprintf(w, chunk+`{"index":0,"delta":{"role":"assistant",%s},"finish_reason":null}]}`+"\n\n", calls)
			fmt.Fprintf(w, chunk+`{"index":0,"delta":{},"finish_reason":%q}]}`+"\n\n", reason)
			if strings.Contains(r.body, `"include_usage":true`) {
				io.WriteString(w, chunk+`],`+used+"}\n\n")
			}
			io.WriteString(w, "data: [DONE]\n\n")
			return
		}
		w.Header().Set("content-type", "application/json")
		fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":"real","choices":[{"index":0,"message":{"role":"assistant",%s},"finish_reason":%q}],%s}`, calls, reason, used)
	}), asked
}

// loopConfig has the model m with keys of a route, and prices of real in files of the test: an answer
// of everCalling costs 0.0004 US dollars.
func loopConfig(t *testing.T, base, route string) string {
	t.Helper()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	if err := os.WriteFile(prices, []byte("prices:\n  - {model: real, currency: USD, input: 20, cache_read: 1, output: 40}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("prices: %s\nadmin: {listen: \"127.0.0.1:0\"}\nproviders:\n  up: {type: openai, base_url: %q, api_key: sk-upstream, retry: {max_retries: 0}}\nmodels:\n  m: {targets: [{provider: up, model: real}], max_rounds: 100, %s}\n", prices, base, route)
}

// looper is a client that does what the model calls for, again and again.
type looper struct {
	g        *gate
	stream   bool
	messages []any
}

func newLooper(g *gate, stream bool) *looper {
	return &looper{g, stream, []any{map[string]any{"role": "user", "content": "How is the weather everywhere?"}}}
}

// round sends a request, and makes the next one of the answer.
func (l *looper) round() result {
	l.g.t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "stream": l.stream, "tools": json.RawMessage(twoTools), "messages": l.messages})
	if err != nil {
		l.g.t.Fatal(err)
	}
	r := l.g.chat(string(body))
	if r.status != http.StatusOK {
		return r
	}
	var calls []map[string]any
	take := func(text []byte) {
		var b struct {
			Choices []struct {
				Message, Delta struct {
					Calls []map[string]any `json:"tool_calls"`
				}
			}
		}
		if json.Unmarshal(text, &b) == nil && len(b.Choices) > 0 {
			for _, c := range append(b.Choices[0].Message.Calls, b.Choices[0].Delta.Calls...) {
				if id, _ := c["id"].(string); id != "" {
					c["function"].(map[string]any)["arguments"] = fmt.Sprintf(`{"city":"Town %d"}`, len(l.messages)) //nolint:forcetypeassert // of the test's own upstream
					delete(c, "index")
					calls = append(calls, c)
				}
			}
		}
	}
	if take([]byte(r.body)); l.stream {
		for line := range strings.Lines(r.body) {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				take([]byte(data))
			}
		}
	}
	if len(calls) == 0 {
		return r
	}
	l.messages = append(l.messages, map[string]any{"role": "assistant", "content": nil, "tool_calls": calls})
	for _, c := range calls {
		l.messages = append(l.messages, map[string]any{"role": "tool", "tool_call_id": c["id"], "content": fmt.Sprintf(`{"sky":"%d"}`, len(l.messages))})
	}
	return r
}

// callID is an id that nobody else has.
func callID(n int64) string { return fmt.Sprintf("call_%024d", n) }

// TestLoopCost holds that a client's loop ends where it has cost what it may, in each protocol.
func TestLoopCost(t *testing.T) {
	t.Parallel()
	base, _ := everCalling(t, callID)
	g := serve(t, loopConfig(t, base, "loop_guard: refuse, max_loop_usd: 0.001"))
	play := func(t *testing.T, g *gate) {
		for _, stream := range []bool{false, true} {
			l, other := newLooper(g, stream), newLooper(g, stream)
			for i, want := range []string{"", "1/100;efficiency=1.00;usd=0.0004/0.001", "2/100;efficiency=1.00;usd=0.0008/0.001", "3/100;efficiency=1.00;usd=0.0012/0.001;stop=cost"} {
				r := l.round()
				if got := r.header.Get("x-callgate-tool-rounds"); got != want || (r.status == http.StatusUnprocessableEntity) != (i == 3) {
					t.Errorf("stream %t, request %d: got status %d, rounds %q, %.300s, want %q", stream, i+1, r.status, got, r.body, want)
				}
				if i == 3 && !strings.Contains(r.body, "have cost 0.0012 US dollars; the limit is 0.001 (max_loop_usd)") {
					t.Errorf("got %s, want the limit's name", r.body)
				}
			}
			other.round() // the same words, and another loop
			if r := other.round(); r.status != http.StatusOK || r.header.Get("x-callgate-tool-rounds") != "1/100;efficiency=1.00;usd=0.0004/0.001" {
				t.Errorf("stream %t: got status %d, %q for another client's loop, want its own costs", stream, r.status, r.header.Get("x-callgate-tool-rounds"))
			}
			l.messages = append(l.messages, map[string]any{"role": "user", "content": "Go on."})
			if r := l.round(); r.status != http.StatusOK {
				t.Errorf("stream %t: got status %d, %s behind a new message of the user, want an answer", stream, r.status, r.body)
			}
		}
	}
	t.Run("chat", func(t *testing.T) { play(t, g) })
	for i := range tongues {
		t.Run(tongues[i].name, func(t *testing.T) {
			other, _ := g.speaking(t, &tongues[i])
			play(t, other)
		})
	}
	g.wantMetric(`callgate_tool_loops_total{reason="cost"}`, 6)
}

// TestLoopTime holds that a client's loop ends where it has lasted as long as it may, from its first
// request on, and what "answer" and "report" do then.
func TestLoopTime(t *testing.T) {
	t.Parallel()
	base, _ := everCalling(t, callID)
	for action, want := range map[string]struct {
		status int
		says   string
	}{
		"refuse": {http.StatusUnprocessableEntity, "the limit is 1s (max_loop_time)"},
		"answer": {http.StatusOK, "That is all."},
		"report": {http.StatusOK, "tool_calls"},
	} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			g := serve(t, loopConfig(t, base, "loop_guard: "+action+", max_loop_time: 1s"))
			l, late := newLooper(g, false), newLooper(g, true)
			if r := l.round(); r.status != http.StatusOK {
				t.Fatalf("got status %d, %s", r.status, r.body)
			}
			time.Sleep(1100 * time.Millisecond) // the client runs its tool
			r := l.round()
			if got := r.header.Get("x-callgate-tool-rounds"); r.status != want.status || !strings.Contains(r.body, want.says) || !strings.HasSuffix(got, "/1;stop=time") {
				t.Errorf("got status %d, rounds %q, %s, want %d and %q", r.status, got, r.body, want.status, want.says)
			}
			if got := r.header.Get("x-callgate-warnings"); got != "tool_rounds,tool_loop:time" {
				t.Errorf("got warnings %q", got)
			}
			if r := late.round(); r.status != http.StatusOK {
				t.Errorf("got status %d, %s for a new loop, want an answer", r.status, r.body)
			}
			g.wantMetric(`callgate_tool_loops_total{reason="time"}`, 1)
		})
	}
}

// TestLoopAlike holds that of loops whose calls have the same ids, as some servers number them, none is
// stopped for what others have cost.
func TestLoopAlike(t *testing.T) {
	t.Parallel()
	base, _ := everCalling(t, func(int64) string { return "functions.get_weather:0" })
	g := serve(t, loopConfig(t, base, "loop_guard: refuse, max_loop_usd: 0.001"))
	for i := range 5 {
		l := newLooper(g, i%2 == 0)
		for range 2 {
			if r := l.round(); r.status != http.StatusOK {
				t.Fatalf("loop %d: got status %d, %s, want an answer", i, r.status, r.body)
			}
		}
	}
}

// TestLoopPriceUnknown holds that costs which nobody knows are said, and not guessed.
func TestLoopPriceUnknown(t *testing.T) {
	t.Parallel()
	base := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"real","choices":[{"index":0,"message":{"role":"assistant","tool_calls":[{"id":"call_a","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}`)
	})
	g := serve(t, loopConfig(t, base, "loop_guard: refuse, max_loop_usd: 0.001"))
	l := newLooper(g, false)
	l.round()
	r := l.round()
	if got := r.header.Get("x-callgate-tool-rounds"); r.status != http.StatusOK || got != "1/100;efficiency=1.00;usd=0/0.001;unpriced" || !strings.Contains(r.header.Get("x-callgate-warnings"), "tool_cost_unknown") {
		t.Errorf("got status %d, rounds %q, warnings %q, want that the costs are not known", r.status, got, r.header.Get("x-callgate-warnings"))
	}
}

// TestLoopPriceMissing holds that a gateway does not start with a limit that nobody can keep.
func TestLoopPriceMissing(t *testing.T) {
	t.Parallel()
	config := strings.Replace(loopConfig(t, "http://127.0.0.1:9", "max_loop_usd: 1"), "model: real}]", "model: other}]", 1)
	stdout, stderr := &buffer{}, &buffer{}
	status := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "-c", configFile(t, config)}, readerOf(""), stdout, stderr)
	if status == 0 || !strings.Contains(stderr.String(), "models.m.max_loop_usd is in usd, and nobody knows what up/other costs") {
		t.Errorf("got status %d, %s, want that the price is missing", status, stderr)
	}
}

// TestLoopMirrored holds that what the copies cost that a mirror answers is not the client's loop's.
func TestLoopMirrored(t *testing.T) {
	t.Parallel()
	base, _ := everCalling(t, callID)
	g := serve(t, loopConfig(t, base, "loop_guard: refuse, max_loop_usd: 0.001")+
		"rollouts: [{name: try, arms: [{name: a, weight: 100}, {name: b, weight: 0, override: {parser: hermes}}], mirror: {percent: 100, arm: b}}]\n")
	l := newLooper(g, false)
	for i := range 3 {
		if r := l.round(); r.status != http.StatusOK {
			t.Fatalf("round %d: got status %d, %s, want an answer", i, r.status, r.body)
		}
		await(t, "the copy's answer", func() bool {
			return g.metric(`callgate_rollout_mirrors_total{result="compared",rollout="try"}`) == float64(i+1)
		})
	}
	if r := l.round(); r.status != http.StatusUnprocessableEntity {
		t.Errorf("got status %d, %s, want that the loop has cost too much", r.status, r.body)
	}
}
