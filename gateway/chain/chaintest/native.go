// Package chaintest runs parsers natively in a chain, for tests: without the
// sandbox a debugger steps into them and a test takes milliseconds.
package chaintest

import (
	"context"
	"fmt"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Runner runs the parsers of specs in this process. It has no limits.
type Runner struct{ Specs []sdk.Spec }

var _ chain.Runner = Runner{}

// Candidates are the specs as candidates of a plan.
func (r Runner) Candidates() []chain.Candidate {
	var out []chain.Candidate
	for i := range r.Specs {
		out = append(out, chain.NewCandidate(&r.Specs[i].Parser))
	}
	return out
}

func (r Runner) find(name string) (*sdk.Spec, error) {
	for i := range r.Specs {
		if r.Specs[i].Name == name {
			return &r.Specs[i], nil
		}
	}
	return nil, fmt.Errorf("there is no parser %q", name)
}

// CanParse implements chain.Runner.
func (r Runner) CanParse(_ context.Context, parser string, head []byte) (abi.Verdict, error) {
	s, err := r.find(parser)
	if err != nil || s.CanParse == nil {
		return abi.Yes, err
	}
	return s.CanParse(head), nil
}

// Open implements chain.Runner.
func (r Runner) Open(_ context.Context, parser string, opts abi.Options) (chain.Run, error) {
	s, err := r.find(parser)
	if err != nil {
		return nil, err
	}
	p, err := s.New(opts)
	if err != nil {
		return nil, err
	}
	return &run{parser: p}, nil
}

type run struct {
	parser sdk.Parser
	out    sdk.Out
	events []abi.Event
}

// Feed implements chain.Run.
func (r *run) Feed(_ context.Context, text []byte) ([]abi.Event, error) {
	r.parser.Feed(text, &r.out)
	return r.take()
}

// Finish implements chain.Run.
func (r *run) Finish(_ context.Context, reason abi.Reason) ([]abi.Event, error) {
	r.parser.Finish(reason, &r.out)
	return r.take()
}

// Close implements chain.Run.
func (r *run) Close() {}

func (r *run) take() (events []abi.Event, err error) {
	r.events, err = abi.DecodeEvents(r.events[:0], r.out.Take())
	return r.events, err
}
