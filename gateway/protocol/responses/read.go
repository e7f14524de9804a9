package responses

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// reader is what reads frames: memory that is used again, and what the chunk before was.
type reader struct {
	rendered []byte // a frame that was changed, as it goes out
	shape    *wire.Shape
	frame    *wire.Frame // what goes out, one after the other
	// number is that of a shape whose one text goes to text or reasoning, or to a call.
	number int
	say    func(piece []byte) error
}

// read takes a frame.
func (w *Writer) read(f *wire.Frame) error {
	if w.pass(f) {
		return w.tooLarge()
	}
	if f.Data == nil {
		return w.readBlock(f.Raw)
	}
	if !f.Changed() {
		return w.readChunk(f)
	}
	w.reader.rendered = f.AppendTo(w.reader.rendered[:0])
	if f.Whole {
		return w.readChunk(&wire.Frame{Data: w.reader.rendered, Raw: w.reader.rendered, Whole: true})
	}
	if w.reader.frame == nil {
		w.reader.shape, w.reader.frame = new(wire.Shape), new(wire.Frame)
	}
	for line := range bytes.SplitSeq(w.reader.rendered, []byte{'\n'}) {
		data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("data:"))
		if !ok || w.phase == over {
			continue
		}
		data = bytes.TrimPrefix(data, []byte{' '})
		w.reader.number = 0 // the upstream counts its own shapes
		w.reader.shape.Read(w.reader.frame, data, data)
		if err := w.readChunk(w.reader.frame); err != nil {
			return err
		}
	}
	w.reader.number = 0
	return nil
}

// readBlock takes a block that is no chunk: a comment, or an upstream's own error.
func (w *Writer) readBlock(raw []byte) error {
	if !bytes.Contains(raw, []byte("data")) {
		return nil
	}
	block, err := wire.NewReader(bytes.NewReader(raw), 0).Next()
	if err == nil && isObject(block.Data) {
		w.fail(upstreamFailure(block.Data))
	}
	return nil
}

// readChunk takes a chunk, or a whole completion.
func (w *Writer) readChunk(f *wire.Frame) error {
	if f.Failed() {
		w.fail(upstreamFailure(f.Data))
		return nil
	}
	choices := f.Choices()
	if e, own, ok := served.Of(f, w.summary); own {
		return w.readServed(f, &e, ok)
	}
	if hole, number := f.Hole(); number != 0 && number == w.reader.number {
		if err := w.reader.say(hole.Of(f.Data)); err != nil {
			return err
		}
		return w.tooLarge()
	}
	w.reader.number = 0
	if w.phase == fresh {
		w.readHead(f)
	}
	if raw := f.Usage(); raw != nil {
		w.counts = readCounts(raw)
	}
	w.begin()
	for i := range choices {
		c := &choices[i]
		if c.Index != 0 { // a response has one
			continue
		}
		if !c.Body.Empty() && f.Data[c.Body.Start] == '{' {
			if err := w.readBody(f, c); err != nil {
				return err
			}
		}
		if c.Reason != "" {
			w.finish = c.Reason
			if !f.Whole {
				w.end()
			}
		}
	}
	return w.tooLarge()
}

// readServed takes a chunk about tools that the gateway runs. ok says that there is a form for it.
func (w *Writer) readServed(f *wire.Frame, e *served.Event, ok bool) error {
	w.reader.number = 0
	if w.phase == fresh {
		w.readHead(f)
	}
	w.begin()
	if ok {
		w.serve(e)
	}
	return w.tooLarge()
}

// readHead reads the model's name, which all events say alike.
func (w *Writer) readHead(f *wire.Frame) {
	if model := object(f.Data).get("model"); isString(model) && len(model) > 2 && jsontext.Value(model).IsValid() {
		w.model = slices.Clone(model)
	}
}

// body is a delta or a message by its members.
type body struct {
	content, reasoning, refusal, calls, function, logprobs, notes, own []byte

	said int // members that say something
}

// take takes a member that is not empty. ok is false for one of those that are pieces of a
// provider's thoughts.
func (b *body) take(name string, value []byte) (ok bool) {
	switch name {
	case "role":
		return true
	case "content":
		b.content = value
	case "reasoning_content":
		b.reasoning = value
	case "reasoning":
		if b.reasoning == nil {
			b.reasoning = value
		}
	case "refusal":
		b.refusal = value
	case "provider_specific_fields":
		if b.own = object(value).get("responses"); b.own == nil {
			return true
		}
	case "annotations":
		b.notes = value
	case "tool_calls":
		b.calls = value
	case "function_call":
		b.function = value
	case thoughtMembers[0], thoughtMembers[1]:
		b.said++
		return false
	}
	b.said++
	return true
}

// isEmptyValue reports whether a value says nothing: null, "", [] or {}.
func isEmptyValue(v []byte) bool {
	return v[0] == 'n' || len(v) <= 2 && (v[0] == '"' || v[0] == '[' || v[0] == '{')
}

// readBody takes a delta or a message: reasoning first, as it was thought.
func (w *Writer) readBody(f *wire.Frame, c *wire.Choice) error {
	var b body
	wire.Members(f.Data[:c.Body.End], c.Body.Start, func(key []byte, v wire.Span) bool {
		if value := v.Of(f.Data); !isEmptyValue(value) && !b.take(string(key), value) {
			w.size += len(value)
			w.thoughts.add(string(key), value, f.Whole)
		}
		return true
	})
	if logprobs := object(c.Object.Of(f.Data)).get("logprobs"); isObject(logprobs) {
		if content := object(logprobs).get("content"); isArray(content) && jsontext.Value(content).IsValid() {
			b.logprobs = appendLine(nil, bytes.TrimSpace(inner(content)))
			b.said++
		}
	}
	if b.own != nil {
		w.readOwn(b.own)
	}
	if isString(b.reasoning) {
		w.say(reasoningItem, textPartKind, clean(inner(b.reasoning)), nil)
	}
	if events := served.All(f, w.summary); len(events) > 0 {
		w.readRan(b.content, events)
	} else {
		w.readContent(&b)
	}
	w.readNotes(b.notes)
	if isString(b.refusal) {
		w.say(messageItem, refusalPartKind, clean(inner(b.refusal)), nil)
	}
	if err := w.readCalls(&b); err != nil {
		return err
	}
	if b.said == 1 && c.Reason == "" && w.open != nil && len(w.waiting) == 0 {
		w.learn(f, c)
	}
	return nil
}

// readContent takes a content, a text or, as some upstreams write it, a list of parts.
func (w *Writer) readContent(b *body) {
	switch {
	case isString(b.content):
		w.say(messageItem, textPartKind, clean(inner(b.content)), b.logprobs)
	case isArray(b.content):
		wire.Elements(b.content, 0, func(_ int, v wire.Span) bool {
			if text := object(v.Of(b.content)).get("text"); isString(text) {
				w.say(messageItem, textPartKind, clean(inner(text)), nil)
			}
			return true
		})
	}
}

// readNotes takes annotations. A chat has those of a web search in an object of their own.
func (w *Writer) readNotes(list []byte) {
	if !isArray(list) || !jsontext.Value(list).IsValid() {
		return
	}
	wire.Elements(list, 0, func(_ int, v wire.Span) bool {
		note := object(v.Of(list))
		if !isObject(note) {
			return true
		}
		if citation := note.get("url_citation"); isObject(citation) {
			note = wire.AppendOthers([]byte(`{"type":"url_citation"`), citation, "type")
			note = append(note, '}')
		}
		if !w.note(appendLine(nil, note)) {
			w.summary.Warn("annotation_dropped")
		}
		return true
	})
}

// readCalls takes calls, whole or in pieces, also that of the time before there were several.
func (w *Writer) readCalls(b *body) (err error) {
	const old = -1
	if isObject(b.function) {
		f := object(b.function)
		err = w.addCall(old, nil, f.get("name"), argument(f))
	}
	if !isArray(b.calls) || err != nil {
		return err
	}
	wire.Elements(b.calls, 0, func(n int, v wire.Span) bool {
		entry := object(b.calls[v.Start:v.End])
		if !isObject(entry) {
			return true
		}
		key := n
		if i, err := strconv.Atoi(string(entry.get("index"))); err == nil && i >= 0 {
			key = i
		}
		id, function := entry.get("id"), object(entry.get("function"))
		if !isString(id) || !jsontext.Value(id).IsValid() {
			id = nil
		}
		if isObject(function) {
			err = w.addCall(key, id, function.get("name"), argument(function))
		}
		return err == nil
	})
	return err
}

// argument is the arguments of a call as they stand between quotes. Some upstreams give an
// object, which is to be a text here.
func argument(function object) []byte {
	args := function.get("arguments")
	switch {
	case isString(args):
		return clean(inner(args))
	case args == nil:
		return nil
	}
	return inner(wire.AppendQuoted(nil, args))
}

// learn notes that chunks of this shape say more of what is open.
func (w *Writer) learn(f *wire.Frame, c *wire.Choice) {
	hole, number := f.Hole()
	r := &w.reader
	it := w.open
	switch {
	case number == 0 || f.Changed():
		return
	case it.kind == callItem && it == w.last && !c.Calls.Empty() && hole.Start >= c.Calls.Start && hole.End <= c.Calls.End:
		r.say = func(piece []byte) error { return w.more(it, clean(inner(piece))) }
	case it.kind == messageItem && it.part == textPartKind && hole == c.Content:
		r.say = func(piece []byte) error { w.say(messageItem, textPartKind, clean(inner(piece)), nil); return nil }
	case it.kind == reasoningItem && hole == c.Reasoning:
		r.say = func(piece []byte) error { w.say(reasoningItem, textPartKind, clean(inner(piece)), nil); return nil }
	default:
		return
	}
	r.number = number
}
