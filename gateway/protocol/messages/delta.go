package messages

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// said are the members of a delta, or of a whole message, that are read.
type said struct {
	reasoning, details, thoughts value // reasoning_details is OpenRouter's, thinking_blocks LiteLLM's and our own
	content, refusal, calls, own value
	function                     value // the call of the time before there were several
	notes                        value // annotations
	beside                       value // what stands beside the choices, where the upstream speaks the Messages API
}

// reading reads the chunks of an answer, and says what they bring in blocks.
type reading struct {
	blocks  *blocks
	summary *gateway.Summary
	refused bool // the model has refused to answer
	known   known
}

// known is what was learnt of the chunks that have one shape: nearly all of a stream have the
// same, and differ in one string.
type known struct {
	shape int // 0: none
	what  role
	index int // of the call
}

// role is what the string of a known shape is.
type role uint8

const (
	someText role = iota
	someThought
	someArguments
)

// again takes the string of a chunk of the known shape.
func (r *reading) again(s value) error {
	switch r.known.what {
	case someText:
		return r.blocks.text(s)
	case someThought:
		return r.blocks.thought(s)
	}
	return r.blocks.arguments(r.known.index, s)
}

// body takes the delta or the message of a choice. What it holds comes in the order in which a
// model says it: thoughts, text, calls.
func (r *reading) body(f *wire.Frame, c *wire.Choice) error {
	var s said
	data := f.Data
	wire.Members(data[:c.Body.End], c.Body.Start, func(key []byte, at wire.Span) bool {
		if !at.IsNull(data) && !s.set(key, at.Of(data)) && !protocol.IsHollow(at.Of(data)) {
			if warning := protocol.DroppedMembers[string(key)]; warning != "" {
				r.summary.Warn(warning)
			}
		}
		return true
	})
	b := r.blocks
	if b.own != nil && f.Whole {
		b.takeOwn(s.calls)
		return nil
	}
	r.beside(f, &s)
	r.refused = r.refused || len(inner(s.refusal)) > 0
	if isArray(s.notes) && !protocol.IsHollow(s.notes) {
		r.summary.Warn("annotation_dropped")
	}
	for _, take := range [...]func() error{
		func() error { return r.begins(find(s.beside, "begins")) },
		func() error { return r.thoughts(&s) },
		func() error {
			if events := served.All(f, r.summary); len(events) > 0 {
				return r.ranContent(s.content, events)
			}
			return r.content(s.content)
		},
		func() error { return b.text(s.refusal) },
		func() error { return r.ownBlocks(s.own) },
		func() error { return b.release(hasElements(s.calls) || isObject(s.function)) },
		func() error { return r.extras(s.calls) },
		func() error { return r.calls(&s) },
	} {
		if err := take(); err != nil {
			return err
		}
	}
	return r.rest(&s)
}

// beside finds what stands beside a chunk that was made of an event of the Messages API.
func (r *reading) beside(f *wire.Frame, s *said) {
	if !isOwn(r.summary) {
		s.own = nil
	} else if !f.Whole {
		s.beside = find(f.Data, own)
	}
	if r.known.shape = 0; s.beside == nil {
		r.learn(f, s)
	}
	r.blocks.extra = extraOf(s.beside)
}

// extras takes what upstreams want back with their calls. The client gets it as what is encrypted, in front of the
// call, also one that wants to see no thoughts: without it Gemini refuses the next turn.
func (r *reading) extras(calls value) error {
	if isOwn(r.summary) {
		return nil
	}
	return elements(calls, func(i int, v value) error {
		if detail := protocol.DetailOfCall(v, r.blocks.idOf(i, v)); detail != nil {
			return r.blocks.opaque(sealedBlock(detail))
		}
		return nil
	})
}

// calls takes the calls of a delta or a message.
func (r *reading) calls(s *said) error {
	b := r.blocks
	if isObject(s.function) && len(s.calls) <= len(`[]`) { // a server that writes it both ways has made one call
		return b.entry(onlyCall, slices.Concat(value(`{"function":`), s.function, value(`}`)), false)
	}
	known := isOwn(r.summary)
	return elements(s.calls, func(i int, v value) error { return b.entry(i, v, known) })
}

// rest takes what an upstream of the Messages API has said of the block at hand besides.
func (r *reading) rest(s *said) error {
	b := r.blocks
	ends := b.extra.ends
	b.extra = extra{event: b.extra.event}
	if s.thoughts != nil { // that is what ends
		return nil
	}
	return b.within(find(s.own, "deltas"), ends)
}

// extraOf is what stands in provider_specific_fields of a chunk that was made of an event of the Messages API.
func extraOf(own value) (x extra) {
	if own == nil {
		return x
	}
	more := func(name string) []byte {
		v := find(own, name)
		if v == nil {
			return nil
		}
		return others(v)
	}
	return extra{event: more("event"), delta: more("delta"), ends: more("ends")}
}

// onlyCall is the index of a call in the form of before there were several.
const onlyCall = -1

// content takes a text, or the parts that some servers write in its place.
func (r *reading) content(v value) error {
	if isObject(v) { // of an answer that is to be JSON, as some servers write it
		r.summary.Warn("answer_object")
		return r.blocks.text(wire.AppendQuoted(nil, v))
	}
	if !isArray(v) {
		return r.blocks.text(v)
	}
	return elements(v, func(_ int, part value) error {
		if thought := find(part, "thinking"); thought != nil { // Mistral's
			if isString(thought) {
				return r.blocks.thought(thought)
			}
			return elements(thought, func(_ int, v value) error { return r.blocks.thought(find(v, "text")) })
		}
		text := find(part, "text")
		if text == nil {
			protocol.WarnOfPart(r.summary, wire.Unquote(find(part, "type")))
		}
		return r.blocks.text(text)
	})
}

// set takes a member; it reports false for one that is not read.
func (s *said) set(key []byte, v value) bool {
	switch string(key) {
	case "reasoning_content":
		s.reasoning = v
	case "reasoning", "reasoning_text":
		if len(inner(s.reasoning)) == 0 {
			s.reasoning = v
		}
	case "reasoning_details":
		s.details = v
	case "thinking_blocks":
		s.thoughts = v
	case "content":
		s.content = v
	case "refusal":
		s.refusal = v
	case "tool_calls":
		s.calls = v
	case "function_call":
		s.function = v
	case "annotations":
		s.notes = v
	case "provider_specific_fields":
		s.own = v
	default:
		return false
	}
	return true
}

// learn notes the shape of a chunk in which one string says all there is.
func (r *reading) learn(f *wire.Frame, s *said) {
	at, shape := f.Hole()
	if shape == 0 || s.details != nil || s.thoughts != nil || s.refusal != nil || s.own != nil {
		return
	}
	hole := at.Of(f.Data)
	same := func(v value) bool { return len(v) == len(hole) && len(v) > 0 && &v[0] == &hole[0] }
	quiet := func(others ...value) bool {
		return !slices.ContainsFunc(others, func(v value) bool { return len(v) > len(`""`) })
	}
	switch {
	case same(s.content) && quiet(s.reasoning, s.calls):
		r.known = known{shape: shape, what: someText}
	case same(s.reasoning) && quiet(s.content, s.calls):
		r.known = known{shape: shape, what: someThought}
	case quiet(s.content, s.reasoning):
		if e := only(s.calls); same(e.arguments) && quiet(e.id, e.name) {
			r.known = known{shape: shape, what: someArguments, index: e.index}
		}
	}
}

// only is the first entry of tool_calls; of a chunk that has a shape it is the only one.
func only(calls value) (first entry) {
	_ = elements(calls, func(i int, v value) error {
		if i == 0 {
			first = readEntry(i, v)
		}
		return nil
	})
	return first
}

// thoughts takes what is said of the model's reasoning.
func (r *reading) thoughts(s *said) error {
	if r.blocks.shown == hidden {
		r.blocks.hid = r.blocks.hid || isArray(s.thoughts) && !protocol.IsHollow(s.thoughts)
	} else if isArray(s.thoughts) {
		return elements(s.thoughts, func(_ int, v value) error {
			if string(find(v, "type")) == `"redacted_thinking"` {
				return r.blocks.opaque(v)
			}
			return r.blocks.signed(find(v, "thinking"), inner(find(v, "signature")))
		})
	}
	if err := r.blocks.thought(s.reasoning); err != nil || s.details == nil {
		return err
	}
	return elements(s.details, func(_ int, v value) error { return r.detail(v, len(inner(s.reasoning)) > 0) })
}

// detail takes an entry of OpenRouter's reasoning_details. told says that its text stands
// beside it too. What others than Anthropic have encrypted, they want back with the call that it belongs to, as
// Gemini does: the client gets it as Anthropic's clients get what is encrypted, in a seal.
func (r *reading) detail(v value, told bool) error {
	anthropic := bytes.HasPrefix(inner(find(v, "format")), []byte("anthropic"))
	switch string(find(v, "type")) {
	case `"reasoning.text"`:
		if !told {
			if err := r.blocks.thought(find(v, "text")); err != nil {
				return err
			}
		}
		if sig := inner(find(v, "signature")); len(sig) > 0 && anthropic && r.blocks.shown != hidden {
			return r.blocks.signed(nil, sig)
		}
	case `"reasoning.summary"`:
		if !told {
			return r.blocks.thought(find(v, "summary"))
		}
	case `"reasoning.encrypted"`:
		data := find(v, "data")
		switch {
		case len(inner(data)) == 0:
			return nil
		case !anthropic:
			return r.blocks.encrypted(sealedBlock(appendLine(nil, v)))
		}
		return r.blocks.encrypted(append(append([]byte(`{"type":"redacted_thinking","data":`), data...), '}'))
	}
	return nil
}

// begins takes where a text or a thought begins.
func (r *reading) begins(block value) error {
	it := item{kind: breakBlock, of: textBlock}
	switch string(find(block, "type")) {
	case `"text"`:
	case `"thinking"`:
		it.of = thinkingBlock
	default:
		return nil
	}
	if rest := others(block, "type"); len(rest) > 0 {
		it.text = rest[1:]
	}
	return r.blocks.put(it)
}

// ownBlocks takes what the provider of Anthropic's API has kept of its blocks: tools that ran on
// its servers, and citations.
func (r *reading) ownBlocks(own value) error {
	if own == nil {
		return nil
	}
	err := elements(find(own, "opens"), func(_ int, v value) error { return r.blocks.put(item{kind: rawBegin, text: v}) })
	if err == nil {
		err = elements(find(own, "blocks"), func(_ int, v value) error { return r.blocks.opaque(v) })
	}
	if err != nil {
		return err
	}
	return elements(find(own, "citations"), func(_ int, v value) error { return r.blocks.put(item{kind: citation, text: v}) })
}

// entry is an entry of tool_calls.
type entry struct {
	index               int
	id, name, arguments value
	caller, beside      value // Anthropic's own member, and those that nobody here knows
}

func readEntry(i int, v value) entry {
	e := entry{index: i}
	wire.Members(v, 0, func(key []byte, at wire.Span) bool {
		member := at.Of(v)
		switch string(key) {
		case "index":
			n := 0
			for _, c := range member {
				if c < '0' || c > '9' || n > 1<<20 {
					return true
				}
				n = 10*n + int(c-'0')
			}
			e.index = n
		case "id":
			e.id = member
		case "caller":
			e.caller = member
		case "beside":
			e.beside = member
		case "function":
			wire.Members(member, 0, func(key []byte, at wire.Span) bool {
				switch string(key) {
				case "name":
					e.name = at.Of(member)
				case "arguments":
					e.arguments = at.Of(member)
				}
				return true
			})
		}
		return true
	})
	if args := e.arguments; len(args) > 0 && args[0] != '"' && args[0] != 'n' { // an object where its text should be
		e.arguments = wire.AppendQuoted(nil, args)
	}
	return e
}
