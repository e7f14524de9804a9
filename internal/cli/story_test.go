package cli

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// storyConfig has a model of each sort: one whose calls come broken, one that is away with another
// behind it, one that is away alone, one that claims what no call has done, and one in a cache.
const storyConfig = `
admin: {listen: "127.0.0.1:0"}
providers:
  sloppy: {type: openai, base_url: %q}
  away: {type: openai, base_url: "http://127.0.0.1:1/v1", retry: {max_retries: 1, base_delay: 1ms, max_delay: 1ms}, circuit_breaker: {failure_threshold: 3, open_timeout: 10m}}
  plain: {type: openai, base_url: %q}
  ghostly: {type: openai, base_url: %q, parser: none}
models:
  broken: {targets: [{provider: sloppy, model: broken-1, parser: none}]}
  spare: {targets: [{provider: away, model: far-1}, {provider: plain, model: plain-1}]}
  alone: {targets: [{provider: away, model: far-1}]}
  ghost: {guard: enforce, targets: [{provider: ghostly, model: ghost-1}]}
  again: {answer_cache: memory, targets: [{provider: plain, model: plain-1}]}
prices: %q
`

const storyPrices = `
currency: USD
prices:
  - {provider: plain, model: plain-1, input: 1000000, output: 1000000}
`

// TestStory sends requests of many sorts through the whole gateway, and holds that the operator's first
// page tells of each, that each that was not clean has its way on a page of its own, and that no page
// holds a word of a prompt or an answer.
func TestStory(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-the-text"
	sloppy := static(t, http.StatusOK, "application/json", `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"GetWeather","arguments":"{city: '`+canary+`',}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`)
	plain := static(t, http.StatusOK, "application/json", `{"id":"2","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"`+canary+`"}}],"usage":{"prompt_tokens":2,"completion_tokens":1}}`)
	ghostly := upstream(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		message := `{"role":"assistant","content":"I have deleted the task ` + canary + `."}`
		if strings.Contains(r.body, `"required"`) && !strings.Contains(r.body, `"tool_choice":"auto"`) && strings.Contains(r.body, "tool_choice") {
			message = `{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"delete_task","arguments":"{\"id\":7}"}}]}`
		}
		fmt.Fprintf(w, `{"id":"3","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":%s}]}`, message)
	})
	g := serve(t, fmt.Sprintf(storyConfig, sloppy, plain, ghostly, configFile(t, storyPrices)))
	m := pageOn.FindStringSubmatch(g.stdout.String())
	if m == nil {
		t.Fatalf("got no address of the page in %s", g.stdout)
	}
	page := func(path string, status int) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m[1]+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := g.do(r)
		if got.status != status {
			t.Errorf("%s: got %d, want %d", path, got.status, status)
		}
		if strings.Contains(got.body, canary) {
			t.Errorf("%s: got a word of a prompt or an answer:\n%s", path, got.body)
		}
		return html.UnescapeString(got.body)
	}
	if body := page("/ui", 200); !strings.Contains(body, "Nothing is wrong") || !strings.Contains(body, "No model was asked.") {
		t.Errorf("got trouble at the start:\n%s", body)
	}

	send := func(id, body string, status int) {
		t.Helper()
		if r := g.chat(body, "x-request-id", id); r.status != status {
			t.Errorf("%s: got %d %s, want %d", id, r.status, r.body, status)
		}
	}
	for range 2 {
		send("req_broken", prompt("broken", "The weather in "+canary, false), 200)
	}
	send("req_spare", prompt("spare", canary, false), 200)
	send("req_alone", prompt("alone", canary, false), 502)
	send("req_after", prompt("alone", canary, false), 503)
	send("a/b?c=1 %2F..", prompt("nothing", canary, false), 404)
	send("req_ghost", `{"model": "ghost", "messages": [{"role": "user", "content": "Delete task 7 now."}], "tools": [{"type": "function", "function": {"name": "delete_task", "description": "Deletes a task.", "parameters": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}}]}`, 200)
	for range 3 {
		send("req_again", `{"model": "again", "temperature": 0, "messages": [{"role": "user", "content": "hi"}]}`, 200)
	}

	body := page("/ui", 200)
	for what, want := range map[string]string{
		"the verdict":         "thing is wrong",
		"the breaker":         "away has been cut off",
		"what was repaired":   "Arguments that were not quite JSON",
		"how often":           `<code class="quiet">args_json</code></th><td class="n">2</td>`,
		"the tool's name":     "A tool's name, misspelled",
		"the retries":         "1 at the same target, 1 at another",
		"the ghost":           "1 caught, 0 reached clients",
		"why requests failed": `<code class="quiet">model_not_found</code>`,
		"the money spent":     "<dt>Spent</dt><dd>$6.00</dd>",
		"the money saved":     "<dt>Saved by the response cache</dt><dd>$6.00</dd>",
		"who misbehaves":      `<a href="/ui/requests?target=away%2Ffar-1">far-1</a> <span class="of">away</span>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s: got no %q in\n%s", what, want, body)
		}
	}
	for id, wants := range map[string][]string{
		"req_broken": {"Repaired", "The arguments were not JSON.", "The call names no tool that was offered.", "sloppy/broken-1"},
		"req_spare":  {"away/far-1", "went to another target", "plain/plain-1", "upstream_error"},
		"req_alone":  {"upstream_error", "tried again, after a wait of", "The upstream failed, or could not be reached.", "status 502"},
		"req_ghost":  {"The model was told to make the call", "delete_task"},
	} {
		body := page("/ui/requests/"+id, 200)
		for _, want := range wants {
			if !strings.Contains(strings.ToLower(body), strings.ToLower(want)) {
				t.Errorf("%s: got no %q in\n%s", id, want, body)
			}
		}
	}
	list := page("/ui/requests", 200)
	for _, link := range regexp.MustCompile(`href="(/ui/requests/[^"]+)"`).FindAllStringSubmatch(list, -1) {
		page(link[1], 200)
	}
	if only := page("/ui/requests?show=repaired", 200); !strings.Contains(only, "req_broken") || strings.Contains(only, "req_alone") {
		t.Errorf("got other requests than those that were repaired:\n%s", only)
	}
	page("/ui/requests/req_nobody", 404)
}

// TestStoryBudgets holds that the first page tells how much of a budget requests have spent, and that it
// is red when there is nothing left.
func TestStoryBudgets(t *testing.T) {
	t.Parallel()
	base, _ := usages(t)
	g := serve(t, limited(base, "{usd: 0.0001, per: month}", "assume_price: {input: 1, output: 3}\n"))
	m := pageOn.FindStringSubmatch(g.stdout.String())
	if m == nil {
		t.Fatalf("got no address of the page in %s", g.stdout)
	}
	page := func() string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, m[1]+"/ui", nil)
		if err != nil {
			t.Fatal(err)
		}
		return html.UnescapeString(g.do(r).body)
	}
	if body := page(); strings.Contains(body, "budgets-caption") {
		t.Errorf("got budgets that nobody has spent of:\n%s", body)
	}
	for range 20 {
		if g.chat(`{"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hello"}]}`).status != http.StatusOK {
			break
		}
	}
	body := page()
	for _, want := range []string{"One thing is wrong", "The budget of everybody had no room for the last request: 75 % of it is spent.", "<td class=\"n\">$0.0001 a month</td>"} {
		if !strings.Contains(body, want) {
			t.Errorf("got no %q in\n%s", want, body)
		}
	}
}
