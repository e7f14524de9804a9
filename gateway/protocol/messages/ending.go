package messages

import (
	"bytes"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// ending is how an answer ended.
type ending struct {
	finish    string // finish_reason
	native    string // the reason in the upstream's own words
	own       bool   // the upstream speaks the Messages API
	sequence  []byte // the stop sequence that the model wrote, a string
	refused   bool
	tier      string // service_tier, in Anthropic's words
	container []byte // Anthropic's own members, as they came
	management,
	details []byte
	others []byte // further members of a message, each with a comma in front, where the upstream speaks the Messages API
	within []byte // and of the delta
	stop   []byte // and of the last event
}

// read takes what a choice says of its end. data is its frame's.
func (e *ending) read(choice, data []byte) {
	members(choice, func(name string, v value) {
		switch name {
		case "finish_reason":
			e.finish = text(v)
		case "native_finish_reason":
			e.native = text(v)
		case "stop_sequence", "matched_stop", "stop_reason": // Anthropic's, SGLang's, vLLM's
			if isString(v) {
				e.sequence = bytes.Clone(v)
			}
		case "stop_details":
			e.details = bytes.Clone(v)
		}
	})
	if v := find(data, "stop_details"); isObject(v) {
		e.details = bytes.Clone(v)
	}
	e.others = e.others[:0]
	members(data, func(name string, v value) {
		if !readMembers[name] {
			e.others = appendLine(append(wire.AppendQuoted(append(e.others, ','), name), ':'), v)
		}
	})
	e.within = others(find(find(data, own), "delta"))
	if e.tier = text(find(data, "service_tier")); e.tier == "default" {
		e.tier = "standard"
	}
	if v := find(data, "container"); isObject(v) {
		e.container = appendLine(nil, v)
	}
	if v := find(data, "context_management"); isObject(v) {
		e.management = appendLine(nil, v)
	}
}

// own is the member of chunks, and of deltas, that holds what only an upstream's own protocol has.
const own = "provider_specific_fields"

// readMembers are the members of a chunk that are read, or OpenAI's alone.
var readMembers = protocol.NamesOf("id", "object", "created", "model", "choices", "usage", "service_tier", "system_fingerprint", "error", "execution",
	"container", "context_management", "stop_details", own)

// isCut reports whether the answer ended where there was no more room.
func (e *ending) isCut() bool { return gateway.CutBy(e.finish) == "length" }

// outcome is what the blocks say of the answer's end.
type outcome struct {
	calls bool // there is a call
	whole bool // the last one is complete
}

func (b *blocks) outcome() outcome {
	n := len(b.calls)
	if n == 0 {
		return outcome{}
	}
	return outcome{calls: true, whole: b.calls[n-1].progress.complete()}
}

// finishReasons are the finish reasons that a chat completion gets of the stop reasons of an upstream of the Messages API.
// Of another stop reason it is one that goes by the calls.
var finishReasons = map[string]string{
	"end_turn": "stop", "stop_sequence": "stop", "tool_use": "tool_calls", "max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter",
}

// isOwn reports whether the stop reason of an upstream of the Messages API holds: nothing was changed of the answer that
// the finish reason goes by.
func (e *ending) isOwn(o outcome) bool {
	finish := finishReasons[e.native]
	if finish == "" {
		if finish = "stop"; o.calls {
			finish = "tool_calls"
		}
	}
	return e.own && e.native != "" && finish == e.finish
}

// reason is the stop_reason, and the sequence that stopped the model, if one did.
func (e *ending) reason(o outcome, stops value) (reason string, sequence []byte) {
	switch {
	case e.isOwn(o):
		if e.native == "stop_sequence" {
			sequence = e.sequence
		}
		return e.native, sequence
	case e.native == "pause_turn", e.native == "compaction":
		return e.native, nil
	case e.isCut() && (!o.calls || !o.whole):
		if e.native == "model_context_window_exceeded" {
			return e.native, nil
		}
		return "max_tokens", nil
	case gateway.CutBy(e.finish) == "content_filter":
		return "refusal", nil
	case o.calls:
		return "tool_use", nil
	case e.refused:
		return "refusal", nil
	case e.sequence != nil && (e.native == "stop_sequence" || contains(stops, e.sequence)):
		return "stop_sequence", e.sequence
	}
	return "end_turn", nil
}

// contains reports whether an array of strings has one of them.
func contains(list, s value) bool {
	found, want := false, text(s)
	_ = elements(list, func(_ int, v value) error {
		found = found || text(v) == want
		return nil
	})
	return found
}

// append writes the members stop_reason and stop_sequence, and stop_details of a refusal.
func (e *ending) append(dst []byte, o outcome, f *Front) []byte {
	reason, sequence := e.reason(o, find(f.body, "stop_sequences"))
	dst = append(wire.AppendQuoted(append(dst, `"stop_reason":`...), reason), `,"stop_sequence":`...)
	if sequence == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, sequence...)
	}
	switch {
	case isObject(e.details) && (reason == "refusal" || e.own):
		return appendLine(append(dst, `,"stop_details":`...), e.details)
	case reason != "refusal":
		return dst
	}
	return append(dst, `,"stop_details":{"type":"refusal","category":null,"explanation":null}`...)
}

// counts is a usage in Anthropic's form, whose input does not count what the cache has to do
// with.
type counts struct {
	input, created, read, output int
	split                        bool   // how long it was written for is known
	creation                     []byte // the same in Anthropic's own words
	short, long                  int
	thoughts                     int
	server                       []byte // server_tool_use, as it came
	others                       []byte // members that only Anthropic has, each with a comma in front
}

func (c *counts) append(dst []byte) []byte {
	number := func(name string, n int) { dst = strconv.AppendInt(append(dst, name...), int64(n), 10) }
	number(`{"input_tokens":`, c.input)
	number(`,"cache_creation_input_tokens":`, c.created)
	number(`,"cache_read_input_tokens":`, c.read)
	switch {
	case c.creation != nil:
		dst = appendLine(append(dst, `,"cache_creation":`...), c.creation)
	case c.split:
		number(`,"cache_creation":{"ephemeral_5m_input_tokens":`, c.short)
		number(`,"ephemeral_1h_input_tokens":`, c.long)
		dst = append(dst, '}')
	}
	number(`,"output_tokens":`, c.output)
	if c.thoughts > 0 {
		number(`,"output_tokens_details":{"thinking_tokens":`, c.thoughts)
		dst = append(dst, '}')
	}
	if c.server != nil {
		dst = appendLine(append(dst, `,"server_tool_use":`...), c.server)
	}
	return append(append(dst, c.others...), '}')
}

// counts are the tokens that the upstream has counted, or what we think if it has not.
func (w *Writer) counts() *counts {
	u := usage.Read(w.usage)
	if !u.Reported {
		return &counts{input: w.front.Estimate(), output: (w.print.said + bytesPerToken - 1) / bytesPerToken}
	}
	c := &counts{input: max(u.Fresh(), 0), created: u.WriteShort + u.WriteLong, read: u.CacheRead, output: u.Output,
		split: u.WriteReported, short: u.WriteShort, long: u.WriteLong}
	c.thoughts, _ = strconv.Atoi(string(find(find(w.usage, "completion_tokens_details"), "reasoning_tokens")))
	c.thoughts = min(max(c.thoughts, 0), c.output)
	if v := find(w.usage, "server_tool_use"); isObject(v) {
		c.server = v
	}
	if isOwn(w.summary) {
		c.others, c.split = ownCounts(w.usage), false
		if v := find(w.usage, "cache_creation"); isObject(v) {
			c.creation = v
		}
		if find(w.usage, "output_tokens_details") != nil { // which is among them
			c.thoughts = 0
		}
		if tier := w.end.tier; tier != "" {
			c.others = wire.AppendQuoted(append(c.others, `,"service_tier":`...), tier)
		}
	}
	return c
}

// readCounts are the members of a usage that are read, and those that are written by other names.
var readCounts = protocol.NamesOf("prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details", "completion_tokens_details",
	"input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "server_tool_use")

// ownCounts are the other members of Anthropic's usage, which the provider has kept as they came.
func ownCounts(usage value) (out []byte) {
	members(usage, func(name string, v value) {
		if !readCounts[name] {
			out = appendLine(append(wire.AppendQuoted(append(out, ','), name), ':'), v)
		}
	})
	return out
}

// bytesPerToken is how many bytes of an answer's text make a token, more or less.
const bytesPerToken = 4
