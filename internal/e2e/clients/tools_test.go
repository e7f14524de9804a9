package clients_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/formats"
)

// toolRounds is how many rounds of two calls each the gateway runs for one request.
const toolRounds = 5

// toolScenarios have the gateway run tools itself: clients see one answer, whatever has happened
// before its last words.
func toolScenarios() []scenario {
	var all []scenario
	for _, format := range []string{"native", "hermes", "qwen3_coder", "harmony"} {
		content := ""
		for n := range toolRounds {
			content += fmt.Sprintf("Step %d.\n\n", n+1)
		}
		all = append(all, scenario{name: "gateway tools " + format, serve: gatewayTools(format, false),
			want: []turn{{Finish: "stop", Content: content + "All done.", Usage: &usage{100 * (toolRounds + 1), 20 * (toolRounds + 1), 120 * (toolRounds + 1)}}}})
	}
	return all
}

// gatewayTools has a model that calls the tools of a server of the gateway's, round after round. last says
// that only the last round has counted tokens.
func gatewayTools(format string, last bool) func(t *testing.T, c *config, model string) verdict {
	return func(t *testing.T, c *config, model string) verdict {
		var asked, called atomic.Int64
		shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			called.Add(1)
			io.WriteString(w, `{"found":"`+r.URL.Query().Get("q")+`"}`)
		}))
		t.Cleanup(shop.Close)
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("the body cannot be read: %v", err)
			}
			writeRound(t, w, format, last, body)
		}))
		t.Cleanup(up.Close)
		server := "s" + fmt.Sprint(len(c.ToolServers))
		c.ToolServers[server] = map[string]any{"type": "http", "private_network": true, "untrusted": false, "reads": []string{"search"}, "requests": []map[string]any{
			{"name": "search", "description": "Searches.", "url": shop.URL + "/search?q={q}", "parameters": map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}, "required": []string{"q"}}}}}
		parser := format
		if format == "native" {
			parser = "none"
		}
		c.Providers[model] = map[string]any{"type": "openai", "base_url": up.URL + "/v1"}
		c.route(model, target{Provider: model, Model: server, Parser: parser})
		c.Models[model]["tools"] = map[string]any{"servers": []string{server}}
		return func(t *testing.T, _ client) {
			if asked.Load() != toolRounds+1 || called.Load() != 2*toolRounds {
				t.Errorf("got %d rounds and %d calls, want %d and %d", asked.Load(), called.Load(), toolRounds+1, 2*toolRounds)
			}
		}
	}
}

// writeRound answers a request of the gateway's by how many results it has.
func writeRound(t *testing.T, w http.ResponseWriter, format string, last bool, body []byte) {
	var req struct {
		Stream   bool
		Messages []struct{ Role string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(body, &req); err != nil {
		t.Errorf("the body cannot be read: %v", err)
	}
	results, tool := 0, ""
	for _, m := range req.Messages {
		if m.Role == "tool" {
			results++
		}
	}
	for _, offered := range req.Tools {
		if strings.HasSuffix(offered.Function.Name, "__search") {
			tool = offered.Function.Name
		}
	}
	said := formats.Turn{Content: "All done."}
	if n := results / 2; n < toolRounds {
		said.Content = fmt.Sprintf("Step %d.", n+1)
		for i := range 2 {
			said.Calls = append(said.Calls, formats.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: tool, Args: []formats.Arg{{Key: "q", Value: json.RawMessage(fmt.Sprintf(`"%d %d"`, n, i))}}})
		}
	}
	finish := "stop"
	var calls []map[string]any
	if format == "native" {
		for i, c := range said.Calls {
			finish = "tool_calls"
			calls = append(calls, map[string]any{"index": i, "id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": `{"q": ` + string(c.Args[0].Value) + `}`}})
		}
	} else if f, ok := formats.Find(format); ok {
		said.Content = f.Write(said)
	}
	counted := map[string]int{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	if last && len(said.Calls) > 0 {
		counted = map[string]int{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
	}
	message := map[string]any{"role": "assistant", "content": said.Content}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	answer := func(object, member string, message any, finish any) []byte {
		text, err := json.Marshal(map[string]any{"id": "up", "object": object, "created": 1, "model": "m", "usage": counted,
			"choices": []any{map[string]any{"index": 0, member: message, "finish_reason": finish}}})
		if err != nil {
			panic(err) // the test's own types can be encoded
		}
		return text
	}
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		w.Write(answer("chat.completion", "message", message, finish))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\ndata: %s\n\ndata: [DONE]\n\n", answer("chat.completion.chunk", "delta", message, nil), answer("chat.completion.chunk", "delta", map[string]any{}, finish))
}
