package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
)

// What Gemini's own server gives with calls of its form of chat completions, and refuses to go on without: see
// https://ai.google.dev/gemini-api/docs/thought-signatures. Of two calls in one step the first has a signature.
const (
	signedCall   = `{"id":"function-call-1","type":"function","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"EvQBCvEB\u002b/x=="}}}`
	unsignedCall = `{"id":"function-call-2","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}`
)

// signing is an upstream that signs its first call, and sends on what it was asked. The signature may come behind the
// call's beginning.
func signing(t *testing.T, stream, late bool) (url string, bodies chan string) {
	bodies = make(chan string, 1)
	return upstream(t, func(w http.ResponseWriter, r received) {
		bodies <- r.body
		if !stream {
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"g","choices":[{"index":0,"message":{"role":"assistant","content":"I see.","tool_calls":[`+signedCall+`,`+unsignedCall+`]},"finish_reason":"tool_calls"}]}`)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		piece := func(text string, index int, entry string) {
			fmt.Fprintf(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"g","choices":[{"index":0,"delta":{"role":"assistant","content":%q,"tool_calls":[{"index":%d,%s]},"finish_reason":null}]}`+"\n\n", text, index, entry[1:])
		}
		if first, signature, _ := strings.Cut(signedCall, `,"extra_content"`); late {
			piece("I see.", 0, first+"}")
			piece("", 0, `{"extra_content"`+signature)
		} else { // each whole, as Gemini streams them
			piece("I see.", 0, signedCall)
		}
		piece("", 1, unsignedCall)
		io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"g","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	}), bodies
}

// signedWays are those in which an answer with a signed call comes.
var signedWays = []struct{ stream, late bool }{{}, {stream: true}, {stream: true, late: true}}

// messageIn is the message that an answer of the Messages API comes to.
func messageIn(body string, stream bool) (*messagestest.Message, error) {
	if stream {
		return messagestest.Stream([]byte(body))
	}
	return messagestest.Whole([]byte(body))
}

// checkSigned holds that an upstream got its signature back, with the call that it belongs to.
func checkSigned(t *testing.T, body string) {
	t.Helper()
	var sent struct {
		Messages []struct {
			Role             string                       `json:"role"`
			ToolCalls        []map[string]json.RawMessage `json:"tool_calls"`
			ReasoningDetails json.RawMessage              `json:"reasoning_details"`
		} `json:"messages"`
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	for _, m := range sent.Messages {
		if m.Role != "assistant" {
			continue
		}
		if len(m.ToolCalls) != 2 || m.ReasoningDetails != nil {
			t.Fatalf("got %s", body)
		}
		if got := string(m.ToolCalls[0]["extra_content"]); got != `{"google":{"thought_signature":"EvQBCvEB\u002b/x=="}}` {
			t.Errorf("got the signature %s of the first call: %s", got, body)
		}
		if got := m.ToolCalls[1]["extra_content"]; got != nil {
			t.Errorf("got the signature %s of the second call: %s", got, body)
		}
		return
	}
	t.Errorf("got no answer in %s", body)
}

// TestCallsSignedMessages has a client of the Messages API bring back what belongs to a call, whether it wants to see
// thoughts or not.
func TestCallsSignedMessages(t *testing.T) {
	t.Parallel()
	for _, way := range signedWays {
		stream, late := way.stream, way.late
		for _, thinks := range []string{"", `"thinking":{"type":"enabled","budget_tokens":2000},`} {
			t.Run(fmt.Sprintf("%+v %s", way, thinks), func(t *testing.T) {
				t.Parallel()
				url, bodies := signing(t, stream, late)
				g := serve(t, fmt.Sprintf("providers: {gemini: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: gemini, model: m}]}}", url))
				ask := func(messages string) (r result, sent string) {
					r = g.messages(fmt.Sprintf(`{"model":"a","max_tokens":9,"stream":%v,%s"tools":[{"name":"f","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":"go"}%s]}`, stream, thinks, messages))
					return r, <-bodies
				}
				r, _ := ask("")
				m, err := messageIn(r.body, stream)
				at := 1 // of the signature
				if late {
					at = 2
				}
				if err != nil || len(m.Content) != 4 || m.Content[at].Type != "redacted_thinking" || m.Content[3-at].ID != "function-call-1" {
					t.Fatalf("got %v and %s", err, r.body)
				}
				content, _ := json.Marshal(m.Content)
				_, sent := ask(fmt.Sprintf(`,{"role":"assistant","content":%s},{"role":"user","content":[{"type":"tool_result","tool_use_id":"function-call-1","content":"r"},{"type":"tool_result","tool_use_id":"function-call-2","content":"r"}]}`, content))
				checkSigned(t, sent)
			})
		}
	}
}

// TestCallsSignedResponses does so over Responses, with reasoning that the client keeps and with a response that the
// gateway keeps.
func TestCallsSignedResponses(t *testing.T) {
	t.Parallel()
	for _, way := range signedWays {
		stream, late := way.stream, way.late
		for _, kept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v kept %v", way, kept), func(t *testing.T) {
				t.Parallel()
				url, bodies := signing(t, stream, late)
				g := serve(t, fmt.Sprintf("providers: {gemini: {type: openai, base_url: %q}}\nmodels: {a: {targets: [{provider: gemini, model: m}]}}", url))
				ask := func(members, input string) (response map[string]json.RawMessage, sent string) {
					r := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"a","stream":%v,"store":%v,"include":["reasoning.encrypted_content"],"tools":[{"type":"function","name":"f","parameters":{"type":"object"}}],%s"input":[%s]}`, stream, kept, members, input)))
					body := r.body
					if stream {
						_, body, _ = strings.Cut(body, "event: response.completed\ndata: ")
						body, _, _ = strings.Cut(body, "\n")
						var event struct{ Response json.RawMessage }
						_ = json.Unmarshal([]byte(body), &event)
						body = string(event.Response)
					}
					if err := json.Unmarshal([]byte(body), &response); err != nil {
						t.Fatalf("%v: %s", err, r.body)
					}
					return response, <-bodies
				}
				const go1 = `{"role":"user","content":"go"}`
				const results = `{"type":"function_call_output","call_id":"function-call-1","output":"r"},{"type":"function_call_output","call_id":"function-call-2","output":"r"}`
				response, _ := ask("", go1)
				var sent string
				if kept {
					_, sent = ask(`"previous_response_id":`+string(response["id"])+`,`, results)
				} else {
					output := strings.TrimSuffix(strings.TrimPrefix(string(response["output"]), "["), "]")
					_, sent = ask("", go1+","+output+","+results)
				}
				checkSigned(t, sent)
			})
		}
	}
}
