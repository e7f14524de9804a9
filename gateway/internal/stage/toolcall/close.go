package toolcall

import (
	"bytes"

	"github.com/callgate/callgate/gateway/repair"
)

// closeAll ends the calls of all choices for which no finish reason came. A choice whose
// calls are complete gets one: clients wait for it before they run them.
func (s *stage) closeAll(h *held) {
	for _, c := range s.choices {
		complete := s.close(h, c, -1, "")
		if len(c.calls) > 0 && !c.finished && complete {
			h.unfinished = append(h.unfinished, c.index)
			s.outcome.Repaired("finish_reason")
		}
		c.finished = true
	}
}

// close ends the calls of a choice. place is the choice's in the frame, or -1. ok is false if
// the arguments of one are no JSON.
func (s *stage) close(h *held, c *choice, place int, reason string) (ok bool) {
	ok = true
	for i, call := range c.calls {
		if call.closed || call.said.foreign {
			continue
		}
		s.touch(call)
		from := len(call.text)
		cut := reason == finishLimit && i == len(c.calls)-1
		extra, fine := s.closeCall(call, cut)
		from = min(from, len(call.text))
		if to := len(call.text); to > from {
			s.attach(h, piece{call: call, place: place, from: from, to: to})
		}
		for _, args := range extra {
			s.attach(h, piece{call: s.further(call, args), place: place, begins: true, to: len(args)})
		}
		ok = ok && fine
	}
	return ok
}

// closeCall ends a call. cut says that the model had no more tokens. extra are the
// arguments of further calls, and ok is false if those of the call are no JSON.
func (s *stage) closeCall(c *call, cut bool) (extra [][]byte, ok bool) {
	c.closed = true
	if !c.begun || len(c.half) > 0 {
		half := c.half
		c.half = nil
		s.feed(c, nil)
		c.text = append(c.text, c.args.Feed(half)...)
	}
	rest, extra, problem := c.args.End()
	if len(extra) > 0 && !s.splits(c, extra) {
		rest = c.unsent(extra)
		problem = &repair.Problem{Class: repair.InvalidJSON,
			Message: "The arguments are several objects, of which not all fit the tool.",
			Hint:    "Give one object, and make several calls if several are meant."}
	}
	c.text = append(c.text, rest...)
	if !c.shown {
		s.show(c)
	}
	s.countRepairs(c, problem == nil)
	switch {
	case problem != nil && cut:
		s.outcome.Warn("truncated_call")
		return nil, false
	case problem != nil:
		s.refuse(c, c.args.Raw(), problem)
		return nil, false
	}
	s.fault(c, c.args.Class())
	if !c.approved {
		s.check(c)
	}
	return extra, true
}

// countRepairs counts what was done to the arguments of a call. apart says that several
// objects in them were taken apart.
func (a *answer) countRepairs(c *call, apart bool) {
	for _, kind := range c.args.Repairs() {
		switch kind {
		case repair.ArgsSplit, repair.ArgsRepeated:
			if !apart {
				continue
			}
		case repair.ArgsJSON:
			if c.joined { // it was counted
				continue
			}
		}
		a.outcome.Repaired(kind)
	}
}

// splits reports whether further objects behind the arguments of a call are calls of
// their own: each of them fits the tool. Otherwise nobody knows what was meant.
func (a *answer) splits(c *call, extra [][]byte) bool {
	if a.validator.offered.Find(c.name) == nil || len(c.choice.calls)+len(extra) > maxCalls {
		return false
	}
	for _, args := range extra {
		if a.validator.arguments(c.name, string(args)) != nil {
			return false
		}
	}
	return true
}

// further adds a call of the same tool, which the upstream has put behind another.
func (a *answer) further(c *call, args []byte) *call {
	id, _ := a.ids.claim(c.choice.index, "", c.name)
	further := c.choice.add(said{index: -1, name: c.said.name, typed: true})
	further.name, further.id, further.text = c.name, id, bytes.Clone(args)
	further.shown, further.closed, further.edited = true, true, true
	a.touch(further)
	return further
}

// attach puts arguments where they belong: to the last entry of their call in the
// frame, or in front of the end.
func (s *stage) attach(h *held, p piece) {
	for i := len(h.pieces) - 1; i >= 0; i-- {
		if own := &h.pieces[i]; own.call == p.call && own.place == p.place && !own.kept {
			own.to = p.to
			return
		}
	}
	if s.whole {
		h.pieces = append(h.pieces, p)
	} else {
		h.late = append(h.late, p)
	}
}
