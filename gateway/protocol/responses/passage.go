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
	state   passageState
	last    int             // the number of the last event
	going   bool            // response.in_progress was sent
	final   []byte          // the last event, or a whole answer
	ids     map[string]bool // of items
	created int64           // what the client was told; 0: nothing
}

type passageState uint8

const (
	undecided passageState = iota
	passing
	ended
)

// pass takes a frame whose events go on as they came, and reports false if the frame is still to be read.
func (w *Writer) pass(f *wire.Frame) bool {
	p := &w.passage
	if p.state == ended || w.quiet || !w.isOwn() {
		return false
	}
	list := f.Origins()
	if len(list) == 0 && (f.Data == nil || p.state == passing && isUsage(f)) { // a comment, or usage
		return false
	}
	if len(list) == 0 || p.state == undecided && w.phase != fresh || !w.passEvents(f, list) {
		w.stopPassing()
		return false
	}
	if f.Data != nil {
		w.readSide(f)
	}
	return true
}

// isUsage reports whether a chunk has no more than usage.
func isUsage(f *wire.Frame) bool {
	return !f.Failed() && len(f.Choices()) == 0 && object(f.Data).get("callgate") == nil
}

// passEvents sends the events of a frame on; it reports false at the first that is not the next one, or of which the
// chunk was changed.
func (w *Writer) passEvents(f *wire.Frame, list []wire.Origin) bool {
	p := &w.passage
	p.state = passing
	for i, o := range list {
		own := i == len(list)-1 && f.Data != nil // the chunk is made of it
		switch {
		case o.Data == nil && o.Number == p.last && !f.Changed():
			continue
		case o.Data == nil, o.Number != p.last+1, own && f.Changed(), !w.passEvent(o.Data):
			return false
		}
		p.last = o.Number
	}
	return true
}

// readSide reads what the end of the response needs of a chunk whose event goes on by itself.
func (w *Writer) readSide(f *wire.Frame) {
	for i := range f.Choices() {
		if c := &f.Choices()[i]; c.Reason != "" {
			w.finish = c.Reason
		}
	}
	if raw := f.Usage(); raw != nil {
		w.counts = readCounts(raw)
	}
}

// stopPassing lets the machine go on from where the upstream's events have come to.
func (w *Writer) stopPassing() {
	p := &w.passage
	before := p.state
	p.state, p.final = ended, nil
	if before != passing {
		return
	}
	if w.phase == begun && !p.going {
		w.raw("response.in_progress", w.appendResponse([]byte(`,"response":`), ending{status: inProgress}, 0))
	}
	switch it := w.open; {
	case it == nil || !it.told:
	case it.kind == callItem:
		w.close(completed)
	default:
		w.closePart()
	}
}

// passEvent sends an event on, if it is what the API has at this place; it reports false if not.
func (w *Writer) passEvent(e object) bool {
	c := readCame(e)
	switch {
	case !utf8.Valid(e) || !isEventName(c.kind):
		return false
	case c.response != nil:
		return w.passLifecycle(e, &c)
	case !w.passage.going, c.placed && !w.passItem(&c), !c.placed && (c.isOfItem() || !isTheirs(c.kind)): // what has no place is such as "keepalive"
		return false
	}
	w.size += len(c.item) + len(c.piece) + len(c.logprobs) + len(c.note)
	w.passOn(e, &c)
	return true
}

// passOn writes an event, with the next number and without what the client has not asked for.
func (w *Writer) passOn(e object, c *came) {
	edits := w.numbering(e, c)
	if c.item != nil {
		if shown := w.shown(c.item); len(shown) != len(c.item) {
			edits = append(edits, wire.Edit{At: wire.Find(e, wire.Span{End: len(e)}, "item"), With: shown})
		}
	}
	w.passRaw(c.kind, wire.Splice(e, sorted(edits)))
}

func (w *Writer) passRaw(kind string, e []byte) {
	w.out = append(append(append(w.out, "event: "...), kind...), "\ndata: "...)
	w.out = append(append(w.out, e...), "\n\n"...)
	w.number++
}

// shown is an item as the client gets it: encrypted reasoning only if it has asked for that.
func (m *machine) shown(item object) []byte {
	if item.get("encrypted_content") == nil || m.req.Includes(encryptedReasoning) {
		return item
	}
	return wire.Splice(item, wire.Remove(item, "encrypted_content"))
}

// numbering gives an event the next number.
func (w *Writer) numbering(e object, c *came) []wire.Edit {
	own := wire.AppendInt(nil, w.number)
	switch {
	case c.sequence.Empty(): // an upstream that does not count
		begin := bytes.IndexByte(e, '{') + 1
		return []wire.Edit{{At: wire.Span{Start: begin, End: begin}, With: slices.Concat([]byte(`"sequence_number":`), own, []byte{','})}}
	case bytes.Equal(c.sequence.Of(e), own):
		return nil
	}
	return []wire.Edit{{At: c.sequence, With: own}}
}

func sorted(edits []wire.Edit) []wire.Edit {
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.At.Start - b.At.Start })
	return edits
}
