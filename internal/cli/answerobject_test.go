package cli

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestAnswerObject has an upstream whose answer is a JSON object in the place of a text, as Cloudflare's is where a schema is
// asked for: whatever structured_output is, clients of protocols that have texts alone get it as one, and are told.
func TestAnswerObject(t *testing.T) {
	t.Parallel()
	const content = `{"city": "Oslo \"x\"\n", "degrees":3.0}`
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, `"stream":true`) {
			w.Header().Set("content-type", events)
			io.WriteString(w, `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":`+content+`},"finish_reason":null}]}`+"\n\n"+
				`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":`+content+`},"finish_reason":"stop"}]}`)
	})
	for _, policy := range []string{"off", "report", "repair"} {
		g := serve(t, fmt.Sprintf("log: {level: error}\nproviders: {up: {type: openai, base_url: %q, structured_output: %s}}\nmodels: {m: {targets: [{provider: up}]}}\n", url, policy))
		for _, protocol := range []string{"responses", "messages"} {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprint(policy, " ", protocol, " ", stream), func(t *testing.T) {
					if r, text := askStructured(t, g, protocol, "m", stream); text != content || !strings.Contains(fmt.Sprint(r.header)+r.body, "answer_object") {
						t.Errorf("got %q in %v %s", text, r.header, r.body)
					}
				})
			}
		}
	}
}
