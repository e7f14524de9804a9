package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
)

// chatTo is a gateway whose model a is that of an upstream of chat completions.
func chatTo(t *testing.T, url string) *gate {
	t.Helper()
	return serve(t, fmt.Sprintf("providers: {up: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: up, model: m}]}}", url))
}

const (
	askMessages  = `{"model":"a","max_tokens":9,"messages":[{"role":"user","content":"go"}]}`
	askResponses = `{"model":"a","input":"go"}`
)

// TestQuirkFinishReasons has answers that are cut short in words that OpenAI does not have.
func TestQuirkFinishReasons(t *testing.T) {
	t.Parallel()
	for finish, want := range map[string][2]string{ // what a client of Messages and one of Responses is told
		"model_context_window_exceeded": {`"stop_reason":"max_tokens"`, `"incomplete_details":{"reason":"max_output_tokens"}`},
		"model_length":                  {`"stop_reason":"max_tokens"`, `"incomplete_details":{"reason":"max_output_tokens"}`},
		"sensitive":                     {`"stop_reason":"refusal"`, `"incomplete_details":{"reason":"content_filter"}`},
	} {
		t.Run(finish, func(t *testing.T) {
			t.Parallel()
			g := chatTo(t, static(t, 200, "application/json", strings.Replace(completion("Hel"), `"finish_reason":"stop"`, `"finish_reason":"`+finish+`"`, 1)))
			if r := g.messages(askMessages); !strings.Contains(r.body, want[0]) {
				t.Errorf("got %s, want %s", r.body, want[0])
			}
			if r := g.do(g.request("POST", "/v1/responses", askResponses)); !strings.Contains(r.body, want[1]) {
				t.Errorf("got %s, want %s", r.body, want[1])
			}
		})
	}
}

// TestQuirkNoChoices: an answer without a list of choices, as OpenRouter sends it, is none that a client may take
// for one in which the model says nothing.
func TestQuirkNoChoices(t *testing.T) {
	t.Parallel()
	g := chatTo(t, static(t, 200, "application/json", `{"id":"c","object":"chat.completion","created":null,"model":"m","choices":null}`))
	if r := g.messages(askMessages); r.status != 502 {
		t.Errorf("Messages: got status %d and %s", r.status, r.body)
	}
	if r := g.do(g.request("POST", "/v1/responses", askResponses)); r.status != 502 {
		t.Errorf("Responses: got status %d and %s", r.status, r.body)
	}
}

// TestQuirkReasoningText: GitHub Copilot gives what its models think in a member of its own.
func TestQuirkReasoningText(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			kind, body := "application/json", strings.Replace(completion("Hi."), `"content":"Hi."`, `"content":"Hi.","reasoning_text":"I muse."`, 1)
			if stream {
				kind, body = "text/event-stream", strings.Replace(delta(""), `"content":""`, `"content":null,"reasoning_text":"I muse."`, 1)+delta("Hi.")+finish+done
			}
			g := chatTo(t, static(t, 200, kind, body))
			asked := fmt.Sprintf(`,"stream":%v}`, stream)
			r := g.messages(strings.TrimSuffix(askMessages, "}") + `,"thinking":{"type":"enabled","budget_tokens":2000}` + asked)
			m, err := messageIn(r.body, stream)
			if err != nil || len(m.Content) != 2 || m.Content[0].Thinking != "I muse." || m.Content[1].Text != "Hi." {
				t.Errorf("Messages: got %v and %s", err, r.body)
			}
			r = g.do(g.request("POST", "/v1/responses", strings.TrimSuffix(askResponses, "}")+asked))
			if !strings.Contains(r.body, `"summary":[{"type":"summary_text","text":"I muse."}]`) {
				t.Errorf("Responses: got %s", r.body)
			}
			r = g.do(g.request("POST", "/v1/chat/completions", `{"model":"a","messages":[{"role":"user","content":"go"}]`+asked))
			if r.body != body {
				t.Errorf("chat completions: got %s, want %s", r.body, body)
			}
		})
	}
}

// TestQuirkSignedDetail: what OpenRouter makes of Gemini's signature of a call comes back to it, also by way of a client
// of Messages that wants to see no thoughts.
func TestQuirkSignedDetail(t *testing.T) {
	t.Parallel()
	const detail = `{"type":"reasoning.encrypted","id":"c1","data":"ENC","format":"google-gemini-v1","index":0}`
	const members = `"reasoning":"I muse.","reasoning_details":[{"type":"reasoning.text","text":"I muse.","format":"google-gemini-v1","index":0},` + detail +
		`],"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]`
	for _, stream := range []bool{false, true} {
		t.Run(fmt.Sprint(stream), func(t *testing.T) {
			t.Parallel()
			bodies := make(chan string, 1)
			g := chatTo(t, upstream(t, func(w http.ResponseWriter, r received) {
				bodies <- r.body
				if stream {
					w.Header().Set("content-type", "text/event-stream")
					send(w, strings.Replace(delta(""), `"content":""`, `"content":"",`+members, 1), finish+done)
					return
				}
				w.Header().Set("content-type", "application/json")
				send(w, strings.Replace(completion(""), `"content":""`, `"content":"",`+members, 1))
			}))
			ask := func(more string) (r result, sent string) {
				r = g.messages(fmt.Sprintf(`{"model":"a","max_tokens":9,"stream":%v,"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"}%s]}`, stream, more))
				return r, <-bodies
			}
			r, _ := ask("")
			m, err := messageIn(r.body, stream)
			if err != nil || len(m.Content) != 3 || m.Content[0].Type != "redacted_thinking" || m.Content[1].Type != "redacted_thinking" || m.Content[2].ID != "c1" || strings.Contains(r.body, "muse") {
				t.Fatalf("got %v and %s", err, r.body)
			}
			content, _ := json.Marshal(m.Content)
			_, sent := ask(fmt.Sprintf(`,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"r"}]}`, content))
			if !strings.Contains(sent, `"reasoning_details":[`+detail+`]`) || !strings.Contains(sent, `"reasoning_content":"I muse."`) {
				t.Errorf("got %s", sent)
			}
		})
	}
}

// TestQuirkLateSignature: a signature that comes when the text has begun goes back with the thoughts it is of.
func TestQuirkLateSignature(t *testing.T) {
	t.Parallel()
	piece := func(content, details string) string {
		return strings.Replace(delta(content), `"delta":{`, `"delta":{"reasoning_details":[`+details+`],`, 1)
	}
	const format = `"format":"anthropic-claude-v1","index":0`
	bodies := make(chan string, 1)
	g := chatTo(t, upstream(t, func(w http.ResponseWriter, r received) {
		bodies <- r.body
		w.Header().Set("content-type", "text/event-stream")
		send(w, piece("", `{"type":"reasoning.text","text":"I muse.",`+format+`}`), delta("Hi."), piece("", `{"type":"reasoning.text","signature":"SIG==",`+format+`}`), finish+done)
	}))
	check := func(name, sent string) {
		t.Helper()
		var body struct {
			Messages []struct {
				Role             string `json:"role"`
				ReasoningDetails []struct {
					Type, Text, Signature string
				} `json:"reasoning_details"`
			} `json:"messages"`
		}
		if err := json.Unmarshal([]byte(sent), &body); err != nil || len(body.Messages) != 3 {
			t.Fatalf("%s: %v: %s", name, err, sent)
		}
		if d := body.Messages[1].ReasoningDetails; len(d) != 1 || d[0].Text != "I muse." || d[0].Signature != "SIG==" {
			t.Errorf("%s: got %s", name, sent)
		}
	}

	ask := func(more string) result {
		return g.messages(`{"model":"a","max_tokens":9,"stream":true,"thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"go"}` + more + `]}`)
	}
	m, err := messagestest.Stream([]byte(ask("").body))
	<-bodies
	if err != nil {
		t.Fatal(err)
	}
	content, _ := json.Marshal(m.Content)
	ask(`,{"role":"assistant","content":` + string(content) + `},{"role":"user","content":"on"}`)
	check("Messages", <-bodies)

	respond := func(members string) (id string) {
		r := g.do(g.request("POST", "/v1/responses", `{"model":"a","stream":true,`+members+`}`))
		_, body, _ := strings.Cut(r.body, "event: response.completed\ndata: ")
		var event struct{ Response struct{ ID string } }
		_ = json.NewDecoder(strings.NewReader(body)).Decode(&event)
		return event.Response.ID
	}
	id := respond(`"input":"go"`)
	<-bodies
	respond(`"input":"on","previous_response_id":"` + id + `"`)
	check("Responses", <-bodies)
}
