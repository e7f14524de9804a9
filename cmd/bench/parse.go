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

// measureParse measures what the chain takes, with native parsers and with sandboxed ones.
func measureParse(ctx context.Context, b *bench) (*table, error) {
	sandbox, err := newSandboxed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer sandbox.close()
	engines, plan := []engine{newNative(), sandbox}, newPlan(parserName)
	t := &table{
		Title: "text read by the chain, with native parsers (trusted, in process) and in the sandbox (WebAssembly, fuel counted, memory reset)",
		Columns: []column{{"native µs", "best"}, {"native µs", "median"}, {"sandboxed µs", "best"},
			{"sandboxed µs", "median"}, {"", "ratio"}},
		Note: "best: the 10th percentile, when no other process had the core. ratio: the median of the rounds. Plain text\n" +
			"is looked through for the markers of all parsers, and never gets to one.",
	}
	add := func(name string, of func(engine) batch) ([]figure, error) {
		figures, err := compare(ctx, b.time, of(engines[0]), of(engines[1]))
		t.Rows = append(t.Rows, row{name: name, figures: figures})
		return figures, err
	}
	var bests []figure
	for _, size := range []int{1 << 10, 16 << 10, 256 << 10} {
		text := []byte(longCall(size))
		figures, err := add(fmt.Sprintf("an answer of %d KB with a call", size>>10), func(e engine) batch {
			return repeated(func() error { return readCall(ctx, e, plan, text) })
		})
		if err != nil {
			return nil, err
		}
		bests = append(bests, figures[2])
	}
	t.Rows[2].target = upTo("256 KB / 16 KB", bests[2]/bests[1], 20, "")
	if _, err := add("a streamed piece of 16 bytes inside a call", func(e engine) batch {
		return func() (float64, error) { return feedDeltas(ctx, plan, e) }
	}); err != nil {
		return nil, err
	}
	all, parsers := newPlan(), newNative()
	for _, piece := range []int{deltaSize, 1 << 10} {
		const size = 64 << 10
		pieces := deltas(prose(size), piece)
		times, err := interleave(ctx, b.time, repeated(func() error { return passPlain(ctx, all.New(parsers, plainOptions()), pieces, size) }))
		if err != nil {
			return nil, err
		}
		r := row{name: fmt.Sprintf("plain text, a KB in pieces of %d bytes", piece),
			figures: []figure{best(times[0]) / (size >> 10), median(times[0]) / (size >> 10), none(), none(), none()}}
		if piece > deltaSize {
			r.target = upTo("median", r.figures[1], 1, " µs")
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

func plainOptions() chain.Options { return chain.Options{Tools: tools, Reasoning: chain.Auto} }

// compare measures two batches and gives best and median of each in µs, and the
// ratio of the second to the first.
func compare(ctx context.Context, total time.Duration, first, second batch) ([]figure, error) {
	times, err := interleave(ctx, total, first, second)
	if err != nil {
		return nil, err
	}
	a, b := times[0], times[1]
	return []figure{best(a), median(a), best(b), median(b), pairwise(b, a, quotient)}, nil
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
		case chain.PassThrough:
			passed, waiting = passed+waiting+len(piece), 0
		case chain.HoldWhitespace:
			passed, waiting = passed+waiting, len(piece)
		case chain.Undecided:
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
