package gateway

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// writeQueue writes the frames that waited, with what their text turned out to be.
func (r *Response) writeQueue() {
	var k chunk
	for _, q := range r.queue {
		if locate(&k, q.data(r.held), "delta") {
			r.writeFrame(q.raw(r.held), &k)
		} else {
			r.out = append(r.out, q.raw(r.held)...)
		}
	}
	r.queue, r.held = r.queue[:0], r.held[:0]
}

// writeFrame writes one frame of a stream, whose chunk is k, anew: the choices'
// events in place of their text, all other bytes as they came. Clients take a delta
// to hold text or the piece of one call, and stop reading one that has a finish
// reason; so what does not fit into the frame gets chunks of its own, before the one
// with the finish reason and otherwise behind it. A frame in which nothing is left is
// dropped.
func (r *Response) writeFrame(raw []byte, k *chunk) {
	before, after := around(raw, k.data)
	rest := r.split(k)
	if k.finishes() || r.bodiless(k) {
		for r.pending(k) {
			r.put(before, r.extra(k), after)
			rest = r.restore(k, rest)
		}
	}
	pending := r.pending(k)
	if patched := r.patch(k); pending || !isEmptyChunk(patched) {
		r.put(before, patched, after)
	}
	for rest = r.restore(k, rest); r.pending(k); rest = r.restore(k, rest) {
		r.put(before, r.extra(k), after)
	}
}

// split leaves a choice only those events that go into one delta, and returns the
// others. In a chunk with several choices each delta takes all.
func (r *Response) split(k *chunk) []abi.Event {
	if len(k.parts) != 1 {
		return nil
	}
	return r.choice(k.parts[0].index).split()
}

// split leaves the events that go into one delta, and returns the others.
func (c *choice) split() []abi.Event {
	shown := false // a client sees something of the events before
	for i, e := range c.events {
		if shown && (e.Kind == abi.CallStart || isText(e) && !isText(c.events[i-1])) {
			rest := c.events[i:]
			c.events = c.events[:i:i]
			return rest
		}
		shown = shown || e.Kind != abi.CallEnd
	}
	return nil
}

func isText(e abi.Event) bool { return e.Kind == abi.Content || e.Kind == abi.Reasoning }

// restore gives the choice the next of the events that split has returned.
func (r *Response) restore(k *chunk, rest []abi.Event) []abi.Event {
	if len(rest) == 0 {
		return nil
	}
	c := r.choice(k.parts[0].index)
	c.events = rest
	return c.split()
}

// around is what stands before and behind the data of a block of the stream.
func around(raw, data []byte) (before, after []byte) {
	at := bytes.Index(raw, data)
	if at < 0 { // the data came on several lines
		return []byte("data: "), []byte("\n\n")
	}
	return raw[:at], raw[at+len(data):]
}

// put writes a block of the stream, with its data on one line.
func (r *Response) put(before, data, after []byte) {
	data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '}) // where it came on several; in JSON both are white space
	r.out = append(append(append(r.out, before...), data...), after...)
}

func (k *chunk) finishes() bool {
	return slices.ContainsFunc(k.parts, func(p part) bool { return p.reason(k.data) != "" })
}

// pending reports whether a choice of the chunk has events that are not out yet and
// that a client sees.
func (r *Response) pending(k *chunk) bool {
	return slices.ContainsFunc(k.parts, func(p part) bool {
		return slices.ContainsFunc(r.choice(p.index).events, func(e abi.Event) bool { return e.Kind != abi.CallEnd })
	})
}

// bodiless reports whether a choice of the chunk has events and no delta to put them
// in.
func (r *Response) bodiless(k *chunk) bool {
	return slices.ContainsFunc(k.parts, func(p part) bool { return p.body.Empty() && len(r.choice(p.index).events) > 0 })
}

// patch returns the chunk with each choice's events in its delta, and takes the
// events.
func (r *Response) patch(k *chunk) []byte {
	var edits []wire.Edit
	for _, p := range k.parts {
		c := r.choice(p.index)
		if !p.body.Empty() {
			edits = append(edits, wire.Edit{At: p.body, With: r.delta(c, k.data, p.body)})
		}
		c.events, c.in, c.renumber = c.events[:0], c.in[:0], false
		if c.renamed && p.reason(k.data) != "" {
			edits = append(edits, wire.Edit{At: p.finish, With: []byte(`"` + openai.FinishReasonToolCalls + `"`)})
			c.renamed = false
		}
	}
	return wire.Splice(k.data, edits)
}

// extra returns a chunk with nothing but the choices' events, and takes them. It has
// no usage and no other member of k's choices: a client would have these twice.
func (r *Response) extra(k *chunk) []byte {
	var choices [][]byte
	for _, p := range k.parts {
		if c := r.choice(p.index); len(c.events) > 0 {
			choices = append(choices, r.alone(c, ""))
		}
	}
	return k.with(choices...)
}

// alone returns a choice of a chunk that has the choice's events and a finish reason,
// if any, and takes the events.
func (r *Response) alone(c *choice, finish openai.FinishReason) []byte {
	reason := "null"
	if finish != "" {
		reason = `"` + string(finish) + `"`
	}
	b := fmt.Appendf(nil, `{"index":%d,"delta":%s,"finish_reason":%s}`, c.index, r.delta(c, nil, wire.Span{}), reason)
	c.events, c.in = c.events[:0], c.in[:0]
	return b
}

// with returns the chunk with other choices, and without usage.
func (k *chunk) with(choices ...[]byte) []byte {
	edits := []wire.Edit{{At: k.choices, With: wire.AppendElements(nil, []byte("[]"), choices)}}
	if !k.usage.IsNull(k.data) {
		edits = append(edits, wire.Edit{At: k.usage, With: []byte("null")})
	}
	return wire.Splice(k.data, edits)
}

// delta writes a choice's events as a delta. The members of the original one stay,
// but for its text, which the events stand for.
func (r *Response) delta(c *choice, data []byte, original wire.Span) []byte {
	var content, reasoning strings.Builder
	for _, e := range c.events {
		switch e.Kind {
		case abi.Content:
			content.WriteString(e.Text)
		case abi.Reasoning:
			reasoning.WriteString(e.Text)
		case chain.WasReasoning: // what has been sent cannot be taken back
			reasoning.WriteString(content.String())
			content.Reset()
		}
	}
	o := object{text: content.String(), reasoning: reasoning.String(), reasoningField: r.gateway.reasoningField}
	o.calls = r.wireCalls(c)
	if c.renumber {
		o.renumber = c.renumbered
	}
	return o.write(data, original)
}

// wireCalls joins the events of each call to an entry of a delta's tool_calls.
func (r *Response) wireCalls(c *choice) [][]byte {
	var calls [][]byte
	for i := 0; i < len(c.events); i++ {
		e := c.events[i]
		if e.Kind != abi.CallStart && e.Kind != abi.Args {
			continue
		}
		var entry []byte
		if e.Kind == abi.CallStart {
			c.beginText()
			entry = append(c.entry(), `"id":`...)
			entry = append(wire.AppendQuoted(entry, r.callID(c.index, e.ID, e.Name)), `,"type":"function","function":{"name":`...)
			entry = append(wire.AppendQuoted(entry, e.Name), `,"arguments":`...)
			e.Text = ""
		} else {
			entry = append(c.entry(), `"function":{"arguments":`...)
		}
		args := e.Text
		for i+1 < len(c.events) && c.events[i+1].Kind == abi.Args && c.events[i+1].Index == e.Index {
			i++
			args += c.events[i].Text
		}
		calls = append(calls, append(wire.AppendQuoted(entry, args), "}}"...))
	}
	return calls
}

// entry begins an entry of the call that is being written.
func (c *choice) entry() []byte {
	return append(strconv.AppendInt([]byte(`{"index":`), int64(c.wire), 10), ',')
}

// beginText gives a call that was read from text its index on the wire.
func (c *choice) beginText() {
	c.wire = c.next
	c.take(c.wire)
}

// finish ends the chains of a stream whose end has come, and says what was done.
func (r *Response) finish() []byte {
	if r.finished {
		return nil
	}
	r.finished = true
	for _, c := range r.choices {
		if !c.done {
			c.finish(r, "")
			c.late = true
		}
	}
	if r.target.Mode == Report {
		r.forget()
	} else {
		broken := r.prune()
		r.flush()
		if !broken {
			r.writeLate()
		}
	}
	r.out = append(r.out, r.closing()...)
	return r.out
}

// writeLate writes what is left of choices for which no finish reason came, in chunks
// like those before, and the finish reason of calls that were read from text.
func (r *Response) writeLate() {
	var k chunk
	if !locate(&k, r.template, "delta") {
		return
	}
	before, after := around(nil, r.template)
	for _, c := range r.choices {
		if !c.late {
			continue
		}
		for len(c.events) > 0 {
			rest := c.split()
			r.put(before, k.with(r.alone(c, "")), after)
			c.events = rest
		}
		if c.chain.Report().Calls > 0 {
			r.put(before, k.with(r.alone(c, openai.FinishReasonToolCalls)), after)
		}
	}
}

// comment is what the headers of a whole answer would say, as a comment of a stream;
// "" if nothing was done but what its own headers say.
func (r *Response) comment() string {
	s := &r.Summary
	guard := s.GuardText()
	if !s.Changed && len(s.Warnings) <= r.told && s.Calls == 0 && len(s.Faults) == 0 && len(s.Attempts) < 2 && guard == "" && s.Saved == "" {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, ": callgate mode=%s", r.target.Mode)
	if len(s.Attempts) > 1 {
		fmt.Fprintf(&b, " provider=%s attempts=%d fallbacks=%d retry_delay_ms=%d",
			s.Provider, len(s.Attempts), s.Fallbacks(), s.RetryDelay().Round(time.Millisecond).Milliseconds())
	}
	if len(s.Parsers) > 0 {
		fmt.Fprintf(&b, " parser=%s", strings.Join(s.Parsers, ","))
	}
	if s.Calls > 0 || r.parsers != nil {
		fmt.Fprintf(&b, " calls=%d", s.Calls)
	}
	for _, list := range []struct{ name, value string }{
		{"faults", s.FaultList()}, {"repairs", s.RepairList()}, {"warnings", strings.Join(s.Warnings, ",")},
		{"guard", guard}, {"corrections", s.CorrectionList()}, {"saved", s.Saved},
	} {
		if list.value != "" {
			fmt.Fprintf(&b, " %s=%s", list.name, list.value)
		}
	}
	return oneLine(b.String()) + "\n\n"
}

// oneLine is s without control characters: a line end would begin another event, and
// names of tools are the model's own words.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, s)
}

// whole reads a whole completion and writes it anew if it holds calls or
// reasoning.
func (r *Response) whole(f Frame) []byte {
	var k chunk
	if !locate(&k, f.Data, "message") {
		if k.failed {
			r.fail(f.Data)
		}
		return f.Raw
	}
	if r.watch != nil {
		r.watch.chunk(&k)
	}
	var edits []wire.Edit
	for i := range k.parts {
		p := &k.parts[i]
		c := r.choice(i) // also where an upstream gives all of them one index
		if p.thought {
			c.chain.Split()
		}
		text, ok := r.textOf(p, f.Data)
		if !ok || len(text) == 0 || c.chain.Nothing(text) {
			if r.watch != nil && ok && i == 0 {
				r.watch.add(text)
			}
			continue
		}
		c.in = append(c.in, text...)
		c.events = append(c.events, r.judged(c, c.chain.Feed(r.ctx, text))...)
		c.finish(r, p.reason(f.Data))
		c.prune()
		if c.changed = r.target.Mode == Repair && c.differs(); c.changed {
			edits = append(edits, r.message(c, p, f.Data)...)
		}
	}
	if len(edits) == 0 {
		return r.complete(f.Raw)
	}
	return r.complete(wire.Splice(f.Data, edits))
}

// message writes a choice's events as a message.
func (r *Response) message(c *choice, p *part, data []byte) []wire.Edit {
	var m chain.Message
	m.Add(c.events)
	o := object{text: m.Content.String(), reasoning: m.Reasoning.String(), reasoningField: r.gateway.reasoningField, whole: true}
	for _, call := range m.Calls() {
		entry := wire.AppendQuoted([]byte(`{"id":`), r.callID(c.index, call.ID, call.Name))
		entry = wire.AppendQuoted(append(entry, `,"type":"function","function":{"name":`...), call.Name)
		entry = wire.AppendQuoted(append(entry, `,"arguments":`...), call.Arguments)
		o.calls = append(o.calls, append(entry, "}}"...))
	}
	edits := []wire.Edit{{At: p.body, With: o.write(data, p.body)}}
	if c.renamed {
		edits = append(edits, wire.Edit{At: p.finish, With: []byte(`"` + openai.FinishReasonToolCalls + `"`)})
	}
	return edits
}
