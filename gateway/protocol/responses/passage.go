package responses

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
)

// passage is how far the events of an upstream of the API go on to the client as they came. Each is
// checked against those before it, and the machine is kept where they have come to, with the upstream's
// own items. From the first event on that is not as the API has it, or whose frame was changed, taken
// away or put in by the gateway, the machine writes what the chunks say, up to where an item begins that
// nothing was changed of.
type passage struct {
	answer  *answer
	machine *machine
	state   passageState
	last    int             // the number of the last event
	going   bool            // response.in_progress was sent
	final   []byte          // the last event, or a whole answer
	ids     map[string]bool // of items
	items   map[int]*item   // that are open, by the upstream's output_index
	next    int             // the output_index of the next item
	left    map[int]bool    // the items that the machine has gone on with, or begun, by output_index
}

type passageState uint8

const (
	undecided passageState = iota
	passing
	ended
)

// pass takes a frame whose events go on as they came, and reports false if the frame is still to be read.
func (p *passage) pass(f *wire.Frame) bool {
	if p.machine.quiet || !isOwn(p.machine.summary) {
		return false
	}
	list := f.Origins()
	if p.state == ended {
		p.keep(list)
		if !p.resume(f, list) {
			p.listen(list)
			return false
		}
	}
	if len(list) == 0 && (f.Data == nil || p.state == passing && isUsage(f)) { // a comment, or usage
		return false
	}
	if len(list) == 0 || p.state == undecided && p.answer.phase != fresh || !p.passEvents(f, list) {
		p.keep(list)
		p.stop()
		p.listen(list)
		return false
	}
	if f.Data != nil {
		p.answer.readSide(f)
	}
	return true
}

// isUsage reports whether a chunk has no more than usage.
func isUsage(f *wire.Frame) bool {
	return !f.Failed() && len(f.Choices()) == 0 && object(f.Data).get("callgate") == nil
}

// passEvents sends the events of a frame on; it reports false at the first that is not the next one, or of which the
// chunk was changed.
func (p *passage) passEvents(f *wire.Frame, list []wire.Origin) bool {
	p.state = passing
	for i, o := range list {
		own := i == len(list)-1 && f.Data != nil // the chunk is made of it
		switch {
		case o.Data == nil && o.Number == p.last && !f.Changed():
			continue
		case o.Data == nil, o.Number != p.last+1, own && f.Changed():
			return false
		}
		call := -1
		if own {
			call = callKey(f)
		}
		if !p.passEvent(o.Data, own, call) {
			return false
		}
		p.last = o.Number
	}
	return true
}

// callKey is the index of the call that a chunk has a piece of, or -1.
func callKey(f *wire.Frame) int {
	key := -1
	for i := range f.Choices() {
		calls := f.Choices()[i].Calls.Of(f.Data)
		wire.Elements(calls, 0, func(_ int, at wire.Span) bool {
			key = number(object(at.Of(calls)).get("index"))
			return false
		})
	}
	return key
}

// keep notes the upstream's items of calls and messages, of which the machine writes some.
func (p *passage) keep(list []wire.Origin) {
	for _, o := range list {
		if c := readUpstreamEvent(o.Data); c.item != nil && utf8.Valid(c.item) {
			p.machine.output.size += p.machine.theirs.keep(c.item)
		}
	}
}

// listen notes what the upstream says when the machine writes: which items there are, and what it says of its
// response in the end.
func (p *passage) listen(list []wire.Origin) {
	for _, o := range list {
		p.last = o.Number
		switch c := readUpstreamEvent(o.Data); {
		case c.isEnd() && utf8.Valid(o.Data):
			p.final = bytes.Clone(o.Data)
		case c.kind == "response.output_item.added":
			p.leave(c.at)
		}
	}
}

// leave notes an item that the machine writes.
func (p *passage) leave(at int) {
	if p.left == nil {
		p.left = map[int]bool{}
	}
	if len(p.left) <= maxCalls {
		p.left[at] = true
	}
}

// resume reports whether the upstream's events go on again with a frame: it has the beginning of an item, it was not
// changed, and the machine has nothing left to say of the items before.
func (p *passage) resume(f *wire.Frame, list []wire.Origin) bool {
	m := p.machine
	if !p.going || f.Data == nil || f.Changed() || len(p.left) > maxCalls || len(m.waiting) > 0 || m.open != nil && !m.open.mayEnd() {
		return false
	}
	at := slices.IndexFunc(list, func(o wire.Origin) bool {
		return o.Data != nil && wire.Unquote(object(o.Data).get("type")) == "response.output_item.added"
	})
	if at < 0 {
		return false
	}
	c := readUpstreamEvent(list[at].Data)
	if p.left[c.at] || !c.placed || c.at < 0 {
		return false
	}
	if m.open != nil {
		m.close(completed)
	}
	m.pending()
	p.next, p.last = c.at, list[0].Number-1
	return true
}

// stop lets the machine go on from where the upstream's events have come to.
func (p *passage) stop() {
	before := p.state
	p.state, p.final = ended, nil
	if before != passing {
		return
	}
	if p.answer.phase == begun && !p.going {
		p.machine.raw("response.in_progress", p.answer.appendTo([]byte(`,"response":`), ending{status: inProgress}, 0))
		p.going = true
	}
	p.handOver()
}

// handOver gives the machine the items that are open. It has one open at a time: a call whose arguments are complete is
// over, and so are texts beside others; what else there is waits until it comes to it.
func (p *passage) handOver() {
	m := p.machine
	var rest []*item
	for _, at := range slices.Sorted(maps.Keys(p.items)) {
		it := p.items[at]
		p.leave(at)
		if it.kind == callItem && it.told || len(p.items) > 1 && (it.kind == messageItem || it.kind == reasoningItem) {
			m.open = it
			m.close(completed)
			continue
		}
		rest = append(rest, it)
	}
	clear(p.items)
	for i, it := range rest {
		if i > 0 {
			it.begun, it.ahead = true, len(it.text)
			m.waiting = append(m.waiting, it)
			continue
		}
		if m.open = it; it.told {
			m.closePart()
		}
	}
}

// passEvent sends an event on, if it is what the API has at this place; it reports false if not. own says that a chunk is
// made of it, and call is the index of the call in that.
func (p *passage) passEvent(e object, own bool, call int) bool {
	c := readUpstreamEvent(e)
	switch {
	case !utf8.Valid(e) || !isEventName(c.kind):
		return false
	case c.response != nil:
		return p.passLifecycle(e, &c)
	case c.placed && p.left[c.at] && !own: // the machine has said it
		return true
	case !p.going, !c.placed && (c.isOfItem() || !isTheirs(c.kind)): // what has no place is such as "keepalive"
		return false
	}
	var it *item
	if c.placed {
		var ok bool
		if it, ok = p.passItem(&c, call); !ok {
			return false
		}
	}
	p.machine.output.size += len(c.item) + len(c.piece) + len(c.logprobs) + len(c.note)
	p.passOn(e, &c, it)
	return true
}

// passOn writes an event, with the next number and without what the client has not asked for. it is the item that it is
// of, which has another place if the machine has written other items before it.
func (p *passage) passOn(e object, c *upstreamEvent, it *item) {
	edits := p.machine.numbering(e, c.sequence)
	if it != nil && it.index != c.at {
		edits = append(edits, wire.Edit{At: c.place, With: wire.AppendInt(nil, it.index)})
	}
	if c.item != nil {
		if shown := p.machine.output.shown(c.item); len(shown) != len(c.item) {
			edits = append(edits, wire.Edit{At: wire.Find(e, wire.Span{End: len(e)}, "item"), With: shown})
		}
	}
	p.machine.pass(c.kind, wire.Splice(e, sorted(edits)))
}

func sorted(edits []wire.Edit) []wire.Edit {
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.At.Start - b.At.Start })
	return edits
}
