package toolcall

import (
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// held is a frame with what there is to say of its calls.
type held struct {
	frame *wire.Frame // nil: it is the end of a stream
	// pieces are the entries of tool_calls in it. Where an answer is whole there may be
	// further ones.
	pieces []piece
	// late are pieces of which the frame has no entries: they belong in front of its finish
	// reason, or of the end of the stream.
	late []piece
	// renamed are the places of the choices whose finish reason has to be tool_calls, and
	// unfinished the indexes of those that need one behind their calls.
	renamed, unfinished []int
}

// piece is an entry of tool_calls, as it goes out.
type piece struct {
	call     *call     // nil: nobody knows what it is, and it stays as it is
	place    int       // of its choice in the frame, or -1
	at       wire.Span // the entry in the frame that it stands for, if there is one
	begins   bool      // it is the first of its call
	kept     bool      // nothing of it changes but its index
	dropped  bool      // it is there a second time, and is left out
	from, to int       // its arguments, among those of the call that go out
}

// begin makes a frame the one that is held.
func (h *held) begin(f *wire.Frame) {
	*h = held{frame: f, pieces: h.pieces[:0], late: h.late[:0], renamed: h.renamed[:0]}
}

// own is a copy that stays valid.
func (h *held) own() *held {
	return &held{frame: h.frame.Own(), pieces: slices.Clone(h.pieces), late: slices.Clone(h.late), renamed: slices.Clone(h.renamed)}
}

// repaired reports whether the frame goes out anew whatever is said of calls in it.
func (h *held) repaired() bool { return len(h.renamed) > 0 || len(h.unfinished) > 0 }

// attach puts arguments where they belong: to the last entry of their call in the frame, or
// in front of the end.
func (h *held) attach(p piece, whole bool) {
	for i := len(h.pieces) - 1; i >= 0; i-- {
		if own := &h.pieces[i]; own.call == p.call && own.place == p.place && !own.kept {
			own.to = p.to
			return
		}
	}
	if whole {
		h.pieces = append(h.pieces, p)
	} else {
		h.late = append(h.late, p)
	}
}

// replaced is told that a call, of which nothing is out yet, has other arguments: the last of
// its pieces has what the others do not.
func (h *held) replaced(c *call) {
	n := len(c.args.out)
	for _, pieces := range [...][]piece{h.pieces, h.late} {
		for i := range pieces {
			if p := &pieces[i]; p.call == c {
				p.from, p.to = min(p.from, n), min(p.to, n)
			}
		}
	}
}

// rewrite puts the calls of the frame in order.
func (h *held) rewrite() {
	f := h.frame
	h.late = slices.DeleteFunc(h.late, func(p piece) bool { return p.leftOut() })
	of := func(pieces []piece, place int) (entries []wire.Entry) {
		for i := range pieces {
			if p := &pieces[i]; p.place == place {
				entries = append(entries, p.entry(f.Whole))
			}
		}
		return entries
	}
	for i := range f.Choices() {
		if entries := of(h.pieces, i); len(entries) > 0 && !h.asTheyCame(i, entries) {
			f.PutCalls(i, entries)
		}
		if late := of(h.late, i); len(late) > 0 {
			f.Change(i).PutLate(late)
		}
	}
	for _, place := range h.renamed {
		f.Change(place).PutFinish(finishCalls)
	}
}

// asTheyCame reports whether entries are those of a choice, in a list, and nothing of them is written anew.
func (h *held) asTheyCame(place int, entries []wire.Entry) bool {
	if slices.ContainsFunc(entries, func(e wire.Entry) bool { return e.Kind != wire.AsItCame }) {
		return false
	}
	data, at := h.frame.Data, h.frame.Choices()[place].Calls
	n := 0
	wire.Elements(data[:at.End], at.Start, func(int, wire.Span) bool {
		n++
		return true
	})
	return data[at.Start] == '[' && n == len(entries)
}

// leftOut reports whether a piece is one of a call that does not go out: behind the frames of the
// upstream there would be an entry of nothing.
func (p *piece) leftOut() bool { return p.dropped || p.call != nil && p.call.dropped }

// entry is what a piece goes out as. whole says that the answer is.
func (p *piece) entry(whole bool) wire.Entry {
	c := p.call
	switch {
	case p.leftOut(): // nothing, which is left out
		return wire.Entry{Kind: wire.GoesOn}
	case c == nil, whole && !p.at.Empty() && (p.kept || !c.edited && c.args.same(false)):
		return wire.Entry{Kind: wire.AsItCame, From: p.at}
	case p.kept:
		return wire.Entry{Kind: wire.Renumbered, From: p.at, Index: c.index}
	}
	e := wire.Entry{Kind: wire.GoesOn, From: p.at, Index: c.index, Args: string(c.args.out[p.from:p.to])}
	if p.begins {
		e.Kind, e.ID, e.Name = wire.Begins, c.id, c.name
	}
	return e
}

// writeEnd writes what has to come before the end of a stream, in chunks like the first one
// that had a call.
func (h *held) writeEnd(first *wire.Frame, next gateway.Sink) {
	h.late = slices.DeleteFunc(h.late, func(p piece) bool { return p.leftOut() })
	for i := range h.late {
		f := first.Like(h.late[i].call.choice)
		f.Change(0).PutLate([]wire.Entry{h.late[i].entry(false)})
		next.Put(f)
	}
	for _, index := range h.unfinished {
		f := first.Like(index)
		f.Change(0).PutFinish(finishCalls)
		next.Put(f)
	}
}

// queue is the frames that wait.
type queue struct {
	frames []*held
	bytes  int
	room   inflight.Hold
	full   error // there was no room for the last of them
}

// heldOverhead is about what a frame that waits takes besides its bytes.
const heldOverhead = 256

func (q *queue) keep(h *held) {
	own := h.own()
	q.frames = append(q.frames, own)
	q.bytes += len(own.frame.Raw) + heldOverhead
	q.full = q.room.Fit(q.bytes)
}

// fits reports whether more may wait. judged says that all of a call has to.
func (q *queue) fits(judged bool) bool {
	most := maxHeld
	if judged {
		most = maxJudged
	}
	return q.full == nil && q.bytes <= most
}

// take gives the frames away.
func (q *queue) take() []*held {
	frames := q.frames
	_ = q.room.Fit(0) // to shrink cannot fail
	*q = queue{room: q.room}
	return frames
}
