package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"net/http"
)

// nativeCall is a native call of get_weather with these arguments, as a stream in
// several pieces or as a completion.
func nativeAnswer(streamed bool, arguments string) string {
	if !streamed {
		return fmt.Sprintf(`{"id":"c1","object":"chat.completion","created":1,"model":"up","choices":[{"index":0,"message":{"role":"assistant","content":null,`+
			`"tool_calls":[{"id":"call_1","type":"function","function":{"name":"get_weather","arguments":%q}}]},"finish_reason":"tool_calls"}]}`, arguments)
	}
	call := func(entry string) string {
		return strings.Replace(delta(""), `{"content":""}`, `{"tool_calls":[`+entry+`]}`, 1)
	}
	s := role + call(`{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}`)
	for _, piece := range pieces(arguments, 5) {
		s += call(fmt.Sprintf(`{"index":0,"function":{"arguments":%q}}`, piece))
	}
	return s + finished("tool_calls") + done
}

// inOrder answers the first request with the first of these arguments, and so on; the
// last is for all that follow. It keeps the bodies of the requests.
type inOrder struct {
	mu        sync.Mutex
	arguments []string
	bodies    []string
	text      bool // the call is written as text
}

func (o *inOrder) answer(w http.ResponseWriter, r received) {
	o.mu.Lock()
	args := o.arguments[min(len(o.bodies), len(o.arguments)-1)]
	o.bodies = append(o.bodies, r.body)
	o.mu.Unlock()
	mime, streamed := mimeJSON, r.wantsStream()
	if streamed {
		mime = events
	}
	w.Header().Set("content-type", mime)
	text := `<tool_call>{"name":"get_weather","arguments":` + args + `}</tool_call>`
	switch {
	case !o.text:
		send(w, nativeAnswer(streamed, args))
	case streamed:
		send(w, role+stream(text))
	default:
		send(w, completion(text))
	}
}

// TestFaultSuiteInvalidCall has a model call a tool with arguments that its schema does
// not allow, in both ways that a call can be made, and looks at what each policy makes
// of it. With reask the model is told, and the client sees the good call alone.
func TestFaultSuiteInvalidCall(t *testing.T) {
	t.Parallel()
	const wrong, right = `{"town":"Oslo"}`, `{"city":"Oslo"}`
	refused := failure{status: 502, code: "invalid_tool_call", param: "choices[0].message.tool_calls", says: "city"}
	good := said{finish: "tool_calls", calls: []called{{"get_weather", right}}}
	rows := []struct {
		name, policy string
		arguments    []string
		asked        int
		want         *said // nil: the call is refused
	}{
		{"pass", "pass", []string{wrong}, 1, &said{finish: "tool_calls", calls: []called{{"get_weather", wrong}}}},
		{"reject", "reject", []string{wrong, right}, 1, nil},
		{"reject, a good one", "reject", []string{right}, 1, &good},
		{"reask", "reask", []string{wrong, right}, 2, &good},
		{"reask, a good one", "reask", []string{right, wrong}, 1, &good},
		{"reask, twice wrong", "reask", []string{wrong, wrong, right}, 2, nil},
	}
	for i, row := range rows {
		for _, text := range []bool{false, true} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/text %t/stream %t", row.name, text, stream), func(t *testing.T) {
					t.Parallel()
					order := &inOrder{arguments: rows[i].arguments, text: text}
					parser := "none"
					if text {
						parser = "hermes"
					}
					var s setup
					s.provider("up", newSite(t, order.answer).url, fmt.Sprintf("on_invalid_call: %s, parser: %s, circuit_breaker: {failure_threshold: 1}", row.policy, parser))
					other := well(t)
					s.provider("well", other.url, "")
					s.model("m", "up", "well")
					g := serve(t, s.String())
					r := g.chat(prompt("m", "What is the weather in Oslo?", stream))
					clean(t, r)
					checkCalls(t, r, stream, row.want, refused)
					order.check(t, row.asked)
					hasHeader(t, r.header, map[string]string{"x-callgate-attempts": fmt.Sprint(row.asked)})
					if n := other.asked.Load(); n != 0 {
						t.Errorf("got %d requests at the other target, want none: the model is at fault, not the upstream", n)
					}
					if b := g.breaker("up"); b.State != "closed" || b.Totals.Failures != 0 {
						t.Errorf("got breaker %+v, want it closed", b)
					}
				})
			}
		}
	}
}

// checkCalls compares an answer with the call wanted, or with the failure.
func checkCalls(t *testing.T, r result, stream bool, want *said, refused failure) {
	t.Helper()
	switch {
	case want != nil && stream:
		streamed(t, r.body).same(t, *want)
	case want != nil:
		whole(t, r.body).same(t, *want)
	default:
		refused.check(t, r)
		hasHeader(t, r.header, map[string]string{"x-callgate-faults": "schema_mismatch=" + r.header.Get("x-callgate-attempts")})
	}
}

// check looks at the requests: the second is the first with a message that tells the
// model what was wrong.
func (o *inOrder) check(t *testing.T, asked int) {
	t.Helper()
	if len(o.bodies) != asked {
		t.Fatalf("got %d requests, want %d", len(o.bodies), asked)
	}
	if asked < 2 {
		return
	}
	type message struct{ Role, Content string }
	read := func(body string) []message {
		var b struct{ Messages []message }
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatalf("got request %q: %v", body, err)
		}
		return b.Messages
	}
	first, second := read(o.bodies[0]), read(o.bodies[1])
	if len(first) != 1 || len(second) != 2 || second[0] != first[0] {
		t.Fatalf("got messages %v and then %v, want one more", first, second)
	}
	for _, word := range []string{"get_weather", "city", o.arguments[0]} {
		if m := second[1]; m.Role != "user" || !strings.Contains(m.Content, word) {
			t.Errorf("got message %+v, want one of the user's with %q", m, word)
		}
	}
}
