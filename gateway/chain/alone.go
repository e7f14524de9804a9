package chain

import (
	"context"

	"github.com/callgate/callgate/sdk/abi"
)

// NewCandidate is a parser as a candidate, under its own name.
func NewCandidate(p *abi.Parser) Candidate {
	return Candidate{
		Name: p.Name, Parser: p.Name, Priority: p.Priority, Triggers: p.Triggers, Starts: p.Starts,
		Models: p.Models, Heuristic: p.Heuristic, Framing: p.Framing,
	}
}

// opener opens parsers as a Runner does, and says more exactly what it opens: a session of
// a plugin host is one.
type opener[R Run] interface {
	CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error)
	Open(ctx context.Context, parser string, opts abi.Options) (R, error)
}

// Runs makes a Runner of what opens a type of Run.
func Runs[R Run](o opener[R]) Runner { return runs[R]{o} }

type runs[R Run] struct{ opener[R] }

// Open implements Runner.
func (r runs[R]) Open(ctx context.Context, parser string, opts abi.Options) (Run, error) {
	run, err := r.opener.Open(ctx, parser, opts)
	if err != nil {
		return nil, err // not a nil of type R
	}
	return run, nil
}

// ReadAlone reads a text that a token limit has cut with one parser by itself, in pieces as
// they come from a network, and says what the chain did. It is for trying a parser.
func ReadAlone(ctx context.Context, runner Runner, p *abi.Parser, tools []abi.Tool, text string) *Report {
	const piece = 4 << 10
	plan := NewPlan([]Candidate{NewCandidate(p)}, PlanOptions{})
	c := plan.New(runner, Options{Tools: func() []abi.Tool { return tools }, AnyName: true})
	defer c.Close()
	for rest := text; rest != ""; rest = rest[min(len(rest), piece):] {
		c.Feed(ctx, []byte(rest[:min(len(rest), piece)]))
	}
	c.Finish(ctx, abi.Length)
	return c.Report()
}
