package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// respond posts a body to the Responses API.
func (g *gate) respond(body string, header ...string) result {
	g.t.Helper()
	return g.do(g.request("POST", "/v1/responses", body, header...))
}

// TestResponses looks at what the gateway makes of a request for a response, and of its answer,
// through sockets. TestCorpusInAllProtocols has the answers of all formats.
func TestResponses(t *testing.T) {
	t.Parallel()
	var asked atomic.Value
	base := upstream(t, func(w http.ResponseWriter, r received) {
		asked.Store(r.body)
		if strings.Contains(r.body, "overflow") {
			w.Header().Set("content-type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, `{"error":{"message":"Too long.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`)
			return
		}
		if !strings.Contains(r.body, `"stream":true`) {
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"id":"c","object":"chat.completion","model":"up-1","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
			return
		}
		w.Header().Set("content-type", "text/event-stream")
		send(w, "data: {\"id\":\"c\",\"model\":\"up-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\n")
		if strings.Contains(r.body, "break") {
			send(w, "data: {\"error\":{\"message\":\"Out of memory.\",\"code\":\"oom\"}}\n\n")
			return
		}
		send(w, "data: {\"id\":\"c\",\"model\":\"up-1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
			"data: {\"id\":\"c\",\"model\":\"up-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n", "data: [DONE]\n\n")
	})
	g := serve(t, "providers: {up: {type: openai, base_url: "+base+"}}\nmodels: {m: {targets: [{provider: up, model: up-1}]}}\n")
	const request = `{"model":"m","input":[{"type":"web_search_call","id":"ws_1"},{"role":"user","content":"Hello"}],"instructions":"Be short.","tools":[{"type":"web_search"},{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}],"max_output_tokens":16`
	for _, stream := range []bool{false, true} {
		r := g.respond(request + map[bool]string{false: "}", true: `,"stream":true}`}[stream])
		if r.status != http.StatusOK || r.header.Get("x-callgate-warnings") != "tool_dropped:web_search,item_dropped:web_search_call" {
			t.Fatalf("got status %d, the warnings %q and %s", r.status, r.header.Get("x-callgate-warnings"), r.body)
		}
		var final responsestest.Object
		var err error
		if stream {
			var s *responsestest.Stream
			s, err = responsestest.CheckStream([]byte(r.body))
			final = s.Final
		} else {
			final, err = responsestest.CheckResponse([]byte(r.body))
		}
		if err != nil || final["status"] != "completed" || final["model"] != "up-1" {
			t.Errorf("got %v, %v", final, err)
		}
		var got struct {
			Model    string
			Messages []struct{ Role, Content string }
			Tools    []struct{ Function struct{ Name string } }
			Max      int `json:"max_completion_tokens"`
		}
		if err := json.Unmarshal([]byte(asked.Load().(string)), &got); err != nil {
			t.Fatal(err)
		}
		if got.Model != "up-1" || got.Max != 16 || len(got.Messages) != 2 || got.Messages[0].Content != "Be short." || got.Messages[1].Content != "Hello" || len(got.Tools) != 1 || got.Tools[0].Function.Name != "f" {
			t.Errorf("the upstream got %s", asked.Load())
		}
	}
	t.Run("broken behind the first byte", func(t *testing.T) {
		r := g.respond(`{"model":"m","input":"break","stream":true}`)
		s, err := responsestest.CheckStream([]byte(r.body))
		if e, _ := s.Final["error"].(map[string]any); err != nil || s.Final["status"] != "failed" || e["message"] != "Out of memory." {
			t.Errorf("got %v, %v in %s", e, err, r.body)
		}
	})
	t.Run("refused", func(t *testing.T) {
		r := g.respond(`{"model":"m","input":"overflow","stream":true}`)
		failure{status: 400, code: "context_length_exceeded", param: "input", says: "Too long."}.check(t, r)
	})
	t.Run("unknown model", func(t *testing.T) {
		failure{status: 404, code: "model_not_found", param: "model"}.check(t, g.respond(`{"model":"nope","input":"x"}`))
	})
	t.Run("at fault", func(t *testing.T) {
		failure{status: 400, code: "invalid_request", param: "input[0].type", says: `"foo"`}.check(t, g.respond(`{"model":"m","input":[{"type":"foo"}]}`))
	})
	t.Run("unknown response", func(t *testing.T) {
		failure{status: 400, code: "previous_response_not_found", param: "previous_response_id", says: "not found"}.check(t, g.respond(`{"model":"m","input":"x","previous_response_id":"resp_1"}`))
	})
	t.Run("tokens", func(t *testing.T) {
		r := g.do(g.request("POST", "/v1/responses/input_tokens", `{"model":"m","input":"Hello"}`))
		if r.status != http.StatusOK || !strings.HasPrefix(r.body, `{"object":"response.input_tokens","input_tokens":`) {
			t.Errorf("got %d %s", r.status, r.body)
		}
	})
}

// TestResponsesKey wants a key for the Responses API, in the form of its errors, and keeps what
// one client has sealed from another.
func TestResponsesKey(t *testing.T) {
	t.Parallel()
	g := serve(t, "providers: {demo: {type: demo}}\nkeys: [{name: a, hash: \""+hashOf("sk-a")+"\"}, {name: b, hash: \""+hashOf("sk-b")+"\"}]\n")
	for _, path := range []string{"/v1/responses", "/v1/responses/input_tokens"} {
		failure{status: 401, code: "invalid_api_key"}.check(t, g.do(g.request("POST", path, `{"model":"demo/hermes","input":"x"}`)))
	}
	const include = `"model":"demo/hermes","store":false,"include":["reasoning.encrypted_content"]`
	r := g.respond(`{`+include+`,"input":"Please think."}`, "authorization", "Bearer sk-a")
	var first struct{ Output json.RawMessage }
	if err := json.Unmarshal([]byte(r.body), &first); err != nil || !strings.Contains(r.body, `"encrypted_content":"cg1.`) {
		t.Fatalf("got %v, %s", err, r.body)
	}
	for key, want := range map[string]string{"sk-a": "", "sk-b": "item_dropped:reasoning"} {
		r := g.respond(`{`+include+`,"input":`+string(first.Output)+`}`, "authorization", "Bearer "+key)
		if r.status != http.StatusOK || r.header.Get("x-callgate-warnings") != want {
			t.Errorf("%s: got status %d and the warnings %q, want %q", key, r.status, r.header.Get("x-callgate-warnings"), want)
		}
	}
}
