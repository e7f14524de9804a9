package anthropic

import (
	"errors"
	"strings"
)

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
	whole  map[int]bool // blocks that the message began with
	tokens usage
	extras extras
	within extras // of the delta at the end, for a client of the Messages API
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
	switch kind := text(get(data, "type")); {
	case strings.HasPrefix(kind, blockEvent):
		return d.block(kind, number(get(data, "index")), data)
	case kind == "ping":
		if !d.out.native { // whose client gets it as it came
			d.out.comment(pingComment)
		}
	case kind == "message_start":
		return d.start(get(data, "message"))
	case kind == "message_delta":
		d.messageDelta(data)
	case kind == "message_stop":
		d.stop(data)
	case reports(data):
		return &reportedError{data}
	default:
		d.other(kind, data)
	}
	return nil
}

// other takes an event that is unknown. A client of the Messages API gets it as it is. One in front of the answer is no
// chunk, which would begin it.
func (d *decoder) other(kind string, data value) {
	if d.out.native && plain(kind) && !d.done {
		if len(d.out.head) > 0 {
			d.out.event(data)
		}
		return
	}
	d.warnings.add("event", kind)
}

// blockEvent is how the events of blocks begin.
const blockEvent = "content_block_"

// block takes an event of a block.
func (d *decoder) block(kind string, index int, data value) error {
	switch does := kind[len(blockEvent):]; {
	case d.whole[index]:
		d.warnings.add("event", "repeated")
	case does == "stop":
		d.blocks.stop(index, d.besides(data, ""))
	case does != "delta" && does != "start":
		d.other(kind, data)
	case d.finished:
		d.warnings.add("event", "late")
	case does == "delta":
		return d.blocks.delta(index, get(data, "delta"), d.besides(data, "delta"))
	default:
		return d.blocks.start(index, get(data, "content_block"), d.besides(data, "content_block"))
	}
	return nil
}

// besides are the members of a block's event that are not read, for a client of the Messages API.
func (d *decoder) besides(event value, read string) object {
	if !d.out.native {
		return nil
	}
	return besides(event, "type", "index", read)
}

// start begins the answer. What calls that code has made ask for next may be all in the message already, with
// no event of its own.
func (d *decoder) start(message value) error {
	own := &d.extras
	if d.out.native { // in whose stream they stand here too, and may be others in the end
		own = &d.out.begun
	}
	if len(d.out.head) == 0 {
		own.add(message, messageFields, d.warnings)
	}
	if !d.out.begin(message) {
		return nil
	}
	d.tokens.add(get(message, "usage"), d.warnings)
	d.ending.read(message)
	return elements(get(message, "content"), func(i int, block value) error {
		if !isObject(block) || isBlank(block) {
			d.blocks.unclear = true
			return nil
		}
		if d.whole == nil {
			d.whole = map[int]bool{}
		}
		d.whole[i] = true
		err := d.blocks.start(i, block, nil)
		d.blocks.stop(i, nil)
		return err
	})
}

// isBlank says whether nothing is in a block of text or thinking yet: some servers begin a message with it, and
// send its events all the same.
func isBlank(block value) bool {
	switch text(get(block, "type")) {
	case "text":
		return hollow(get(block, "text"))
	case "thinking":
		return hollow(get(block, "thinking")) && hollow(get(block, "signature"))
	}
	return false
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
	d.ending.read(delta)
	if d.out.native { // it says them in the delta too
		rest := besides(delta, beside...)
		d.within.add(rest.close(), messageFields, d.warnings)
		delta = picked(delta, beside...)
	}
	d.extras.add(delta, messageFields, d.warnings)
	if d.ending.reason != nil {
		d.finish()
	}
}

// beside are the members of the delta at an answer's end that have a place of their own in a chunk.
var beside = []string{"container", "context_management", "stop_details"}

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
	if len(d.within) > 0 {
		var delta, own object
		d.within.set(&delta)
		own.set("delta", delta.close())
		rest.set("provider_specific_fields", own.close())
	}
	d.out.frame(choice.close(), rest.inner())
}

// stop ends the stream: with the usage, if the client wants it, and the end marker. A client of the Messages API gets
// what else the event says.
func (d *decoder) stop(event value) {
	if d.done {
		return
	}
	if !d.finished {
		d.finish()
	}
	var rest object
	if d.out.withUsage && !d.tokens.empty() {
		rest.set("usage", d.tokens.write())
	}
	if more := besides(event, "type"); d.out.native && len(more) > 0 {
		var own object
		own.set("stop", more.close())
		rest.set("provider_specific_fields", own.close())
	}
	if len(rest) > 0 {
		d.out.frame(nil, rest.inner())
	}
	d.done = true
	d.out.done()
}
