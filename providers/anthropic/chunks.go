package anthropic

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

var pingComment = []byte(": ping\n\n")

// chunks are the frames of a stream in OpenAI's form, as they are written.
type chunks struct {
	created   int64
	model     string // that was asked for
	withUsage bool
	native    bool   // the client speaks the Messages API
	begun     extras // of the message as it begins, for such a client
	with      object // provider_specific_fields of the next chunk, for such a client
	room      int    // in front of a frame, for what it was made of

	listed map[string]int // how many entries a list has, by its member

	frames  []gateway.Frame // made and not given out yet
	head    object          // what every chunk begins with; empty until the first is written
	content bool            // a part of the answer has come
}

// begin writes the first chunk, which gives the role, as OpenAI's does. It reports whether there
// was none before. message is nil where none has begun the answer.
func (c *chunks) begin(message value) bool {
	if len(c.head) > 0 {
		return false
	}
	c.head = readHead(message, c.created, c.model).open("chat.completion.chunk")
	var rest object
	if usage := get(message, "usage"); c.native && isObject(usage) { // the client's own stream begins with it
		var own object
		own.set("usage", compact(usage))
		if len(c.begun) > 0 {
			var o object
			c.begun.set(&o)
			own.set("message", o.close())
		}
		rest.set("provider_specific_fields", own.close())
	}
	c.chunk(value(`{"role":"assistant","content":""}`), rest.inner())
	return true
}

// beside puts an object, if there is something in it, into provider_specific_fields of the next chunk. They stand beside
// the choices, since they are nothing that a client would act on: an answer that has no more is empty.
func (c *chunks) beside(name string, rest object) {
	if len(rest) > 0 {
		c.with.set(name, rest.close())
	}
}

// take is what would stand beside the choices of the next chunk, where nothing stands then.
func (c *chunks) take() object {
	with := c.with
	c.with = nil
	return with
}

// emit writes a delta of one field, in the midst of the answer.
func (c *chunks) emit(name string, v value) {
	delta := make(object, 0, len(name)+len(v)+len(`{"":}`))
	delta.set(name, v)
	c.emitDelta(delta.close())
}

// emitDelta writes a delta, in the midst of the answer.
func (c *chunks) emitDelta(delta value) {
	c.begin(nil) // if it has not begun
	c.content = true
	c.chunk(delta, c.rest())
}

// rest is what goes beside the choices of a chunk, behind them.
func (c *chunks) rest() []byte {
	var o object
	if with := c.take(); len(with) > 0 {
		o.set("provider_specific_fields", with.close())
	}
	return o.inner()
}

// numbered is a list of a delta, whose entries have an index from the second of the answer on. OpenAI's SDK for Python puts
// the deltas of a stream together, and fails where an entry that is not the first has none.
func (c *chunks) numbered(member string, entries value) value {
	if c.native {
		return entries
	}
	if c.listed == nil {
		c.listed = map[string]int{}
	}
	var out list
	_ = elements(entries, func(_ int, v value) error {
		if n := c.listed[member]; n > 0 && isObject(v) {
			v = merge(v, []field{{"index", digits(n)}})
		}
		c.listed[member]++
		out.add(v)
		return nil
	})
	return out.array()
}

// own writes what OpenAI's form has no place for.
func (c *chunks) own(name string, entries value) {
	var o object
	o.set(name, c.numbered(name, entries))
	c.emit("provider_specific_fields", o.close())
}

// note writes where a block begins or ends, for a client of the Messages API.
func (c *chunks) note(name string, rest object) {
	c.with.set(name, rest.close())
	c.begin(nil)
	c.chunk(value("{}"), c.rest())
}

// event writes an event that is of no block, for a client of the Messages API.
func (c *chunks) event(data value) {
	c.with.set("event", compact(data))
	c.begin(nil)
	c.frame(nil, c.rest())
}

// text writes text as it came.
func (c *chunks) text(v value) {
	if len(inner(v)) > 0 {
		c.emit("content", v)
	}
}

// cite writes citations.
func (c *chunks) cite(citations value) {
	if !hollow(citations) {
		c.own("citations", compact(citations))
	}
}

// thought writes a block of thinking that has ended, in both forms that there are for it.
func (c *chunks) thought(index int, block value) {
	var delta object
	delta.set("thinking_blocks", c.numbered("thinking_blocks", arrayOf(block)))
	delta.set("reasoning_details", arrayOf(detail(block, index)))
	c.emitDelta(delta.close())
}

// chunk writes a delta, and fields that stand beside it.
func (c *chunks) chunk(delta value, fields []byte) {
	const before, behind = `{"index":0,"delta":`, `,"logprobs":null,"finish_reason":null}`
	choice := make(value, 0, len(before)+len(delta)+len(behind))
	if c.withUsage { // every chunk but the last says that it has none
		fields = append(fields, `,"usage":null`...)
	}
	c.frame(append(append(append(choice, before...), delta...), behind...), fields)
}

// frame writes a chunk with a choice, or with none. rest is the fields behind it.
func (c *chunks) frame(choice value, rest []byte) {
	const field, open, end = "data: ", `,"choices":[`, "}\n\n"
	raw := make([]byte, c.room, c.room+len(field)+len(c.head)+len(open)+len(choice)+1+len(rest)+len(end))
	raw = append(append(append(append(raw, field...), c.head...), open...), choice...)
	raw = append(append(append(raw, ']'), rest...), end...)
	c.frames = append(c.frames, gateway.Frame{Raw: raw, Data: raw[c.room+len(field) : len(raw)-len("\n\n")]})
}

// comment writes a comment as it is.
func (c *chunks) comment(raw []byte) { c.frames = append(c.frames, gateway.Frame{Raw: raw}) }

// done writes the end marker.
func (c *chunks) done() { c.frames = append(c.frames, wire.Done()) }
