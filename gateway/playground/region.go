package playground

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// region is a chain.Run that takes notes.
type region struct {
	chain.Run
	r      *recorder
	q      *Question
	total  *Parser
	parser string
	base   int // where in the text it begins
	name   string
	args   []byte
}

// Feed implements chain.Run.
func (g *region) Feed(ctx context.Context, text []byte) ([]abi.Event, error) {
	began := time.Now()
	events, err := g.Run.Feed(ctx, text)
	g.total.Took += time.Since(began)
	g.note(events, err)
	return events, err
}

// Finish implements chain.Run.
func (g *region) Finish(ctx context.Context, reason abi.Reason) ([]abi.Event, error) {
	began := time.Now()
	events, err := g.Run.Finish(ctx, reason)
	g.total.Took += time.Since(began)
	g.q.Outcome = fmt.Sprintf("read bytes %d to %d, where the text ends", g.base, g.r.read)
	g.note(events, err)
	return events, err
}

// Close implements chain.Run.
func (g *region) Close() {
	began := time.Now()
	g.Run.Close()
	g.total.Took += time.Since(began)
}

// note notes what a parser gave that the chain does not pass on as it is.
func (g *region) note(events []abi.Event, err error) {
	for _, e := range events {
		s := Step{Who: g.parser, Kind: kind(e.Kind), From: g.base + e.From, To: g.base + e.To}
		switch e.Kind {
		case abi.CallStart:
			g.name, g.args = e.Name, g.args[:0]
			continue
		case abi.Args:
			if len(g.args)+len(e.Text) <= maxCallArgs {
				g.args = append(g.args, e.Text...)
			}
			continue
		case abi.CallEnd:
			g.q.calls++
			g.judge()
			continue
		case abi.End:
			s.From = g.base
			g.r.low = max(g.r.low, s.To)
			g.q.Outcome = fmt.Sprintf("read bytes %d to %d, %s", s.From, s.To, calls(g.q.calls))
		case abi.Malformed:
			g.q.Outcome = fmt.Sprintf("malformed: gave bytes %d to %d back", s.From, s.To)
		case abi.Repair:
			s.Text, s.From, s.To = e.Name, g.base, g.r.read
		case abi.Cut:
			s.From, s.To = g.base, g.r.read
		default:
			continue
		}
		g.r.step(s)
	}
	if err != nil {
		g.q.Failed, g.q.Outcome = true, "failed: "+err.Error()
		g.r.step(Step{Who: g.parser, Kind: "error", Text: err.Error(), From: g.base, To: g.r.read})
	}
}

// judge says what is wrong with a call by the request's tools.
func (g *region) judge() {
	tools := g.r.input.tools
	if len(tools) == 0 {
		return
	}
	i := slices.IndexFunc(tools, func(t abi.Tool) bool { return t.Name == g.name })
	if i < 0 {
		g.problem(fmt.Sprintf("the name %.80q is not offered", g.name))
		return
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(g.args, &args) != nil {
		return // too long to be kept
	}
	for _, p := range tools[i].Params {
		if _, ok := args[p.Name]; p.Required && !ok {
			g.problem(fmt.Sprintf("the required argument %.80q is missing", p.Name))
		}
	}
}

// problem notes what is wrong with a call, once and not without end.
func (g *region) problem(text string) {
	const most = 10
	if len(g.q.Problems) < most && !slices.Contains(g.q.Problems, text) {
		g.q.Problems = append(g.q.Problems, text)
	}
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}
