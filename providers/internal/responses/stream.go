package responses

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Decoder turns the events of a stream into chunks.
type Decoder struct {
	Model string // that was asked for
	// Frames are those that were made and not given out yet.
	Frames []gateway.Frame
	// Content says that a part of the answer has come, Finished that it is complete, and Done that
	// the end marker is written.
	Content, Finished, Done bool

	head     []byte
	spaces   []string      // the namespaces of the tools
	origins  []byte        // the lines of events that no frame has yet
	number   int           // of the event at hand
	items    map[int]*open // by output_index
	calls    int
	messages int
}

// open is an item that has begun.
type open struct {
	kind  string
	index int  // of a call
	fed   bool // its arguments have begun
	whole bool // and ended
	parts int  // of a summary
}

// maxItems is how many items an answer may have.
const maxItems = 4096

// maxOrigins is how many bytes of events may wait for a frame to go with.
const maxOrigins = 64 << 10

// Read takes the data of an event. What chunks have no form for goes with the next one.
func (d *Decoder) Read(data []byte) {
	kind := wire.Unquote(get(data, "type"))
	if d.Done {
		return
	}
	d.number++
	d.origins = wire.AppendOrigin(d.origins, wire.Origin{Number: d.number, Data: oneLine(data)})
	d.read(kind, data)
	if len(d.origins) > maxOrigins && !d.Done {
		d.Frames = append(d.Frames, gateway.Frame{Raw: append(d.origins, '\n')})
		d.origins = nil
	}
}

func (d *Decoder) read(kind string, data []byte) {
	if r := get(data, "response"); r != nil {
		d.lifecycle(strings.TrimPrefix(kind, "response."), r)
		return
	}
	if kind == "error" {
		d.fail(data)
		return
	}
	if get(data, "output_index") == nil {
		return
	}
	index := number(get(data, "output_index"))
	it := d.items[index]
	switch {
	case kind == "response.output_item.added":
		d.added(index, get(data, "item"), data)
	case kind == "response.output_item.done":
		d.ended(index, it, get(data, "item"), data)
	case it == nil: // its beginning was left out
		if inferred := inferred(kind); inferred != "" {
			d.added(index, slices.Concat([]byte(`{"type":`), wire.AppendQuoted(nil, inferred), []byte{'}'}), data)
			if it = d.items[index]; it != nil {
				d.delta(it, kind, data)
			}
		}
	case it.isOpaque():
		d.own("event", data)
	default:
		d.delta(it, kind, data)
	}
}

// inferred is the type of the item that an event is of, "" where it does not say that.
func inferred(event string) string {
	switch {
	case strings.HasPrefix(event, "response.output_text."), strings.HasPrefix(event, "response.refusal."), strings.HasPrefix(event, "response.content_part."):
		return "message"
	case strings.HasPrefix(event, "response.reasoning_"):
		return "reasoning"
	}
	return ""
}

// lifecycle takes an event with a response.
func (d *Decoder) lifecycle(kind string, response []byte) {
	if d.head == nil {
		d.head, d.spaces = head("chat.completion.chunk", response, d.Model), namespaces(response)
		d.chunk([]byte(`{"role":"assistant","content":""}`), nil, "null")
	}
	switch kind {
	case "completed", "incomplete":
		d.Finished = true
		d.chunk([]byte("{}"), nil, string(wire.AppendQuoted(nil, finish(response, d.calls))))
		if u := get(response, "usage"); u != nil {
			b := append(slices.Clip(d.head), `],"usage":`...)
			d.frame(append(append(b, counts(u)...), '}'))
		}
		d.done()
	case "failed", "cancelled":
		d.fail(response)
	}
}

func (d *Decoder) fail(v []byte) {
	d.Finished = true
	d.Frames = append(d.Frames, wire.Event(oneLine(failure(v))))
	d.Done = true
}

func (d *Decoder) done() {
	d.Done = true
	d.Frames = append(d.Frames, wire.Done())
}

func (it *open) isOpaque() bool {
	call, _ := isCall(it.kind)
	return !call && it.kind != "message" && it.kind != "reasoning"
}

// added begins an item.
func (d *Decoder) added(index int, item, data []byte) {
	if d.items == nil {
		d.items = map[int]*open{}
	}
	if len(d.items) >= maxItems {
		return
	}
	it := &open{kind: wire.Unquote(get(item, "type"))}
	d.items[index] = it
	switch call, custom := isCall(it.kind); {
	case call:
		it.index = d.calls
		d.calls++
		d.call(it, append(append(append(append([]byte(`"id":`), orNull(get(item, "call_id"))...), `,"type":"function","function":{"name":`...), nameOf(item, d.spaces)...), `,"arguments":""}`...))
		if custom {
			d.arguments(it, wire.AppendQuoted(nil, `{"input":"`))
		}
	case it.kind == "message":
		if phase := get(item, "phase"); d.messages > 0 || phase != nil {
			d.own("message", append(append([]byte(`{"phase":`), orNull(phase)...), '}'))
		}
		d.messages++
	case it.isOpaque():
		d.own("event", data)
	}
}

// delta takes a piece of an item.
func (d *Decoder) delta(it *open, kind string, data []byte) {
	piece := get(data, "delta")
	switch kind {
	case "response.output_text.delta":
		d.emit("content", piece, get(data, "logprobs"))
	case "response.refusal.delta":
		d.emit("refusal", piece, nil)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.emit("reasoning_content", piece, nil)
	case "response.reasoning_summary_part.added":
		if it.parts++; it.parts > 1 {
			d.emit("reasoning_content", []byte(`"\n\n"`), nil)
		}
	case "response.output_text.annotation.added":
		d.emit("annotations", slices.Concat([]byte{'['}, orNull(get(data, "annotation")), []byte{']'}), nil)
	case "response.function_call_arguments.delta":
		it.fed = true
		d.arguments(it, piece)
	case "response.custom_tool_call_input.delta":
		it.fed = true
		d.arguments(it, wire.AppendQuoted(nil, inner(piece)))
	case "response.custom_tool_call_input.done":
		if input := get(data, "input"); it.fed || len(inner(input)) > 0 {
			d.close(it, input)
		}
	}
}

// ended ends an item.
func (d *Decoder) ended(index int, it *open, item, data []byte) {
	if it == nil { // its beginning was not seen
		d.added(index, item, data)
		if it = d.items[index]; it == nil {
			return
		}
	}
	switch call, custom := isCall(it.kind); {
	case custom:
		d.close(it, get(item, "input"))
	case call && !it.fed:
		d.arguments(it, get(item, "arguments"))
	case it.kind == "reasoning" && len(inner(get(item, "encrypted_content"))) > 0:
		d.emit("reasoning_details", slices.Concat([]byte{'['}, detail(item, index), []byte{']'}), nil)
	case it.isOpaque():
		d.own("event", data)
	}
}

// close ends the arguments of a call of a custom tool, whose input is what they were, if any of it has come.
func (d *Decoder) close(it *open, input []byte) {
	if it.whole {
		return
	}
	if !it.fed {
		d.arguments(it, wire.AppendQuoted(nil, inner(input)))
	}
	d.arguments(it, wire.AppendQuoted(nil, `"}`))
	it.whole = true
}

func (d *Decoder) arguments(it *open, piece []byte) {
	if len(inner(piece)) > 0 {
		d.call(it, append(append([]byte(`"function":{"arguments":`), piece...), '}'))
	}
}

// call writes a piece of a call.
func (d *Decoder) call(it *open, members []byte) {
	b := strconv.AppendInt([]byte(`[{"index":`), int64(it.index), 10)
	d.emit("tool_calls", append(append(append(b, ','), members...), "}]"...), nil)
}

// own writes what chat completions have no member for.
func (d *Decoder) own(name string, v []byte) {
	b := wire.AppendQuoted([]byte(`{"`+Own+`":{`), name)
	d.emit("provider_specific_fields", append(append(append(b, ':'), v...), "}}"...), nil)
}

// emit writes a delta of one member.
func (d *Decoder) emit(name string, v, logprobs []byte) {
	if v == nil {
		return
	}
	d.Content = true
	delta := wire.AppendQuoted([]byte{'{'}, name)
	d.chunk(append(append(append(delta, ':'), v...), '}'), logprobs, "null")
}

func (d *Decoder) chunk(delta, logprobs []byte, reason string) {
	if d.head == nil {
		d.head = head("chat.completion.chunk", nil, d.Model)
	}
	b := append(append(slices.Clip(d.head), `{"index":0,"delta":`...), delta...)
	if len(logprobs) > len("[]") {
		b = append(append(append(b, `,"logprobs":{"content":`...), logprobs...), '}')
	}
	b = append(append(b, `,"finish_reason":`...), reason...)
	d.frame(append(b, "}]}"...))
}

func (d *Decoder) frame(data []byte) {
	if len(d.origins) == 0 {
		d.origins = wire.AppendOrigin(nil, wire.Origin{Number: d.number})
	}
	d.Frames = append(d.Frames, wire.EventFrom(d.origins, oneLine(data)))
	d.origins = d.origins[:0]
}
