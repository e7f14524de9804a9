package cli

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
)

// unsaid are the cases of which a protocol says something else, by "protocol/case" or by "case" for
// all but chat completions.
var unsaid = map[string]string{
	"call_function_call":             "the finish reason function_call is that of chat completions",
	"choice_allowed_tools":           "a choice among tools has another form",
	"choice_alone":                   "a choice without tools is refused, or left out with a warning",
	"choice_alone_off":               "likewise",
	"choice_alone_refuse":            "likewise",
	"choice_unknown":                 "a choice that names no tool is refused in words of the protocol's own",
	"combined":                       "metadata of the client's does not go upstream",
	"date_developer":                 "instructions of all roles are one system message",
	"date_empty_parts":               "likewise, and a text",
	"date_no_messages":               "a request without messages is refused before",
	"date_no_messages_native":        "likewise",
	"date_parts":                     "what the system says is a text",
	"tools_empty":                    "the SDKs send an empty list of tools for none",
	"tools_empty_default":            "likewise",
	"tools_empty_refuse":             "likewise",
	"tools_odd_name":                 "a tool without a name is refused before",
	"messages/call_annotations":      "annotations of a text are left out, and a warning says so",
	"messages/date_system_later":     "instructions in the midst of a conversation go to its beginning",
	"responses/date_kept_bytes":      "members that nobody knows do not go upstream",
	"responses/ghost_then_call_kept": "likewise",
}

// TestGuardsInAllProtocols plays the guards' cases in the protocols besides chat completions, whole
// and streamed, by clients of these.
func TestGuardsInAllProtocols(t *testing.T) {
	t.Parallel()
	for i := range tongues {
		w := &tongues[i]
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			var shared []*guardPlay
			played := 0
			for _, c := range guardCases(t) {
				body := c.files["request.json"]
				if _, err := w.ask([]byte(body)); errors.Is(err, errUnsaid) {
					t.Logf("%s: %v", c.name, err)
					continue
				}
				if unsaid[c.name] != "" || unsaid[w.name+"/"+c.name] != "" {
					continue
				}
				played++
				plays := c.plays(t)
				for _, p := range plays {
					p.tongue = w
				}
				if c.files["gateway.yaml"] == "" {
					shared = append(shared, plays...)
					continue
				}
				for _, p := range plays {
					t.Run(p.model, func(t *testing.T) {
						t.Parallel()
						g, _ := serve(t, guardConfig(p)).speaking(t, w)
						p.play(t, g)
					})
				}
			}
			if played < 240 {
				t.Errorf("got %d cases, want at least 240", played)
			}
			g := serve(t, guardConfig(shared...))
			for _, p := range shared {
				t.Run(p.model, func(t *testing.T) {
					t.Parallel()
					g, _ := g.speaking(t, w)
					p.play(t, g)
				})
			}
		})
	}
}

// inCommon is what the gateway does for clients of all protocols besides the guards. Each row is run
// for each protocol, whole and streamed, with a gateway of its own.
var inCommon = []struct {
	name string
	run  func(t *testing.T, speak func(*gate) *gate, stream bool)
}{
	{"response cache", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		s := numbered(t)
		g := speak(serve(t, keeping(s.url, "log: {level: error}", "")))
		first, second := textOf(t, g.chat(repeatable("hi", stream))), textOf(t, g.chat(repeatable("hi", stream)))
		other := textOf(t, g.chat(repeatable("ho", stream)))
		if first != "Answer 1." || second != first || other != "Answer 2." {
			t.Errorf("got %q, %q and of another %q", first, second, other)
		}
		if got := g.chat(repeatable("hi", stream)).header.Get("x-callgate-cache"); got != "hit" {
			t.Errorf("got x-callgate-cache %q, want hit", got)
		}
	}},
	{"prefix routing", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		f := newFleet(t, "")
		f.gate = speak(f.gate)
		f.crowd("alice")
		c := newTalk("alice", 1)
		c.stream = stream
		first := provider(f.turn(c, "one"))
		for _, topic := range []string{"two", "three"} {
			r := f.turn(c, topic)
			if reason, expected, _ := cacheHeader(t, r); provider(r) != first || reason != "cached" || expected == 0 {
				t.Errorf("%s: got %s by %s with %d blocks, want %s by cached", topic, provider(r), reason, expected, first)
			}
		}
	}},
	{"fallback", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		dead := static(t, http.StatusServiceUnavailable, "application/json", `{"error":{"message":"down"}}`)
		well := newSite(t, func(w http.ResponseWriter, r received) {
			answerWith(w, r, "<tool_call>\n{\"name\":\"get_time\",\"arguments\":{}}\n</tool_call>")
		})
		g := speak(serve(t, fmt.Sprintf("log: {level: error}\nproviders: {a: {type: openai, base_url: %q, retry: {max_retries: 0}}, b: {type: openai, base_url: %q}}\n"+
			"models: {m: {targets: [{provider: a}, {provider: b, parser: hermes}]}}", dead, well.url)))
		r := g.chat(prompt("m", "What time is it?", stream))
		got := meaningOf(t, r)
		if len(got["calls"].([]any)) != 1 || r.header.Get("x-callgate-fallbacks") != "1" {
			t.Errorf("got %v with the header %v", got, r.header)
		}
	}},
	{"retry", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		var asked atomic.Int64
		url := upstream(t, func(w http.ResponseWriter, r received) {
			if asked.Add(1) == 1 {
				http.Error(w, `{"error":{"message":"busy"}}`, http.StatusServiceUnavailable)
				return
			}
			answerWith(w, r, "Well.")
		})
		g := speak(serve(t, fmt.Sprintf("log: {level: error}\nproviders: {a: {type: openai, base_url: %q, retry: {max_retries: 1, base_delay: 1ms}}}", url)))
		if got := textOf(t, g.chat(prompt("a/m", "hi", stream))); got != "Well." || asked.Load() != 2 {
			t.Errorf("got %q after %d requests", got, asked.Load())
		}
	}},
	{"failure", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		url := static(t, http.StatusTooManyRequests, "application/json", `{"error":{"message":"slow down"}}`, "retry-after", "7")
		g := speak(serve(t, fmt.Sprintf("log: {level: error}\nproviders: {a: {type: openai, base_url: %q, retry: {max_retries: 0, max_delay: 1s}}}", url)))
		if r := g.chat(prompt("a/m", "hi", stream)); r.status != http.StatusTooManyRequests || r.header.Get("retry-after") != "7" {
			t.Errorf("got status %d with the header %v: %s", r.status, r.header, r.body)
		}
	}},
	{"a stream that breaks off", func(t *testing.T, speak func(*gate) *gate, stream bool) {
		if !stream {
			return
		}
		url := static(t, http.StatusOK, events, role+delta("one "))
		g := speak(serve(t, fmt.Sprintf("log: {level: error}\nproviders: {a: {type: openai, base_url: %q, retry: {max_retries: 0}}}", url)))
		if got := meaningOf(t, g.chat(prompt("a/m", "hi", true))); got["content"] != "one " || got["message"] == nil || got["finish_reason"] != nil {
			t.Errorf("got %v, want the text and an error", got)
		}
	}},
}

// meaningOf is what an answer in the form of chat completions says.
func meaningOf(t *testing.T, r result) map[string]any {
	t.Helper()
	got := map[string]any{}
	joinAnswer(t, got, dataOf(r))
	return got
}

func textOf(t *testing.T, r result) string {
	t.Helper()
	text, _ := meaningOf(t, r)["content"].(string)
	return text
}

// TestAllProtocolsShare runs what is shared in every protocol.
func TestAllProtocolsShare(t *testing.T) {
	t.Parallel()
	for _, row := range inCommon {
		for i := -1; i < len(tongues); i++ {
			for _, stream := range []bool{false, true} {
				name, speak := "chat", func(g *gate) *gate { return g }
				if i >= 0 {
					name = tongues[i].name
				}
				t.Run(fmt.Sprintf("%s/%s/stream=%v", row.name, name, stream), func(t *testing.T) {
					t.Parallel()
					if i >= 0 {
						speak = func(g *gate) *gate {
							other, _ := g.speaking(t, &tongues[i])
							return other
						}
					}
					row.run(t, speak, stream)
				})
			}
		}
	}
}
