package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/config"
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
			alone, with := g.call(200, "POST", "/v1/responses/input_tokens", `{"model":"m","input":"x"}`), g.call(200, "POST", "/v1/responses/input_tokens", `{"model":"m","previous_response_id":"`+second+`","input":"x"}`)
			if with["input_tokens"].(float64) <= alone["input_tokens"].(float64)+20 {
				t.Errorf("got %v tokens with four earlier messages, and %v without", with["input_tokens"], alone["input_tokens"])
			}
			if got := g.call(200, "DELETE", "/v1/responses/"+id, ""); text(got, "deleted") != "true" {
				t.Errorf("got %v", got)
			}
			g.call(400, "POST", "/v1/responses/input_tokens", `{"model":"m","previous_response_id":"resp_none","input":"x"}`)
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

// TestConversation serves a conversation by all of its endpoints.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, config := range stores(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := remember(t, config)
			made := g.call(200, "POST", "/v1/conversations", `{"metadata":{"topic":"x"},"items":[{"role":"user","content":"first"},{"type":"message","role":"assistant","content":"yes"}]}`)
			id := text(made, "id")
			if !strings.HasPrefix(id, "conv_") || text(made, "object") != "conversation" || text(made, "metadata", "topic") != "x" || made["created_at"] == nil {
				t.Errorf("got %v", made)
			}
			one := "/v1/conversations/" + id
			got := g.call(200, "POST", "/v1/responses", `{"model":"m","conversation":"`+id+`","input":"second"}`)
			if want := "user: first; assistant: yes; user: second"; g.last() != want || text(got, "conversation", "id") != id {
				t.Errorf("got %s and %v, want %s", g.last(), got["conversation"], want)
			}
			g.events("POST", "/v1/responses", `{"model":"m","conversation":{"id":"`+id+`"},"input":"third","stream":true}`)
			if want := "user: first; assistant: yes; user: second; assistant: answer 1; user: third"; g.last() != want {
				t.Errorf("got %s, want %s", g.last(), want)
			}
			g.call(200, "POST", "/v1/responses", `{"model":"m","conversation":"`+id+`","input":"not kept","store":false}`)
			list := g.call(200, "GET", one+"/items?order=asc&limit=4", "")
			data := list["data"].([]any)
			if len(data) != 4 || text(list, "has_more") != "true" || text(data[3].(map[string]any), "role") != "assistant" {
				t.Errorf("got %v", list)
			}
			rest := g.call(200, "GET", one+"/items?order=asc&after="+text(list, "last_id"), "")
			if len(rest["data"].([]any)) != 2 || text(rest, "has_more") != "false" {
				t.Errorf("got %v, want the third turn", rest)
			}
			item := text(data[0].(map[string]any), "id")
			if got := g.call(200, "GET", one+"/items/"+item, ""); text(got, "id") != item || text(got, "status") != "completed" {
				t.Errorf("got %v", got)
			}
			added := g.call(200, "POST", one+"/items", `{"items":[{"type":"function_call_output","call_id":"c","output":"o"}]}`)
			if text(added, "object") != "list" || !strings.HasPrefix(text(added, "first_id"), "fco_") {
				t.Errorf("got %v", added)
			}
			if got := g.call(200, "DELETE", one+"/items/"+text(added, "first_id"), ""); text(got, "object") != "conversation" {
				t.Errorf("got %v", got)
			}
			g.call(404, "GET", one+"/items/"+text(added, "first_id"), "")
			if got := g.call(200, "POST", one, `{"metadata":{"a":"b"}}`); text(got, "metadata", "a") != "b" || text(got, "metadata", "topic") == "x" {
				t.Errorf("got %v", got)
			}
			if got := g.call(200, "DELETE", one, ""); text(got, "object") != "conversation.deleted" || text(got, "deleted") != "true" {
				t.Errorf("got %v", got)
			}
			for _, c := range [][3]string{{"GET", one, ""}, {"DELETE", one, ""}, {"POST", one, `{"metadata":{}}`}, {"GET", one + "/items", ""}, {"POST", "/v1/responses", `{"model":"m","conversation":"` + id + `","input":"x"}`}} {
				if got := g.call(404, c[0], c[1], c[2]); text(got, "error", "type") != "invalid_request_error" {
					t.Errorf("%s %s: got %v", c[0], c[1], got)
				}
			}
		})
	}
}

// TestReferences sends items by their ids, and what is not stored cannot be had again.
func TestReferences(t *testing.T) {
	t.Parallel()
	g := remember(t, "")
	first := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one"}`)
	item := text(first["output"].([]any)[0].(map[string]any), "id")
	second := g.call(200, "POST", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"a"},{"id":"`+item+`"},{"type":"item_reference","id":"`+item+`"},{"role":"user","content":"b"}]}`)
	if got := g.last(); !strings.HasPrefix(got, "user: a; assistant: answer 1") || !strings.HasSuffix(got, "user: b") || strings.Contains(got, "reference") {
		t.Errorf("got %s, want the items that are referred to", got)
	}
	g.call(200, "POST", "/v1/responses", `{"model":"m","input":"c","previous_response_id":"`+text(second, "id")+`"}`)
	if got := g.last(); !strings.HasPrefix(got, "user: a; assistant: answer 1") || !strings.HasSuffix(got, "user: c") {
		t.Errorf("got %s, want the items that were referred to", got)
	}
	none := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one","store":false}`)
	if text(none, "store") != "false" {
		t.Errorf("got %v", none)
	}
	lost := text(none["output"].([]any)[0].(map[string]any), "id")
	got := g.call(404, "POST", "/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"`+lost+`"}]}`)
	if !strings.Contains(text(got, "error", "message"), "not found") || text(got, "error", "param") != "input" {
		t.Errorf("got %v", got)
	}
	g.call(404, "GET", "/v1/responses/"+text(none, "id"), "")
}

// TestStateMistakes sends what is wrong, and gets an error of the protocol's form that names
// the place.
func TestStateMistakes(t *testing.T) {
	t.Parallel()
	g := remember(t, "")
	resp := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one"}`), "id")
	conv := text(g.call(200, "POST", "/v1/conversations", `{}`), "id")
	gone := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one"}`), "id")
	g.call(200, "DELETE", "/v1/responses/"+gone, "")
	inside := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x","conversation":"`+text(g.call(200, "POST", "/v1/conversations", ""), "id")+`"}`), "id")
	many := strings.Repeat(`{"role":"user","content":"x"},`, 20) + `{"role":"user","content":"x"}`
	for _, c := range []struct {
		method, path, body string
		status             int
		param, message     string
	}{
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"` + resp + `","conversation":"` + conv + `"}`, 400, "previous_response_id", "exclude each other"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"` + gone + `"}`, 400, "previous_response_id", "not found"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"` + conv + `"}`, 400, "previous_response_id", "not found"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"` + inside + `"}`, 400, "previous_response_id", "conversation"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"\u0000"}`, 400, "previous_response_id", "not found"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","conversation":"` + resp + `"}`, 404, "<nil>", "not found"},
		{"POST", "/v1/responses", `{"model":"m","input":"x","background":true,"store":false}`, 400, "background", "store"},
		{"POST", "/v1/responses", `{"model":"m","input":[{"type":"tea_call"}]}`, 400, "input[0].type", "tea_call"},
		{"POST", "/v1/responses", `{"model":"m","input":[{"role":"user","content":"x","id":"a\nb"}]}`, 400, "input[0].id", "printable"},
		{"GET", "/v1/responses/" + gone, "", 404, "<nil>", "not found"},
		{"GET", "/v1/responses/%00", "", 404, "<nil>", "not found"},
		{"GET", "/v1/responses/" + gone + "/input_items", "", 404, "<nil>", "not found"},
		{"GET", "/v1/responses/" + resp + "/input_items?limit=0", "", 400, "limit", "1 to 100"},
		{"GET", "/v1/responses/" + resp + "/input_items?limit=101", "", 400, "limit", "1 to 100"},
		{"GET", "/v1/responses/" + resp + "/input_items?order=up", "", 400, "order", "asc"},
		{"GET", "/v1/responses/" + resp + "/input_items?after=msg_x", "", 400, "after", "msg_x"},
		{"GET", "/v1/responses/" + resp + "?stream=true", "", 400, "stream", "background"},
		{"POST", "/v1/responses/" + resp + "/cancel", "", 400, "response_id", "background"},
		{"POST", "/v1/responses/" + gone + "/cancel", "", 404, "<nil>", "not found"},
		{"DELETE", "/v1/responses/" + gone, "", 404, "<nil>", "not found"},
		{"POST", "/v1/conversations", `[]`, 400, "<nil>", "object"},
		{"POST", "/v1/conversations", `{"metadata":{"a":1}}`, 400, "metadata.a", "strings"},
		{"POST", "/v1/conversations", `{"metadata":[]}`, 400, "metadata", "object"},
		{"POST", "/v1/conversations", `{"items":{}}`, 400, "items", "array"},
		{"POST", "/v1/conversations", `{"items":[` + many + `]}`, 400, "items", "20"},
		{"POST", "/v1/conversations/" + conv + "/items", `{}`, 400, "items", "missing"},
		{"POST", "/v1/conversations/" + conv + "/items", `{"items":[{"role":"user","content":"x"},{"type":"tea_call"}]}`, 400, "items[1].type", "items[1]"},
		{"POST", "/v1/conversations/" + conv + "/items", `{"items":[{"role":"butler","content":"x"}]}`, 400, "items[0].role", "butler"},
		{"POST", "/v1/conversations/" + conv + "/items", `{"items":[{"type":"item_reference","id":"x"}]}`, 400, "items[0]", "reference"},
		{"POST", "/v1/conversations/" + conv + "/items", `{"items":[{"role":"user","content":"` + strings.Repeat("x", 5<<20) + `"}]}`, 413, "<nil>", "stored"},
		{"POST", "/v1/conversations/" + conv, `{}`, 400, "metadata", "missing"},
		{"GET", "/v1/conversations/" + conv + "/items?after=x", "", 400, "after", "x"},
		{"GET", "/v1/conversations/" + conv + "/items/x", "", 404, "<nil>", "not found"},
		{"POST", "/v1/responses", `{"model":"m","conversation":"` + conv + `","input":"` + strings.Repeat("x", 5<<20) + `"}`, 413, "<nil>", "stored"},
	} {
		got := g.call(c.status, c.method, c.path, c.body)
		e, _ := got["error"].(map[string]any)
		if text(got, "error", "param") != c.param || !strings.Contains(text(got, "error", "message"), c.message) || e["type"] == nil || len(e) != 4 {
			t.Errorf("%s %s %.100s: got %v, want %s and %q", c.method, c.path, c.body, got, c.param, c.message)
		}
	}
	if list := g.call(200, "GET", "/v1/conversations/"+conv+"/items", ""); len(list["data"].([]any)) != 0 {
		t.Errorf("got %v, want nothing of what was refused", list)
	}
	// A giant item that nobody has to remember is answered, and the client is told.
	got := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"`+strings.Repeat("x", 5<<20)+`"}`))
	if got.status != 200 || !strings.Contains(got.body, `"store":false`) || !strings.Contains(got.header.Get("x-callgate-warnings"), "not_stored:too_large") {
		t.Errorf("got %d, %v, %.200s, want an answer that is not stored", got.status, got.header, got.body)
	}
}

// TestStateTenants holds that a key finds nothing of another one's, and gets the answer of
// what there is none of.
func TestStateTenants(t *testing.T) {
	t.Parallel()
	g := remember(t, "keys: [{name: a, hash: \""+config.HashKey("key-a")+"\"}, {name: b, hash: \""+config.HashKey("key-b")+"\"}]\n")
	as := func(key string) []string { return []string{"authorization", "Bearer " + key} }
	resp := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"secret"}`, as("key-a")...)
	id, item := text(resp, "id"), text(resp["output"].([]any)[0].(map[string]any), "id")
	conv := text(g.call(200, "POST", "/v1/conversations", `{"items":[{"role":"user","content":"secret"}]}`, as("key-a")...), "id")
	back := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":"secret","background":true}`, as("key-a")...), "id")
	for _, c := range [][4]string{
		{"GET", "/v1/responses/ID", "", id}, {"GET", "/v1/responses/ID?stream=true", "", back}, {"DELETE", "/v1/responses/ID", "", id}, {"GET", "/v1/responses/ID/input_items", "", id},
		{"POST", "/v1/responses/ID/cancel", "", back}, {"GET", "/v1/conversations/ID", "", conv}, {"POST", "/v1/conversations/ID", `{"metadata":{}}`, conv},
		{"DELETE", "/v1/conversations/ID", "", conv}, {"GET", "/v1/conversations/ID/items", "", conv}, {"POST", "/v1/conversations/ID/items", `{"items":[]}`, conv},
		{"POST", "/v1/responses", `{"model":"m","input":"x","previous_response_id":"ID"}`, id}, {"POST", "/v1/responses", `{"model":"m","input":"x","conversation":"ID"}`, conv},
		{"POST", "/v1/responses", `{"model":"m","input":[{"type":"item_reference","id":"ID"}]}`, item},
	} {
		ask := func(id string) (int, string) {
			fill := func(s string) string { return strings.ReplaceAll(s, "ID", id) }
			got := g.do(g.request(c[0], fill(c[1]), fill(c[2]), as("key-b")...))
			return got.status, strings.ReplaceAll(got.body, id, "ID")
		}
		status, body := ask(c[3])
		unknown, other := ask(c[3][:len(c[3])-1] + "x")
		if status != unknown || body != other || status < 400 || status >= 500 {
			t.Errorf("%s %s: got %d %s for what is another's, and %d %s for what there is none of", c[0], c[1], status, body, unknown, other)
		}
	}
	g.call(200, "GET", "/v1/responses/"+id, "", as("key-a")...)
	g.call(200, "GET", "/v1/conversations/"+conv, "", as("key-a")...)
}

// TestNoStore holds that a gateway without a store says so.
func TestNoStore(t *testing.T) {
	t.Parallel()
	g := remember(t, "store: {kind: off}\n")
	got := g.call(200, "POST", "/v1/responses", `{"model":"m","input":"one"}`)
	if text(got, "store") != "false" {
		t.Errorf("got %v, want store: false", got)
	}
	for _, c := range [][3]string{{"GET", "/v1/responses/" + text(got, "id"), ""}, {"GET", "/v1/responses/x?stream=true", ""}, {"POST", "/v1/conversations", "{}"}} {
		if got := g.call(404, c[0], c[1], c[2]); !strings.Contains(text(got, "error", "message"), "store.kind: off") {
			t.Errorf("got %v", got)
		}
	}
	refused := g.call(400, "POST", "/v1/responses", `{"model":"m","input":"one","previous_response_id":"`+text(got, "id")+`"}`)
	if !strings.Contains(text(refused, "error", "message"), "needs a store") {
		t.Errorf("got %v", refused)
	}
}

// TestCompact has a conversation summarized, and goes on from the summary.
func TestCompact(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"memory": "", "off": "store: {kind: off}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := remember(t, config)
			items := `{"role":"user","content":"what is it"},{"type":"function_call","call_id":"c1","name":"look","arguments":"{\"at\":1}"},{"type":"function_call_output","call_id":"c1","output":"a cat"}`
			body := `{"model":"m","instructions":"be brief","input":[` + items + `]}`
			if config == "" {
				first := text(g.call(200, "POST", "/v1/responses", `{"model":"m","input":[`+items+`]}`), "id")
				body = `{"model":"m","instructions":"be brief","previous_response_id":"` + first + `"}`
			}
			got := g.call(200, "POST", "/v1/responses/compact", body)
			item, _ := got["output"].([]any)[0].(map[string]any)
			if text(got, "object") != "response.compaction" || text(item, "type") != "compaction" || !strings.HasPrefix(text(item, "encrypted_content"), "cg1.") || got["created_at"] == nil {
				t.Errorf("got %v", got)
			}
			for _, said := range []string{"what is it", "[call] look {\"at\":1}", "a cat", "be brief"} {
				if !strings.Contains(g.last(), said) {
					t.Errorf("the model was asked %s, want %q in it", g.last(), said)
				}
			}
			n := len(g.asked)
			g.call(200, "POST", "/v1/responses", `{"model":"m","input":[`+string(marshal(t, item))+`,{"role":"user","content":"go on"}]}`)
			if want := fmt.Sprintf("answer %d; user: go on", n); !strings.HasSuffix(g.last(), want) || !strings.HasPrefix(g.last(), "user: Summary") {
				t.Errorf("got %s, want the summary and %s", g.last(), want)
			}
			g.call(400, "POST", "/v1/responses/compact", `{"model":"m","input":[]}`)
			g.call(400, "POST", "/v1/responses/compact", `{"input":"x"}`)
			g.call(400, "POST", "/v1/responses/compact", `{"model":"m","input":"x","previous_response_id":"resp_none"}`)
		})
	}
}

// TestCompacted has conversations that are too long for their model: a summary takes the place
// of what is old, once, and the turns go on from it.
func TestCompacted(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{"refused": "", "setting": "store: {compact_tokens: 800}\n", "context": "store: {compact_tokens: 0}\n", "turns": "store: {compact_turns: 6}\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			summaries, refusals := 0, 0
			last := ""
			var mu sync.Mutex
			url := upstream(t, func(w http.ResponseWriter, r received) {
				mu.Lock()
				defer mu.Unlock()
				w.Header().Set("content-type", "application/json")
				switch {
				case strings.Contains(r.body, "Write the summary alone."):
					summaries++
					send(w, completion(fmt.Sprintf("summary %d", summaries)))
				case len(r.body) > 2500 && config == "":
					refusals++
					w.WriteHeader(http.StatusBadRequest)
					send(w, `{"error":{"message":"This model's maximum context length is 800 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`)
				default:
					last = r.body
					send(w, completion("fine"))
				}
			})
			target := "{provider: local}"
			if name == "context" {
				target = "{provider: local, context_tokens: 1000}, {provider: local, context_tokens: 4000}"
			}
			g := serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: ["+target+"]}}\nadmin: {listen: off}\n"+config)
			conversation := `"conversation":"` + text(g.call(200, "POST", "/v1/conversations", ""), "id") + `"`
			for _, link := range []string{conversation, ""} {
				warned, before := 0, summaries
				for i := range 12 {
					goesOn := link
					if link == "" {
						goesOn = `"store":true`
					}
					got := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"turn %d %s",%s}`, i, strings.Repeat("x", 300), goesOn)))
					if got.status != 200 {
						t.Fatalf("turn %d: got %d %s", i, got.status, got.body)
					}
					if strings.Contains(got.header.Get("x-callgate-warnings"), "compacted:") {
						warned++
					}
					if link != conversation {
						link = `"previous_response_id":"` + between(got.body, `"id":"`, `"`) + `"`
					}
				}
				mu.Lock()
				if made := summaries - before; made == 0 || made > 5 || warned != made {
					t.Errorf("got %d summaries, %d answers that say so, want both, and few", made, warned)
				}
				if !strings.Contains(last, "Summary of the conversation so far") || !strings.Contains(last, "turn 10 ") || !strings.Contains(last, "turn 11 ") || strings.Contains(last, "turn 1 ") {
					t.Errorf("got %s, want a summary and the last turns", last)
				}
				if (config == "") != (refusals > 0) {
					t.Errorf("got %d refusals", refusals)
				}
				mu.Unlock()
			}
			// All is still there for whoever asks for it, and the summary goes with what it says.
			id := between(conversation, `"conversation":"`, `"`)
			list := g.call(200, "GET", "/v1/conversations/"+id+"/items?limit=100", "")
			if n := len(list["data"].([]any)); n != 24 {
				t.Errorf("got %d items, want all 24", n)
			}
			g.call(404, "GET", "/v1/responses/cmp_"+id, "")
			g.call(200, "DELETE", "/v1/conversations/"+id+"/items/"+text(list, "last_id"), "")
			g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x",`+conversation+`}`)
		})
	}
}

// TestNotStored has an answer that is larger than what is stored: the client gets it, and is
// told that it cannot go on from it.
func TestNotStored(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5<<20)
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
			for _, piece := range pieces(large, 1<<19) {
				send(w, delta(piece))
			}
			send(w, finish, done)
			return
		}
		w.Header().Set("content-type", "application/json")
		send(w, completion(large))
	})
	g := serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local, tool_calls: off}]}}\nadmin: {listen: off}\n")
	whole := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x"}`))
	if whole.status != 200 || len(whole.body) < len(large) || !strings.Contains(whole.header.Get("x-callgate-warnings"), "not_stored:too_large") {
		t.Errorf("got %d, %v, %d bytes, want the answer and a warning", whole.status, whole.header, len(whole.body))
	}
	streamed := g.do(g.request("POST", "/v1/responses", `{"model":"m","input":"x","stream":true}`))
	if !strings.Contains(streamed.body, "event: response.completed\n") || !strings.Contains(streamed.body, "not_stored:too_large") {
		t.Errorf("got %d bytes, want the answer and a warning", len(streamed.body))
	}
	for _, body := range []string{whole.body, streamed.body} {
		g.call(400, "POST", "/v1/responses", `{"model":"m","input":"y","previous_response_id":"`+between(body, `"id":"`, `"`)+`"}`)
	}
}

// TestItemsWithOneID has items of a conversation with the same id, in one request and in several, also
// as input of a response: each gets a place of its own in the list.
func TestItemsWithOneID(t *testing.T) {
	t.Parallel()
	url := static(t, http.StatusOK, "application/json", completion("fine"))
	g := serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: off}\n")
	const item = `{"type":"message","id":"msg_same","role":"user","content":"x"}`
	id := text(g.call(200, "POST", "/v1/conversations", `{"items":[`+item+`,`+item+`]}`), "id")
	g.call(200, "POST", "/v1/conversations/"+id+"/items", `{"items":[`+item+`]}`)
	g.call(200, "POST", "/v1/responses", `{"model":"m","conversation":"`+id+`","input":[`+item+`]}`)
	seen, after := map[string]bool{}, ""
	for range 6 {
		page := g.call(200, "GET", "/v1/conversations/"+id+"/items?order=asc&limit=1"+after, "")
		list := page["data"].([]any)
		if len(list) == 0 {
			break
		}
		own := list[0].(map[string]any)["id"].(string)
		if seen[own] {
			t.Fatalf("got the item %s a second time", own)
		}
		seen[own] = true
		after = "&after=" + own
	}
	if len(seen) != 5 || !seen["msg_same"] {
		t.Errorf("got the items %v, want five, the first with the client's id", seen)
	}
}

// TestStoreMetrics looks for what is stored among the metrics.
func TestStoreMetrics(t *testing.T) {
	t.Parallel()
	url := static(t, http.StatusOK, "application/json", completion("fine"))
	g := serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: \"127.0.0.1:0\"}\n")
	g.call(200, "POST", "/v1/responses", `{"model":"m","input":"x"}`)
	g.call(200, "POST", "/v1/conversations", "")
	metrics := g.operator("GET", "/metrics").body
	for _, want := range []string{"callgate_store_entries 2\n", "callgate_store_evicted_total 0\n", "callgate_background_responses 0\n"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("got no %q in the metrics", want)
		}
	}
	if strings.Contains(metrics, "callgate_store_bytes 0\n") {
		t.Error("got no bytes that are stored")
	}
}

// TestTruncation has a conversation that is too long for its model: with truncation "auto" the oldest
// turns are left out, and that is said; without, the client is told. It needs no store.
func TestTruncation(t *testing.T) {
	t.Parallel()
	for _, config := range []string{"", "store: {kind: off}\n"} {
		var mu sync.Mutex
		last := ""
		url := upstream(t, func(w http.ResponseWriter, r received) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("content-type", "application/json")
			if len(r.body) > 3000 {
				w.WriteHeader(http.StatusBadRequest)
				send(w, `{"object":"error","message":"This model's maximum context length is 500 tokens. However, you requested 900 tokens.","type":"BadRequestError","code":400}`)
				return
			}
			last = r.body
			send(w, completion("fine"))
		})
		g := serve(t, "providers: {local: {type: openai, base_url: \""+url+"\"}}\nmodels: {m: {targets: [{provider: local}]}}\nadmin: {listen: off}\n"+config)
		var items []string
		for i := range 12 {
			items = append(items, fmt.Sprintf(`{"role":"user","content":"turn %d %s"}`, i, strings.Repeat("word ", 60)))
		}
		body := `{"model":"m","input":[{"role":"developer","content":"Be brief."},` + strings.Join(items, ",") + `],"truncation":"%s"}`
		got := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(body, "auto")))
		if got.status != 200 || !strings.Contains(got.header.Get("x-callgate-warnings"), "truncated:") || !strings.Contains(last, "turn 11 ") || strings.Contains(last, "turn 0 ") || !strings.Contains(last, "Be brief.") {
			t.Errorf("%q: got %d, %v, and upstream %.300s", config, got.status, got.header, last)
		}
		got = g.do(g.request("POST", "/v1/responses", fmt.Sprintf(body, "disabled")))
		failure{status: 400, code: "context_length_exceeded", says: "maximum context length"}.check(t, got)
	}
}
