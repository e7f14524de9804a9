package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/protocol/messages/messagestest"
	"github.com/callgate/callgate/gateway/protocol/responses/responsestest"
)

// tongue is a protocol that a test of chat completions can be held in: its requests are translated
// on the way to the gateway and the answers on the way back. What neither can say is the test's
// business.
type tongue struct {
	name string
	path string // in the place of chat completions
	ask  func(chat []byte) ([]byte, error)
	// whole and stream judge an answer and make a chat completion of it; failed makes OpenAI's
	// error of one.
	whole, stream func(answer []byte) ([]byte, error)
	failed        func(body []byte) []byte
	lacks         []string // what its errors do not say
}

// tongues are all but chat completions.
var tongues = []tongue{
	{name: "responses", path: "/responses", ask: toResponses, whole: fromResponse, stream: fromResponseEvents, failed: func(b []byte) []byte { return b }, lacks: []string{"param"}},
	{name: "messages", path: "/messages", ask: toMessages, whole: fromMessage, stream: fromMessageEvents, failed: fromMessagesError, lacks: []string{"code", "param"}},
}

// errUnsaid is the error of a request that a protocol has no words for.
var errUnsaid = errors.New("the protocol has no word for it")

// speaking is the gateway for a client of another protocol: what goes to chat completions goes to
// that.
func (g *gate) speaking(t *testing.T, w *tongue) (*gate, *interpreter) {
	i := &interpreter{t: t, next: g.client.Transport, tongue: w}
	other := *g
	client := *g.client
	client.Transport, other.client, other.t = i, &client, t
	return &other, i
}

// interpreter sends chat completions in another protocol.
type interpreter struct {
	t       *testing.T
	next    http.RoundTripper
	tongue  *tongue
	streams atomic.Int64
}

const chatPath = "/chat/completions"

// RoundTrip implements http.RoundTripper.
func (i *interpreter) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, chatPath) {
		return i.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	request, err := i.tongue.ask(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, body)
	}
	r = r.Clone(r.Context())
	r.URL.Path = strings.TrimSuffix(r.URL.Path, chatPath) + i.tongue.path
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(request)), int64(len(request))
	resp, err := i.next.RoundTrip(r)
	if err != nil {
		return resp, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var out []byte
	switch {
	case resp.StatusCode != http.StatusOK:
		out = i.tongue.failed(answer)
	case responsestest.IsStream(answer):
		i.streams.Add(1)
		out, err = i.tongue.stream(answer)
	default:
		out, err = i.tongue.whole(answer)
	}
	if err != nil {
		i.t.Errorf("%v in\n%s", err, answer)
	}
	resp.Header.Del("content-length")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(out)), int64(len(out))
	return resp, nil
}

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

// chatRequest is a chat completion's request: its messages, its tools and all else of it.
type chatRequest struct {
	messages []chatMessage
	tools    []map[string]json.RawMessage // nil without the member
	rest     map[string]json.RawMessage
}

func readChat(body []byte) (r chatRequest, err error) {
	if err := json.Unmarshal(body, &r.rest); err != nil {
		return r, err
	}
	if err := json.Unmarshal(r.rest["messages"], &r.messages); err != nil {
		return r, fmt.Errorf("%w: messages: %w", errUnsaid, err)
	}
	if r.rest["tools"] != nil {
		if err := json.Unmarshal(r.rest["tools"], &r.tools); err != nil {
			return r, fmt.Errorf("%w: tools: %w", errUnsaid, err)
		}
	}
	for _, name := range []string{"messages", "tools", "stream_options"} {
		delete(r.rest, name)
	}
	return r, nil
}

// functions are the functions among the tools.
func (r *chatRequest) functions() (list []map[string]json.RawMessage, err error) {
	for _, t := range r.tools {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(t["function"], &f); err != nil {
			return nil, fmt.Errorf("%w: a tool %s", errUnsaid, t["type"])
		}
		list = append(list, f)
	}
	return list, nil
}

// comments are the comments of a stream, which say what the headers of a whole answer do.
func comments(stream []byte) (out []byte) {
	for block := range bytes.SplitAfterSeq(stream, []byte("\n\n")) {
		if bytes.HasPrefix(block, []byte(":")) {
			out = append(out, block...)
		}
	}
	return out
}

// chunk is a chunk of a chat completion with a delta.
func chunk(head map[string]any, delta map[string]any, finish any, more ...any) []byte {
	c := map[string]any{"object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	maps.Copy(c, head)
	for i := 0; i < len(more); i += 2 {
		if more[i+1] != nil {
			c[more[i].(string)] = more[i+1]
		}
	}
	data, _ := json.Marshal(c)
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

// toMessages is a chat completion's request as one of the Messages API.
func toMessages(body []byte) ([]byte, error) {
	type object = map[string]any
	in, err := readChat(body)
	if err != nil {
		return nil, err
	}
	out := object{"max_tokens": 1000, "thinking": object{"type": "enabled", "budget_tokens": 1024}}
	list := []any{}
	for i, m := range in.messages {
		switch content := blocksOf(m); m.Role {
		case "system", "developer":
			if i == 0 {
				out["system"] = content
				continue
			}
			list = append(list, object{"role": "system", "content": content})
		case "tool":
			list = append(list, object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": m.ToolCallID, "content": content}}})
		case "assistant":
			blocks := []any{}
			if m.Reasoning != "" {
				blocks = append(blocks, object{"type": "thinking", "thinking": m.Reasoning, "signature": "c2ln"})
			}
			if s, ok := content.(string); ok && s != "" {
				blocks = append(blocks, object{"type": "text", "text": s})
			} else if list, ok := content.([]any); ok {
				blocks = append(blocks, list...)
			}
			for _, c := range m.ToolCalls {
				var text string
				var input map[string]json.RawMessage
				if json.Unmarshal(c.Function.Arguments, &text) != nil || json.Unmarshal([]byte(text), &input) != nil {
					return nil, fmt.Errorf("%w: arguments that are no object", errUnsaid)
				}
				blocks = append(blocks, object{"type": "tool_use", "id": c.ID, "name": c.Function.Name, "input": json.RawMessage(text)})
			}
			if len(blocks) == 0 {
				return nil, fmt.Errorf("%w: an empty message", errUnsaid)
			}
			list = append(list, object{"role": "assistant", "content": blocks})
		default:
			list = append(list, object{"role": m.Role, "content": content})
		}
	}
	out["messages"] = list
	functions, err := in.functions()
	if err != nil {
		return nil, err
	}
	for i, f := range functions {
		if f["input_schema"] = f["parameters"]; f["parameters"] == nil {
			f["input_schema"] = json.RawMessage(`{"type":"object"}`)
		}
		delete(f, "parameters")
		if i == 0 {
			out["tools"] = functions
		}
	}
	for name, v := range in.rest {
		switch name {
		case "model", "stream", "temperature", "top_p", "max_tokens":
			out[name] = v
		case "max_completion_tokens":
			out["max_tokens"] = v
		case "stop":
			out["stop_sequences"] = v
		case "tool_choice":
			var word string
			var named struct{ Function struct{ Name string } }
			switch {
			case json.Unmarshal(v, &word) == nil:
				if word == "required" {
					word = "any"
				}
				if word != "" {
					out[name] = object{"type": word}
				}
			case json.Unmarshal(v, &named) == nil && named.Function.Name != "":
				out[name] = object{"type": "tool", "name": named.Function.Name}
			default:
				return nil, fmt.Errorf("%w: tool_choice %s", errUnsaid, v)
			}
		case "response_format":
			var f struct {
				Type   string
				Schema struct{ Schema json.RawMessage } `json:"json_schema"`
			}
			if err := json.Unmarshal(v, &f); err != nil || f.Type != "json_schema" {
				return nil, fmt.Errorf("%w: response_format %s", errUnsaid, v)
			}
			out["output_config"] = object{"format": object{"type": f.Type, "schema": f.Schema.Schema}}
		case "metadata", "parallel_tool_calls", "user":
		default:
			return nil, fmt.Errorf("%w: %s", errUnsaid, name)
		}
	}
	return json.Marshal(out)
}

// blocksOf is the content of a message as text or as blocks.
func blocksOf(m chatMessage) any {
	var s string
	if len(m.Content) == 0 || json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []any
	_ = json.Unmarshal(m.Content, &parts)
	return parts
}

// fromMessage is a whole message as a chat completion.
func fromMessage(answer []byte) ([]byte, error) {
	m, err := messagestest.Whole(answer)
	if m == nil {
		return answer, err
	}
	var more struct{ Execution any }
	_ = json.Unmarshal(answer, &more)
	choice := map[string]any{"index": 0, "message": messageOf(m), "finish_reason": finishOf(m)}
	out := map[string]any{"id": m.ID, "object": "chat.completion", "created": 1, "model": m.Model, "choices": []any{choice}, "usage": usageOf(m)}
	if more.Execution != nil {
		out["execution"] = more.Execution
	}
	data, _ := json.Marshal(out)
	return data, err
}

// upstreamsID is the upstream's own id of a call, which may be of a form that Anthropic does not have.
func upstreamsID(id string) string {
	if code, ok := strings.CutPrefix(id, "toolu_cg_"); ok {
		if own, err := base64.RawURLEncoding.DecodeString(code); err == nil {
			return string(own)
		}
	}
	return id
}

func finishOf(m *messagestest.Message) string {
	if m.StopReason == nil {
		return ""
	}
	reasons := map[string]string{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
	return reasons[*m.StopReason]
}

func usageOf(m *messagestest.Message) any {
	if m.Usage == nil || m.Usage.Input == nil || m.Usage.Output == nil {
		return nil
	}
	in := *m.Usage.Input
	for _, n := range []*int{m.Usage.Creation, m.Usage.Read} {
		if n != nil {
			in += *n
		}
	}
	out := map[string]any{"prompt_tokens": in, "completion_tokens": *m.Usage.Output, "total_tokens": in + *m.Usage.Output}
	if m.Usage.Read != nil {
		out["prompt_tokens_details"] = map[string]any{"cached_tokens": *m.Usage.Read}
	}
	return out
}

// messageOf is the content of a message as the message of a chat completion.
func messageOf(m *messagestest.Message) map[string]any {
	got := messageMeaning(m)
	out := map[string]any{"role": "assistant", "content": nil}
	if got.text != "" {
		out["content"] = got.text
	}
	if got.thoughts != "" {
		out["reasoning_content"] = got.thoughts
	}
	calls := []any{}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			calls = append(calls, map[string]any{"index": len(calls), "id": upstreamsID(b.ID), "type": "function", "function": map[string]any{"name": b.Name, "arguments": string(b.Input)}})
		}
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	return out
}

// fromMessageEvents is a stream of the Messages API as one of chunks, a chunk for each event that
// says something.
func fromMessageEvents(answer []byte) ([]byte, error) {
	m, err := messagestest.Stream(answer)
	head := map[string]any{"id": m.ID, "created": 1, "model": m.Model}
	out := chunk(head, map[string]any{"role": "assistant", "content": ""}, nil)
	calls := -1
	var execution any
	for block := range bytes.SplitSeq(answer, []byte("\n\n")) {
		_, data, _ := bytes.Cut(block, []byte("data: "))
		var e struct {
			Type  string
			Block struct{ Type, ID, Name string } `json:"content_block"`
			Delta struct {
				Type, Text, Thinking string
				JSON                 string `json:"partial_json"`
			}
			Execution any
		}
		if json.Unmarshal(data, &e) != nil {
			continue
		}
		call := func(member map[string]any) {
			member["index"] = calls
			out = append(out, chunk(head, map[string]any{"tool_calls": []any{member}}, nil)...)
		}
		switch {
		case e.Execution != nil:
			execution = e.Execution
		case e.Block.Type == "tool_use":
			calls++
			call(map[string]any{"id": upstreamsID(e.Block.ID), "type": "function", "function": map[string]any{"name": e.Block.Name, "arguments": ""}})
		case e.Delta.Type == "text_delta":
			out = append(out, chunk(head, map[string]any{"content": e.Delta.Text}, nil)...)
		case e.Delta.Type == "thinking_delta":
			out = append(out, chunk(head, map[string]any{"reasoning_content": e.Delta.Thinking}, nil)...)
		case e.Delta.Type == "input_json_delta":
			call(map[string]any{"function": map[string]any{"arguments": e.Delta.JSON}})
		case e.Type == "error":
			if _, ok := errors.AsType[*messagestest.StreamError](err); ok {
				err = nil
			}
			return fmt.Appendf(append(out, comments(answer)...), "data: %s\n\n", fromMessagesError(data)), err
		}
	}
	out = append(out, chunk(head, map[string]any{}, finishOf(m), "usage", usageOf(m), "execution", execution)...)
	return append(append(out, comments(answer)...), "data: [DONE]\n\n"...), err
}

// fromMessagesError is an error of the Messages API in OpenAI's form, as far as it says that.
func fromMessagesError(body []byte) []byte {
	var e struct {
		Error messagestest.StreamError
	}
	if json.Unmarshal(body, &e) != nil {
		return body
	}
	data, _ := json.Marshal(map[string]any{"error": map[string]any{"message": e.Error.Message, "type": e.Error.Type, "param": nil, "code": nil}})
	return data
}
