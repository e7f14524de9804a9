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
	if a.Target.Mode == gateway.Off || !a.Sent.OffersTools() {
		return nil, nil
	}
	s := &stage{answer: answer{validator: newValidator(a, o, m.schemas), ids: ids{attempt: a}, outcome: o}}
	return s, nil
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
	// heldOverhead is about what a frame that waits takes besides its bytes.
	heldOverhead = 256
)

const (
	finishStop  = string(openai.FinishReasonStop)
	finishCalls = string(openai.FinishReasonToolCalls)
	finishLimit = string(openai.FinishReasonLength)
)

// stage holds frames until their calls are certain.
type stage struct {
	answer
	current held    // the frame at hand
	queue   []*held // those that wait
	waiting int     // their bytes
	shape   shape
	first   *wire.Frame // a chunk with a call, to write further ones by
	text    []byte      // memory for the arguments of an entry
}

// answer is what the calls of an answer share.
type answer struct {
	validator *validator
	ids       ids
	outcome   *gateway.Outcome
	whole     bool
	choices   []*choice
	touched   []*call // those that the frames at hand say something of
}

// held is a frame with what there is to say of its calls.
type held struct {
	frame *wire.Frame
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

// mended reports whether the frame goes out anew whatever is said of calls in it.
func (h *held) mended() bool { return len(h.renamed) > 0 || len(h.unfinished) > 0 }

// piece is an entry of tool_calls, as it goes out.
type piece struct {
	call     *call     // nil: nobody knows what it is, and it stays as it is
	place    int       // of its choice in the frame, or -1
	at       wire.Span // the entry in the frame that it stands for, if there is one
	begins   bool      // it is the first of its call
	kept     bool      // nothing of it changes but its index
	from, to int       // its arguments, in the call's text
}

// Frame implements gateway.Stage.
func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	s.whole = f.Whole
	if s.goesOn(f) {
		return s.settleFrame(next)
	}
	ordinary := s.ordinary(f)
	if !ordinary {
		s.begin(f)
		s.shape.call = nil
		if f.IsChunk() {
			if s.first == nil && !f.Whole {
				s.first = f.Copy()
			}
			s.read()
		}
	}
	if err := s.events(f); err != nil { // calls from text come behind those of the same frame
		return err
	}
	if ordinary {
		next.Put(f)
		return nil
	}
	return s.settleFrame(next)
}

// ordinary reports whether a frame holds nothing of an upstream's call, and none waits.
func (s *stage) ordinary(f *wire.Frame) bool {
	if len(s.queue) > 0 {
		return false
	}
	for i := range f.Choices() {
		if c := &f.Choices()[i]; !c.Calls.IsNull(f.Data) || len(s.choices) > 0 && c.Reason != "" {
			return false
		}
	}
	return true
}

// begin makes a frame the one at hand.
func (s *stage) begin(f *wire.Frame) {
	h := &s.current
	*h = held{frame: f, pieces: h.pieces[:0], late: h.late[:0], renamed: h.renamed[:0]}
}

// read reads the calls of the frame at hand.
func (s *stage) read() {
	f := s.current.frame
	for i := range f.Choices() {
		p := &f.Choices()[i]
		c := s.choice(p.Index, i)
		if !p.Calls.IsNull(f.Data) && f.Data[p.Calls.Start] == '[' {
			s.entries(c, i)
		}
		if p.Reason == "" && !s.whole {
			continue
		}
		s.close(&s.current, c, i, p.Reason)
		c.finished = true
		if len(c.calls) > 0 && strings.EqualFold(p.Reason, finishStop) {
			s.current.renamed = append(s.current.renamed, i)
			s.outcome.Repaired("finish_reason")
		}
	}
}

// settleFrame gives the frame at hand on with those that waited, or lets it wait.
func (s *stage) settleFrame(next gateway.Sink) error {
	if err := s.validator.err(); err != nil {
		return err
	}
	h := &s.current
	if s.validator.report {
		next.Put(h.frame)
		s.settle()
		return nil
	}
	holding := s.holding()
	switch {
	case !holding && len(s.queue) == 0 && !h.mended() && s.unchanged(false):
		next.Put(h.frame)
		s.settle()
		return nil
	case holding && s.validator.waits() && s.waiting > maxJudged:
		return s.tooLong()
	case holding && (s.validator.waits() || s.waiting <= maxHeld):
		s.keep()
		return nil
	}
	s.release(h, false, next)
	return nil
}

// keep lets the frame at hand wait.
func (s *stage) keep() {
	h := &s.current
	kept := &held{frame: h.frame.Own(), pieces: slices.Clone(h.pieces), late: slices.Clone(h.late), renamed: slices.Clone(h.renamed)}
	s.queue = append(s.queue, kept)
	s.waiting += len(kept.frame.Raw) + heldOverhead
}

// tooLong refuses a call that cannot wait until it is complete.
func (s *stage) tooLong() error {
	for _, call := range s.touched {
		if call.holding(true) {
			s.refuse(call, nil, &repair.Problem{Class: repair.InvalidJSON,
				Message: "The arguments are too long to be checked.", Hint: "Give shorter arguments."})
			break
		}
	}
	return s.validator.err()
}

// release gives on the frames that waited and the last one, if there is one: as they came if
// nothing in them was mended, and anew otherwise. cut says that the upstream's answer has
// broken off.
func (s *stage) release(last *held, cut bool, next gateway.Sink) {
	queue := s.queue
	if last != nil {
		queue = append(queue, last)
	}
	mended := !s.unchanged(cut) || slices.ContainsFunc(queue, (*held).mended)
	if mended {
		s.outcome.Changed = true
		for _, call := range s.touched {
			if !call.shown {
				s.show(call)
			}
		}
	}
	s.queue, s.waiting = queue[:0], 0
	for _, h := range queue {
		switch {
		case h.frame == nil && mended:
			s.writeEnd(h, next)
		case h.frame == nil:
		case mended:
			s.rewrite(h)
			next.Put(h.frame)
		default:
			next.Put(h.frame)
		}
	}
	clear(queue)
	s.settle()
}

// rewrite puts a frame's calls in order.
func (s *stage) rewrite(h *held) {
	f := h.frame
	for i := range f.Choices() {
		if entries, had := s.write(h, i); had {
			f.PutCalls(i, entries)
		}
		var late []wire.Entry
		for j := range h.late {
			if p := &h.late[j]; p.place == i {
				late = append(late, s.entry(p))
			}
		}
		if len(late) > 0 {
			f.PutLate(i, late)
		}
	}
	for _, place := range h.renamed {
		f.PutFinish(place, finishCalls)
	}
}

// write are the entries for the tool_calls of a choice. had is false if the frame has none to
// stand for.
func (s *stage) write(h *held, place int) (entries []wire.Entry, had bool) {
	for i := range h.pieces {
		if p := &h.pieces[i]; p.place == place {
			had = true
			entries = append(entries, s.entry(p))
		}
	}
	return entries, had
}

// entry is what a piece goes out as.
func (s *stage) entry(p *piece) wire.Entry {
	c := p.call
	switch {
	case c == nil, s.whole && !p.at.Empty() && (p.kept || !c.edited && c.same(false)):
		return wire.Entry{Kind: wire.AsItCame, From: p.at}
	case p.kept:
		return wire.Entry{Kind: wire.Renumbered, From: p.at, Index: c.index}
	}
	e := wire.Entry{Kind: wire.GoesOn, From: p.at, Index: c.index, Args: string(c.text[p.from:p.to])}
	if p.begins {
		e.Kind, e.ID, e.Name = wire.Begins, c.id, c.name
	}
	return e
}

// End implements gateway.Stage.
func (s *stage) End(cause error, next gateway.Sink) error {
	defer s.count()
	if cause != io.EOF {
		if len(s.queue) > 0 && !s.validator.waits() {
			s.release(nil, true, next)
		}
		return nil
	}
	if s.whole {
		return nil
	}
	var end held
	s.closeAll(&end)
	if err := s.validator.err(); err != nil || s.validator.report {
		return err
	}
	s.release(&end, false, next)
	return nil
}

// writeEnd writes what has to come before the end of a stream.
func (s *stage) writeEnd(end *held, next gateway.Sink) {
	if s.first == nil {
		return
	}
	for i := range end.late {
		f := s.first.Like(end.late[i].call.choice.index)
		f.PutLate(0, []wire.Entry{s.entry(&end.late[i])})
		next.Put(f)
	}
	for _, index := range end.unfinished {
		f := s.first.Like(index)
		f.PutFinish(0, finishCalls)
		next.Put(f)
	}
}

// count adds up the calls, and lets go of what is left.
func (s *stage) count() {
	for _, c := range s.choices {
		s.outcome.Native += len(c.calls)
	}
	for _, h := range s.queue {
		h.frame.Free()
	}
	s.queue = nil
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

// holding reports whether what was read is not certain yet.
func (s *stage) holding() bool { return slices.ContainsFunc(s.touched, s.isWaiting) }

// isWaiting reports whether a call is not certain yet.
func (s *stage) isWaiting(c *call) bool { return c.holding(s.validator.strictFor(c.name)) }

// unchanged reports whether the calls of the frames at hand go out as they came; where the
// answer is cut, as far as they go out.
func (s *stage) unchanged(cut bool) bool {
	return !slices.ContainsFunc(s.touched, func(c *call) bool { return c.edited || !c.same(cut) })
}

// settle forgets what went out.
func (s *stage) settle() {
	kept := s.touched[:0]
	for _, call := range s.touched {
		call.edited = false
		call.cameBefore, call.wentBefore = len(call.args.Raw()), len(call.text)
		if call.touched = s.isWaiting(call); call.touched {
			kept = append(kept, call)
		}
	}
	s.touched = kept
}
