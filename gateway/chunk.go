package gateway

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// maxQueue is how many bytes of frames wait unchanged while their text may still
// turn out to be markup. Beyond it they are written anew.
const maxQueue = 64 << 10

// chunk is a completion or one piece of it, by the places of what may change.
type chunk struct {
	data    []byte
	usage   wire.Span
	choices wire.Span
	parts   []part
	failed  bool // it is an error in the place of a chunk
}

// part is one choice of a chunk.
type part struct {
	index   int
	object  wire.Span
	body    wire.Span // delta or message
	content wire.Span
	native  wire.Span // tool_calls
	thought bool      // it holds reasoning that the upstream has split off itself
	finish  wire.Span // finish_reason
}

// maxChoices is how many choices of an answer are read; OpenAI's limit for n.
const maxChoices = 128

// locate finds the parts of a chunk; key is what holds a choice's body. ok is
// false for JSON of another kind, such as an error in the stream.
func locate(dst *chunk, data []byte, key string) (ok bool) {
	*dst = chunk{data: data, parts: dst.parts[:0]}
	var failure wire.Span
	ok = wire.Members(data, 0, func(k []byte, v wire.Span) bool {
		switch string(k) {
		case "choices":
			dst.choices = v
		case "usage":
			dst.usage = v
		case "error":
			failure = v
		}
		return true
	})
	dst.failed = ok && isFailure(failure.Of(data))
	if !ok || dst.failed || dst.choices.IsNull(data) {
		return false
	}
	ok = wire.Elements(data, dst.choices.Start, func(n int, v wire.Span) bool {
		p := part{index: n, object: v}
		wire.Members(data, v.Start, func(k []byte, v wire.Span) bool {
			switch string(k) {
			case "index":
				p.index = number(v.Of(data), n)
			case "finish_reason":
				p.finish = v
			case key:
				p.body = v
			}
			return true
		})
		p.locateBody(data)
		dst.parts = append(dst.parts, p)
		return len(dst.parts) <= maxChoices
	})
	return ok && !slices.ContainsFunc(dst.parts, func(p part) bool { return p.index >= maxChoices })
}

// bodyKey is the member that holds a choice's body.
func bodyKey(streamed bool) string {
	if streamed {
		return "delta"
	}
	return "message"
}

// isFailure reports whether the value of a member "error" is one. Some servers write an
// empty one beside every answer.
func isFailure(v []byte) bool {
	return len(v) > 2 && (v[0] == '"' || v[0] == '{' && !wire.Blank(v[1:len(v)-1]))
}

func (p *part) locateBody(data []byte) {
	if p.body.Empty() {
		return
	}
	wire.Members(data, p.body.Start, func(k []byte, v wire.Span) bool {
		switch string(k) {
		case "content":
			p.content = v
		case "tool_calls":
			p.native = v
		case "reasoning_content", "reasoning":
			p.thought = p.thought || !v.IsNull(data) && v.End-v.Start > len(`""`)
		}
		return true
	})
}

// number reads a small index, which is otherwise the place in the list.
func number(b []byte, otherwise int) int {
	if n, err := strconv.Atoi(string(b)); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// textOf is the content of a part, decoded, valid until the next call. ok is false
// if it is neither a string nor null.
func (r *Response) textOf(p *part, data []byte) (text []byte, ok bool) {
	if p.content.IsNull(data) || data[p.content.Start] != '"' {
		return nil, p.content.IsNull(data)
	}
	raw := p.content.Of(data)
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], true
	}
	var err error
	r.text, err = jsontext.AppendUnquote(slices.Grow(r.text[:0], len(raw)), raw)
	return r.text, err == nil
}

// reason is the finish reason, or "".
func (p *part) reason(data []byte) string {
	if p.finish.IsNull(data) || data[p.finish.Start] != '"' {
		return ""
	}
	raw := p.finish.Of(data)
	return string(raw[1 : len(raw)-1])
}

// chunk reads one chunk of a stream and returns what can go out.
func (r *Response) chunk(f Frame) []byte {
	if !locate(&r.scratch, f.Data, "delta") {
		if !r.scratch.failed {
			return r.other(f)
		}
		r.fail(f.Data)
		return append(r.flush(), r.redact(f.Raw)...)
	}
	if r.watch != nil {
		r.watch.chunk(&r.scratch)
	}
	r.keepTemplate(&r.scratch)
	if passage, ok := r.pass(f.Data); ok {
		return r.passed(f, passage)
	}
	for i := range r.scratch.parts {
		r.readPart(&r.scratch.parts[i], f.Data)
	}
	switch {
	case r.target.Mode == Report:
		r.forget()
		return f.Raw
	case r.changing():
		return r.rewrite(f)
	case !r.holding():
		return append(r.unqueue(), f.Raw...)
	}
	r.enqueue(f)
	return r.bound()
}

// other lets a block through that is no chunk, such as a comment, in its place among
// those that wait.
func (r *Response) other(f Frame) []byte {
	if len(r.queue) == 0 {
		return f.Raw
	}
	r.enqueue(f)
	return r.bound()
}

// bound writes the frames that wait anew if they have become too many.
func (r *Response) bound() []byte {
	if len(r.held) <= maxQueue {
		return r.out
	}
	for _, c := range r.choices {
		c.changed = true
	}
	r.writeQueue()
	return r.out
}

// pass takes the short way for a chunk of one choice with nothing to parse in it.
func (r *Response) pass(data []byte) (passage chain.Passage, ok bool) {
	if len(r.scratch.parts) != 1 {
		return chain.Unsure, false
	}
	p := &r.scratch.parts[0]
	c := r.choice(p.index)
	if len(r.choices) > 1 || c.done || c.changed && c.chain.Holding() || !p.native.Empty() || p.reason(data) != "" {
		return chain.Unsure, false
	}
	text, ok := r.textOf(p, data)
	if !ok {
		return chain.Unsure, false
	}
	if p.thought {
		c.chain.Split()
	}
	passage = c.chain.Plain(text)
	if passage == chain.Unsure {
		return passage, false
	}
	if r.watch != nil && c.index == 0 {
		r.watch.add(text)
	}
	c.in, c.events = c.in[:0], c.events[:0]
	if passage == chain.White {
		c.in = append(c.in, text...)
	}
	return passage, true
}

// passed gives a chunk out that took the short way, behind those that waited; or
// lets it wait.
func (r *Response) passed(f Frame, passage chain.Passage) []byte {
	if r.target.Mode == Report || passage == chain.Clean && len(r.queue) == 0 {
		return f.Raw
	}
	r.release()
	if passage == chain.White {
		r.enqueue(f)
		return r.out
	}
	return append(r.out, f.Raw...)
}

// readPart gives the text of a part to its chain.
func (r *Response) readPart(p *part, data []byte) {
	c := r.choice(p.index)
	c.number(data, p.native)
	if c.done {
		return
	}
	if p.thought {
		c.chain.Split()
	}
	text, ok := r.textOf(p, data)
	if len(text) == 0 && !p.native.IsNull(data) && !c.changed && c.chain.Settle() {
		c.in, c.events = c.in[:0], c.events[:0] // the upstream's own calls do not wait behind white space
	}
	if ok {
		c.in = append(c.in, text...)
		c.events = append(c.events, r.judged(c, c.chain.Feed(r.ctx, text))...)
	}
	if reason := p.reason(data); reason != "" {
		c.finish(r, reason)
	}
}

// finish ends the choice's chain.
func (c *choice) finish(r *Response, reason string) {
	if c.done {
		return
	}
	c.done = true
	why := abi.Stop
	if reason == string(openai.FinishReasonLength) {
		why = abi.Length
	}
	c.events = append(c.events, r.judged(c, c.chain.Finish(r.ctx, why))...)
	c.renamed = reason == string(openai.FinishReasonStop) && c.chain.Report().Calls > 0
}

// number gives the calls that the upstream itself makes their indexes on the wire:
// their own, as long as no other call has it.
func (c *choice) number(data []byte, calls wire.Span) {
	if calls.IsNull(data) {
		return
	}
	wire.Elements(data, calls.Start, func(n int, v wire.Span) bool {
		index := n
		if at := wire.Find(data, v, "index"); !at.Empty() {
			index = number(at.Of(data), n)
		}
		to, known := c.native[index]
		if !known {
			if to = index; c.taken[to] {
				to = c.next
			}
			if c.native == nil {
				c.native = map[int]int{}
			}
			c.native[index] = to
			c.take(to)
		}
		c.renumber = c.renumber || to != index
		return len(c.native) < maxCalls
	})
}

// take notes that a call has an index on the wire.
func (c *choice) take(wire int) {
	if c.taken == nil {
		c.taken = map[int]bool{}
	}
	c.taken[wire] = true
	c.next = max(c.next, wire+1)
}

// maxCalls is how many calls of the upstream's are kept track of in a choice.
const maxCalls = 1024

// renumbered writes the upstream's calls with their indexes on the wire.
func (c *choice) renumbered(calls []byte) []byte {
	var edits []wire.Edit
	wire.Elements(calls, 0, func(n int, v wire.Span) bool {
		at := wire.Find(calls, v, "index")
		if to, known := c.native[number(at.Of(calls), n)]; known && !at.Empty() {
			edits = append(edits, wire.Edit{At: at, With: wire.AppendInt(nil, to)})
		}
		return true
	})
	return wire.Splice(calls, edits)
}

// changing reports whether what goes out must differ from what came in.
func (r *Response) changing() bool {
	changing := false
	for _, c := range r.choices {
		c.changed = c.changed || c.differs() || c.renumber
		changing = changing || c.changed && (len(c.events) > 0 || len(c.in) > 0 || c.renamed || c.renumber)
	}
	return changing
}

// differs reports whether the events are anything but the text that came in.
func (c *choice) differs() bool {
	if c.chain.Parsing() {
		return true
	}
	in := c.in
	for _, e := range c.events {
		if e.Kind != abi.Content || !bytes.HasPrefix(in, []byte(e.Text)) {
			return true
		}
		in = in[len(e.Text):]
	}
	return len(in) > 0 && (c.done || !c.chain.Holding())
}

func (r *Response) holding() bool {
	for _, c := range r.choices {
		if !c.done && !c.changed && c.chain.Holding() {
			return true
		}
	}
	return false
}

// forget drops what was noted about text that goes out as it is.
func (r *Response) forget() {
	for _, c := range r.choices {
		c.in, c.events = c.in[:0], c.events[:0]
	}
}

// queued is a frame that waits, by its places in Response.held.
type queued struct{ from, to, dataFrom, dataTo int }

func (q queued) raw(held []byte) []byte  { return held[q.from:q.to] }
func (q queued) data(held []byte) []byte { return held[q.dataFrom:q.dataTo] }

// enqueue lets a frame wait.
func (r *Response) enqueue(f Frame) {
	q := queued{from: len(r.held)}
	r.held = append(r.held, f.Raw...)
	q.to = len(r.held)
	if at := bytes.Index(f.Raw, f.Data); at >= 0 { // also where there is no data
		q.dataFrom = q.from + at
	} else { // it came on several lines
		q.dataFrom = q.to
		r.held = append(r.held, f.Data...)
	}
	q.dataTo = q.dataFrom + len(f.Data)
	r.queue = append(r.queue, q)
}

// release lets the frames that waited go as they came.
func (r *Response) release() {
	for _, q := range r.queue {
		r.out = append(r.out, q.raw(r.held)...)
	}
	r.queue, r.held = r.queue[:0], r.held[:0]
}

// unqueue returns the frames that waited, as they came, and forgets their text.
func (r *Response) unqueue() []byte {
	r.release()
	r.forget()
	return r.out
}

// flush gives out all that waits: as it came, or anew if it differs.
func (r *Response) flush() []byte {
	if !r.changing() {
		return r.unqueue()
	}
	r.writeQueue()
	return r.out
}

// rewrite writes the frames that waited and this one anew.
func (r *Response) rewrite(f Frame) []byte {
	broken := r.prune()
	r.writeQueue()
	if !broken {
		r.writeFrame(f.Raw, &r.scratch)
	}
	return r.out
}

// prune takes calls that were cut or taken back out of the events that nobody has
// seen yet. broken reports that a call was taken back which had been shown before.
func (c *choice) prune() (broken bool) {
	kept := c.events[:0]
	for _, e := range c.events {
		if e.Kind != chain.Void && e.Kind != abi.Cut {
			kept = append(kept, e)
			continue
		}
		start := len(kept) - 1
		for start >= 0 && (kept[start].Kind != abi.CallStart || kept[start].Index != e.Index) {
			start--
		}
		if start >= 0 {
			kept = kept[:start]
		} else {
			broken = broken || e.Kind == chain.Void
		}
	}
	c.events = kept
	return broken
}

// prune prunes all choices. A call that was shown cannot be taken back: the stream
// ends with an error then, so that no client runs half a call.
func (r *Response) prune() (broken bool) {
	for _, c := range r.choices {
		if c.prune() {
			broken = true
			r.ended = &Error{Kind: BadCall,
				Message: "The model's tool call turned out to be broken after its beginning had been sent."}
		}
	}
	return broken
}
