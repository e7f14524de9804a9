package anthropic

import "errors"

var (
	errNoEvent = errors.New("an event is not valid JSON")
	errTooMany = errors.New("too many blocks are open at once")
)

// decoder turns the events of one stream of the Messages API into chunks of OpenAI's,
// event by event. It reads the events' own types alone; their order is hardly relied
// on, so that one that is missing or strange costs no more than itself.
type decoder struct {
	out      *chunks
	warnings *warnings

	blocks openBlocks
	tokens usage
	extras extras
	ending ending

	finished bool // the chunk with the finish reason is written
	done     bool // the end marker is written
}

// newDecoder writes to out what it reads, and to w what of it the client may miss.
func newDecoder(out *chunks, w *warnings) decoder {
	return decoder{out: out, warnings: w, blocks: openBlocks{out: out, warnings: w}}
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
		return d.blocks.delta(index, get(data, "delta"))
	case kind == "content_block_start" && !d.finished:
		return d.blocks.start(index, get(data, "content_block"))
	case kind == "content_block_stop":
		d.blocks.stop(index)
	case kind == "ping":
		d.out.comment(pingComment)
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

// start begins the answer.
func (d *decoder) start(message value) {
	if d.out.begin(message) {
		d.tokens.add(get(message, "usage"), d.warnings)
		d.extras.add(message, messageFields, d.warnings)
		d.ending.read(message)
	}
}

// messageDelta takes what is known at the answer's end: the usage, and why it ended.
func (d *decoder) messageDelta(event value) {
	d.out.begin(nil)
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
	d.out.begin(nil)
	d.blocks.end(d.ending.cut())
	d.finished = true
	var choice, rest object
	choice.set("index", value("0"))
	choice.set("delta", value("{}"))
	choice.set("logprobs", value("null"))
	d.ending.set(&choice, d.blocks.calls, d.out.native, d.warnings)
	if d.out.withUsage {
		rest.set("usage", value("null"))
	}
	d.tokens.setTier(&rest)
	d.extras.set(&rest)
	d.out.frame(choice.close(), rest.inner())
}

// stop ends the stream: with the usage, if the client wants it, and the end marker.
func (d *decoder) stop() {
	if d.done {
		return
	}
	if !d.finished {
		d.finish()
	}
	if d.out.withUsage && !d.tokens.empty() {
		var rest object
		rest.set("usage", d.tokens.write())
		d.out.frame(nil, rest.inner())
	}
	d.done = true
	d.out.done()
}
