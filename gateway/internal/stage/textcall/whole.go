package textcall

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// whole reads a completion. It may be large: its text is read in pieces, and of what was read
// no more is kept than what differs from it.
func (s *stage) whole(f *wire.Frame, next gateway.Sink) {
	for i := range f.Choices() {
		p := &f.Choices()[i]
		c := s.choice(i, true) // also where an upstream gives all of them one index
		if p.Thinks {
			c.chain.Split()
		}
		skim := c.chain.Skim()
		if !f.Pieces(i, func(piece []byte) bool { skim.Read(piece); return true }) || skim.Nothing() {
			c.done = true
			if s.outcome.CallSeen {
				f.Pieces(i, func(piece []byte) bool { c.chain.See(piece); return true })
			}
			continue
		}
		s.readWhole(f, i, c)
	}
	next.Put(f)
}

// readWhole reads the text of a choice.
func (s *stage) readWhole(f *wire.Frame, place int, c *choice) {
	e := echo{differs: s.reports(), whole: len(f.Choices()[place].Content.Of(f.Data))}
	f.Pieces(place, func(piece []byte) bool {
		e.read(piece, c.chain.Feed(s.ctx, piece))
		return true
	})
	c.finish(s.ctx, f.Choices()[place].Reason)
	e.read(nil, c.take())
	c.events = e.events
	c.prune()
	if !s.reports() && e.repeats(f, place, c.events) {
		return
	}
	events := append(e.head(f, place), c.take()...)
	if s.reports() {
		f.Change(place).SeeText(events)
		return
	}
	s.outcome.Changed = true
	f.Change(place).PutText(events, s.maker.ReasoningName)
	if c.renamed || f.Choices()[place].Reason == "" && c.chain.Report().Calls > 0 {
		f.Change(place).PutFinish(finishCalls)
	}
}

// echo follows the events of a whole text as far as they repeat it.
type echo struct {
	whole   int // how many bytes the text has at most
	differs bool
	same    int         // how many bytes of the text are events as they are
	ahead   []byte      // what came behind them
	events  []abi.Event // those behind them
}

// longAhead is how much of a text that no event has repeated yet is much: all of it may come.
const longAhead = 1 << 20

// read takes the next piece of the text, and the events that it gave.
func (e *echo) read(piece []byte, events []abi.Event) {
	if !e.differs {
		if need := len(e.ahead) + len(piece); need > cap(e.ahead) && need > longAhead { // it would grow by steps
			e.ahead = slices.Grow(e.ahead, max(e.whole-len(e.ahead), len(piece)))
		}
		e.ahead = append(e.ahead, piece...)
	}
	rest := e.ahead
	for i := range events {
		if text := events[i].Text; !e.differs && events[i].Kind == abi.Content && bytes.HasPrefix(rest, []byte(text)) {
			e.same, rest = e.same+len(text), rest[len(text):]
			continue
		}
		e.differs, rest = true, nil
		e.events = append(e.events, events[i])
	}
	e.ahead = append(e.ahead[:0], rest...)
}

// repeats reports whether the events that were left over are the rest of the text after all,
// as they may be once broken calls are out of them.
func (e *echo) repeats(f *wire.Frame, place int, events []abi.Event) bool {
	if !e.differs {
		return len(e.ahead) == 0
	}
	skip, equal, at := e.same, true, 0
	f.Pieces(place, func(piece []byte) bool {
		n := min(skip, len(piece))
		skip, piece = skip-n, piece[n:]
		for equal && len(piece) > 0 {
			if equal = len(events) > 0 && events[0].Kind == abi.Content; !equal {
				break
			}
			text := events[0].Text[at:]
			n := min(len(piece), len(text))
			equal, piece = string(piece[:n]) == text[:n], piece[n:]
			if at += n; n == len(text) {
				events, at = events[1:], 0
			}
		}
		return equal
	})
	return equal && len(events) == 0
}

// head is the part of the text that the events repeat.
func (e *echo) head(f *wire.Frame, place int) (events []abi.Event) {
	left := e.same
	if left == 0 {
		return nil
	}
	f.Pieces(place, func(piece []byte) bool {
		n := min(left, len(piece))
		events = append(events, abi.Event{Kind: abi.Content, Text: string(piece[:n])})
		left -= n
		return left > 0
	})
	return events
}
