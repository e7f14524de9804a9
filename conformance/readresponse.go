package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// responseMembers are the members that a response has, by Open Responses' schema, and whether
// they may be null.
var responseMembers = map[string]bool{ //nolint:gochecknoglobals // a table
	"id": false, "object": false, "created_at": false, "status": false, "model": false, "output": false,
	"tools": false, "tool_choice": false, "parallel_tool_calls": false,
	"truncation": false, "text": false, "top_p": false, "temperature": false, "presence_penalty": false, "frequency_penalty": false,
	"top_logprobs": false, "store": false, "background": false, "service_tier": false, "metadata": false,
	"completed_at": true, "error": true, "incomplete_details": true, "instructions": true, "previous_response_id": true, "reasoning": true,
	"usage": true, "max_output_tokens": true, "max_tool_calls": true, "safety_identifier": true, "prompt_cache_key": true,
}

// responseCore are those that SDKs have as members which are always there.
var responseCore = []string{"id", "object", "created_at", "status", "model", "output", "tools", "tool_choice", "parallel_tool_calls"} //nolint:gochecknoglobals // a table

// readResponse reads a whole response and checks its form.
func readResponse(body []byte) *reply {
	r := &reply{data: []string{string(body)}}
	o, err := decodeObject(body)
	if err != nil {
		r.fault("response", "the answer is no response: %v", err)
		return r
	}
	r.answers = []Answer{r.response(o, true)}
	return r
}

// response reads a response, one that is over where done is set.
func (r *reply) response(o object, done bool) (a Answer) {
	for _, name := range sortedKeys(responseMembers) {
		v, has := o[name]
		rule := "response_all"
		if slices.Contains(responseCore, name) {
			rule = "response"
		}
		if !has || v == nil && !responseMembers[name] {
			r.fault(rule, "response.%s: is missing", name)
		}
	}
	if o["object"] != "response" {
		r.fault("response", "object: got %s, want %q", show(o["object"]), "response")
	}
	output, ok := o["output"].([]any)
	if !ok {
		r.fault("response", "output: is no array")
	}
	if !done {
		return a
	}
	for i, item := range output {
		it, _ := item.(object)
		r.item(fmt.Sprintf("output[%d]", i), it, &a)
	}
	a.FinishReason = finishOf(o, &a)
	if u, ok := o["usage"].(object); ok {
		r.usage = u
		r.numbers("response_usage", "usage", u, "input_tokens", "output_tokens", "total_tokens")
		for _, d := range [][2]string{{"input_tokens_details", "cached_tokens"}, {"output_tokens_details", "reasoning_tokens"}} {
			details, _ := u[d[0]].(object) // without members if it is none
			r.numbers("response_usage", "usage."+d[0], details, d[1])
		}
	}
	ids := map[string]bool{}
	for i, call := range a.ToolCalls {
		if call.ID == "" || ids[call.ID] {
			r.fault("response_call", "tool call %d has the call_id %q, want one of its own", i, call.ID)
		}
		ids[call.ID] = true
	}
	return a
}

// finishOf is how a response ended, in the words of chat completions.
func finishOf(o object, a *Answer) string {
	details, _ := o["incomplete_details"].(object)
	switch {
	case o["status"] == "incomplete" && details["reason"] == "max_output_tokens":
		return "length"
	case o["status"] == "incomplete":
		reason, _ := details["reason"].(string)
		return reason
	case o["status"] != "completed":
		return fmt.Sprint(o["status"])
	case len(a.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// item reads an item of a response's output.
func (r *reply) item(at string, it object, a *Answer) {
	switch it["type"] {
	case "message":
		r.messageItem(at, it, a)
	case "function_call":
		call := Call{ID: r.text(at, it, "call_id"), Name: r.text(at, it, "name"), Arguments: json.RawMessage(r.text(at, it, "arguments"))}
		if _, err := decodeObject(call.Arguments); err != nil && it["status"] != "incomplete" {
			r.fault("response_call", "%s: the arguments are no JSON object (%v): %.200q", at, err, call.Arguments)
		}
		a.ToolCalls = append(a.ToolCalls, call)
	case "reasoning":
		r.text(at, it, "id")
		if _, ok := it["summary"].([]any); !ok {
			r.fault("response_item", "%s.summary: is no array", at)
		}
		said := r.texts(at, it["summary"])
		if said == "" { // raw, not summed up
			said = r.texts(at, it["content"])
		}
		a.Reasoning += said
	case nil:
		r.fault("response_item", "%s: has no type", at)
	}
}

// messageItem reads a message of a response's output.
func (r *reply) messageItem(at string, it object, a *Answer) {
	r.text(at, it, "id")
	r.text(at, it, "status")
	if it["role"] != "assistant" {
		r.fault("response_item", "%s.role: got %s, want %q", at, show(it["role"]), "assistant")
	}
	parts, ok := it["content"].([]any)
	if !ok {
		r.fault("response_item", "%s.content: is no array", at)
	}
	for _, part := range parts {
		p, _ := part.(object)
		switch p["type"] {
		case "output_text":
			a.Content += r.text(at, p, "text")
			if _, ok := p["annotations"].([]any); !ok {
				r.fault("response_item", "%s: a part's annotations are no array", at)
			}
		case "refusal":
			r.text(at, p, "refusal")
		default:
			r.fault("response_item", "%s: a part has the type %s", at, show(p["type"]))
		}
	}
}

// text is a member of an item that is a text.
func (r *reply) text(at string, o object, name string) string {
	s, ok := o[name].(string)
	if !ok {
		r.fault("response_item", "%s.%s: got %s, want a text", at, name, show(o[name]))
	}
	return s
}

// texts are the texts of parts, joined.
func (r *reply) texts(at string, parts any) string {
	list, _ := parts.([]any) // without any if it is no array
	var said strings.Builder
	for _, part := range list {
		p, _ := part.(object)
		said.WriteString(r.text(at, p, "text"))
	}
	return said.String()
}

// numbers checks that members are numbers.
func (r *reply) numbers(rule, at string, o object, list ...string) {
	for _, name := range list {
		if _, ok := o[name].(json.Number); !ok {
			r.fault(rule, "%s.%s: got %s, want a number", at, name, show(o[name]))
		}
	}
}

// responseStream is what a stream of a response has said so far.
type responseStream struct {
	reply
	id      string
	begun   bool
	items   []*streamedItem
	closing string // the terminal event, or ""
	last    int    // sequence number of the event before
}

// streamedItem is an item of a stream.
type streamedItem struct {
	id, kind string
	done     bool
	parts    int             // that have begun
	said     strings.Builder // the text, or the arguments

}

// readResponseStream reads the events of a response and checks their order.
func readResponseStream(body []byte) *reply {
	events, faults := readEvents(string(body))
	s := &responseStream{reply: reply{faults: faults}, last: -1}
	for i, e := range events {
		switch {
		case e.data == "[DONE]":
			if s.data = append(s.data, `"[DONE]"`); i != len(events)-1 {
				s.fault("response_order", "event %d comes after [DONE]", i+1)
			}
			continue
		case s.closing != "":
			s.fault("response_order", "event %d comes after %s: %.80q", i, s.closing, e.data)
		}
		o, err := decodeObject([]byte(e.data))
		kind, _ := o["type"].(string)
		if err != nil || kind == "" {
			s.fault("response_event", "event %d is no event of a response: %.200q", i, e.data)
			continue
		}
		s.data = append(s.data, e.data)
		if e.name != kind {
			s.fault("response_name", "event %d: the event line says %q, its type is %q", i, e.name, kind)
		}
		s.read(i, kind, o, e.data)
	}
	if s.closing == "" {
		s.fault("response_order", "the stream ends without response.completed, response.incomplete, response.failed or error")
	}
	return &s.reply
}

// read reads an event.
func (s *responseStream) read(i int, kind string, o object, data string) {
	if kind == "error" {
		s.failure, s.closing = json.RawMessage(data), kind
		if e, ok := o["error"].(object); !ok || e["message"] == nil { // OpenAI's own is flat
			s.failure, _ = json.Marshal(object{"error": object{"message": o["message"], "type": "error", "code": o["code"]}})
		}
		return
	}
	n, ok := o["sequence_number"].(json.Number)
	if now, err := n.Int64(); !ok || err != nil || int(now) != s.last+1 {
		s.fault("response_number", "event %d, %s: sequence_number: got %s, want %d", i, kind, show(o["sequence_number"]), s.last+1)
	}
	s.last++
	if !s.begun && kind != "response.created" {
		s.fault("response_order", "event %d: %s comes before response.created", i, kind)
	}
	s.begun = true
	if whole, ok := o["response"].(object); ok {
		s.lifecycle(kind, whole)
		return
	}
	s.ofItem(i, kind, o)
}

// lifecycle reads an event that has the response.
func (s *responseStream) lifecycle(kind string, whole object) {
	id, _ := whole["id"].(string)
	if s.id == "" {
		s.id = id
	}
	if id == "" || id != s.id {
		s.fault("response_same", "%s: the response has the id %q, want %q", kind, id, s.id)
	}
	switch kind {
	case "response.completed", "response.incomplete":
		s.closing = kind
		s.answers = []Answer{s.response(whole, true)}
		s.sameItems(kind, whole)
	case "response.failed":
		s.closing = kind
		e, _ := whole["error"].(object)
		if e != nil && e["type"] == nil { // it has a code only
			e["type"] = e["code"]
		}
		s.failure = json.RawMessage(encode(object{"error": e}, ""))
	default:
		s.response(whole, false)
	}
}

// sameItems compares the items of a response that is over with those that were streamed.
func (s *responseStream) sameItems(kind string, whole object) {
	output, _ := whole["output"].([]any)
	if len(output) != len(s.items) {
		s.fault("response_same", "%s has %d items, want the %d that were added", kind, len(output), len(s.items))
		return
	}
	for i, item := range output {
		it, _ := item.(object)
		was := s.items[i]
		if id, _ := it["id"].(string); id != was.id || it["type"] != was.kind {
			s.fault("response_same", "%s: item %d is %s %q, want %s %q", kind, i, it["type"], id, was.kind, was.id)
		}
		if !was.done {
			s.fault("response_order", "item %d is added and never done", i)
		}
		s.sameText(fmt.Sprintf("item %d", i), was, it)
	}
}

// sameText compares what an item's pieces said with what it is at last.
func (s *responseStream) sameText(at string, was *streamedItem, it object) {
	var a Answer
	quiet := reply{}
	quiet.item(at, it, &a)
	text := a.Content
	switch was.kind {
	case "function_call":
		text, _ = it["arguments"].(string)
	case "reasoning":
		text = a.Reasoning
	case "message":
	default:
		return
	}
	if text != was.said.String() {
		s.fault("response_same", "%s: its pieces say %.200q, and it is %.200q", at, was.said.String(), text)
	}
}

// ofItem reads an event about an item.
func (s *responseStream) ofItem(i int, kind string, o object) {
	n, ok := o["output_index"].(json.Number)
	at64, err := n.Int64()
	if !ok || err != nil {
		s.fault("response_event", "event %d, %s: output_index: got %s, want a number", i, kind, show(o["output_index"]))
		return
	}
	at := int(at64)
	item, _ := o["item"].(object)
	id, _ := item["id"].(string)
	switch {
	case kind == "response.output_item.added":
		name, _ := item["type"].(string)
		if at != len(s.items) || id == "" || name == "" {
			s.fault("response_order", "event %d: an item %s with the id %q is added at %d, want one with an id at %d", i, show(item["type"]), id, at, len(s.items))
		}
		s.items = append(s.items, &streamedItem{id: id, kind: name})
		return
	case at < 0 || at >= len(s.items):
		s.fault("response_order", "event %d: %s is about item %d, which was not added", i, kind, at)
		return
	}
	it := s.items[at]
	if it.done {
		s.fault("response_order", "event %d: %s is about item %d, which is done", i, kind, at)
	}
	if kind != "response.output_item.done" {
		s.piece(i, kind, it, o)
		return
	}
	if id != it.id {
		s.fault("response_same", "event %d: item %d has the id %q, want %q", i, at, id, it.id)
	}
	it.done = true
	s.sameText(fmt.Sprintf("event %d: item %d", i, at), it, item)
}

// piece reads an event about a piece of an item.
func (s *responseStream) piece(i int, kind string, it *streamedItem, o object) {
	if id, _ := o["item_id"].(string); id != it.id {
		s.fault("response_same", "event %d: %s has the item_id %q, want %q", i, kind, id, it.id)
	}
	switch kind {
	case "response.content_part.added", "response.reasoning_summary_part.added":
		it.parts++
	case "response.output_text.delta", "response.reasoning_summary_text.delta", "response.refusal.delta":
		if it.parts == 0 {
			s.fault("response_order", "event %d: %s comes before its part is added", i, kind)
		}
		s.delta(i, kind, it, o)
	case "response.function_call_arguments.delta", "response.reasoning_text.delta", "response.reasoning.delta":
		s.delta(i, kind, it, o)
	case "response.output_text.done", "response.reasoning_summary_text.done":
		if text, ok := o["text"].(string); !ok || !strings.HasSuffix(it.said.String(), text) {
			s.fault("response_same", "event %d: %s says %s, the pieces %.200q", i, kind, show(o["text"]), it.said.String())
		}
	case "response.function_call_arguments.done":
		if text, ok := o["arguments"].(string); !ok || text != it.said.String() {
			s.fault("response_same", "event %d: %s says %s, the pieces %.200q", i, kind, show(o["arguments"]), it.said.String())
		}
	}
}

// delta reads a piece of text.
func (s *responseStream) delta(i int, kind string, it *streamedItem, o object) {
	delta, ok := o["delta"].(string)
	if !ok {
		s.fault("response_event", "event %d, %s: delta: got %s, want a text", i, kind, show(o["delta"]))
	}
	if kind != "response.refusal.delta" { // which is no part of the answer
		it.said.WriteString(delta)
	}
}
