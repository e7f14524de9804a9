package run

import (
	"errors"
	"slices"

	"github.com/callgate/callgate/gateway"
)

// summary is what was done for a request in all its rounds.
type summary struct {
	gateway.Summary
	past  gateway.Summary // of the rounds that are over
	own   gateway.Findings
	run   *gateway.ToolRun
	bill  func([]gateway.RoundCost) gateway.Bill
	warns int // warnings in the header
}

func newSummary(bill func([]gateway.RoundCost) gateway.Bill, o *offer, p *Policy) *summary {
	s := &summary{bill: bill, run: &gateway.ToolRun{Offered: len(o.list), Missing: o.missing, Limits: p.limits(o.most)}}
	s.own.Warnings = o.warnings()
	s.ToolRun = s.run
	return s
}

// begin notes that the model has begun to answer.
func (s *summary) begin(round *gateway.Summary) {
	s.run.Rounds++
	s.run.Costs = append(s.run.Costs, gateway.RoundCost{})
	s.grow(round)
	if s.run.Rounds == 1 {
		s.warns = len(s.Warnings)
		s.WarningsInHeader = s.warns // nobody else has seen it yet
	}
}

// grow takes what is known of the round at hand by now.
func (s *summary) grow(round *gateway.Summary) {
	s.run.Costs[len(s.run.Costs)-1] = gateway.RoundCost{Provider: round.Provider, Model: round.Model, Usage: round.Usage, Replayed: round.Replayed()}
	sum := *round
	join(&sum, &s.past, s.run.Rounds > 1)
	sum.ToolRun, sum.WarningsInHeader = s.run, s.warns
	for kind, n := range s.own.Repairs {
		sum.Repairs = gateway.Count(sum.Repairs, kind, n)
	}
	for class, n := range s.own.Faults {
		sum.Faults = gateway.Count(sum.Faults, class, n)
	}
	for _, w := range s.own.Warnings {
		sum.Warn(w)
	}
	if s.run.Rounds > 1 && s.bill != nil && sum.Usage.Reported {
		sum.Bill = s.bill(s.run.Costs)
	}
	// What the client's protocol warns of was put in front, and counted, behind our back.
	if front := s.WarningsInHeader - s.warns; front > 0 {
		sum.Warnings = slices.Concat(s.Warnings[:front], sum.Warnings)
		sum.WarningsInHeader += front
	}
	s.Summary = sum
}

// over notes that a round is over.
func (s *summary) over(round *gateway.Summary) {
	s.grow(round)
	past := *round
	join(&past, &s.past, s.run.Rounds > 1)
	s.past = past
}

// Warn notes what is odd about the rounds themselves.
func (s *summary) Warn(w string) {
	s.own.Warn(w)
	s.Summary.Warn(w)
}

// call notes a call that is over.
func (s *summary) call(d *done) {
	c := gateway.ToolCall{Outcome: d.kind(), Attempts: d.attempts, Took: d.took}
	if d.tool != nil {
		c.Server, c.Tool = d.tool.Server, d.tool.Name
	}
	if d.err != nil && d.err.Misfit {
		s.Warn("tool_output_schema:" + d.tool.Alias)
	}
	s.run.Calls = append(s.run.Calls, c)
}

// goOn notes that the answer goes on where the upstream has ended it.
func (s *summary) goOn() { s.UpstreamError, s.past.UpstreamError = false, false }

// stop notes why the rounds have ended.
func (s *summary) stop(why gateway.ToolStop) { s.run.Stop = why }

// failed adds to the error that ends the request what was done before it.
func (s *summary) failed(err error) error {
	if s.run.Rounds == 0 && len(s.run.Calls) == 0 && len(s.own.Warnings) == 0 {
		return err
	}
	var e *gateway.Error
	if errors.As(err, &e) && e.Summary != nil {
		e.Summary.ToolRun = s.run
		e.Summary.Spent = s.past.Spent.Plus(e.Summary.Spent)
		for _, w := range s.own.Warnings {
			e.Summary.Warn(w)
		}
	}
	return err
}

// join adds to what is known of a round what is known of those before it. again says that there
// are any. What is shared with them is not changed.
func join(sum, past *gateway.Summary, again bool) {
	sum.Repairs, sum.Faults = counts(past.Repairs, sum.Repairs), counts(past.Faults, sum.Faults)
	warnings := sum.Warnings
	sum.Warnings = slices.Clone(past.Warnings)
	for _, w := range warnings {
		sum.Warn(w)
	}
	if !again {
		return
	}
	sum.Attempts = slices.Concat(past.Attempts, sum.Attempts)
	sum.Requested, sum.FirstToken, sum.Overhead = past.Requested, past.FirstToken, past.Overhead+sum.Overhead
	sum.Usage = addUsage(past.Usage, sum.Usage)
	sum.Spent = past.Spent.Plus(sum.Spent)
	sum.HasOutput, sum.Changed = past.HasOutput || sum.HasOutput, true
	calling := past.Calling
	calling.Parsers = slices.Clone(calling.Parsers)
	for _, p := range sum.Parsers {
		calling.Parsed(p)
	}
	calling.Calls, calling.Native = calling.Calls+sum.Calls, calling.Native+sum.Native
	calling.Called, calling.CallSeen = slices.Concat(calling.Called, sum.Called), calling.CallSeen || sum.CallSeen
	sum.Calling = calling
	if sum.Guard == nil {
		sum.Guard = past.Guard
	}
	sum.References = slices.Concat(past.References, sum.References)
	sum.Corrections = slices.Concat(past.Corrections, sum.Corrections)
	sum.Mixed = sum.Mixed || past.Mixed
	if !past.Replayed() {
		sum.Replay = past.Replay // something was asked for this request
	}
	if sum.PrefixChange == nil {
		sum.PrefixChange = past.PrefixChange
	}
}

func counts(a, b map[string]int) (sum map[string]int) {
	for _, m := range []map[string]int{a, b} {
		for kind, n := range m {
			sum = gateway.Count(sum, kind, n)
		}
	}
	return sum
}

// addUsage is the sum of two usages.
func addUsage(a, b gateway.Usage) gateway.Usage {
	if !a.Reported {
		return b
	}
	if !b.Reported {
		return a
	}
	return gateway.Usage{Reported: true, CacheReported: a.CacheReported && b.CacheReported, WriteReported: a.WriteReported && b.WriteReported,
		Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead, WriteShort: a.WriteShort + b.WriteShort, WriteLong: a.WriteLong + b.WriteLong,
		Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning, Faults: a.Faults | b.Faults}
}
