package responses

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/wire"
)

// passage is how far the events of an upstream of the API go on to the client as they came. Each is
// checked against those before it, and the machine is kept where they have come to, with the upstream's
// own items. From the first event on that is not as the API has it, or whose frame was changed, taken
// away or put in by the gateway, the machine writes what the chunks say.
type passage struct {
	answer  *answer
	machine *machine
	state   passageState
	last    int             // the number of the last event
	going   bool            // response.in_progress was sent
	final   []byte          // the last event, or a whole answer
	ids     map[string]bool // of items
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
		p.listen(list)
		return false
	}
	if len(list) == 0 && (f.Data == nil || p.state == passing && isUsage(f)) { // a comment, or usage
		return false
	}
	if len(list) == 0 || p.state == undecided && p.answer.phase != fresh || !p.passEvents(f, list) {
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
		case o.Data == nil, o.Number != p.last+1, own && f.Changed(), !p.passEvent(o.Data):
			return false
		}
		p.last = o.Number
	}
	return true
}

// listen keeps what the upstream says of its response in the end, when the machine writes.
func (p *passage) listen(list []wire.Origin) {
	for _, o := range list {
		if c := readUpstreamEvent(o.Data); c.isEnd() && utf8.Valid(o.Data) {
			p.final = bytes.Clone(o.Data)
		}
	}
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
	}
	switch it := p.machine.open; {
	case it == nil || !it.told:
	case it.kind == callItem:
		p.machine.close(completed)
	default:
		p.machine.closePart()
	}
}

// passEvent sends an event on, if it is what the API has at this place; it reports false if not.
func (p *passage) passEvent(e object) bool {
	c := readUpstreamEvent(e)
	switch {
	case !utf8.Valid(e) || !isEventName(c.kind):
		return false
	case c.response != nil:
		return p.passLifecycle(e, &c)
	case !p.going, c.placed && !p.passItem(&c), !c.placed && (c.isOfItem() || !isTheirs(c.kind)): // what has no place is such as "keepalive"
		return false
	}
	p.machine.output.size += len(c.item) + len(c.piece) + len(c.logprobs) + len(c.note)
	p.passOn(e, &c)
	return true
}

// passOn writes an event, with the next number and without what the client has not asked for.
func (p *passage) passOn(e object, c *upstreamEvent) {
	edits := p.machine.numbering(e, c.sequence)
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
