package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// refuseWith is a 400 in OpenAI's form.
func refuseWith(w http.ResponseWriter, code, message string) {
	w.Header().Set("content-type", mimeJSON)
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
}

// TestFallbackOn has the first of two targets fail in each way that fallback_on has a word for, with
// that word, with all others, and by default.
func TestFallbackOn(t *testing.T) {
	t.Parallel()
	const tools = `"tools":[{"type":"function","function":{"name":"get_weather","description":"Get the weather.","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]`
	const format = `"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}`
	const all = "invalid_calls, invalid_outputs, ghosts, contradictions, tools_refused, context_length"
	for _, tt := range []struct {
		word, keys, route, members string
		prompt                     string
		first                      func(w http.ResponseWriter, r received)
		asked                      int64 // of the first target
		code                       string
		byDefault                  bool
	}{
		{"invalid_calls", "on_invalid_call: reject", "", tools, "What is the weather in Oslo?", func(w http.ResponseWriter, r received) {
			answerCall(w, r, `{"town":"Oslo"}`)
		}, 1, "invalid_tool_call", false},
		{"invalid_calls", "on_invalid_call: reask", "", tools, "What is the weather in Oslo?", func(w http.ResponseWriter, r received) {
			answerCall(w, r, `{"town":"Oslo"}`)
		}, 2, "invalid_tool_call", false},
		{"invalid_outputs", "on_invalid_output: reject", "", format, "Where?", func(w http.ResponseWriter, r received) {
			answerWith(w, r, `{"town":"Oslo"}`)
		}, 1, "invalid_structured_output", false},
		{"invalid_outputs", "on_invalid_output: reask", "", format, "Where?", func(w http.ResponseWriter, r received) {
			answerWith(w, r, "In Oslo.")
		}, 2, "invalid_structured_output", false},
		{"ghosts", "", "guard: enforce", strings.ReplaceAll(tools, "get_weather", "delete_task"), "Delete the task Groceries.", func(w http.ResponseWriter, r received) {
			answerWith(w, r, "Done! I've deleted the task.")
		}, 2, "tool_not_triggered", false},
		{"tools_refused", "", "", tools, "Hi.", func(w http.ResponseWriter, _ received) {
			refuseWith(w, "", "registry.ollama.ai/library/gemma does not support tools")
		}, 1, "", true},
		{"context_length", "", "", tools, "Hi.", func(w http.ResponseWriter, _ received) {
			refuseWith(w, "context_length_exceeded", "This model's maximum context length is 8192 tokens.")
		}, 1, "context_length_exceeded", true},
		{"context_length", "", "", tools, "Hi.", func(w http.ResponseWriter, _ received) {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"detail":"prompt is too long: 300000 tokens > 200000 maximum"}`)
		}, 1, "upstream_rejected", true},
	} {
		for _, words := range []string{"default", tt.word, "others"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%s/stream %t", tt.word, tt.keys, words, stream), func(t *testing.T) {
					t.Parallel()
					first := newSite(t, tt.first)
					// The second one calls, or answers with JSON: nobody refuses it.
					second := newSite(t, func(w http.ResponseWriter, r received) {
						if strings.Contains(r.body, `"tools"`) {
							answerCall(w, r, `{"city":"Oslo"}`)
						} else {
							answerWith(w, r, `{"city":"Oslo"}`)
						}
					})
					var s setup
					s.provider("first", first.url, tt.keys)
					s.provider("second", second.url, tt.keys)
					s.model("m", "first", "second")
					config := s.String()
					route := tt.route
					if words != "default" {
						list := tt.word
						if words == "others" {
							list = strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll(", "+all+",", ", "+tt.word+",", ","), ", "), ",")
						}
						route = strings.TrimPrefix(route+", ", ", ") + "fallback_on: [" + list + "]"
					}
					config = strings.Replace(config, "  m: {", "  m: {"+route+strings.Repeat(", ", min(len(route), 1)), 1)
					g := serve(t, config)
					r := g.chat(fmt.Sprintf(`{"model":"m","stream":%t,%s,"messages":[{"role":"user","content":%q}]}`, stream, tt.members, tt.prompt))
					falls := words == tt.word || words == "default" && tt.byDefault
					want := int64(0)
					if falls {
						want = 1
					}
					if got := second.asked.Load(); got != want || first.asked.Load() != tt.asked {
						t.Fatalf("got %d and %d requests, want %d and %d: %s", first.asked.Load(), got, tt.asked, want, r.body)
					}
					if !falls {
						status := 400
						if tt.code != "" && !strings.Contains(tt.code, "context") && tt.code != "upstream_rejected" {
							status = 502
						}
						if r.status != status {
							t.Errorf("got status %d, want %d: %s", r.status, status, r.body)
						}
						return
					}
					hasHeader(t, r.header, map[string]string{"x-callgate-provider": "second", "x-callgate-fallbacks": "1"})
					if !strings.Contains(r.header.Get("x-callgate-warnings"), "fallback_on:"+tt.word) {
						t.Errorf("got the warnings %q", r.header.Get("x-callgate-warnings"))
					}
					if metrics := g.adminDo("GET", "/metrics").body; !strings.Contains(metrics, `callgate_warnings_total{kind="fallback_on"} 1`) ||
						!strings.Contains(metrics, `callgate_fallbacks_total{from="first",to="second"} 1`) {
						t.Error("the metrics do not tell the fallback")
					}
				})
			}
		}
	}
}

// answerCall answers with a call of the first tool that is offered.
func answerCall(w http.ResponseWriter, r received, args string) {
	mime := mimeJSON
	if r.wantsStream() {
		mime = events
	}
	w.Header().Set("content-type", mime)
	answer := nativeAnswer(r.wantsStream(), args)
	if strings.Contains(r.body, "delete_task") {
		answer = strings.ReplaceAll(answer, "get_weather", "delete_task")
	}
	send(w, answer)
}

// TestFallbackOnTellsTheFirst holds what a client hears where the other target fails too: what the
// first had against the request, which clients act on, and not that the other was down.
func TestFallbackOnTellsTheFirst(t *testing.T) {
	t.Parallel()
	long := newSite(t, func(w http.ResponseWriter, _ received) {
		refuseWith(w, "context_length_exceeded", "This model's maximum context length is 8192 tokens.")
	})
	down := newSite(t, func(w http.ResponseWriter, _ received) { w.WriteHeader(http.StatusServiceUnavailable) })
	var s setup
	s.provider("long", long.url, "")
	s.provider("down", down.url, "retry: {max_retries: 0}")
	s.model("m", "long", "down")
	g := serve(t, s.String())
	r := g.chat(prompt("m", "Hi.", false))
	if r.status != 400 || !strings.Contains(r.body, `"code":"context_length_exceeded"`) || down.asked.Load() != 1 {
		t.Errorf("got status %d, %d requests at the other: %s", r.status, down.asked.Load(), r.body)
	}
}

// TestPinnedReask holds that a model which is asked again for a call has to call that tool, where the
// upstream takes that; and that one which refuses it is asked without, and not with it the next time.
func TestPinnedReask(t *testing.T) {
	t.Parallel()
	const wrong, right = `{"town":"Oslo"}`, `{"city":"Oslo"}`
	const pinned = `"tool_choice":{"type":"function","function":{"name":"get_weather"}}`
	for _, refuses := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprintf("refuses %t/stream %t", refuses, stream), func(t *testing.T) {
				t.Parallel()
				var mu sync.Mutex
				var asked []string
				up := newSite(t, func(w http.ResponseWriter, r received) {
					mu.Lock()
					defer mu.Unlock()
					if refuses && strings.Contains(r.body, pinned) {
						asked = append(asked, "refused")
						refuseWith(w, "", "tool_choice 'function' is incompatible with thinking enabled")
						return
					}
					switch told := strings.Contains(r.body, "was not carried out"); {
					case !told:
						asked = append(asked, "wrong")
						answerCall(w, r, wrong)
					case strings.Contains(r.body, pinned):
						asked = append(asked, "pinned")
						answerCall(w, r, right)
					default:
						asked = append(asked, "told")
						answerCall(w, r, right)
					}
				})
				var s setup
				s.provider("up", up.url, "on_invalid_call: reask")
				s.model("m", "up")
				g := serve(t, s.String())
				want := []string{"wrong pinned", "wrong pinned wrong pinned"}
				if refuses {
					want = []string{"wrong refused told", "wrong refused told wrong told"}
				}
				for _, steps := range want {
					r := g.chat(prompt("m", "What is the weather in Oslo?", stream))
					if r.status != 200 || !strings.Contains(r.body, `tool_calls`) {
						t.Fatalf("got status %d: %s", r.status, r.body)
					}
					mu.Lock()
					got := strings.Join(asked, " ")
					mu.Unlock()
					if got != steps {
						t.Errorf("got %q, want %q", got, steps)
					}
					if warned := strings.Contains(r.header.Get("x-callgate-warnings")+r.body, "tool_choice_refused:up"); warned != (refuses && steps == want[0]) {
						t.Errorf("got the warnings %q", r.header.Get("x-callgate-warnings"))
					}
				}
			})
		}
	}
}
