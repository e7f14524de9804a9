package run

import (
	"bytes"
	"encoding/json"

	"github.com/callgate/callgate/gateway/wire"
)

// writer puts the rounds of a request together to one answer.
type writer interface {
	// frame takes a frame of the model's, which is read into t. decide says whose a call is.
	frame(f *wire.Frame, t *turn, decide func(*call) owner)
	// event says what happens to our tools.
	event(e *event)
	// next ends a round that another one follows.
	next(t *turn)
	// say adds a text of the gateway's own.
	say(text string)
	// close ends the answer: with those of the last turn's calls that are for the client, and the
	// usage of all rounds.
	close(t *turn, calls []*call, finish string, usage []json.RawMessage)
}

// stream writes an answer in chunks, all with what the first of them says of itself.
type stream struct {
	put   func(*wire.Frame)
	id    identity
	early [][]byte // vendor members that came before the first chunk
	later bool     // it is not the first round
	said  bool     // whose answer it is
	text  []byte   // the last bytes of it
	calls int      // that the client has seen
	last  []byte   // the chunk with the finish reason of the round at hand
	done  bool     // the upstream has an end marker
	odd   bool     // something came that is no chunk, and has gone out
}

// identity is what all chunks of an answer have in common, in JSON.
type identity struct{ id, created, model json.RawMessage }

// read takes what a chunk or a completion says.
func (i *identity) read(data []byte) {
	find := func(key string) []byte { return bytes.Clone(wire.Find(data, wire.Span{End: len(data)}, key).Of(data)) }
	i.id, i.created, i.model = find("id"), find("created"), find("model")
}

// edits put it in the place of what a chunk says.
func (i *identity) edits(data []byte) (edits []wire.Edit) {
	set := func(key string, value json.RawMessage) {
		at := wire.Find(data, wire.Span{End: len(data)}, key)
		if !at.Empty() && len(value) > 0 && !bytes.Equal(at.Of(data), value) {
			edits = append(edits, wire.Edit{At: at, With: value})
		}
	}
	set("id", i.id)
	set("created", i.created)
	set("model", i.model)
	return edits
}

// begin is the beginning of a chunk of our own, up to its choices.
func (i *identity) begin() []byte {
	b := []byte(`{`)
	for _, m := range []member{{"id", i.id}, {"object", json.RawMessage(`"chat.completion.chunk"`)}, {"created", i.created}, {"model", i.model}} {
		if len(m.value) > 0 {
			b = append(wire.AppendKey(b, m.key), m.value...)
		}
	}
	return append(b, `,"choices":`...)
}

// frame implements writer.
func (s *stream) frame(f *wire.Frame, t *turn, decide func(*call) owner) {
	switch {
	case f.Done:
		s.done = true
		return
	case f.Data == nil:
		s.put(&wire.Frame{Raw: bytes.Clone(f.Raw)})
		return
	case !f.IsChunk():
		s.odd = true
		s.put(&wire.Frame{Raw: bytes.Clone(f.Raw), Data: bytes.Clone(f.Data)})
		return
	}
	if s.id.id == nil {
		s.id.read(f.Data)
		for _, vendor := range s.early {
			s.vendor(vendor)
		}
		s.early = nil
	}
	before := len(t.text)
	var entries []byte
	t.add(f, func(c *call, entry []byte) { entries = s.entry(entries, c, entry, decide) })
	s.tail(t.text[before:])
	s.chunk(f, entries)
}

// entry appends an entry of tool_calls as the client sees it, if it does.
func (s *stream) entry(entries []byte, c *call, entry []byte, decide func(*call) owner) []byte {
	if c.owner == undecided && c.name != "" {
		c.owner = decide(c)
	}
	if c.owner != client {
		return entries
	}
	if len(entries) > 0 {
		entries = append(entries, ',')
	}
	if !c.shown {
		return s.show(entries, c)
	}
	entries = wire.AppendInt(append(entries, `{"index":`...), c.place)
	return append(wire.AppendOthers(entries, entry, "index"), '}')
}

// show appends a call as far as it has come.
func (s *stream) show(entries []byte, c *call) []byte {
	c.shown, c.place = true, s.calls
	s.calls++
	entries = append(wire.AppendInt(append(entries, `{"index":`...), c.place), ',')
	return append(entries, c.appendTo(nil)[1:]...)
}

// chunk gives on what is for the client of a chunk, with entries in the place of its calls.
func (s *stream) chunk(f *wire.Frame, entries []byte) {
	data := f.Data
	usage := wire.Find(data, wire.Span{End: len(data)}, "usage")
	counts := !usage.IsNull(data)
	if len(f.Choices()) > 0 {
		s.choice(f, &f.Choices()[0], entries, counts)
	} else if !counts && !s.later {
		e := wire.Event(unsigned(data))
		s.put(&e)
	}
}

// vendorMember is the member in which the gateway says what its tools have done.
const vendorMember = "callgate"

// unsigned is what an upstream has said, in memory of its own, without vendorMember, which is
// the gateway's alone.
func unsigned(data []byte) []byte {
	if edits := wire.Remove(data, vendorMember); len(edits) > 0 {
		return wire.Splice(data, edits)
	}
	return bytes.Clone(data)
}

// choice does so where there is one. counts says that the chunk has a usage.
func (s *stream) choice(f *wire.Frame, c *wire.Choice, entries []byte, counts bool) {
	data := f.Data
	if c.Reason != "" {
		s.last = bytes.Clone(data)
	}
	delta, useful, role := s.delta(data, c, entries)
	first := role && !s.said
	asItCame := !s.later && !counts && c.Calls.Empty() && c.Reason == "" && (first || !role)
	if !asItCame && !useful && (!first || s.later) {
		return
	}
	s.said = s.said || role
	if asItCame {
		s.put(f)
		return
	}
	s.edited(data, c, delta, "null", counts)
}

// delta is what is left of a chunk's.
func (s *stream) delta(data []byte, c *wire.Choice, entries []byte) (delta []byte, useful, role bool) {
	delta = []byte{'{'}
	if !c.Body.Empty() && data[c.Body.Start] == '{' {
		wire.Members(data, c.Body.Start, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "tool_calls":
				return true
			case "role":
				if role = true; s.said {
					return true
				}
			case "content":
				useful = useful || v.End-v.Start > 2 && !v.IsNull(data)
			default:
				useful = useful || !v.IsNull(data)
			}
			delta = append(wire.AppendKey(delta, string(key)), v.Of(data)...)
			return true
		})
	}
	if len(entries) > 0 {
		useful = true
		delta = append(append(wire.AppendKey(delta, "tool_calls"), '['), entries...)
		delta = append(delta, ']')
	}
	return append(delta, '}'), useful, role
}

// edited gives on a chunk with another delta and finish reason, and without its usage.
func (s *stream) edited(data []byte, c *wire.Choice, delta []byte, finish string, counts bool) {
	choice := wire.AppendOthers([]byte(`[{`), c.Object.Of(data), "delta", "message", "finish_reason")
	choice = append(wire.AppendKey(choice, "delta"), delta...)
	choice = append(append(wire.AppendKey(choice, "finish_reason"), finish...), `}]`...)
	edits := append(s.id.edits(data), wire.Edit{At: wire.Find(data, wire.Span{End: len(data)}, "choices"), With: choice})
	if counts {
		edits = append(edits, wire.Remove(data, "usage")...)
	}
	s.send(wire.Splice(data, edits))
}

// send gives on a chunk in JSON.
func (s *stream) send(data []byte) {
	f := wire.Event(bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})) // in strings it is escaped
	s.put(&f)
}

// vendor gives on a chunk that says nothing but the member callgate.
func (s *stream) vendor(value []byte) {
	if s.id.id == nil {
		s.early = append(s.early, value)
		return
	}
	s.send(append(append(append(s.id.begin(), `[],"`+vendorMember+`":`...), value...), '}'))
}

// event implements writer.
func (s *stream) event(e *event) {
	s.vendor(append(append([]byte(`{"tool":`), e.text()...), '}'))
}

// tail keeps the last bytes of the text.
func (s *stream) tail(text []byte) {
	s.text = append(s.text, text...)
	if n := len(s.text); n > 2 {
		s.text = append(s.text[:0], s.text[n-2:]...)
	}
}

// gap are the line ends between a text and one that follows.
func gap(text []byte) string {
	switch {
	case len(text) == 0 || bytes.HasSuffix(text, []byte("\n\n")):
		return ""
	case bytes.HasSuffix(text, []byte("\n")):
		return "\n"
	}
	return "\n\n"
}

// next implements writer.
func (s *stream) next(t *turn) {
	s.later, s.last = true, nil
	if len(t.text) > 0 {
		s.say(gap(s.text))
	}
}

// say implements writer.
func (s *stream) say(text string) {
	if text == "" {
		return
	}
	s.tail([]byte(text))
	delta := []byte(`[{"index":0,"delta":{`)
	if !s.said {
		s.said, delta = true, append(delta, `"role":"assistant",`...)
	}
	delta = wire.AppendQuoted(append(delta, `"content":`...), text)
	s.send(append(append(s.id.begin(), delta...), `},"finish_reason":null}]}`...))
}

// close implements writer.
func (s *stream) close(_ *turn, calls []*call, finish string, usage []json.RawMessage) {
	if s.odd {
		if s.done {
			end := wire.Done()
			s.put(&end)
		}
		return
	}
	var entries []byte
	for _, c := range calls {
		if c.shown {
			continue
		}
		if len(entries) > 0 {
			entries = append(entries, ',')
		}
		entries = s.show(entries, c)
	}
	if len(entries) > 0 {
		s.send(append(append(append(s.id.begin(), `[{"index":0,"delta":{"tool_calls":[`...), entries...), `]},"finish_reason":null}]}`...))
	}
	reason := wire.AppendQuoted(nil, finish)
	if s.last == nil {
		s.send(append(append(append(s.id.begin(), `[{"index":0,"delta":{},"finish_reason":`...), reason...), `}]}`...))
	} else {
		f := wire.Frame{Data: s.last}
		s.edited(s.last, &f.Choices()[0], []byte(`{}`), string(reason), f.Usage() != nil)
	}
	if sum := sumUsage(usage); sum != nil {
		if len(usage) > 1 {
			s.vendor(rounds(usage))
		}
		s.send(append(append(append(s.id.begin(), `[],"usage":`...), sum...), '}'))
	}
	if s.done {
		end := wire.Done()
		s.put(&end)
	}
}

// rounds is the vendor member with the usage of each round.
func rounds(usage []json.RawMessage) []byte {
	b := []byte(`{"rounds":[`)
	b = append(b, bytes.Join(raws(usage), []byte{','})...)
	return append(b, `]}`...)
}

// raws are values of JSON, with null for one that is not there.
func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, r := range list {
		if out[i] = r; r == nil {
			out[i] = []byte("null")
		}
	}
	return out
}
