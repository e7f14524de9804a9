package anthropic

import (
	"errors"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

const (
	maxOpen = 1024     // blocks of a stream that are open at once; Anthropic has one
	maxKept = 16 << 20 // bytes of thinking and of other blocks kept until they end
)

var (
	errNoEvent  = errors.New("an event is not valid JSON")
	errTooMany  = errors.New("too many blocks are open at once")
	pingComment = []byte(": ping\n\n")
)

// decoder turns the events of one stream of the Messages API into chunks of OpenAI's,
// event by event. It reads the events' own types alone; their order is hardly relied
// on, so that one that is missing or strange costs no more than itself.
type decoder struct {
	created   int64
	model     string // that was asked for
	withUsage bool
	warnings  *warnings

	frames []gateway.Frame // made and not given out yet
	head   object          // what every chunk begins with
	blocks map[int]*block  // those that are open, by Anthropic's index
	kept   int             // bytes that the open blocks hold
	calls  int             // so far; the next call's index
	owed   []int           // calls that ended without arguments
	tokens usage
	extras extras
	ending ending

	started  bool // the first chunk is written
	content  bool // a part of the answer has come
	finished bool // the chunk with the finish reason is written
	done     bool // the end marker is written
}

// read takes the data of one event. The error is errNoEvent, errTooMany, or a
// *reportedError.
func (d *decoder) read(data value) error {
	if !isAnswer(data) {
		return errNoEvent
	}
	index := number(get(data, "index"))
	switch kind := text(get(data, "type")); {
	case kind == "content_block_delta" && !d.finished:
		return d.delta(index, get(data, "delta"))
	case kind == "content_block_start" && !d.finished:
		return d.startBlock(index, get(data, "content_block"))
	case kind == "content_block_stop":
		d.stopBlock(index)
	case kind == "ping":
		d.frames = append(d.frames, gateway.Frame{Raw: pingComment})
	case kind == "message_start":
		d.start(get(data, "message"))
	case kind == "message_delta":
		d.messageDelta(data)
	case kind == "message_stop":
		d.stop()
	case reports(data):
		return &reportedError{data}
	case kind == "content_block_delta" || kind == "content_block_start":
		d.warnings.add("event", "late")
	default:
		d.warnings.add("event", kind)
	}
	return nil
}

// start begins the answer. The first chunk gives the role, as OpenAI's does.
func (d *decoder) start(message value) {
	if d.started {
		return
	}
	d.started = true
	d.head = readHead(message, d.created, d.model).open("chat.completion.chunk")
	d.tokens.add(get(message, "usage"), d.warnings)
	d.extras.add(message, messageFields, d.warnings)
	d.ending.read(message)
	d.chunk(value(`{"role":"assistant","content":""}`))
}

// emit writes a delta of one field, in the midst of the answer.
func (d *decoder) emit(name string, v value) {
	d.start(nil) // if it has not begun
	d.content = true
	delta := make(object, 0, len(name)+len(v)+len(`{"":}`))
	delta.set(name, v)
	d.chunk(delta.close())
}

// chunk writes a delta.
func (d *decoder) chunk(delta value) {
	const before, behind = `{"index":0,"delta":`, `,"logprobs":null,"finish_reason":null}`
	choice := make(value, 0, len(before)+len(delta)+len(behind))
	var rest []byte
	if d.withUsage { // every chunk but the last says that it has none
		rest = []byte(`,"usage":null`)
	}
	d.frame(append(append(append(choice, before...), delta...), behind...), rest)
}

// frame writes a chunk with a choice, or with none. rest is the fields behind it.
func (d *decoder) frame(choice value, rest []byte) {
	const field, open, end = "data: ", `,"choices":[`, "}\n\n"
	raw := make([]byte, 0, len(field)+len(d.head)+len(open)+len(choice)+1+len(rest)+len(end))
	raw = append(append(append(append(raw, field...), d.head...), open...), choice...)
	raw = append(append(append(raw, ']'), rest...), end...)
	d.frames = append(d.frames, gateway.Frame{Raw: raw, Data: raw[len(field) : len(raw)-len("\n\n")]})
}

// messageDelta takes what is known at the answer's end: the usage, and why it ended.
func (d *decoder) messageDelta(event value) {
	d.start(nil)
	d.tokens.add(get(event, "usage"), d.warnings)
	if d.finished {
		return
	}
	delta := get(event, "delta")
	d.extras.add(event, messageFields, d.warnings)
	d.extras.add(delta, messageFields, d.warnings)
	if d.ending.read(delta); d.ending.reason != nil {
		d.finish()
	}
}

// finish writes the chunk with the finish reason.
func (d *decoder) finish() {
	d.start(nil)
	d.stopAll()
	if d.ending.cut() && len(d.owed) > 0 {
		d.warnings.add("cut", "tool_calls")
	} else {
		d.pay()
	}
	d.finished = true
	var choice, rest object
	choice.set("index", value("0"))
	choice.set("delta", value("{}"))
	choice.set("logprobs", value("null"))
	d.ending.set(&choice, d.calls, d.warnings)
	if d.withUsage {
		rest.set("usage", value("null"))
	}
	d.tokens.setTier(&rest)
	d.extras.set(&rest)
	d.frame(choice.close(), rest.inner())
}

// stop ends the stream: with the usage, if the client wants it, and the end marker.
func (d *decoder) stop() {
	if d.done {
		return
	}
	if !d.finished {
		d.finish()
	}
	if d.withUsage && !d.tokens.empty() {
		var rest object
		rest.set("usage", d.tokens.write())
		d.frame(nil, rest.inner())
	}
	d.done = true
	d.frames = append(d.frames, wire.Done())
}
