package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// notResponses are cases about what the Responses API has no word for.
var notResponses = map[string]string{
	"native/two_choices":        "a response has one choice",
	"native/two_choices_mended": "a response has one choice",
	"tools/two_choices":         "a response has one choice",
	"native/unknown_members":    "of members that nobody knows a response has none",
}

// TestResponsesCorpus runs the suite's cases about calls and reasoning, whole and in all
// cuttings, by a client that speaks the Responses API: chat completions become responses on
// the way in, and responses become chat completions on the way out, and nothing that the
// suite looks for is lost. Each stream of events is judged on the way.
func TestResponsesCorpus(t *testing.T) {
	t.Parallel()
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c conformance.Case) bool {
		return notResponses[c.Name] != "" || c.RawRequest != nil || c.Client != nil ||
			!slices.Contains([]string{"formats", "tools", "reasoning", "native"}, c.Area())
	})
	up := conformance.NewUpstream()
	base, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	g := serve(t, callgateConfig(conformance.Readers(cases), base, "", ""))
	way := &throughResponses{t: t, next: g.client.Transport}
	target := conformance.Target{BaseURL: "http://" + g.addr + "/v1", Client: &http.Client{Transport: way, Timeout: patience},
		Features: []string{conformance.Chat, conformance.Stream, conformance.Tools, conformance.Reasoning}}
	report, err := conformance.Run(t.Context(), target, up, conformance.Options{Cases: cases, Parallel: 4})
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, o := range report.Cases {
		if o.Verdict == conformance.Skipped {
			continue
		}
		if ran++; o.Verdict != conformance.Passed {
			t.Errorf("%s: %.1500s", o.Case.Name, o.Details())
		}
	}
	t.Logf("%d cases, %d streams", ran, way.streams.Load())
	if ran < 500 || way.streams.Load() < 1500 {
		t.Errorf("got %d cases with %d streams, want at least 500 and 1500", ran, way.streams.Load())
	}
}

// throughResponses sends chat completions as requests for responses.
type throughResponses struct {
	t       *testing.T
	next    http.RoundTripper
	streams atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (w *throughResponses) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, chatPath) {
		return w.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	request, err := toResponses(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, body)
	}
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimSuffix(r.URL.Path, chatPath) + "/responses"
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(request)), int64(len(request))
	resp, err := w.next.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var out []byte
	if responsestest.IsStream(answer) {
		w.streams.Add(1)
		stream, err := responsestest.CheckStream(answer)
		if err != nil {
			w.t.Errorf("%v in the stream\n%s", err, answer)
		}
		out = chunksOf(stream.Final, answer)
	} else {
		response, err := responsestest.CheckResponse(answer)
		if err != nil {
			w.t.Errorf("%v in %s", err, answer)
		}
		out = completionOf(response, "message", "chat.completion")
	}
	resp.Header.Del("content-length")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	return resp, nil
}

const chatPath = "/chat/completions"

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Reasoning string          `json:"reasoning_content"`
	Refusal   string          `json:"refusal"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// toResponses is a chat completion's request as one for a response.
func toResponses(body []byte) ([]byte, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	var messages []chatMessage
	if err := json.Unmarshal(in["messages"], &messages); err != nil {
		return nil, err
	}
	delete(in, "messages")
	delete(in, "stream_options")
	input := []any{}
	for _, m := range messages {
		input = append(input, itemsOf(m)...)
	}
	out := map[string]any{"input": input}
	for name, v := range in {
		out[name] = v
	}
	if in["tools"] != nil {
		var tools []map[string]json.RawMessage
		if err := json.Unmarshal(in["tools"], &tools); err != nil {
			return nil, err
		}
		list := []any{}
		for _, t := range tools {
			var f map[string]json.RawMessage
			if err := json.Unmarshal(t["function"], &f); err != nil {
				return nil, err
			}
			f["type"] = json.RawMessage(`"function"`)
			list = append(list, f)
		}
		out["tools"] = list
	}
	return json.Marshal(out)
}

func itemsOf(m chatMessage) (items []any) {
	type object = map[string]any
	switch m.Role {
	case "tool":
		return append(items, object{"type": "function_call_output", "call_id": m.ToolCallID, "output": m.Content})
	case "assistant":
	default:
		var parts []map[string]json.RawMessage
		if json.Unmarshal(m.Content, &parts) == nil {
			for _, p := range parts {
				p["type"] = json.RawMessage(`"input_text"`)
			}
			return append(items, object{"role": m.Role, "content": parts})
		}
		return append(items, object{"role": m.Role, "content": m.Content})
	}
	if m.Reasoning != "" {
		items = append(items, object{"type": "reasoning", "summary": []any{object{"type": "summary_text", "text": m.Reasoning}}})
	}
	if len(m.Content) > 0 && string(m.Content) != "null" {
		items = append(items, object{"role": "assistant", "content": m.Content})
	}
	for _, c := range m.ToolCalls {
		items = append(items, object{"type": "function_call", "call_id": c.ID, "name": c.Function.Name, "arguments": c.Function.Arguments})
	}
	return items
}

// completionOf is a response as a chat completion, or as the one chunk that says it all.
func completionOf(r responsestest.Object, member, object string) []byte {
	message := map[string]any{"role": "assistant", "content": nil}
	calls := []any{}
	var text, reasoning, refusal string
	output, _ := r["output"].([]any)
	for _, o := range output {
		item := o.(map[string]any)
		switch item["type"] {
		case "reasoning":
			for _, p := range item["summary"].([]any) {
				reasoning += p.(map[string]any)["text"].(string)
			}
		case "message":
			for _, p := range item["content"].([]any) {
				part := p.(map[string]any)
				if part["type"] == "refusal" {
					refusal += part["refusal"].(string)
				} else {
					text += part["text"].(string)
				}
			}
		case "function_call":
			calls = append(calls, map[string]any{"index": len(calls), "id": item["call_id"], "type": "function",
				"function": map[string]any{"name": item["name"], "arguments": item["arguments"]}})
		}
	}
	finish := "stop"
	if len(calls) > 0 {
		finish, message["tool_calls"] = "tool_calls", calls
	}
	if d, ok := r["incomplete_details"].(map[string]any); ok {
		finish = map[any]string{"max_output_tokens": "length", "content_filter": "content_filter"}[d["reason"]]
	}
	for name, v := range map[string]string{"content": text, "reasoning_content": reasoning, "refusal": refusal} {
		if v != "" {
			message[name] = v
		}
	}
	out := map[string]any{"id": r["id"], "object": object, "created": r["created_at"], "model": r["model"],
		"choices": []any{map[string]any{"index": 0, member: message, "finish_reason": finish}}}
	if u, ok := r["usage"].(map[string]any); ok {
		out["usage"] = map[string]any{"prompt_tokens": u["input_tokens"], "completion_tokens": u["output_tokens"], "total_tokens": u["total_tokens"]}
	}
	data, _ := json.Marshal(out)
	return data
}

// chunksOf is a stream as chunks, a chunk for each event that says something.
func chunksOf(final responsestest.Object, stream []byte) []byte {
	var out []byte
	chunk := func(delta map[string]any) {
		data, _ := json.Marshal(map[string]any{"object": "chat.completion.chunk", "id": final["id"], "created": final["created_at"], "model": final["model"],
			"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}})
		out = fmt.Appendf(out, "data: %s\n\n", data)
	}
	calls := -1
	chunk(map[string]any{"role": "assistant", "content": ""})
	for block := range bytes.SplitSeq(stream, []byte("\n\n")) {
		_, data, _ := bytes.Cut(block, []byte("data: "))
		var e struct {
			Type, Delta string
			Item        struct{ Type, Name, CallID string } // call_id
			Error       any
		}
		if json.Unmarshal(bytes.Replace(data, []byte(`"call_id"`), []byte(`"callid"`), 1), &e) != nil {
			continue
		}
		call := func(member map[string]any) {
			member["index"] = calls
			chunk(map[string]any{"tool_calls": []any{member}})
		}
		switch e.Type {
		case "response.output_text.delta":
			chunk(map[string]any{"content": e.Delta})
		case "response.refusal.delta":
			chunk(map[string]any{"refusal": e.Delta})
		case "response.reasoning_summary_text.delta":
			chunk(map[string]any{"reasoning_content": e.Delta})
		case "response.function_call_arguments.delta":
			call(map[string]any{"function": map[string]any{"arguments": e.Delta}})
		case "response.output_item.added":
			if e.Item.Type == "function_call" {
				calls++
				call(map[string]any{"id": e.Item.CallID, "type": "function", "function": map[string]any{"name": e.Item.Name, "arguments": ""}})
			}
		case "error":
			return append(append(out, "data: "...), append(data, "\n\n"...)...)
		case "response.failed":
			failure := final["error"].(map[string]any)
			failure["type"], failure["param"] = "server_error", nil // a response does not say these
			data, _ := json.Marshal(map[string]any{"error": failure})
			return fmt.Appendf(out, "data: %s\n\n", data)
		}
	}
	var end struct {
		Choices []map[string]any `json:"choices"`
		Usage   any              `json:"usage"`
	}
	_ = json.Unmarshal(completionOf(final, "delta", "chat.completion.chunk"), &end)
	last, _ := json.Marshal(map[string]any{"object": "chat.completion.chunk", "id": final["id"], "created": final["created_at"], "model": final["model"],
		"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": end.Choices[0]["finish_reason"]}}, "usage": end.Usage})
	return fmt.Appendf(out, "data: %s\n\ndata: [DONE]\n\n", last)
}
