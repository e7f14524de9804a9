package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// newPlan makes a plan of parsers as the gateway does: of one, or of all.
func newPlan(names ...string) *chain.Plan {
	var candidates []chain.Candidate
	specs := newNative()
	auto := len(names) == 0
	if len(names) == 0 {
		for name := range specs {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if p := specs[name]; name != "custom" {
			candidates = append(candidates, chain.NewCandidate(&p.Parser))
		}
	}
	return chain.NewPlan(candidates, chain.PlanOptions{Model: "bench", Reasoning: true, Auto: auto})
}

// deltaSize is the size in bytes of a streamed piece: some three or four tokens.
const deltaSize = 16

// measureDelta compares what one piece costs that is fed to an open parser.
func measureDelta(ctx context.Context, b *bench) (*table, error) {
	sandbox, err := newSandboxed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer sandbox.close()
	plan := newPlan(parserName)
	figures, err := compare(ctx, b.time,
		func() (float64, error) { return feedDeltas(ctx, plan, newNative()) },
		func() (float64, error) { return feedDeltas(ctx, plan, sandbox) })
	if err != nil {
		return nil, err
	}
	return &table{
		Title: "one streamed piece of 16 bytes, fed through the chain to an open parser",
		Columns: []column{{"native µs", "best"}, {"native µs", "median"}, {"sandboxed µs", "best"},
			{"sandboxed µs", "median"}, {"", "ratio"}},
		Rows: []row{{name: "inside a call's string argument", figures: figures}},
	}, nil
}

// feedDeltas opens a parser, feeds it 16 KB of a call's argument and returns the
// time in µs that one piece took.
func feedDeltas(ctx context.Context, plan *chain.Plan, e engine) (float64, error) {
	runner, end := e.begin()
	defer end()
	c := plan.New(runner, chain.Options{Tools: tools})
	defer c.Close()
	c.Feed(ctx, []byte(callHead))
	if !c.Parsing() {
		return 0, errors.New("no parser is open inside the call")
	}
	argument := []byte(escaped(16 << 10))
	args := 0
	began := time.Now()
	for from := 0; from < len(argument); from += deltaSize {
		for _, e := range c.Feed(ctx, argument[from:from+deltaSize]) {
			args += len(e.Text)
		}
	}
	took := time.Since(began)
	c.Feed(ctx, []byte(callTail))
	if args < len(argument)-deltaSize || c.Report().Calls != 1 {
		return 0, fmt.Errorf("%d bytes of arguments and %d calls came out, want %d and 1 (%q)",
			args, c.Report().Calls, len(argument), c.Report().Warnings)
	}
	return micros(took) / float64(len(argument)/deltaSize), nil
}

// measurePlain measures text in which no parser has an interest.
func measurePlain(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title:   "text without a tool call, read by the chain with the triggers of all parsers",
		Columns: []column{{"ns a KB", "best"}, {"ns a KB", "median"}},
	}
	const size = 64 << 10
	plan, parsers := newPlan(), newNative()
	for _, piece := range []int{deltaSize, 1 << 10} {
		pieces := deltas(prose(size), piece)
		times, err := interleave(ctx, b.time, repeated(func() error { return passPlain(ctx, plan.New(parsers, plainOptions()), pieces, size) }))
		if err != nil {
			return nil, err
		}
		const scale = 1000.0 / (size >> 10) // from µs for all to ns for a KB
		r := row{name: fmt.Sprintf("in pieces of %d bytes", piece), figures: []figure{scale * best(times[0]), scale * median(times[0])}}
		if piece > deltaSize {
			r.target = below("median", r.figures[1], 1000, " ns")
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

func plainOptions() chain.Options { return chain.Options{Tools: tools, Reasoning: chain.Auto} }

// passPlain reads the pieces as a gateway does and checks that all came out.
func passPlain(ctx context.Context, c *chain.Chain, pieces [][]byte, size int) error {
	passed := 0
	count := func(events []abi.Event) {
		for _, e := range events {
			passed += len(e.Text)
		}
	}
	waiting := 0 // of what was taken as plain
	for _, piece := range pieces {
		switch c.Plain(piece) {
		case chain.Clean:
			passed, waiting = passed+waiting+len(piece), 0
		case chain.White:
			passed, waiting = passed+waiting, len(piece)
		case chain.Unsure:
			count(c.Feed(ctx, piece)) // and what waited
			waiting = 0
		}
	}
	count(c.Finish(ctx, abi.Stop))
	if passed != size {
		return fmt.Errorf("%d of %d bytes came out (%q)", passed, size, c.Report().Warnings)
	}
	return nil
}
