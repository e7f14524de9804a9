package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"testing"

	"github.com/callgate/callgate/conformance"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// unspoken are cases of the suite about what another protocol than chat completions has no word for,
// by "protocol/last part of the name" or by name for all.
var unspoken = map[string]string{
	"native/two_choices":     "an answer has one choice",
	"tools/two_choices":      "an answer has one choice",
	"native/unknown_members": "an answer has no members that nobody knows",
	"messages/cut":           "a whole message has calls with a whole input alone",
	"messages/cut_second":    "likewise",

	"messages/hermes_truncated_second": "an answer with a whole call ends as one, whatever the limit has cut behind it",
	"messages/history_comma":           "the arguments of calls in a history are objects",
	"messages/history_empty":           "likewise",
	"messages/history_good":            "likewise",
	"messages/history_python":          "likewise",
	"messages/history_twice_encoded":   "likewise",
}

// TestCorpusInAllProtocols runs the suite's cases about calls and reasoning, whole and in all
// cuttings, by clients of the other protocols: chat completions become their requests on the way
// in, and their answers become chat completions on the way out, and nothing that the suite looks
// for is lost. Each stream of events is judged on the way.
func TestCorpusInAllProtocols(t *testing.T) {
	t.Parallel()
	for i := range tongues {
		t.Run(tongues[i].name, func(t *testing.T) {
			t.Parallel()
			corpusIn(t, &tongues[i])
		})
	}
}

func corpusIn(t *testing.T, w *tongue) {
	cases, err := conformance.Cases()
	if err != nil {
		t.Fatal(err)
	}
	cases = slices.DeleteFunc(cases, func(c conformance.Case) bool {
		return unspoken[c.Name] != "" || unspoken[w.name+"/"+path.Base(c.Name)] != "" || c.RawRequest != nil || c.Client != nil ||
			!slices.Contains([]string{"formats", "tools", "reasoning", "native"}, c.Area())
	})
	up := conformance.NewUpstream()
	base, err := up.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { up.Close() })
	g := serve(t, callgateConfig(conformance.Readers(cases), base, "", ""))
	other, way := g.speaking(t, w)
	target := conformance.Target{BaseURL: "http://" + g.addr + "/v1", Client: other.client,
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

// toResponses is a chat completion's request as one for a response.
func toResponses(body []byte) ([]byte, error) {
	in, err := readChat(body)
	if err != nil {
		return nil, err
	}
	input := []any{}
	for _, m := range in.messages {
		input = append(input, itemsOf(m)...)
	}
	out := map[string]any{"input": input}
	for name, v := range in.rest {
		switch name {
		case "max_tokens", "max_completion_tokens":
			out["max_output_tokens"] = v
		case "response_format":
			format, err := formatOf(v)
			if err != nil {
				return nil, err
			}
			out["text"] = map[string]any{"format": format}
		case "tool_choice":
			var named struct {
				Function map[string]json.RawMessage
			}
			if json.Unmarshal(v, &named) == nil && named.Function != nil {
				named.Function["type"] = json.RawMessage(`"function"`)
				out[name] = named.Function
				continue
			}
			out[name] = v
		case "n", "stop", "seed", "web_search_options", "functions", "function_call":
			return nil, fmt.Errorf("%w: %s", errUnsaid, name)
		default:
			out[name] = v
		}
	}
	functions, err := in.functions()
	if err != nil {
		return nil, err
	}
	for _, f := range functions {
		f["type"] = json.RawMessage(`"function"`)
		out["tools"] = functions
	}
	return json.Marshal(out)
}

// formatOf is a response_format as text.format.
func formatOf(v json.RawMessage) (map[string]json.RawMessage, error) {
	var f map[string]json.RawMessage
	if err := json.Unmarshal(v, &f); err != nil {
		return nil, fmt.Errorf("%w: response_format %s", errUnsaid, v)
	}
	schema := f["json_schema"]
	delete(f, "json_schema")
	if schema != nil {
		if err := json.Unmarshal(schema, &f); err != nil {
			return nil, fmt.Errorf("%w: response_format %s", errUnsaid, v)
		}
	}
	return f, nil
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

// fromResponse is a whole response as a chat completion.
func fromResponse(answer []byte) ([]byte, error) {
	response, err := responsestest.CheckResponse(answer)
	if response == nil {
		return answer, err
	}
	return completionOf(response, "message", "chat.completion"), err
}

// fromResponseEvents is a stream of events as one of chunks.
func fromResponseEvents(answer []byte) ([]byte, error) {
	stream, err := responsestest.CheckStream(answer)
	return chunksOf(stream.Final, answer), err
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
		if details, ok := u["input_tokens_details"].(map[string]any); ok {
			out["usage"].(map[string]any)["prompt_tokens_details"] = map[string]any{"cached_tokens": details["cached_tokens"]}
		}
	}
	if r["execution"] != nil {
		out["execution"] = r["execution"]
	}
	data, _ := json.Marshal(out)
	return data
}

// chunksOf is a stream as chunks, a chunk for each event that says something.
func chunksOf(final responsestest.Object, stream []byte) []byte {
	head := map[string]any{"id": final["id"], "created": final["created_at"], "model": final["model"]}
	calls := -1
	out := chunk(head, map[string]any{"role": "assistant", "content": ""}, nil)
	say := func(delta map[string]any) { out = append(out, chunk(head, delta, nil)...) }
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
			say(map[string]any{"tool_calls": []any{member}})
		}
		switch e.Type {
		case "response.output_text.delta":
			say(map[string]any{"content": e.Delta})
		case "response.refusal.delta":
			say(map[string]any{"refusal": e.Delta})
		case "response.reasoning_summary_text.delta":
			say(map[string]any{"reasoning_content": e.Delta})
		case "response.function_call_arguments.delta":
			call(map[string]any{"function": map[string]any{"arguments": e.Delta}})
		case "response.output_item.added":
			if e.Item.Type == "function_call" {
				calls++
				call(map[string]any{"id": e.Item.CallID, "type": "function", "function": map[string]any{"name": e.Item.Name, "arguments": ""}})
			}
		case "error":
			return fmt.Appendf(append(out, comments(stream)...), "data: %s\n\n", data)
		case "response.failed":
			failure := final["error"].(map[string]any)
			failure["type"], failure["param"] = "server_error", nil // a response does not say these
			data, _ := json.Marshal(map[string]any{"error": failure})
			return fmt.Appendf(append(out, comments(stream)...), "data: %s\n\n", data)
		}
	}
	var end struct {
		Choices          []map[string]any `json:"choices"`
		Usage, Execution any
	}
	_ = json.Unmarshal(completionOf(final, "delta", "chat.completion.chunk"), &end)
	if len(end.Choices) == 0 {
		return out
	}
	out = append(out, chunk(head, map[string]any{}, end.Choices[0]["finish_reason"], "usage", end.Usage, "execution", end.Execution)...)
	return append(append(out, comments(stream)...), "data: [DONE]\n\n"...)
}
