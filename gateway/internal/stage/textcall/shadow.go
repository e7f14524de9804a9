package textcall

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/rollout"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// Shadow makes a stage that has another parser read the text which the live one reads too, once the
// answer is over, and counts the differences. It changes nothing, and nobody waits for it. It stands in
// front of what reads the text.
type Shadow struct {
	Parsers gateway.ParserSource
	// Spec and Reasoning are the other parser's, as a target has them.
	Spec      gateway.ParserSpec
	Reasoning chain.Reasoning
	Rollout   *rollout.Rollout
	Pool      *rollout.Pool
}

// maxShadow is how long a text may be that is read twice.
const maxShadow = 256 << 10

// Begin implements gateway.Maker. It looks at answers to requests that offer tools.
func (m *Shadow) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	if !a.Sent.Reading.OffersTools() {
		return nil, nil
	}
	return &shadow{maker: m, attempt: a, room: inflight.Hold{Of: a.Room}}, nil
}

// shadow collects the text of an answer's first choice.
type shadow struct {
	maker   *Shadow
	attempt *gateway.AttemptInfo
	text    []byte
	reason  string
	whole   bool
	splits  bool // the upstream gives reasoning apart
	long    bool
	room    inflight.Hold // of the text, as long as the answer lasts
}

func (s *shadow) Frame(f *wire.Frame, next gateway.Sink) error {
	if f.IsChunk() && !s.long {
		s.read(f)
	}
	next.Put(f)
	return nil
}

func (s *shadow) read(f *wire.Frame) {
	for i := range f.Choices() {
		c := &f.Choices()[i]
		if c.Index != 0 || f.Whole && i > 0 {
			continue
		}
		s.splits = s.splits || c.Thinks
		if c.Reason != "" {
			s.reason = c.Reason
		}
		s.whole = s.whole || f.Whole
		if f.Whole {
			f.Pieces(i, func(piece []byte) bool { return s.add(piece) })
		} else if text, ok := f.Text(i); ok {
			s.add(text)
		}
	}
}

// add takes a piece of the text, unless it is too long to be read twice.
func (s *shadow) add(piece []byte) bool {
	n := len(s.text) + len(piece)
	if s.long = n > maxShadow || s.room.Fit(n) != nil; s.long {
		s.text = nil
		_ = s.room.Fit(0) // to shrink cannot fail
		return false
	}
	s.text = append(s.text, piece...)
	return true
}

func (s *shadow) End(cause error, _ gateway.Sink) error {
	defer func() { _ = s.room.Fit(0) }() // what waits now is bounded by the pool
	if cause != io.EOF || s.long || len(s.text) == 0 {
		return nil
	}
	a, live := s.attempt, s.attempt.Target.Parsers
	reading := reading{text: s.text, model: a.Model, reason: s.reason, splits: s.splits, tools: a.Sent.Reading.Tools().Tools, inReasoning: a.Target.InReasoning}
	starts := [2]chain.Reasoning{s.start(a.Target.Reasoning), s.start(s.maker.Reasoning)}
	m, sample := s.maker, rollout.Sample{Time: time.Now(), Request: a.Asked.ID, Model: a.Model, Bytes: len(s.text)}
	if a.Target.Mode == gateway.Off {
		live = gateway.ParserSpec{}
	}
	m.Pool.Offer(int64(len(s.text)), func(ctx context.Context) {
		one, other := reading.by(ctx, m.Parsers, live, starts[0]), reading.by(ctx, m.Parsers, m.Spec, starts[1])
		if ctx.Err() != nil || one.Failed {
			return
		}
		sample.Live, sample.Other = len(one.Calls), len(other.Calls)
		m.Rollout.Diff(rollout.Diff(one, other), sample)
	})
	return nil
}

// start is how the text begins for a parser whose target says so.
func (s *shadow) start(said chain.Reasoning) chain.Reasoning {
	a := *s.attempt
	a.Target.Reasoning = said
	st := stage{attempt: &a, begins: reasoningStart(&a)}
	return st.startOf(s.whole)
}

// reading is a text with all that it takes to read it.
type reading struct {
	text          []byte
	model, reason string
	splits        bool
	tools         []abi.Tool
	inReasoning   chain.InReasoning
}

// by reads the text with some parsers; without any it is text.
func (r *reading) by(ctx context.Context, source gateway.ParserSource, spec gateway.ParserSpec, start chain.Reasoning) (out rollout.Reading) {
	if spec.None() {
		out.Text = string(r.text)
		return out
	}
	plan, session, err := source.Plan(ctx, spec, r.model)
	if err != nil {
		out.Failed = true
		return out
	}
	defer session.Close()
	c := plan.New(session, chain.Options{Tools: func() []abi.Tool { return r.tools }, Reasoning: start, InReasoning: r.inReasoning})
	defer c.Close()
	if r.splits {
		c.Split()
	}
	why := abi.Stop
	if gateway.CutBy(r.reason) == "length" {
		why = abi.Length
	}
	var taken takings
	taken.take(c.Feed(ctx, r.text))
	taken.take(c.Finish(ctx, why))
	out = taken.reading()
	out.Failed = slices.ContainsFunc(c.Report().Warnings, func(w string) bool { return strings.HasPrefix(w, "plugin:") })
	return out
}

// takings are what events come to.
type takings struct {
	text, reasoning []byte
	calls           []taken
}

// taken is a call as it comes.
type taken struct {
	index     int
	name      string
	arguments []byte
}

func (t *takings) take(events []abi.Event) {
	for i := range events {
		switch e := &events[i]; e.Kind {
		case abi.Content:
			t.text = append(t.text, e.Text...)
		case abi.Reasoning:
			t.reasoning = append(t.reasoning, e.Text...)
		case abi.CallStart:
			t.calls = append(t.calls, taken{index: e.Index, name: strings.Clone(e.Name)})
		case abi.Args:
			if n := t.find(e.Index); n >= 0 {
				t.calls[n].arguments = append(t.calls[n].arguments, e.Text...)
			}
		case wire.Void, abi.Cut:
			if n := t.find(e.Index); n >= 0 {
				t.calls = slices.Delete(t.calls, n, n+1)
			}
		}
	}
}

// find is the place of the latest call with an index, or -1.
func (t *takings) find(index int) int {
	for n, c := range slices.Backward(t.calls) {
		if c.index == index {
			return n
		}
	}
	return -1
}

func (t *takings) reading() rollout.Reading {
	out := rollout.Reading{Text: string(t.text), Reasoning: string(t.reasoning)}
	for _, c := range t.calls {
		out.Calls = append(out.Calls, rollout.Call{Name: c.name, Arguments: string(c.arguments)})
	}
	return out
}
