package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// remembering is a gateway with an upstream that notes what it is asked, and answers with the
// number of the request.
type remembering struct {
	*gate
	mu    sync.Mutex
	asked []string
}

func remember(t *testing.T, config string) *remembering {
	t.Helper()
	r := &remembering{}
	url := upstream(t, func(w http.ResponseWriter, req received) {
		r.mu.Lock()
		r.asked = append(r.asked, req.body)
		n := len(r.asked)
		r.mu.Unlock()
		text := fmt.Sprintf("answer %d", n)
		if req.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			send(w, stream(text))
			return
		}
		w.Header().Set("content-type", "application/json")
		send(w, completion(text))
	})
	r.gate = serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: off}\n"+config)
	return r
}

// last is what the upstream was asked last: role and text of each message.
func (r *remembering) last() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var body struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	if err := json.Unmarshal([]byte(r.asked[len(r.asked)-1]), &body); err != nil {
		return err.Error()
	}
	var out []string
	for _, m := range body.Messages {
		out = append(out, fmt.Sprintf("%s: %v", m.Role, m.Content))
	}
	return strings.Join(out, "; ")
}

// call sends a request, and reads the answer's JSON, which must have a status.
func (g *gate) call(status int, method, path, body string, header ...string) responsestest.Object {
	g.t.Helper()
	got := g.do(g.request(method, path, body, append(header, "content-type", "application/json")...))
	var out responsestest.Object
	if err := json.Unmarshal([]byte(got.body), &out); err != nil || got.status != status {
		g.t.Fatalf("%s %s: got %d %s (%v), want status %d", method, path, got.status, got.body, err, status)
	}
	return out
}

// events reads a stream whole.
func (g *gate) events(method, path, body string) []responsestest.Object {
	g.t.Helper()
	got := g.do(g.request(method, path, body, "content-type", "application/json"))
	var out []responsestest.Object
	for line := range strings.Lines(got.body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e responsestest.Object
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			g.t.Fatal(err)
		}
		out = append(out, e)
	}
	if got.status != http.StatusOK || !strings.HasSuffix(got.body, "data: [DONE]\n\n") {
		g.t.Fatalf("%s %s: got %d %s", method, path, got.status, got.body)
	}
	return out
}

func text(o responsestest.Object, path ...string) string {
	var v any = map[string]any(o)
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return ""
		}
		v = m[p]
	}
	return fmt.Sprint(v)
}

// stores are the configurations of the stores that need nothing else.
func stores(t *testing.T) map[string]string {
	return map[string]string{
		"memory": "",
		"sqlite": "store: {kind: sqlite, path: \"" + filepath.Join(t.TempDir(), "store.db") + "\"}\n",
	}
}

// TestChain goes on from responses, streamed and whole, and from the same one twice.
func TestChain(t *testing.T) {
	t.Parallel()
	for name, config := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := remember(t, config)
			first := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one","instructions":"be brief"}`)
			if _, err := responsestest.CheckResponse(marshal(t, first)); err != nil || text(first, "store") != "true" {
				t.Errorf("got %v, error %v", first, err)
			}
			id := text(first, "id")
			events := g.events("POST", "/v1/responses", `{"model":"m","stream":true,"previous_response_id":"`+id+`","input":[{"role":"user","content":"two"}]}`)
			second := text(events[len(events)-1], "response", "id")
			if want := "user: one; assistant: answer 1; user: two"; g.last() != want {
				t.Errorf("got %s, want %s: instructions are not inherited", g.last(), want)
			}
			g.call(200, "POST", "/v1/responses", `{"model":"m","previous_response_id":"`+second+`","input":"three"}`)
			if want := "user: one; assistant: answer 1; user: two; assistant: answer 2; user: three"; g.last() != want {
				t.Errorf("got %s, want %s", g.last(), want)
			}
			g.call(200, "POST", "/v1/responses", `{"model":"m","previous_response_id":"`+id+`","input":"other"}`)
			if want := "user: one; assistant: answer 1; user: other"; g.last() != want {
				t.Errorf("got %s, want %s", g.last(), want)
			}
			got := g.call(200, "GET", "/v1/responses/"+second, "")
			if text(got, "previous_response_id") != id || text(got, "status") != "completed" || len(got["output"].([]any)) != 1 {
				t.Errorf("got %v", got)
			}
			if a, b := string(marshal(t, got)), string(marshal(t, events[len(events)-1]["response"])); a != b {
				t.Errorf("got the response as %s, and it was sent as %s", a, b)
			}
			list := g.call(200, "GET", "/v1/responses/"+second+"/input_items", "")
			if items := list["data"].([]any); len(items) != 1 || text(items[0].(map[string]any), "role") != "user" || !strings.HasPrefix(text(list, "first_id"), "msg_") {
				t.Errorf("got %v", list)
			}
			if got := g.call(200, "DELETE", "/v1/responses/"+id, ""); text(got, "deleted") != "true" {
				t.Errorf("got %v", got)
			}
			for _, gone := range []string{id, second, "resp_none"} {
				got := g.call(400, "POST", "/v1/responses", `{"model":"m","previous_response_id":"`+gone+`","input":"x"}`)
				if text(got, "error", "code") != "previous_response_not_found" || text(got, "error", "param") != "previous_response_id" {
					t.Errorf("%s: got %v", gone, got)
				}
			}
		})
	}
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
