package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
)

// said is an answer of an upstream, whatever protocol it is asked in.
type said struct {
	Reasoning    string `json:"reasoning"`
	Content      string `json:"content"`
	ToolCalls    []Call `json:"tool_calls"`
	FinishReason string `json:"finish_reason"` // as chat completions have it
}

// setSays reads an answer of the upstream, the i-th.
func (c *Case) setSays(b []byte, i int) error {
	s := new(said)
	if err := strict(b, s); err != nil {
		return err
	}
	if len(c.Says) != i {
		return errors.New("upstream.json comes before upstream.again.json")
	}
	c.Says = append(c.Says, s)
	return nil
}

// writer is an answer on its way out: whole, or as events.
type writer struct {
	w http.ResponseWriter
	n int // events so far
}

// whole writes a whole answer.
func (o *writer) whole(v any) {
	o.w.Header().Set("Content-Type", "application/json")
	_, _ = o.w.Write([]byte(encode(v, "")))
}

// event writes an event, with its name where the protocol has names.
func (o *writer) event(name string, v map[string]any) {
	text := "data: " + encode(v, "") + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	send(o.w, text, true)
	o.n++
}

// object is an object of JSON.
type object = map[string]any

// answer writes an answer in a protocol.
func (s *said) answer(w http.ResponseWriter, p protocol, model string, stream, usageToo bool) {
	o := &writer{w: w}
	if stream {
		beginStream(w)
	}
	switch {
	case p == responsesAPI && stream:
		s.responseStream(o, model)
	case p == responsesAPI:
		o.whole(s.response(model, "completed", s.output()))
	case p == messagesAPI && stream:
		s.messageStream(o, model)
	case p == messagesAPI:
		o.whole(s.message(model))
	case stream:
		s.chatStream(o, model, usageToo)
	default:
		message := object{"role": "assistant", "content": s.Content, "refusal": nil}
		if s.Reasoning != "" {
			message["reasoning_content"] = s.Reasoning
		}
		if calls := s.calls(false); calls != nil {
			message["tool_calls"] = calls
		}
		o.whole(object{"id": "chatcmpl-upstream", "object": "chat.completion", "created": 1700000000, "model": model,
			"choices": []any{object{"index": 0, "message": message, "logprobs": nil, "finish_reason": s.FinishReason}}, "usage": json.RawMessage(usage)})
	}
}

// calls are the calls as chat completions have them, those of a stream with an index.
func (s *said) calls(indexes bool) (calls []any) {
	for i, c := range s.ToolCalls {
		call := object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": string(c.Arguments)}}
		if indexes {
			call["index"] = i
		}
		calls = append(calls, call)
	}
	return calls
}

func (s *said) chatStream(o *writer, model string, usageToo bool) {
	chunk := func(delta object, finish any) {
		o.event("", object{"id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 1700000000, "model": model,
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range cut(s.Reasoning, 5) {
		chunk(object{"reasoning_content": piece}, nil)
	}
	for _, piece := range cut(s.Content, 5) {
		chunk(object{"content": piece}, nil)
	}
	for i, c := range s.ToolCalls {
		chunk(object{"tool_calls": []any{object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range cut(string(c.Arguments), 5) {
			chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	chunk(object{}, s.FinishReason)
	if usageToo {
		o.event("", object{"id": "chatcmpl-upstream", "object": "chat.completion.chunk", "created": 1700000000, "model": model,
			"choices": []any{}, "usage": json.RawMessage(usage)})
	}
	send(o.w, "data: [DONE]\n\n", true)
}

// output is what was said as items of a response.
func (s *said) output() []any {
	items := []any{}
	if s.Reasoning != "" {
		items = append(items, object{"id": "rs_upstream", "type": "reasoning", "summary": []any{object{"type": "summary_text", "text": s.Reasoning}}})
	}
	if s.Content != "" {
		items = append(items, object{"id": "msg_upstream", "type": "message", "role": "assistant", "status": s.status(),
			"content": []any{object{"type": "output_text", "text": s.Content, "annotations": []any{}, "logprobs": []any{}}}})
	}
	for i, c := range s.ToolCalls {
		items = append(items, object{"id": fmt.Sprintf("fc_upstream%d", i), "type": "function_call", "status": s.status(),
			"call_id": c.ID, "name": c.Name, "arguments": string(c.Arguments)})
	}
	return items
}

func (s *said) status() string {
	if s.FinishReason == "length" || s.FinishReason == "content_filter" {
		return "incomplete"
	}
	return "completed"
}

// response is a response with all its members.
func (s *said) response(model, status string, output []any) object {
	r := object{"id": "resp_upstream", "object": "response", "created_at": 1700000000, "completed_at": nil, "status": status, "model": model,
		"output": output, "error": nil, "incomplete_details": nil, "instructions": nil, "previous_response_id": nil, "reasoning": object{"effort": nil, "summary": nil},
		"tools": []any{}, "tool_choice": "auto", "parallel_tool_calls": true, "truncation": "disabled", "text": object{"format": object{"type": "text"}},
		"temperature": 1.0, "top_p": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0, "top_logprobs": 0, "store": false, "background": false,
		"service_tier": "default", "metadata": object{}, "max_output_tokens": nil, "max_tool_calls": nil, "safety_identifier": nil, "prompt_cache_key": nil,
		"usage": nil}
	if status == "in_progress" {
		return r
	}
	r["usage"] = object{"input_tokens": 1009, "input_tokens_details": object{"cached_tokens": 0, "cache_write_tokens": 0}, "output_tokens": 2003,
		"output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": 3012}
	if r["status"] = s.status(); s.status() == "incomplete" {
		r["incomplete_details"] = object{"reason": map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}[s.FinishReason]}
		return r
	}
	r["completed_at"] = 1700000001
	return r
}

func (s *said) responseStream(o *writer, model string) {
	event := func(name string, v object) {
		v["type"], v["sequence_number"] = name, o.n
		o.event(name, v)
	}
	event("response.created", object{"response": s.response(model, "in_progress", []any{})})
	event("response.in_progress", object{"response": s.response(model, "in_progress", []any{})})
	for at, item := range s.output() {
		it := item.(object) //nolint:forcetypeassert // output made it
		id := it["id"]
		begun := object{}
		maps.Copy(begun, it)
		if begun["status"] != nil {
			begun["status"] = "in_progress"
		}
		switch it["type"] {
		case "reasoning":
			begun["summary"] = []any{}
			event("response.output_item.added", object{"output_index": at, "item": begun})
			event("response.reasoning_summary_part.added", object{"item_id": id, "output_index": at, "summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
			for _, piece := range cut(s.Reasoning, 5) {
				event("response.reasoning_summary_text.delta", object{"item_id": id, "output_index": at, "summary_index": 0, "delta": piece})
			}
			event("response.reasoning_summary_text.done", object{"item_id": id, "output_index": at, "summary_index": 0, "text": s.Reasoning})
			event("response.reasoning_summary_part.done", object{"item_id": id, "output_index": at, "summary_index": 0, "part": object{"type": "summary_text", "text": s.Reasoning}})
		case "message":
			begun["content"] = []any{}
			part := func(text string) object {
				return object{"type": "output_text", "text": text, "annotations": []any{}, "logprobs": []any{}}
			}
			event("response.output_item.added", object{"output_index": at, "item": begun})
			event("response.content_part.added", object{"item_id": id, "output_index": at, "content_index": 0, "part": part("")})
			for _, piece := range cut(s.Content, 5) {
				event("response.output_text.delta", object{"item_id": id, "output_index": at, "content_index": 0, "delta": piece, "logprobs": []any{}})
			}
			event("response.output_text.done", object{"item_id": id, "output_index": at, "content_index": 0, "text": s.Content, "logprobs": []any{}})
			event("response.content_part.done", object{"item_id": id, "output_index": at, "content_index": 0, "part": part(s.Content)})
		default:
			begun["arguments"] = ""
			event("response.output_item.added", object{"output_index": at, "item": begun})
			arguments, _ := it["arguments"].(string)
			for _, piece := range cut(arguments, 5) {
				event("response.function_call_arguments.delta", object{"item_id": id, "output_index": at, "delta": piece})
			}
			event("response.function_call_arguments.done", object{"item_id": id, "output_index": at, "name": it["name"], "arguments": arguments})
		}
		event("response.output_item.done", object{"output_index": at, "item": it})
	}
	event("response."+s.status(), object{"response": s.response(model, s.status(), s.output())})
}

// blocks are what was said as blocks of a message.
func (s *said) blocks() []any {
	list := []any{}
	if s.Reasoning != "" {
		list = append(list, object{"type": "thinking", "thinking": s.Reasoning, "signature": "c2lnbmF0dXJl"})
	}
	if s.Content != "" {
		list = append(list, object{"type": "text", "text": s.Content})
	}
	for _, c := range s.ToolCalls {
		list = append(list, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.Arguments})
	}
	return list
}

func (s *said) stopReason() string {
	return map[string]string{"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens", "content_filter": "refusal"}[s.FinishReason]
}

func (s *said) message(model string) object {
	return object{"id": "msg_upstream", "type": "message", "role": "assistant", "model": model, "content": s.blocks(),
		"stop_reason": s.stopReason(), "stop_sequence": nil, "usage": object{"input_tokens": 1009, "output_tokens": 2003}}
}

func (s *said) messageStream(o *writer, model string) {
	event := func(name string, v object) {
		v["type"] = name
		o.event(name, v)
	}
	begun := s.message(model)
	begun["content"], begun["stop_reason"], begun["usage"] = []any{}, nil, object{"input_tokens": 1009, "output_tokens": 1}
	event("message_start", object{"message": begun})
	event("ping", object{})
	for i, block := range s.blocks() {
		b := block.(object) //nolint:forcetypeassert // blocks made it
		delta := func(v object) { event("content_block_delta", object{"index": i, "delta": v}) }
		switch b["type"] {
		case "thinking":
			event("content_block_start", object{"index": i, "content_block": object{"type": "thinking", "thinking": "", "signature": ""}})
			for _, piece := range cut(s.Reasoning, 5) {
				delta(object{"type": "thinking_delta", "thinking": piece})
			}
			delta(object{"type": "signature_delta", "signature": b["signature"]})
		case "text":
			event("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			for _, piece := range cut(s.Content, 5) {
				delta(object{"type": "text_delta", "text": piece})
			}
		default:
			event("content_block_start", object{"index": i, "content_block": object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}})
			input, _ := b["input"].(json.RawMessage)
			for _, piece := range cut(string(input), 5) {
				delta(object{"type": "input_json_delta", "partial_json": piece})
			}
		}
		event("content_block_stop", object{"index": i})
	}
	event("message_delta", object{"delta": object{"stop_reason": s.stopReason(), "stop_sequence": nil}, "usage": object{"output_tokens": 2003}})
	event("message_stop", object{})
}
