package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestSummaryWithoutTools holds that a summary of a conversation is made without the tools that
// its model has: a model that could call them would do again what it reads of. And that the
// rules that route by metadata hold for a request to which tools are attached.
func TestSummaryWithoutTools(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	var summaries, strayed atomic.Int64
	url := upstream(t, func(w http.ResponseWriter, r received) {
		switch {
		case strings.Contains(r.body, "Write the summary alone."):
			summaries.Add(1)
			if strings.Contains(r.body, `"tools"`) {
				send(w, turnOf(r, "native", "", modelCall{"c1", "shop__order", `{"item":"again"}`}))
				return
			}
			send(w, turnOf(r, "native", "They talked."))
		case !strings.Contains(r.body, "shop__order"):
			t.Errorf("got a turn without tools: %s", r.body)
			fallthrough
		default:
			send(w, turnOf(r, "native", "fine"))
		}
	})
	away := upstream(t, func(w http.ResponseWriter, r received) {
		strayed.Add(1)
		send(w, turnOf(r, "native", "fine"))
	})
	config := strings.Replace(shop.config(url, "m", "none", `    tools: {servers: [shop]}
    rules: [{when: {metadata: {market: DE}}, targets: [{provider: up}]}]
store: {compact_tokens: 400}
`), "    targets: [{provider: up}]\n", "    targets: [{provider: away}]\n", 1)
	config = strings.Replace(config, "providers:\n", fmt.Sprintf("providers:\n  away: {type: openai, base_url: %q}\n", away), 1)
	g := serve(t, config)
	conversation := text(g.call(200, "POST", "/v1/conversations", ""), "id")
	for i := range 6 {
		got := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"turn %d %s","metadata":{"market":"DE"},"conversation":%q}`, i, strings.Repeat("x", 300), conversation)))
		if got.status != http.StatusOK {
			t.Fatalf("turn %d: got %d %s", i, got.status, got.body)
		}
	}
	g.call(200, "POST", "/v1/responses/compact", `{"model":"m","input":"a long talk","metadata":{"market":"DE"}}`)
	if made := shop.made(); len(made) > 0 || summaries.Load() < 2 || strayed.Load() > 0 {
		t.Errorf("got the calls %q, %d summaries and %d requests with another provider, want no call, some summaries, and all where the rule says", made, summaries.Load(), strayed.Load())
	}
}

// TestWarningsBesideTools holds that what a client's protocol warns of is said where the gateway
// runs tools, too, whole and streamed, in the answer and in the log.
func TestWarningsBesideTools(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	url := upstream(t, func(w http.ResponseWriter, r received) {
		if r.wantsStream() {
			w.Header().Set("content-type", "text/event-stream")
		}
		if !strings.Contains(r.body, `"role":"tool"`) {
			send(w, turnOf(r, "native", "", modelCall{"c1", "shop__search", `{"q":"x"}`}))
			return
		}
		send(w, turnOf(r, "native", "fine"))
	})
	g := serve(t, shop.config(url, "m", "none", "    tools: {servers: [shop]}\n"))
	for _, stream := range []bool{false, true} {
		got := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"m","input":"x","stream":%v,"tools":[{"type":"web_search"}]}`, stream)))
		const want = "tool_dropped:web_search"
		said := got.header.Get("x-callgate-warnings")
		if got.status != http.StatusOK || strings.Count(said, want) != 1 {
			t.Errorf("stream %v: got %d with the warnings %q, want %s: %s", stream, got.status, said, want, cut(got.body, 0, 300))
		}
	}
	g.cancel()
	g.wait() // a line is written behind its answer
	if n := strings.Count(g.stderr.String(), `"warnings":"tool_dropped:web_search"`); n != 2 {
		t.Errorf("got %d lines of the log that say so, want 2", n)
	}
}
