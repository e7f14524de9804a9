// Package playgroundtest gives the gateway's parsers to a playground without the sandbox,
// for tests, and one parser more that fails.
package playgroundtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/chain/chaintest"
	"github.com/callgate/callgate/gateway/playground"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/all"
)

// Broken is the name and the trigger of the parser that fails at the first byte that it
// is fed, and Uneven those of one whose words depend on how the text is cut.
const (
	Broken = "<broken>"
	Uneven = "<uneven>"
)

// Source is a playground.Source.
type Source struct {
	runner chaintest.Runner
	plans  sync.Map // *chain.Plan by spec and model: to make one takes longer than a text
}

// New makes a source of the built-in parsers.
func New() *Source { return &Source{runner: chaintest.Runner{Specs: all.Specs()}} }

var _ playground.Source = &Source{}

// Spec implements playground.Source.
func (s *Source) Spec(parser, reasoning string) (gateway.ParserSpec, error) {
	spec := gateway.ParserSpec{Reasoning: reasoning != "none" && parser != "none"}
	switch {
	case parser == "none":
	case parser == "auto":
		spec.Auto = true
	case !slices.ContainsFunc(s.Candidates(gateway.ParserSpec{Auto: true}), func(c chain.Candidate) bool { return c.Name == parser }):
		return spec, fmt.Errorf("there is no parser %q", parser)
	default:
		spec.Names = []string{parser}
	}
	return spec, nil
}

// Candidates implements playground.Source.
func (s *Source) Candidates(spec gateway.ParserSpec) []chain.Candidate {
	own := []chain.Candidate{
		{Name: Broken, Parser: Broken, Priority: 50, Triggers: []string{Broken}},
		{Name: Uneven, Parser: Uneven, Priority: 50, Triggers: []string{Uneven}},
	}
	return slices.DeleteFunc(append(s.runner.Candidates(), own...), func(c chain.Candidate) bool {
		return !spec.Auto && !slices.Contains(spec.Names, c.Name) || c.Name == "custom"
	})
}

// Plan implements gateway.ParserSource.
func (s *Source) Plan(_ context.Context, spec gateway.ParserSpec, model string) (*chain.Plan, gateway.ParserSession, error) {
	key := fmt.Sprintf("%+v %q", spec, model)
	plan, ok := s.plans.Load(key)
	if !ok {
		plan, _ = s.plans.LoadOrStore(key, chain.NewPlan(s.Candidates(spec), chain.PlanOptions{Model: model, Reasoning: spec.Reasoning, Auto: spec.Auto}))
	}
	return plan.(*chain.Plan), session{s.runner}, nil
}

type session struct{ chaintest.Runner }

// CanParse implements chain.Runner.
func (s session) CanParse(ctx context.Context, parser string, head []byte) (abi.Verdict, error) {
	if parser == Broken || parser == Uneven {
		return abi.Yes, nil
	}
	return s.Runner.CanParse(ctx, parser, head)
}

// Open implements chain.Runner.
func (s session) Open(ctx context.Context, parser string, opts abi.Options) (chain.Run, error) {
	switch parser {
	case Broken:
		return brokenRun{}, nil
	case Uneven:
		return &unevenRun{}, nil
	}
	return s.Runner.Open(ctx, parser, opts)
}

// Close implements gateway.ParserSession.
func (session) Close() {}

type brokenRun struct{}

func (brokenRun) Feed(context.Context, []byte) ([]abi.Event, error) {
	return nil, errors.New("it trapped")
}
func (brokenRun) Finish(context.Context, abi.Reason) ([]abi.Event, error) { return nil, nil }
func (brokenRun) Close()                                                  {}

// unevenRun says how often it was fed.
type unevenRun struct{ feeds int }

func (u *unevenRun) Feed(context.Context, []byte) ([]abi.Event, error) {
	u.feeds++
	return nil, nil
}

func (u *unevenRun) Finish(context.Context, abi.Reason) ([]abi.Event, error) {
	return []abi.Event{
		{Kind: abi.CallStart, Name: "get_weather"}, {Kind: abi.Args, Text: fmt.Sprintf(`{"city": "%d"}`, u.feeds)}, {Kind: abi.CallEnd},
	}, nil
}
func (u *unevenRun) Close() {}
