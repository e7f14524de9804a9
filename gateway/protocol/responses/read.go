package responses

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// reader reads frames, and has the machine say what they bring.
type reader struct {
	answer   *answer
	machine  *machine
	rendered []byte // a frame that was changed, as it goes out
	shape    *wire.Shape
	lost     protocol.Lost
	frame    *wire.Frame // what goes out, one after the other
	// number is that of a shape whose one text goes to text or reasoning, or to a call.
	number int
	say    func(piece []byte) error
}

// read takes a frame. failure is the upstream's own error, if that is what came.
func (r *reader) read(f *wire.Frame) (failure []byte, err error) {
	if f.Data == nil { // a comment, by which an upstream shows that it lives
		return nil, nil
	}
	if !f.Changed() {
		return r.readChunk(f)
	}
	r.rendered = f.AppendTo(r.rendered[:0])
	if f.Whole {
		return r.readChunk(&wire.Frame{Data: r.rendered, Raw: r.rendered, Whole: true})
	}
	if r.frame == nil {
		r.shape, r.frame = new(wire.Shape), new(wire.Frame)
	}
	for line := range bytes.SplitSeq(r.rendered, []byte{'\n'}) {
		data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte{'\r'}), []byte("data:"))
		if !ok {
			continue
		}
		data = bytes.TrimPrefix(data, []byte{' '})
		r.number = 0 // the upstream counts its own shapes
		r.shape.Read(r.frame, data, data)
		if failure, err = r.readChunk(r.frame); failure != nil || err != nil {
			return failure, err
		}
	}
	r.number = 0
	return nil, nil
}

// readChunk takes a chunk, or a whole completion.
func (r *reader) readChunk(f *wire.Frame) (failure []byte, err error) {
	if f.Failed() {
		return upstreamFailure(f.Data), nil
	}
	choices := f.Choices()
	if e, own, ok := served.Of(f, r.machine.summary); own {
		return nil, r.readServed(f, &e, ok)
	}
	if hole, number := f.Hole(); number != 0 && number == r.number {
		if err := r.say(hole.Of(f.Data)); err != nil {
			return nil, err
		}
		return nil, r.machine.tooLarge()
	}
	r.number = 0
	r.answer.beginWith(f)
	r.lost.See(f, r.machine.summary)
	if raw := f.Usage(); raw != nil {
		r.answer.counts = readCounts(raw)
	}
	for i := range choices {
		if c := &choices[i]; c.Index == 0 { // a response has one
			if err := r.readChoice(f, c); err != nil {
				return nil, err
			}
		} else if c.Says || c.Acts {
			r.machine.summary.Warn("choice_dropped")
		}
	}
	return nil, r.machine.tooLarge()
}

// readChoice takes the choice of a chunk.
func (r *reader) readChoice(f *wire.Frame, c *wire.Choice) error {
	if !c.Body.Empty() && f.Data[c.Body.Start] == '{' {
		if err := r.readBody(f, c); err != nil {
			return err
		}
	}
	if c.Reason != "" {
		r.answer.finish = c.Reason
		if !f.Whole {
			_, err := r.answer.end()
			return err
		}
	}
	return nil
}

// readServed takes a chunk about tools that the gateway runs. ok says that there is a form for it.
func (r *reader) readServed(f *wire.Frame, e *served.Event, ok bool) error {
	r.number = 0
	r.answer.beginWith(f)
	if ok {
		r.machine.serve(e)
	}
	return r.machine.tooLarge()
}

// body is a delta or a message by its members.
type body struct {
	content, reasoning, refusal, calls, function, logprobs, notes, own []byte

	cited bool // it has citations of Anthropic's, for which there is no place: nobody knows where in the text they belong
	said  int  // members that say something
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
	case "reasoning", "reasoning_text":
		if b.reasoning == nil {
			b.reasoning = value
		}
	case "refusal":
		b.refusal = value
	case "provider_specific_fields":
		fields := object(value)
		cites := fields.get("citations")
		b.cited = isArray(cites) && !isEmptyValue(cites)
		if b.own = fields.get("responses"); b.own == nil {
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
func (r *reader) readBody(f *wire.Frame, c *wire.Choice) error {
	var b body
	wire.Members(f.Data[:c.Body.End], c.Body.Start, func(key []byte, v wire.Span) bool {
		value := v.Of(f.Data)
		if isEmptyValue(value) {
			return true
		}
		if !b.take(string(key), value) {
			r.machine.output.size += len(value)
			r.machine.thinking.thoughts.add(string(key), value, f.Whole)
		} else if warning := protocol.DroppedMembers[string(key)]; warning != "" {
			r.machine.summary.Warn(warning)
		}
		return true
	})
	if logprobs := object(c.Object.Of(f.Data)).get("logprobs"); isObject(logprobs) {
		if content := object(logprobs).get("content"); isArray(content) && jsontext.Value(content).IsValid() {
			b.logprobs = appendLine(nil, bytes.TrimSpace(inner(content)))
			b.said++
		}
	}
	r.readFields(&b)
	r.readExtras(b.calls)
	if isString(b.reasoning) {
		r.machine.say(reasoningItem, textPartKind, clean(inner(b.reasoning)), nil)
	}
	if events := served.All(f, r.machine.summary); len(events) > 0 {
		r.readRan(b.content, events)
	} else {
		r.readContent(&b)
	}
	r.readNotes(b.notes)
	if isString(b.refusal) {
		r.machine.say(messageItem, refusalPartKind, clean(inner(b.refusal)), nil)
	}
	if err := r.readCalls(&b); err != nil {
		return err
	}
	if b.said == 1 && c.Reason == "" && r.machine.open != nil && len(r.machine.waiting) == 0 {
		r.learn(f, c)
	}
	return nil
}

// readRan takes the content of a whole answer with what happened in between: each event has the
// number of bytes that stood before it.
func (r *reader) readRan(content []byte, events []served.Event) {
	text := wire.AppendDecoded(nil, orEmpty(content))
	said := 0
	say := func(upTo int) {
		if upTo = min(upTo, len(text)); upTo > said {
			piece := wire.AppendQuoted(nil, text[said:upTo])
			r.machine.say(messageItem, textPartKind, clean(inner(piece)), nil)
			said = upTo
		}
	}
	for i := range events {
		say(events[i].After)
		r.machine.serve(&events[i])
	}
	say(len(text))
}

// readFields takes what an upstream says beside the chat completion.
func (r *reader) readFields(b *body) {
	if b.cited {
		r.machine.summary.Warn("dropped:citations")
	}
	if b.own != nil {
		r.readOwn(b.own)
	}
}

// readOwn takes what an upstream of the Responses API says beside the chat completion.
func (r *reader) readOwn(own object) {
	if !isOwn(r.machine.summary) {
		return
	}
	m := r.machine
	if said := own.get("message"); isObject(said) {
		m.waiting = append(m.waiting, &item{kind: messageItem, openPart: openPart{part: textPartKind}, phase: bytes.Clone(object(said).get("phase")), fresh: true})
		m.advance()
	}
	if whole := object(own.get("response")); isObject(whole) { // of an answer that something was put into
		list := whole.get("output")
		wire.Elements(list, 0, func(_ int, at wire.Span) bool {
			one := object(at.Of(list))
			switch wire.Unquote(one.get("type")) {
			case "message", "reasoning", "function_call", "custom_tool_call":
			default:
				m.waiting = append(m.waiting, &item{kind: nativeKind, native: &native{item: bytes.Clone(one), over: true}})
			}
			return true
		})
		m.advance()
	}
	event := object(own.get("event"))
	if !isObject(event) {
		return
	}
	key := number(event.get("output_index"))
	m.output.size += len(event)
	if wire.Unquote(event.get("type")) == "response.output_item.added" {
		m.addNative(key, bytes.Clone(event.get("item")))
		return
	}
	m.takeNative(key, event)
}

// isOwn reports whether the upstream speaks the Responses API. What is in its form is not believed of another one.
func isOwn(s *gateway.Summary) bool { return s.Protocol == Name }

// readContent takes a content, a text or, as some upstreams write it, a list of parts.
func (r *reader) readContent(b *body) {
	switch {
	case isString(b.content):
		r.machine.say(messageItem, textPartKind, clean(inner(b.content)), b.logprobs)
	case isArray(b.content):
		wire.Elements(b.content, 0, func(_ int, v wire.Span) bool {
			part := object(v.Of(b.content))
			if thought := part.get("thinking"); thought != nil { // Mistral's
				r.readThought(thought)
			} else {
				r.sayText(messageItem, part)
			}
			return true
		})
	case isObject(b.content): // of an answer that is to be JSON, as some servers write it
		r.machine.say(messageItem, textPartKind, inner(wire.AppendQuoted(nil, b.content)), nil)
		r.machine.summary.Warn("answer_object")
	}
}

// readThought takes a thought that stands in a content: a text, or a list of parts.
func (r *reader) readThought(thought []byte) {
	switch {
	case isString(thought):
		r.machine.say(reasoningItem, textPartKind, clean(inner(thought)), nil)
	case isArray(thought):
		wire.Elements(thought, 0, func(_ int, v wire.Span) bool {
			r.sayText(reasoningItem, v.Of(thought))
			return true
		})
	}
}

// sayText takes a part's text, if it has one.
func (r *reader) sayText(kind itemKind, part object) {
	if text := part.get("text"); isString(text) {
		r.machine.say(kind, textPartKind, clean(inner(text)), nil)
	} else {
		protocol.WarnOfPart(r.machine.summary, wire.Unquote(part.get("type")))
	}
}

// readNotes takes annotations. A chat has those of a web search in an object of their own.
func (r *reader) readNotes(list []byte) {
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
		if !r.machine.note(appendLine(nil, note)) {
			r.machine.summary.Warn("annotation_dropped")
		}
		return true
	})
}

// readExtras takes what upstreams want back with their calls: it goes with what was thought.
func (r *reader) readExtras(calls []byte) {
	if !isArray(calls) {
		return
	}
	wire.Elements(calls, 0, func(n int, v wire.Span) bool {
		var known []byte
		if it := r.machine.calls.find(keyOf(v.Of(calls), n), nil, nil); it != nil {
			known = it.call.id
		}
		if detail := protocol.DetailOfCall(v.Of(calls), known); detail != nil && jsontext.Value(detail).IsValid() {
			r.machine.output.size += len(detail)
			r.machine.thinking.thoughts.add(thoughtMembers[0], append(append([]byte{'['}, appendLine(nil, detail)...), ']'), true)
		}
		return true
	})
}

// readCalls takes calls, whole or in pieces, also that of the time before there were several.
func (r *reader) readCalls(b *body) (err error) {
	const old = -1
	if isObject(b.function) && b.calls == nil { // a server that writes it both ways has made one call
		f := object(b.function)
		err = r.machine.addCall(old, nil, f.get("name"), argument(f))
	}
	if !isArray(b.calls) || err != nil {
		return err
	}
	wire.Elements(b.calls, 0, func(n int, v wire.Span) bool {
		entry := object(b.calls[v.Start:v.End])
		if !isObject(entry) {
			return true
		}
		key := keyOf(entry, n)
		id, function := entry.get("id"), object(entry.get("function"))
		if !isString(id) || !jsontext.Value(id).IsValid() {
			id = nil
		}
		switch {
		case isObject(function):
			err = r.machine.addCall(key, id, function.get("name"), argument(function))
		case id != nil: // it begins, in a form that is not read
			r.machine.summary.Warn("call_dropped:no_name")
		}
		return err == nil
	})
	return err
}

// keyOf is the index of an entry of tool_calls, or its place if it has none.
func keyOf(entry object, place int) int {
	if i, err := strconv.Atoi(string(entry.get("index"))); err == nil && i >= 0 {
		return i
	}
	return place
}

func argument(function object) []byte { return argumentOf(function.get("arguments")) }

// argumentOf is the arguments of a call as they stand between quotes. Some upstreams give an
// object, which is to be a text here.
func argumentOf(args []byte) []byte {
	switch {
	case isString(args):
		return clean(inner(args))
	case args == nil:
		return nil
	}
	return inner(wire.AppendQuoted(nil, args))
}

// learn notes that chunks of this shape say more of what is open.
func (r *reader) learn(f *wire.Frame, c *wire.Choice) {
	hole, number := f.Hole()
	it := r.machine.open
	switch {
	case number == 0 || f.Changed():
		return
	case it.kind == callItem && it == r.machine.calls.last && !c.Calls.Empty() && hole.Start >= c.Calls.Start && hole.End <= c.Calls.End:
		r.say = func(piece []byte) error { return r.machine.more(it, clean(inner(piece))) }
	case it.kind == messageItem && it.part == textPartKind && hole == c.Content:
		r.say = func(piece []byte) error {
			r.machine.say(messageItem, textPartKind, clean(inner(piece)), nil)
			return nil
		}
	case it.kind == reasoningItem && hole == c.Reasoning:
		r.say = func(piece []byte) error {
			r.machine.say(reasoningItem, textPartKind, clean(inner(piece)), nil)
			return nil
		}
	default:
		return
	}
	r.number = number
}
