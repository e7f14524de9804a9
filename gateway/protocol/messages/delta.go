package messages

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// said are the members of a delta, or of a whole message, that are read.
type said struct {
	reasoning, details, thoughts value // reasoning_details is OpenRouter's, thinking_blocks LiteLLM's and our own
	content, refusal, calls, own value
}

// body takes the delta or the message of a choice. What it holds comes in the order in which a
// model says it: thoughts, text, calls.
func (w *Writer) body(f *wire.Frame, c *wire.Choice) error {
	var s said
	data := f.Data
	wire.Members(data[:c.Body.End], c.Body.Start, func(key []byte, at wire.Span) bool {
		if !at.IsNull(data) {
			s.set(key, at.Of(data))
		}
		return true
	})
	b := &w.blocks
	if b.own != nil && f.Whole {
		b.takeOwn(s.calls)
		return nil
	}
	w.learn(f, &s)
	w.end.refused = w.end.refused || len(inner(s.refusal)) > 0
	for _, take := range [...]func() error{
		func() error { return w.thoughts(&s) },
		func() error {
			if events := served.All(f, w.summary); len(events) > 0 {
				return w.ranContent(s.content, events)
			}
			return w.content(s.content)
		},
		func() error { return b.text(s.refusal) },
		func() error { return w.ownBlocks(s.own) },
	} {
		if err := take(); err != nil {
			return err
		}
	}
	return elements(s.calls, func(i int, v value) error { return b.entry(i, v) })
}

// content takes a text, or the parts that some servers write in its place.
func (w *Writer) content(v value) error {
	if !isArray(v) {
		return w.blocks.text(v)
	}
	return elements(v, func(_ int, part value) error {
		if thought := find(part, "thinking"); thought != nil { // Mistral's
			if isString(thought) {
				return w.blocks.thought(thought)
			}
			return elements(thought, func(_ int, v value) error { return w.blocks.thought(find(v, "text")) })
		}
		return w.blocks.text(find(part, "text"))
	})
}

func (s *said) set(key []byte, v value) {
	switch string(key) {
	case "reasoning_content":
		s.reasoning = v
	case "reasoning":
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
	case "provider_specific_fields":
		s.own = v
	}
}

// learn notes the shape of a chunk in which one string says all there is.
func (w *Writer) learn(f *wire.Frame, s *said) {
	w.known.shape = 0
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
		w.known = known{shape: shape, what: someText}
	case same(s.reasoning) && quiet(s.content, s.calls):
		w.known = known{shape: shape, what: someThought}
	case quiet(s.content, s.reasoning):
		if e := only(s.calls); same(e.arguments) && quiet(e.id, e.name) {
			w.known = known{shape: shape, what: someArguments, index: e.index}
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
func (w *Writer) thoughts(s *said) error {
	if w.blocks.shown == hidden {
		w.blocks.hid = w.blocks.hid || len(inner(s.reasoning)) > 0
		return nil
	}
	if isArray(s.thoughts) {
		return elements(s.thoughts, func(_ int, v value) error {
			if string(find(v, "type")) == `"redacted_thinking"` {
				return w.blocks.opaque(v)
			}
			return w.blocks.signed(find(v, "thinking"), inner(find(v, "signature")))
		})
	}
	if err := w.blocks.thought(s.reasoning); err != nil || s.details == nil {
		return err
	}
	return elements(s.details, func(_ int, v value) error { return w.detail(v, len(inner(s.reasoning)) > 0) })
}

// detail takes an entry of OpenRouter's reasoning_details. told says that its text stands
// beside it too. A signature that is not Anthropic's own is of no use to anybody else.
func (w *Writer) detail(v value, told bool) error {
	anthropic := bytes.HasPrefix(inner(find(v, "format")), []byte("anthropic"))
	switch string(find(v, "type")) {
	case `"reasoning.text"`:
		if !told {
			if err := w.blocks.thought(find(v, "text")); err != nil {
				return err
			}
		}
		if sig := inner(find(v, "signature")); len(sig) > 0 && anthropic {
			return w.blocks.signed(nil, sig)
		}
	case `"reasoning.summary"`:
		if !told {
			return w.blocks.thought(find(v, "summary"))
		}
	case `"reasoning.encrypted"`:
		if data := find(v, "data"); isString(data) && anthropic {
			return w.blocks.opaque(append(append([]byte(`{"type":"redacted_thinking","data":`), data...), '}'))
		}
	}
	return nil
}

// ownBlocks takes what the provider of Anthropic's API has kept of its blocks: tools that ran on
// its servers, and citations.
func (w *Writer) ownBlocks(own value) error {
	if own == nil || !w.isOwn() {
		return nil
	}
	err := elements(find(own, "blocks"), func(_ int, v value) error { return w.blocks.opaque(v) })
	if err != nil {
		return err
	}
	return elements(find(own, "citations"), func(_ int, v value) error {
		w.blocks.cite(v)
		return nil
	})
}

// entry is an entry of tool_calls.
type entry struct {
	index               int
	id, name, arguments value
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
