package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
)

// readMessage reads a whole message and checks its form.
func readMessage(body []byte) *reply {
	r := &reply{data: []string{string(body)}}
	o, err := decodeObject(body)
	if err != nil {
		r.fault("message", "the answer is no message: %v", err)
		return r
	}
	r.answers = []Answer{r.message(o, true)}
	return r
}

// message reads a message, one that is over where done is set.
func (r *reply) message(o object, done bool) (a Answer) {
	for name, want := range map[string]string{"type": "message", "role": "assistant"} {
		if o[name] != want {
			r.fault("message", "%s: got %s, want %q", name, show(o[name]), want)
		}
	}
	for _, name := range []string{"id", "model"} {
		if s, _ := o[name].(string); s == "" {
			r.fault("message", "%s: got %s, want a text", name, show(o[name]))
		}
	}
	if _, has := o["stop_reason"]; !has || done && o["stop_reason"] == nil {
		r.fault("message", "stop_reason: is missing")
	}
	if _, has := o["stop_sequence"]; !has {
		r.fault("message_all", "stop_sequence: is missing, and may be null")
	}
	usage, _ := o["usage"].(object)
	r.numbers("message", "usage", usage, "input_tokens", "output_tokens")
	r.usage = usage
	content, ok := o["content"].([]any)
	if !ok {
		r.fault("message", "content: is no array")
	}
	for i, block := range content {
		b, _ := block.(object)
		r.block(fmt.Sprintf("content[%d]", i), b, &a)
	}
	reason, _ := o["stop_reason"].(string)
	a.FinishReason = chatReason(reason)
	return a
}

// chatReason is a stop reason in the words of chat completions.
func chatReason(reason string) string {
	if r := map[string]string{"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}[reason]; r != "" {
		return r
	}
	return reason
}

// block reads a block of a message.
func (r *reply) block(at string, b object, a *Answer) {
	text := func(name string) string {
		s, ok := b[name].(string)
		if !ok {
			r.fault("message_block", "%s.%s: got %s, want a text", at, name, show(b[name]))
		}
		return s
	}
	switch b["type"] {
	case "text":
		a.Content += text("text")
	case "thinking":
		a.Reasoning += text("thinking")
		text("signature")
	case "tool_use":
		call := Call{ID: text("id"), Name: text("name")}
		input, ok := b["input"].(object)
		if !ok {
			r.fault("message_block", "%s.input: got %s, want an object", at, show(b["input"]))
		}
		call.Arguments = json.RawMessage(encode(input, ""))
		for _, other := range a.ToolCalls {
			if other.ID == call.ID {
				r.fault("message_block", "%s: has the id %q of another call", at, call.ID)
			}
		}
		a.ToolCalls = append(a.ToolCalls, call)
	case nil:
		r.fault("message_block", "%s: has no type", at)
	}
}

// messageStream is what a stream of a message has said so far.
type messageStream struct {
	reply
	begun, delta, stopped bool
	open                  object // the block that is open, or nil
	blocks                int    // that have begun
	said                  strings.Builder
	answer                Answer
}

// readMessageStream reads the events of a message and checks their order.
func readMessageStream(body []byte) *reply {
	events, faults := readEvents(string(body))
	s := &messageStream{reply: reply{faults: faults}}
	for i, e := range events {
		o, err := decodeObject([]byte(e.data))
		kind, _ := o["type"].(string)
		if err != nil || kind == "" {
			s.fault("message_event", "event %d is no event of a message: %.200q", i, e.data)
			continue
		}
		s.data = append(s.data, e.data)
		if e.name != kind {
			s.fault("message_event", "event %d: the event line says %q, its type is %q", i, e.name, kind)
		}
		switch {
		case kind == "error":
			s.failure = json.RawMessage(e.data)
			continue
		case kind == "ping":
			continue
		case s.failure != nil || s.stopped:
			s.fault("message_order", "event %d, %s, comes after the end", i, kind)
		case !s.begun && kind != "message_start":
			s.fault("message_order", "event %d: %s comes before message_start", i, kind)
		}
		s.read(i, kind, o)
	}
	if s.failure == nil {
		if !s.stopped || !s.delta {
			s.fault("message_order", "the stream ends without message_delta and message_stop")
		}
		s.answers = []Answer{s.answer}
	}
	return &s.reply
}

// read reads an event.
func (s *messageStream) read(i int, kind string, o object) {
	index := -1
	if n, ok := o["index"].(json.Number); ok {
		at, _ := n.Int64() // else it is 0, which differs soon
		index = int(at)
	}
	switch kind {
	case "message_start":
		if s.begun {
			s.fault("message_order", "event %d: a second message_start", i)
		}
		s.begun = true
		m, _ := o["message"].(object)
		s.message(m, false)
	case "content_block_start":
		s.begin(i, index, o)
	case "content_block_delta":
		s.piece(i, index, o)
	case "content_block_stop":
		if s.open == nil || index != s.blocks-1 {
			s.fault("message_order", "event %d: block %d ends, which is not open", i, index)
		}
		s.close(i)
	case "message_delta":
		s.ending(i, o)
	case "message_stop":
		s.stopped = true
		if !s.delta {
			s.fault("message_order", "event %d: message_stop comes before message_delta", i)
		}
	}
}

// begin reads the beginning of a block.
func (s *messageStream) begin(i, index int, o object) {
	if s.open != nil || index != s.blocks {
		s.fault("message_order", "event %d: block %d begins where block %d is next, and none may be open", i, index, s.blocks)
	}
	s.open, _ = o["content_block"].(object)
	s.blocks++
	s.said.Reset()
	if s.open == nil {
		s.fault("message_event", "event %d has no content_block", i)
		s.open = object{}
	}
}

// ending reads how the message has ended, and what it has used.
func (s *messageStream) ending(i int, o object) {
	if s.open != nil {
		s.fault("message_order", "event %d: message_delta comes while a block is open", i)
	}
	s.delta = true
	d, _ := o["delta"].(object)
	reason, ok := d["stop_reason"].(string)
	if !ok {
		s.fault("message", "event %d: delta.stop_reason: got %s, want a text", i, show(d["stop_reason"]))
	}
	s.answer.FinishReason = chatReason(reason)
	usage, _ := o["usage"].(object)
	s.numbers("message", fmt.Sprintf("event %d: usage", i), usage, "output_tokens")
	for name, n := range usage { // of the end, which stands for that of the beginning
		if s.usage != nil && n != nil {
			s.usage[name] = n
		}
	}
}

// piece reads a piece of a block.
func (s *messageStream) piece(i, index int, o object) {
	if s.open == nil || index != s.blocks-1 {
		s.fault("message_order", "event %d: a piece of block %d, which is not open", i, index)
		return
	}
	d, _ := o["delta"].(object)
	fits := map[string][2]string{"text_delta": {"text", "text"}, "input_json_delta": {"tool_use", "partial_json"},
		"thinking_delta": {"thinking", "thinking"}, "signature_delta": {"thinking", "signature"}, "citations_delta": {"text", "citation"}}
	kind, _ := d["type"].(string)
	f, known := fits[kind]
	if !known {
		return // a kind that came later
	}
	if s.open["type"] != f[0] && s.open["type"] != "server_tool_use" {
		s.fault("message_order", "event %d: %s within a block of the type %s", i, kind, show(s.open["type"]))
	}
	text, ok := d[f[1]].(string)
	switch {
	case kind == "citations_delta":
	case !ok:
		s.fault("message_event", "event %d, %s: %s: got %s, want a text", i, kind, f[1], show(d[f[1]]))
	case kind == "signature_delta":
		s.open["signature"] = text
	default:
		s.said.WriteString(text)
	}
}

// close reads the block that has ended.
func (s *messageStream) close(i int) {
	b := s.open
	s.open = nil
	switch said := s.said.String(); b["type"] {
	case "text", "thinking":
		name, _ := b["type"].(string)
		first, _ := b[name].(string)
		b[name] = first + said
	case "tool_use":
		if said == "" {
			break
		}
		input, err := decodeObject([]byte(said))
		if err != nil {
			s.fault("message_input", "event %d: the pieces of the input join to no JSON object (%v): %.200q", i, err, said)
			return
		}
		b["input"] = input
	case nil:
		return
	}
	s.block(fmt.Sprintf("block %d", s.blocks-1), b, &s.answer)
}
