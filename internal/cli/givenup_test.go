package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestGivenUp has an upstream that cannot go on with an answer, and says so by a finish reason alone. A client of chat
// completions gets that as it came; in the other protocols, which pass no such reason on, it is an error.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	const said = `"content":"half of"},"finish_reason":"insufficient_system_resource"}]`
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, `"stream":true`) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, `data: {"id":"c","choices":[{"index":0,"delta":{`+said+"}\n\ndata: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+said+`}`)
	})
	g := serve(t, "providers: {up: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: up}]}}\n")
	for _, c := range []struct {
		path, body string
		status     int
		has, not   string
	}{
		{"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}]}`, 200, `"finish_reason":"insufficient_system_resource"`, "upstream_cut"},
		{"/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}]}`, 200, `"finish_reason":"insufficient_system_resource"`, "upstream_cut"},
		{"/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, 502, "insufficient_system_resource", "end_turn"},
		{"/v1/messages", `{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, 200, "event: error", "end_turn"},
		{"/v1/responses", `{"model":"m","input":"x"}`, 502, "insufficient_system_resource", `"completed"`},
		{"/v1/responses", `{"model":"m","stream":true,"input":"x"}`, 200, "event: response.failed", "response.completed"},
	} {
		out := g.do(g.request("POST", c.path, c.body))
		if out.status != c.status || !strings.Contains(out.body, c.has) || strings.Contains(out.body, c.not) {
			t.Errorf("%s %s: got status %d and %s, want %d with %s", c.path, c.body, out.status, out.body, c.status, c.has)
		}
	}
}
