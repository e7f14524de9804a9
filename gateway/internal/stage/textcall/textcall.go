// Package textcall is the stage that reads the text of an answer, and puts calls and
// reasoning that a model wrote as text in the place of that text.
//
// Text in which there is nothing to read goes by as it came. What may yet turn out to be
// markup waits, with the frames that it came in: they go on as they came, or with what was
// read in the place of their text.
package textcall

import (
	"context"
	"io"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Maker makes the stage.
type Maker struct {
	// Parsers may be nil if no target reads text.
	Parsers gateway.ParserSource
	// ReasoningName is the member that reasoning goes to which is split off the text.
	ReasoningName string
	// Rename gives an upstream's own reasoning that name too.
	Rename bool
	// Answers makes what reports of a text whether it is the JSON that a request asks for. It may be
	// nil, and make nil where a request asks for none.
	Answers func(*gateway.Reading) func(text []byte) bool
}

// Begin implements gateway.Maker. It waits until the parsers are loaded.
func (m *Maker) Begin(ctx context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	offers := a.Sent.Reading.OffersTools()
	if !a.Target.Reads(offers) {
		return nil, nil
	}
	plan, session, err := m.Parsers.Plan(ctx, a.Target.Parsers, a.Model)
	if err != nil {
		return nil, err
	}
	s := &stage{maker: m, ctx: ctx, attempt: a, outcome: o, plan: plan, session: session, offers: offers}
	s.begins, s.held.Room.Of = reasoningStart(a), a.Room
	o.TextParsed = true
	if f, ok := session.(gateway.Fingerprinter); ok {
		o.ParserFingerprint = f.Fingerprint()
	}
	return s, nil
}

// answers reports of a text whether it is the JSON that a request asks for; nil if it asks for none.
func (m *Maker) answers(r *gateway.Reading) func(text []byte) bool {
	if m.Answers == nil {
		return nil
	}
	return m.Answers(r)
}

// maxHeld is how many bytes of frames wait while their text may still turn out to be
// markup. Beyond it they are written anew.
const maxHeld = 64 << 10

type stage struct {
	maker   *Maker
	ctx     context.Context //nolint:containedctx // a stage lives as long as its answer
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	plan    *chain.Plan
	session gateway.ParserSession
	offers  bool // tools
	begins  chain.Reasoning
	choices choices
	held    gateway.Held
	first   *wire.Frame // to write further ones by
	renamed bool
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	switch {
	case !f.IsChunk() && len(s.held.Frames) == 0:
		next.Put(f)
	case !f.IsChunk(): // such as a comment: it has its place among those that wait
		s.wait(f, next)
	case f.Whole:
		s.rename(f)
		s.whole(f, next)
	default:
		s.rename(f)
		s.chunk(f, next)
	}
	return nil
}

// reports says that nothing is changed, only said.
func (s *stage) reports() bool { return s.attempt.Target.Mode == gateway.Report }

// rename gives the upstream's own reasoning the configured name, so that a client finds all
// of it in one place. A message that has both is left alone.
func (s *stage) rename(f *wire.Frame) {
	if !s.maker.Rename || s.reports() {
		return
	}
	for i := range f.Choices() {
		if !f.Choices()[i].Reasoning.Empty() && f.PutReasoningName(i, s.maker.ReasoningName) {
			s.outcome.Changed = true
			if !s.renamed {
				s.renamed = true
				s.outcome.Repaired("reasoning_field")
			}
		}
	}
}

func (s *stage) chunk(f *wire.Frame, next gateway.Sink) {
	if s.first == nil && len(f.Choices()) > 0 {
		s.first = f.Copy()
	}
	if s.plain(f, next) {
		return
	}
	for i := range f.Choices() {
		s.read(f, i)
	}
	switch {
	case s.reports():
		for i := range f.Choices() { // those behind this stage see what was read
			f.Change(i).SeeText(s.choice(f.Choices()[i].Index, false).take())
		}
		next.Put(f)
	case s.choices.changing():
		s.rewrite(f, next)
	case !s.choices.holding():
		s.held.Release(next)
		s.choices.forget()
		next.Put(f)
	default:
		s.wait(f, next)
	}
}

// plain takes the short way for a chunk of one choice with nothing to parse in it. It reports
// false if it is none.
func (s *stage) plain(f *wire.Frame, next gateway.Sink) bool {
	passage := s.passage(f)
	switch {
	case passage == chain.Undecided:
		return false
	case s.reports():
		next.Put(f)
	case passage == chain.HoldWhitespace:
		s.held.Release(next)
		s.wait(f, next)
	default:
		s.held.Release(next)
		next.Put(f)
	}
	return true
}

// passage is what the chain says of a chunk of one choice that holds nothing but text.
func (s *stage) passage(f *wire.Frame) chain.Passage {
	if len(f.Choices()) != 1 {
		return chain.Undecided
	}
	p := &f.Choices()[0]
	c := s.choice(p.Index, false)
	if len(s.choices) > 1 || c.done || c.changed && c.chain.Holding() || !p.Calls.Empty() || p.Reason != "" {
		return chain.Undecided
	}
	text, ok := f.Text(0)
	if !ok {
		return chain.Undecided
	}
	if p.Thinks {
		c.chain.Split()
	}
	passage := c.chain.Plain(text)
	if passage != chain.Undecided {
		c.in, c.events = c.in[:0], c.events[:0]
	}
	if passage == chain.HoldWhitespace {
		c.in = append(c.in, text...)
	}
	return passage
}

// read gives the text of a choice to its chain.
func (s *stage) read(f *wire.Frame, place int) {
	p := &f.Choices()[place]
	c := s.choice(p.Index, false)
	if c.done {
		return
	}
	if p.Thinks {
		c.chain.Split()
	}
	c.called = c.called || !p.Calls.IsNull(f.Data)
	text, ok := f.Text(place)
	if len(text) == 0 && !p.Calls.IsNull(f.Data) && !c.changed && c.chain.Settle() {
		c.in, c.events = c.in[:0], c.events[:0] // the upstream's own calls do not wait behind white space
	}
	if ok {
		c.in = append(c.in, text...)
		c.events = append(c.events, c.chain.Feed(s.ctx, text)...)
	}
	if p.Reason != "" {
		c.finish(s.ctx, p.Reason)
	}
}

// wait lets a frame wait. If too many do they are written anew.
func (s *stage) wait(f *wire.Frame, next gateway.Sink) {
	if s.held.Add(f); s.held.Bytes <= maxHeld && s.held.Full == nil {
		return
	}
	for _, c := range s.choices {
		c.changed = true
	}
	s.rewrite(nil, next)
}

// rewrite lets the frames that waited go, and one that came now if there is one, with what
// was read in the place of their text.
func (s *stage) rewrite(f *wire.Frame, next gateway.Sink) {
	s.outcome.Changed = true
	for _, c := range s.choices {
		c.prune()
	}
	for _, waiting := range s.held.Take() {
		s.put(waiting, next)
	}
	if f != nil {
		s.put(f, next)
	}
}

// put lets a frame go with its choices' events.
func (s *stage) put(f *wire.Frame, next gateway.Sink) {
	for i := range f.Choices() {
		p := &f.Choices()[i]
		c := s.choice(p.Index, false)
		f.Change(i).PutText(c.take(), s.maker.ReasoningName)
		if c.renamed && p.Reason != "" {
			f.Change(i).PutFinish(finishCalls)
			c.renamed = false
		}
	}
	next.Put(f)
}

func (s *stage) End(cause error, next gateway.Sink) error {
	defer s.close()
	if cause != io.EOF {
		s.held.Release(next)
		return nil
	}
	for _, c := range s.choices {
		if !c.done {
			c.finish(s.ctx, "")
			c.late = true
		}
	}
	switch {
	case s.reports():
	case s.choices.changing():
		s.rewrite(nil, next)
	default:
		s.held.Release(next)
		s.choices.forget()
	}
	s.late(next)
	return nil
}

// late writes what is left of choices for which no finish reason came, in chunks like the
// first, and the finish reason of calls that were read from text.
func (s *stage) late(next gateway.Sink) {
	for _, c := range s.choices {
		calls := c.chain.Report().Calls > 0
		if s.first == nil || !c.late || len(c.events) == 0 && !calls {
			continue
		}
		f := s.first.Like(c.index)
		if s.reports() {
			f.Change(0).SeeText(c.take())
			next.Put(f)
			continue
		}
		s.outcome.Changed = true
		f.Change(0).PutText(c.take(), s.maker.ReasoningName)
		if calls {
			f.Change(0).PutFinish(finishCalls)
		}
		next.Put(f)
	}
}

// close adds up what the chains did, and gives the parsers back.
func (s *stage) close() {
	for _, c := range s.choices {
		report := c.chain.Report()
		s.outcome.Calls += report.Calls
		for kind, n := range report.Repairs {
			s.outcome.Repairs = gateway.Count(s.outcome.Repairs, kind, n)
		}
		if report.Reasoned {
			s.outcome.Repaired("reasoning_text")
		}
		for _, p := range report.Parsers {
			s.outcome.Parsed(p)
		}
		for _, w := range report.Warnings {
			s.outcome.Warn(w)
		}
		if s.outcome.CallSeen && c.chain.Unread() { // beside the upstream's own calls
			s.outcome.Warn(chain.BrokenCall)
		}
		c.chain.Close()
	}
	s.session.Close()
	for _, f := range s.held.Take() {
		f.Free()
	}
}

// choice returns the state for the choice with an index, making it at first.
func (s *stage) choice(index int, whole bool) *choice {
	for _, c := range s.choices {
		if c.index == index {
			return c
		}
	}
	c := &choice{index: index, chain: s.plan.New(s.session, chain.Options{
		Tools:       func() []abi.Tool { return s.attempt.Sent.Reading.Tools().Tools },
		Inside:      func(tool string) *repair.Shape { return s.attempt.Sent.Reading.Tools().Inside(tool) },
		NoTools:     !s.offers,
		Reasoning:   s.startOf(whole),
		InReasoning: s.attempt.Target.InReasoning,
		Answers:     s.maker.answers(s.attempt.Sent.Reading),
	})}
	s.choices = append(s.choices, c)
	return c
}
