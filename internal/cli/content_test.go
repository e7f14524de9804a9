package cli

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// contentOf is the page of what was said in a request, and the link to it that its own page has.
func (g *gate) contentOf(id string) (text, link string) {
	g.t.Helper()
	m := regexp.MustCompile(`id="content" href="([^"]+)"`).FindStringSubmatch(g.adminDo("GET", "/ui/requests/"+id).body)
	if m == nil {
		return "", ""
	}
	r := g.adminDo("GET", m[1])
	if r.status != http.StatusOK {
		g.t.Fatalf("%s: got %d %s", m[1], r.status, r.body)
	}
	return html.UnescapeString(r.body), m[1]
}

// sloppyText is a call as a model of text writes it, that has to be repaired.
const sloppyText = "<tool_call>\n{\"name\": \"GetWeather\", \"arguments\": {city: 'Oslo <b>',}}\n</tool_call>"

// TestContent holds that with admin.content the page of a request that was not clean shows what the client
// sent, what went to each upstream and came back, and what the client got, in all protocols; that a clean
// one leaves nothing, and that no key is shown.
func TestContent(t *testing.T) {
	t.Parallel()
	text := upstream(t, func(w http.ResponseWriter, r received) { answerWith(w, r, sloppyText) })
	plain := upstream(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "All is well.") })
	refusing := upstream(t, func(w http.ResponseWriter, _ received) {
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error":{"message":"it burns; your key is `+canary+`"}}`)
	})
	config := fmt.Sprintf("admin: {listen: \"127.0.0.1:0\", content: {keep: 1h}}\nproviders:\n  text: {type: openai, base_url: %q, api_key: %s, parser: hermes}\n  plain: {type: openai, base_url: %q}\n  refusing: {type: openai, base_url: %q, api_key: %s, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 1000}}\nmodels:\n  m: {targets: [{provider: refusing, model: r}, {provider: text, model: t}]}\n  clean: {targets: [{provider: plain, model: p}]}\n", text, canary, plain, refusing, canary)
	g := serve(t, config)
	if !strings.Contains(g.stderr.String(), "admin.content") {
		t.Errorf("got nothing in the log of what is kept: %s", g.stderr)
	}
	for _, streams := range []bool{false, true} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"m","stream":%t,"messages":[{"role":"user","content":"the question <i>"}],"tools":` + twoTools + `}`,
			"/v1/responses":        `{"model":"m","stream":%t,"input":"the question <i>","tools":[{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}]}`,
			"/v1/messages":         `{"model":"m","stream":%t,"max_tokens":100,"messages":[{"role":"user","content":"the question <i>"}],"tools":[{"name":"get_weather","input_schema":{"type":"object","properties":{"city":{"type":"string"}}}}]}`,
		} {
			id := fmt.Sprintf("req_%s_%t", strings.ReplaceAll(path[4:], "/", "_"), streams)
			body := fmt.Sprintf(body, streams)
			r := g.do(g.request("POST", path, body, "x-request-id", id, "authorization", "Bearer sk-clients-own"))
			if r.status != http.StatusOK || !strings.Contains(r.body, "get_weather") {
				t.Fatalf("%s: got %d %s", id, r.status, r.body)
			}
			page, _ := g.contentOf(id)
			came := completion(sloppyText)
			if streams {
				came, _, _ = strings.Cut(role+stream(sloppyText), "\n\ndata: [DONE]")
			}
			for what, want := range map[string]string{
				"the client's body":      body,
				"the first upstream":     "1. Sent to refusing/r",
				"what it answered":       "it burns",
				"the second upstream":    "2. Sent to text/t",
				"what was sent there":    `"model":"t"`,
				"what came, every byte":  came,
				"what the client got":    "What the client got",
				"the answer, every byte": strings.TrimSpace(r.body),
			} {
				if !strings.Contains(page, html.UnescapeString(want)) {
					t.Errorf("%s: got no %s (%q) in\n%s", id, what, want, page)
				}
			}
			if look := "/ui/content/" + id; !strings.Contains(g.stderr.String(), look) {
				t.Errorf("%s: got no line in the log of who looks at %s", id, look)
			}
			if strings.Contains(page, canary) || strings.Contains(page, "sk-clients-own") {
				t.Errorf("%s: got a key in\n%s", id, page)
			}
			if raw := g.adminDo("GET", "/ui/requests/"+id).body; strings.Contains(raw, "the question") {
				t.Errorf("%s: got its text on the page of its way", id)
			}
		}
	}
	if r := g.chat(`{"model":"clean","messages":[{"role":"user","content":"hi"}]}`, "x-request-id", "req_clean"); r.status != http.StatusOK {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	g.wantMetric("callgate_content_requests", 6)
	before := g.metric("callgate_content_bytes")
	g.chat(`{"model":"clean","messages":[{"role":"user","content":"hi"}]}`)
	g.wantMetric("callgate_content_bytes", before)
	_, link := g.contentOf("req_chat_completions_true")
	if raw := g.adminDo("GET", link).body; strings.Contains(raw, "<i>") || strings.Contains(raw, "<b>") {
		t.Errorf("got markup of somebody else's in\n%s", raw)
	}
	for path, want := range map[string]int{"/ui/content": 404, "/ui/content/": 404, "/ui/content/_?n=0": 404, "/ui/content/_?n=9999": 404, "/ui/content/no?n=x": 404} {
		if r := g.adminDo("GET", path); r.status != want {
			t.Errorf("%s: got %d, want %d", path, r.status, want)
		}
	}
}

// TestContentReload turns it on and off while the gateway runs: what was kept is forgotten at once.
func TestContentReload(t *testing.T) {
	t.Parallel()
	url := upstream(t, func(w http.ResponseWriter, r received) { answerWith(w, r, sloppyText) })
	file := func(content string) string {
		return fmt.Sprintf("admin: {listen: \"127.0.0.1:0\"%s}\nproviders: {up: {type: openai, base_url: %q, parser: hermes}}\nmodels: {m: {targets: [{provider: up, model: up}]}}\n", content, url)
	}
	g := serveChanging(t, file(""))
	ask := func(id string) {
		t.Helper()
		if r := g.chat(prompt("m", "hi", false), "x-request-id", id); r.status != http.StatusOK {
			t.Fatalf("got %d %s", r.status, r.body)
		}
	}
	ask("req_1")
	if _, link := g.contentOf("req_1"); link != "" {
		t.Error("got the text of a request though nothing is kept by default")
	}
	g.applied(file(", content: {keep: 10m, memory: 1MiB}"), "admin.content.keep", "admin.content.memory")
	ask("req_2")
	if text, _ := g.contentOf("req_2"); !strings.Contains(text, "GetWeather") {
		t.Errorf("got %s", text)
	}
	g.applied(file(""), "admin.content.keep", "admin.content.memory")
	if _, link := g.contentOf("req_2"); link != "" {
		t.Error("got the text of a request after it was turned off")
	}
	g.wantMetric("callgate_content_bytes", 0)
}

// TestContentRoles holds that a viewer sees the way of a request, and an operator what was said.
func TestContentRoles(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	_, base := ssoGate(t, p)
	for role, want := range map[string]int{"engineering": http.StatusForbidden, "platform": http.StatusNotFound} {
		p.next("", roles(role))
		c := browser(t)
		if r := visit(t, c, "GET", base+"/ui/requests", ""); r.status != http.StatusOK {
			t.Errorf("%s: got %d for the list", role, r.status)
		}
		if r := visit(t, c, "GET", base+"/ui/content/req_1?n=1", ""); r.status != want {
			t.Errorf("%s: got %d, want %d", role, r.status, want)
		}
		for _, path := range []string{"/ui//content/req_1?n=1", "/ui/content?n=1", "/ui/content/?n=1", "/ui/x/../content/req_1?n=1", "/ui/%63ontent/req_1?n=1", "/ui/content%2freq_1?n=1"} {
			if r := visit(t, c, "GET", base+path, ""); r.status != http.StatusNotFound && r.status != want {
				t.Errorf("%s: got %d for %s, want %d or nothing", role, r.status, path, want)
			}
		}
	}
}
