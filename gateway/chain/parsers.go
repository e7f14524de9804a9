package chain

import (
	"context"
	"errors"
	"slices"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// parsers are those of a plan, as one request has them.
type parsers struct {
	plan   *Plan
	runner Runner
	opts   Options
	offers offers
	spent  bool // a limit was reached: none is asked any more
	effort effort
	last   int // how many bytes the last region had that was read; 0: there was none
}

// open opens a candidate for a region.
func (p *parsers) open(ctx context.Context, candidate *Candidate, fenced bool) (Run, error) {
	return p.runner.Open(ctx, candidate.Parser, abi.Options{
		Tools: p.offers.all(), Settings: candidate.Settings, Fenced: fenced, Guess: p.plan.auto,
	})
}

// firstFeed is how much a run is fed at first, then as much as it has read. Where a
// short region ends is not known before, so that a text of many is fed several times
// over; a call, on the other hand, should come at once. Regions of one text are mostly alike,
// so the last one tells how much the next may need.
func (p *parsers) firstFeed() int {
	const first, least = 4 << 10, 64
	if p.last == 0 {
		return first
	}
	return min(max(2*p.last, least), first)
}

// failed takes note that a parser failed. The event says why in one word.
func (p *parsers) failed(parser string, err error) abi.Event {
	reason := "error"
	var classed interface{ Reason() string }
	if errors.As(err, &classed) {
		reason = classed.Reason()
	}
	p.spent = p.spent || reason == "input_limit" || reason == "total_limit"
	return warn("plugin:" + parser + ":" + reason)
}

// fallback lets the fallback parser read a region that all others have declined. ok is false
// where there is none and where it fails: the text stands as it is.
func (p *parsers) fallback(ctx context.Context, text []byte, fenced bool) (content []byte, ok bool, err error) {
	f := p.plan.fallback
	if f == nil || p.spent {
		return nil, false, nil
	}
	run, err := p.open(ctx, f, fenced)
	if err != nil {
		return nil, false, err
	}
	defer run.Close()
	p.effort.cost += p.openCost()
	for len(text) > 0 {
		n := min(len(text), abi.MaxFeed)
		events, err := run.Feed(ctx, text[:n])
		if err != nil {
			return nil, false, err
		}
		for _, e := range events {
			content = append(content, e.Text...)
		}
		text = text[n:]
	}
	return content, true, nil
}

// reads reports whether any parser may read the text at all.
func (p *parsers) reads() bool { return !p.spent && (!p.opts.NoTools || p.plan.framing) }

// offers are the tools that a request offers.
type offers struct {
	get    func() []abi.Tool // nil once it was called
	tools  []abi.Tool
	inside func(tool string) *repair.Shape
	any    bool // where there are none, every name is an offered one
}

// all are the tools, which are asked for once.
func (o *offers) all() []abi.Tool {
	if o.get != nil {
		o.tools, o.get = o.get(), nil
	}
	return o.tools
}

// find is the tool with a name, or nil.
func (o *offers) find(name string) *abi.Tool {
	tools := o.all()
	if i := slices.IndexFunc(tools, func(t abi.Tool) bool { return t.Name == name }); i >= 0 {
		return &tools[i]
	}
	return nil
}

// shape is what is nested in the arguments of an offered tool, nil if nobody says.
func (o *offers) shape(tool *abi.Tool) *repair.Shape {
	if tool == nil || o.inside == nil {
		return nil
	}
	return o.inside(tool.Name)
}

// has reports whether a name is offered. In code only one that is there counts.
func (o *offers) has(name string, fenced bool) bool {
	return o.any && !fenced && len(o.all()) == 0 || o.find(name) != nil
}
