package messages

import (
	"bytes"

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
		p.w.print.dst = append(p.w.print.dst, e.out...) // the frames are not freed: what is noted may be taken back
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

// The events that a message consists of.
const (
	messageStart = "message_start"
	blockStart   = "content_block_start"
	blockDelta   = "content_block_delta"
	blockStop    = "content_block_stop"
	messageDelta = "message_delta"
	messageStop  = "message_stop"
)

// event sends an event on, if it is what the API has at this place; it reports false if not.
func (p *passage) event(block []byte, f *wire.Frame) bool {
	if p.again(block) {
		return true
	}
	e := readEvent(block)
	switch {
	case e.comment:
		p.remark(&e)
	case e.kind == "", e.kind == "error":
		return false
	case isOfMessage(e.kind):
		return p.ofMessage(&e, f)
	case isPlain(e.kind): // of another kind it is in no chunk, which is said
		p.put(&e, nil)
	}
	return true
}

// isOfMessage reports whether an event is one of those that a message consists of.
func isOfMessage(kind string) bool {
	switch kind {
	case messageStart, blockStart, blockDelta, blockStop, messageDelta, messageStop:
		return true
	}
	return false
}

// ofMessage takes such an event.
func (p *passage) ofMessage(e *upstreamEvent, f *wire.Frame) bool {
	if (e.kind == messageStart) == p.w.started {
		return false
	}
	switch e.kind {
	case messageStart:
		return p.begin(e, f)
	case blockStart:
		return p.start(e, f)
	case blockDelta:
		return p.delta(e)
	case blockStop:
		return p.end(e)
	case messageDelta:
		return p.finish(e)
	}
	if !p.ended && (!p.reason || p.w.blocks.content.open != noBlock) {
		return false
	}
	p.ended = true
	p.put(e, nil)
	return true
}

// remark takes a comment. What could be taken for one of the gateway's shows that the upstream lives, as a ping.
func (p *passage) remark(e *upstreamEvent) {
	if bytes.Contains(e.block, []byte("callgate")) {
		*e = readEvent([]byte("event: ping\x1edata: {\"type\": \"ping\"}\x1e\x1e"))
	}
	p.put(e, nil)
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
