package messages

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/wire"
)

// passage is how far the events of an upstream of the Messages API go on to the client as they came. Each is checked
// against those before it, and the blocks are kept where they have come to. From the first event on that is not as the API
// has it, or whose frames were changed, taken away or put in by the gateway, the blocks write what the chunks say, up to
// where a block begins that nothing was changed of.
type passage struct {
	w       *Writer
	stopped bool
	reason  bool // the message began with its stop_reason
	ended   bool // message_delta has come, or that is not needed
	last    int  // the number of the last event
	index   int  // of the upstream's last block
	partial bool // an earlier frame of the next event was read
	pending []*wire.Frame
	list    []wire.Origin
	frame   *wire.Frame // at hand
	text    begunText
	final   [][]byte // the events from message_delta on, each on one line
	pieces  pieces
}

// maxPending is how many frames of one event wait for the last of them.
const maxPending = 64

// begunText is a text that has begun, and of which nothing has come yet: it may be that all of it is a call. Clients send
// blocks back, and an empty text is refused then.
type begunText struct {
	events []begunEvent // from its beginning on
	index  int          // of the block before
	spoke  bool
}

// begunEvent is one of them, with the frame that it came with.
type begunEvent struct {
	frame *wire.Frame
	out   []byte
}

// pieces are what the deltas of one text have in common.
type pieces struct {
	before, after       []byte // as they come, on one line; empty: nothing is known
	outBefore, outAfter []byte // as they go out
	kind                kind
}

// pass takes a frame whose events go on as they came, and reports false if the frame is still to be read.
func (p *passage) pass(f *wire.Frame) (taken bool, err error) {
	p.list = f.AppendOrigins(p.list[:0])
	list := p.list
	if len(list) == 0 {
		if f.Data == nil { // a comment of the gateway's
			return false, nil
		}
		return false, p.stop()
	}
	if !p.stopped && p.follows(f) {
		if list[0].Data == nil { // what it is made of comes with a later one
			if p.last = list[0].Number; len(p.pending) < maxPending {
				p.pending = append(p.pending, f.Copy())
				return true, nil
			}
		} else if p.events(f) {
			return true, nil
		}
	}
	if err := p.stop(); err != nil {
		return false, err
	}
	return p.listen(f)
}

// follows reports whether a frame was not changed, and comes right behind the one before.
func (p *passage) follows(f *wire.Frame) bool {
	for i, o := range p.list {
		if o.Number != p.last+1+i {
			return false
		}
	}
	return !f.Changed()
}

// events sends the events of a frame on, either all or none.
func (p *passage) events(f *wire.Frame) bool {
	if len(p.list) == 1 && len(p.pending) == 0 && p.again(p.list[0].Data) { // as nearly always
		p.last = p.list[0].Number
		return true
	}
	undo := p.save()
	p.frame = f
	for _, o := range p.list {
		if !p.event(o.Data, f) {
			undo()
			return false
		}
		p.last = o.Number
	}
	if len(p.pending) > 0 || p.ended {
		p.ending(f)
	}
	return true
}

// save returns what takes all back that is written and noted from now on.
func (p *passage) save() (undo func()) {
	w := p.w
	before, content, print, calls, started := *p, w.blocks.content, w.print, len(w.blocks.calls), w.started
	var open call
	if content.call != nil {
		open = *content.call
	}
	return func() {
		if content.call != nil {
			*content.call = open
		}
		dst := w.print.dst[:len(print.dst)]
		*p, w.blocks.content, w.print, w.blocks.calls, w.started = before, content, print, w.blocks.calls[:calls], started
		w.print.dst = dst
	}
}

// ending reads what the frames at hand say of the answer's end and of its usage.
func (p *passage) ending(f *wire.Frame) {
	w := p.w
	for _, f := range append(p.pending, f) {
		if u := f.Usage(); u != nil {
			w.usage = append(w.usage[:0], u...)
		}
		for i := range f.Choices() {
			if c := &f.Choices()[i]; c.Reason != "" {
				w.readEnd(f, c)
			}
		}
		w.readStop(find(f.Data, own))
	}
	p.free()
}

func (p *passage) free() {
	for _, f := range p.pending {
		f.Free()
	}
	clear(p.pending)
	p.pending = p.pending[:0]
}

// stop lets the blocks go on from where the upstream's events have come to.
func (p *passage) stop() (err error) {
	if p.stopped {
		return nil
	}
	p.stopped, p.pieces = true, pieces{}
	for _, block := range p.final {
		if e := readEvent(block); e.kind != messageDelta && e.kind != messageStop {
			p.w.print.dst = e.append(p.w.print.dst, nil)
		}
	}
	p.final, p.ended = nil, false
	if err := p.takeBack(); err != nil {
		return err
	}
	p.partial = len(p.pending) > 0
	for _, f := range p.pending {
		if err == nil {
			err = p.w.chunk(f)
		}
	}
	p.free()
	return err
}

// takeBack has the blocks begin a text of which nothing has come.
func (p *passage) takeBack() (err error) {
	t := p.text
	if p.text = (begunText{}); len(t.events) == 0 {
		return nil
	}
	c := &p.w.blocks.content
	c.open, c.spoke, p.index = noBlock, t.spoke, t.index
	for _, e := range t.events {
		switch {
		case err != nil:
		case e.frame.Data == nil:
			p.w.print.dst = append(p.w.print.dst, e.out...)
		default:
			err = p.w.chunk(e.frame)
		}
		e.frame.Free()
	}
	return err
}

// say writes the beginning of a text.
func (p *passage) say() {
	for _, e := range p.text.events {
		p.w.print.dst = append(p.w.print.dst, e.out...)
		e.frame.Free()
	}
	p.text = begunText{}
}

// listen notes what the upstream says when the blocks are written, and reports whether nothing is to be read of it.
func (p *passage) listen(f *wire.Frame) (taken bool, err error) {
	if p.resume(f) {
		return true, nil
	}
	p.last = p.list[len(p.list)-1].Number
	p.partial = p.list[len(p.list)-1].Data == nil
	for _, o := range p.list {
		if !bytes.Contains(o.Data, []byte(blockStart)) && f.Data != nil { // most
			continue
		}
		switch e := readEvent(o.Data); {
		case e.kind == blockStart:
			p.index = max(p.index, e.index)
		case f.Data == nil && (e.kind == "ping" || e.comment) && p.w.started:
			p.w.print.dst = append(p.w.print.dst, Form.Ping...)
		}
	}
	return f.Data == nil, nil
}

// resume reports whether the upstream's events go on again with a frame: it has the beginning of a block, it was not
// changed, and there is nothing left to say of the blocks before.
func (p *passage) resume(f *wire.Frame) bool {
	b := &p.w.blocks
	c := &b.content
	if !p.w.started || p.partial || len(p.list) != 1 || f.Data == nil || f.Changed() || len(b.wait) > 0 || len(c.space) > 0 || c.open == callBlock && !c.call.progress.complete() {
		return false
	}
	if !bytes.Contains(p.list[0].Data, []byte(blockStart)) || readEvent(p.list[0].Data).kind != blockStart {
		return false
	}
	if c.close() != nil {
		return false
	}
	c.next = next{}
	p.stopped = !p.events(f)
	return !p.stopped
}

const (
	blockStart   = "content_block_start"
	messageDelta = "message_delta"
	messageStop  = "message_stop"
)

// event sends an event on, if it is what the API has at this place; it reports false if not.
func (p *passage) event(block []byte, f *wire.Frame) bool {
	if p.again(block) {
		return true
	}
	w := p.w
	e := readEvent(block)
	switch {
	case e.comment:
		p.remark(&e)
	case e.kind == "":
		return false
	case e.kind == "message_start":
		return p.begin(&e, f)
	case !w.started && isBlockEvent(e.kind), e.kind == "error":
		return false
	case e.kind == blockStart:
		return p.start(&e, f)
	case e.kind == "content_block_delta":
		return p.delta(&e)
	case e.kind == "content_block_stop":
		return p.end(&e)
	case e.kind == messageDelta:
		return p.finish(&e)
	case e.kind == messageStop:
		if !p.ended && (!p.reason || w.blocks.content.open != noBlock) {
			return false
		}
		p.ended = true
		p.put(&e, nil)
	case isPlain(e.kind):
		p.put(&e, nil)
	default: // it is in no chunk, which is said
	}
	return true
}

// remark takes a comment. What could be taken for one of the gateway's shows that the upstream lives, as a ping.
func (p *passage) remark(e *upstreamEvent) {
	if bytes.Contains(e.block, []byte("callgate")) {
		*e = readEvent([]byte("event: ping\x1edata: {\"type\": \"ping\"}\x1e\x1e"))
	}
	p.put(e, nil)
}

// isBlockEvent reports whether an event is one of those that a message consists of.
func isBlockEvent(kind string) bool {
	switch kind {
	case blockStart, "content_block_delta", "content_block_stop", messageDelta, messageStop:
		return true
	}
	return false
}

// put writes an event, with edits of its data.
func (p *passage) put(e *upstreamEvent, edits []wire.Edit) {
	if p.ended {
		p.final = append(p.final, bytes.Clone(e.block))
		return
	}
	if n := len(p.text.events); n > 0 && n < maxPending {
		p.text.events = append(p.text.events, begunEvent{p.frame.Copy(), e.append(nil, edits)})
		return
	}
	p.say()
	p.w.print.dst = e.append(p.w.print.dst, edits)
}

// begin takes message_start.
func (p *passage) begin(e *upstreamEvent, f *wire.Frame) bool {
	w := p.w
	if w.started {
		return false
	}
	m := e.find("message")
	content := e.within(m, "content").Of(e.data)
	if !isArray(content) || !p.begun(content, f) {
		return false
	}
	w.started, p.reason = true, isString(e.within(m, "stop_reason").Of(e.data))
	id, model, usage := e.within(m, "id"), e.within(m, "model"), e.within(m, "usage")
	isMessage := text(e.within(m, "type").Of(e.data)) == "message" && text(e.within(m, "role").Of(e.data)) == "assistant"
	if id.Empty() || !isString(model.Of(e.data)) || !isObject(usage.Of(e.data)) || !isMessage {
		if p.index >= 0 {
			return false
		}
		w.started = false
		w.start(f)
		return true
	}
	h := readHead(m.Of(e.data))
	var edits []wire.Edit
	if string(h.id) != string(id.Of(e.data)) {
		edits = append(edits, wire.Edit{At: id, With: h.id})
	}
	if len(inner(h.model)) == 0 {
		edits = append(edits, wire.Edit{At: model, With: wire.AppendQuoted(nil, cmp.Or(w.summary.Model, w.front.model))})
	}
	w.blocks.content.id = string(inner(h.id))
	p.put(e, edits)
	return true
}

// begun takes the blocks that a message begins with, which have no events of their own.
func (p *passage) begun(content value, f *wire.Frame) bool {
	b := &p.w.blocks
	calls, good := 0, true
	_ = elements(content, func(i int, v value) error {
		p.index = i
		if text(find(v, "type")) == "tool_use" {
			id := find(v, "id")
			good = good && i < maxCalls && len(inner(id)) > 0 && len(inner(find(v, "name"))) > 0 && string(appendToolID(nil, id)) == string(id)
			b.calls = append(b.calls, &call{index: calls, begun: true, ended: true, fed: true, progress: progress{done: true}})
			calls++
		}
		b.content.spoke = true
		p.w.print.index++
		return nil
	})
	return good
}

// start takes the beginning of a block.
func (p *passage) start(e *upstreamEvent, f *wire.Frame) bool {
	b := &p.w.blocks
	c := &b.content
	at := e.find("content_block")
	v := at.Of(e.data)
	if c.open != noBlock || len(b.wait) > 0 || len(c.space) > 0 || p.ended || e.index <= p.index || !isObject(v) {
		return false
	}
	var edits []wire.Edit
	k := opaqueBlock
	switch text(e.within(at, "type").Of(e.data)) {
	case "":
		return false
	case "text":
		k = textBlock
		if !isString(e.within(at, "text").Of(e.data)) {
			return false
		}
	case "thinking":
		if thought := e.within(at, "thinking").Of(e.data); !isString(thought) || c.sealed && len(inner(thought)) > 0 {
			return false
		}
		k, c.signedBefore = thinkingBlock, len(inner(e.within(at, "signature").Of(e.data))) > 0
	case "tool_use":
		k = callBlock
		id := e.within(at, "id")
		of := p.call(e, at, f)
		if of == nil {
			return false
		}
		if shown := appendToolID(nil, id.Of(e.data)); string(shown) != string(id.Of(e.data)) {
			edits = append(edits, wire.Edit{At: id, With: shown})
		}
		b.calls, c.call = append(b.calls, of), of
	}
	if k == textBlock && len(inner(e.within(at, "text").Of(e.data))) == 0 {
		p.text = begunText{index: p.index, spoke: c.spoke, events: []begunEvent{{p.frame.Copy(), e.append(nil, p.placed(e, edits))}}}
	} else {
		p.put(e, p.placed(e, edits))
	}
	c.open, c.next, c.ends = k, next{}, nil
	c.spoke = c.spoke || k != thinkingBlock
	p.index, p.pieces = e.index, pieces{}
	return true
}

// call is the call that a block begins, nil if it is not as the API has it.
func (p *passage) call(e *upstreamEvent, at wire.Span, f *wire.Frame) *call {
	id, name, input := e.within(at, "id").Of(e.data), e.within(at, "name").Of(e.data), e.within(at, "input").Of(e.data)
	if len(p.w.blocks.calls) >= maxCalls || len(inner(id)) == 0 || len(inner(name)) == 0 || !isObject(input) {
		return nil
	}
	of := &call{index: -1, id: bytes.Clone(id), name: bytes.Clone(name), begun: true}
	for _, f := range append(p.pending, f) {
		for i := range f.Choices() {
			calls := f.Choices()[i].Calls.Of(f.Data)
			_ = elements(calls, func(i int, v value) error {
				if entry := readEntry(i, v); len(inner(entry.name)) > 0 && bytes.Equal(entry.id, id) {
					of.index = entry.index
				}
				return nil
			})
		}
	}
	if of.index < 0 {
		return nil
	}
	if !wire.Blank(input[1 : len(input)-1]) {
		of.fed, of.progress.done = true, true
	}
	return of
}

// placed are edits of an event with its place among the blocks that the client has got.
func (p *passage) placed(e *upstreamEvent, edits []wire.Edit) []wire.Edit {
	if e.index != p.w.print.index {
		edits = append(edits, wire.Edit{At: e.place, With: wire.AppendInt(nil, p.w.print.index)})
	}
	return edits
}

// delta takes a piece of the open block.
func (p *passage) delta(e *upstreamEvent) bool {
	c := &p.w.blocks.content
	at := e.find("delta")
	if c.open == noBlock || e.index != p.index || p.ended || !isObject(at.Of(e.data)) {
		return false
	}
	var piece wire.Span
	k := noBlock
	switch kind := text(e.within(at, "type").Of(e.data)); {
	case kind == "":
		return false
	case kind == "text_delta" && c.open == textBlock:
		piece, k = e.within(at, "text"), textBlock
	case kind == "thinking_delta" && c.open == thinkingBlock:
		piece, k = e.within(at, "thinking"), thinkingBlock
	case kind == "input_json_delta" && c.open == callBlock:
		piece, k = e.within(at, "partial_json"), callBlock
	case kind == "signature_delta" && c.open == thinkingBlock:
		c.signedBefore = true
	}
	edits := p.placed(e, nil)
	if k != noBlock {
		if !isString(piece.Of(e.data)) || !p.take(k, inner(piece.Of(e.data))) {
			return false
		}
		p.learn(e, piece, k, edits)
	}
	if k != textBlock || piece.End-piece.Start > len(`""`) {
		p.say()
	}
	p.put(e, edits)
	return true
}

// take notes a piece of a text.
func (p *passage) take(k kind, in []byte) bool {
	c := &p.w.blocks.content
	switch {
	case k == thinkingBlock && c.sealed && len(in) > 0:
		return false
	case k == callBlock:
		c.call.fed = c.call.fed || !blank(in)
		c.call.progress.feed(in)
	}
	p.w.print.said += len(in)
	return true
}

// learn notes what deltas have in common that differ from this one in their text alone.
func (p *passage) learn(e *upstreamEvent, piece wire.Span, k kind, edits []wire.Edit) {
	p.pieces = pieces{}
	if !e.named || e.at < 0 {
		return
	}
	from, to := e.at+piece.Start+1, e.at+piece.End-1 // in the block
	out, moved := e.append(nil, edits), 0
	for _, edit := range edits {
		if edit.At.Start < piece.Start {
			moved += len(edit.With) - (edit.At.End - edit.At.Start)
		}
	}
	p.pieces = pieces{kind: k, before: bytes.Clone(e.block[:from]), after: bytes.Clone(e.block[to:]), outBefore: out[: from+moved : from+moved], outAfter: out[to+moved:]}
}

// again takes an event that differs from the one before in its text alone.
func (p *passage) again(block []byte) bool {
	s := &p.pieces
	if len(s.before) == 0 || len(block) < len(s.before)+len(s.after) || !bytes.HasPrefix(block, s.before) || !bytes.HasSuffix(block, s.after) {
		return false
	}
	in := block[len(s.before) : len(block)-len(s.after)]
	if !wire.InString(in) || !p.take(s.kind, in) {
		return false
	}
	dst := append(append(p.w.print.dst, s.outBefore...), in...)
	p.w.print.dst = append(dst, s.outAfter...)
	return true
}

// end takes the end of the open block.
func (p *passage) end(e *upstreamEvent) bool {
	c := &p.w.blocks.content
	if c.open == noBlock || e.index != p.index || p.ended {
		return false
	}
	p.say()
	p.put(e, p.placed(e, nil))
	if c.call != nil {
		c.call.ended = true
	}
	c.open, c.call, c.signedBefore, p.pieces = noBlock, nil, false, pieces{}
	p.w.print.index++
	return true
}

// finish takes message_delta. Some servers send several.
func (p *passage) finish(e *upstreamEvent) bool {
	b := &p.w.blocks
	if b.content.open != noBlock || len(b.wait) > 0 || !isObject(e.find("delta").Of(e.data)) || !isObject(e.find("usage").Of(e.data)) {
		return false
	}
	p.ended = true
	p.put(e, nil)
	return true
}

// isWhole reports whether the upstream's events are what there is to say of the answer's end.
func (p *passage) isWhole() bool {
	return !p.stopped && p.ended && p.w.end.isOwn(p.w.blocks.outcome()) && (!p.w.summary.Execution || slices.ContainsFunc(p.final, isDelta))
}

// writeEnd writes the events of the answer's end.
func (p *passage) writeEnd() {
	w := p.w
	rest := p.final
	for i, block := range p.final {
		e := readEvent(block)
		var edits []wire.Edit
		if e.kind == messageStop {
			break
		}
		if e.kind == messageDelta && w.summary.Execution && !slices.ContainsFunc(p.final[i+1:], isDelta) {
			at := len(e.data) - len("}")
			edits = append(edits, wire.Edit{At: wire.Span{Start: at, End: at}, With: append([]byte(`,"execution":`), observe.Execution(w.summary, true)...)})
		}
		w.print.dst, rest = e.append(w.print.dst, edits), p.final[i+1:]
	}
	if !w.summary.Replayed() {
		w.print.dst = append(w.print.dst, observe.Comment(w.summary)...)
	}
	if len(rest) == 0 { // it was left out
		w.print.dst = append(w.print.dst, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
	}
	for _, block := range rest {
		e := readEvent(block)
		w.print.dst = e.append(w.print.dst, nil)
	}
}

func isDelta(block []byte) bool {
	e := readEvent(block)
	return e.kind == messageDelta
}
