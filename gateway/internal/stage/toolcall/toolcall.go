// Package toolcall is the stage that brings tool calls into order: their indexes, ids, names
// and arguments. It takes those that an upstream made itself, as tool_calls, and those that
// were read from its text, and judges both alike.
//
// A frame in which nothing is wrong goes on byte for byte. One of which this is not known yet
// waits for the frames behind it.
package toolcall

import (
	"context"
	"io"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the stage.
type Maker struct{ schemas *repair.Schemas }

// maxSchemas is how many tools' compiled schemas are kept.
const maxSchemas = 1024

// New makes a maker.
func New() *Maker { return &Maker{repair.NewSchemas(maxSchemas)} }

// Begin implements gateway.Maker.
func (m *Maker) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	if a.Target.Mode == gateway.Off || !a.Sent.Reading.OffersTools() {
		return nil, nil
	}
	return &stage{queue: queue{room: inflight.Hold{Of: a.Room}}, validator: &validator{attempt: a, outcome: o, offered: a.Sent.Reading.Tools(), schemas: m.schemas, ids: ids{attempt: a},
		policy: a.Target.OnInvalid, doubt: a.Target.OnDoubt, report: a.Target.Mode == gateway.Report}}, nil
}

const (
	// maxCalls is how many calls of a choice are kept track of.
	maxCalls = 1024
	// maxHeld is how many bytes of frames wait for a call to become certain. More of them
	// are written anew, with what is certain.
	maxHeld = 4 << 20
	// maxJudged is how many wait where a call has to be complete and good before anyone sees
	// it. A longer one is refused.
	maxJudged = 32 << 20
)

const (
	finishStop  = string(openai.FinishReasonStop)
	finishCalls = string(openai.FinishReasonToolCalls)
	finishLimit = string(openai.FinishReasonLength)
)

// stage holds frames until their calls are certain.
type stage struct {
	validator *validator
	whole     bool // the answer is
	choices   []*choice
	recent    recent
	current   held // the frame at hand
	queue     queue
	shape     shape
	first     *wire.Frame // a chunk with a call, to write further ones by
	memory    []byte      // for the arguments of an entry
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	s.whole = f.Whole
	if s.goesOn(f) {
		return s.settle(next)
	}
	ordinary := s.ordinary(f)
	if !ordinary {
		s.current.begin(f)
		s.shape.call = nil
		if f.IsChunk() {
			if s.first == nil && !f.Whole {
				s.first = f.Copy()
			}
			s.read(f)
		}
	}
	if err := s.events(f); err != nil { // calls from text come behind those of the same frame
		return err
	}
	if ordinary {
		next.Put(f)
		return nil
	}
	return s.settle(next)
}

// ordinary reports whether a frame holds nothing of an upstream's call, and none waits.
func (s *stage) ordinary(f *wire.Frame) bool {
	if len(s.queue.frames) > 0 {
		return false
	}
	for i := range f.Choices() {
		if c := &f.Choices()[i]; !c.Calls.IsNull(f.Data) || len(s.choices) > 0 && c.Reason != "" {
			return false
		}
	}
	return true
}

// read reads the calls of the frame at hand.
func (s *stage) read(f *wire.Frame) {
	for i := range f.Choices() {
		p := &f.Choices()[i]
		c := s.choice(p.Index, i)
		switch {
		case p.Calls.IsNull(f.Data):
		case f.Data[p.Calls.Start] == '[':
			s.entries(c, i)
		case f.Data[p.Calls.Start] == '{':
			s.single(c, i)
		}
		if p.Reason == "" && !s.whole {
			continue
		}
		complete := s.close(&s.current, c, i, p.Reason)
		c.finished = true
		none := s.whole && p.Reason == "" && !p.Finish.Empty() && complete
		if len(c.calls) > 0 && (none || strings.EqualFold(p.Reason, finishStop)) {
			s.current.renamed = append(s.current.renamed, i)
			s.validator.outcome.Repaired("finish_reason")
		}
	}
}

// close ends the calls of a choice. place is the choice's in the frame, or -1. complete is
// false if the arguments of one are no JSON.
func (s *stage) close(h *held, c *choice, place int, reason string) (complete bool) {
	complete = true
	for i, call := range c.calls {
		if call.closed || call.said.foreign {
			continue
		}
		s.recent.add(call)
		from := len(call.args.out)
		cut := reason == finishLimit && i == len(c.calls)-1
		extra, ok, replaced := call.end(s.validator, cut, maxCalls-len(c.calls))
		if replaced {
			s.replaced(call)
		}
		if to := len(call.args.out); to > from {
			h.attach(piece{call: call, place: place, from: from, to: to}, s.whole)
		}
		for _, args := range extra {
			further := c.further(s.validator, call, args)
			s.recent.add(further)
			h.attach(piece{call: further, place: place, begins: true, to: len(args)}, s.whole)
		}
		complete = complete && ok
		if ok {
			c.native(s.validator, call)
		}
	}
	for _, call := range c.calls {
		c.part(s.validator, call)
		call.own(s.validator)
	}
	return complete
}

// replaced is told that a call has other arguments.
func (s *stage) replaced(c *call) {
	for _, h := range s.queue.frames {
		h.replaced(c)
	}
	s.current.replaced(c)
}

// settle gives the frame at hand on with those that waited, or lets it wait.
func (s *stage) settle(next gateway.Sink) error {
	v, h := s.validator, &s.current
	if err := v.err(); err != nil {
		return err
	}
	holding := s.recent.holding()
	switch {
	case v.report, !holding && len(s.queue.frames) == 0 && !h.repaired() && s.recent.unchanged(false):
		next.Put(h.frame)
		s.recent.settle()
	case holding && s.queue.fits(v.waits()):
		s.queue.keep(h)
	case holding && v.waits():
		return s.tooLong()
	default:
		s.release(h, false, next)
	}
	return nil
}

// tooLong ends the answer whose call has to be complete before anyone sees it, and takes more than
// may wait.
func (s *stage) tooLong() error {
	if err := s.queue.full; err != nil {
		return gateway.NoRoom(err, "The model's call needs more memory than one request may have (limits.memory).")
	}
	call := s.recent[slices.IndexFunc(s.recent, (*call).holding)]
	call.refuse(s.validator, nil, &repair.Problem{Class: repair.InvalidJSON,
		Message: "The arguments are too long to be checked.", Hint: "Give shorter arguments."})
	return s.validator.err()
}

// release gives on the frames that waited and the last one, if there is one: as they came if
// nothing in them was repaired, and anew otherwise. cut says that the upstream's answer has
// broken off.
func (s *stage) release(last *held, cut bool, next gateway.Sink) {
	frames := s.queue.take()
	if last != nil {
		frames = append(frames, last)
	}
	for _, call := range s.recent {
		if call.shown {
			call.own(s.validator)
		}
	}
	repaired := !s.recent.unchanged(cut) || slices.ContainsFunc(frames, (*held).repaired)
	if repaired {
		s.validator.outcome.Changed = true
		for _, call := range s.recent {
			if !call.shown {
				call.show(s.validator)
			}
		}
	}
	for _, h := range frames {
		if h.frame == nil {
			if repaired && s.first != nil {
				h.writeEnd(s.first, next)
			}
			continue
		}
		if repaired {
			h.rewrite()
		}
		next.Put(h.frame)
	}
	s.recent.settle()
}

func (s *stage) End(cause error, next gateway.Sink) error {
	v := s.validator
	defer func() {
		for _, c := range s.choices {
			v.outcome.Native += len(c.calls) - c.dropped()
		}
		for _, h := range s.queue.take() {
			h.frame.Free()
		}
	}()
	switch {
	case cause != io.EOF && len(s.queue.frames) > 0 && !v.waits():
		s.release(nil, true, next)
	case cause == io.EOF && !s.whole:
		var end held
		s.closeAll(&end)
		if err := v.err(); err != nil || v.report {
			return err
		}
		s.release(&end, false, next)
	}
	return nil
}

// closeAll ends the calls of all choices for which no finish reason came. A choice whose
// calls are complete gets one: clients wait for it before they run them.
func (s *stage) closeAll(end *held) {
	for _, c := range s.choices {
		complete := s.close(end, c, -1, "")
		if len(c.calls) > 0 && !c.finished && complete {
			end.unfinished = append(end.unfinished, c.index)
			s.validator.outcome.Repaired("finish_reason")
		}
		c.finished = true
	}
}

// choiceOf is the choice of a call.
func (s *stage) choiceOf(c *call) *choice {
	return s.choices[slices.IndexFunc(s.choices, func(of *choice) bool { return of.index == c.choice })]
}

// choice returns the state for a choice by its index, or by its place where an answer is
// whole: there are upstreams that give all of them one index.
func (s *stage) choice(index, place int) *choice {
	if s.whole {
		index = place
	}
	for _, c := range s.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index}
	s.choices = append(s.choices, c)
	return c
}
