package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// measureParse compares whole parses, native and sandboxed.
func measureParse(ctx context.Context, b *bench) (*table, error) {
	sandbox, err := newSandboxed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer sandbox.close()
	t := &table{
		Title: "one response parsed, native (trusted, in process) and sandboxed (WebAssembly, metered, memory reset)",
		Columns: []column{{"native µs", "best"}, {"native µs", "median"}, {"sandboxed µs", "best"},
			{"sandboxed µs", "median"}, {"", "ratio"}},
		Note: "best: the 10th percentile, when no other process had the core. ratio: the median of the rounds.",
	}
	texts := []struct{ name, text string }{
		{"1 KB, two calls", twoCalls()},
		{sizeName(1 << 10), longCall(1 << 10)},
		{sizeName(16 << 10), longCall(16 << 10)},
		{sizeName(256 << 10), longCall(256 << 10)},
	}
	for _, text := range texts {
		figures, err := compareParse(ctx, b.time, newNative(), sandbox, []byte(text.text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", text.name, err)
		}
		r := row{name: text.name, figures: figures}
		if len(text.text) <= 1<<10 {
			r.target = below("sandboxed median", figures[3], 100, " µs")
		}
		t.Rows = append(t.Rows, r)
	}
	growth := row{name: "256 KB / 16 KB"}
	for i := range t.Columns[:4] {
		growth.figures = append(growth.figures, t.Rows[3].figures[i]/t.Rows[2].figures[i])
	}
	// The two were measured one after the other, so only undisturbed times compare.
	growth.target = upTo("sandboxed best", growth.figures[2], 20, "")
	growth.figures = append(growth.figures, none())
	t.Rows = append(t.Rows, growth)
	return t, nil
}

// compareParse measures one text with both engines: native best and median,
// sandboxed best and median, and the ratio.
func compareParse(ctx context.Context, total time.Duration, plain, sandbox engine, text []byte) ([]figure, error) {
	want, err := collect(ctx, plain, text)
	if err != nil {
		return nil, err
	}
	got, err := collect(ctx, sandbox, text)
	if err != nil {
		return nil, err
	}
	if got != want || got == "" {
		return nil, fmt.Errorf("sandboxed gives %.200q, native %.200q", got, want)
	}
	var batches []batch
	for _, e := range []engine{plain, sandbox} {
		batches = append(batches, repeated(func() error {
			return parse(ctx, e, text, func(abi.Event) {})
		}))
	}
	return compare(ctx, total, batches[0], batches[1])
}

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

// collect parses a text and gives the calls found in it.
func collect(ctx context.Context, e engine, text []byte) (string, error) {
	var calls []byte
	err := parse(ctx, e, text, func(e abi.Event) {
		if e.Kind == abi.CallStart || e.Kind == abi.Args || e.Kind == abi.CallEnd {
			calls = append(append(calls, e.Name...), e.Text...)
		}
	})
	return string(calls), err
}

// parse reads all calls of a text in one response, as a chain would, and hands the
// events to seen.
func parse(ctx context.Context, e engine, text []byte, seen func(abi.Event)) error {
	runner, end := e.begin()
	defer end()
	for {
		at := bytes.Index(text, []byte(trigger))
		if at < 0 {
			return nil
		}
		text = text[at:]
		verdict, err := runner.CanParse(ctx, parserName, text[:min(len(text), abi.MaxHead)])
		if err != nil {
			return err
		}
		if verdict != abi.Yes {
			return fmt.Errorf("the parser's verdict on a call is %d", verdict)
		}
		n, err := parseRegion(ctx, runner, text, seen)
		if err != nil {
			return err
		}
		text = text[n:]
	}
}

// parseRegion reads one region and returns its length.
func parseRegion(ctx context.Context, runner chain.Runner, text []byte, seen func(abi.Event)) (int, error) {
	run, err := runner.Open(ctx, parserName, abi.Options{Tools: tools()})
	if err != nil {
		return 0, err
	}
	defer run.Close()
	for from := 0; from < len(text); from += abi.MaxFeed {
		events, err := run.Feed(ctx, text[from:min(len(text), from+abi.MaxFeed)])
		if err != nil {
			return 0, err
		}
		for _, e := range events {
			if e.Kind == abi.End {
				_, err := run.Finish(ctx, abi.Stop)
				return e.To, err
			}
			seen(e)
		}
	}
	return 0, errors.New("the parser did not find the call's end")
}
