package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/sdk/abi"
)

// Sizes of the calls that show whether a parser's cost grows with the text alone.
const (
	smallCall = 60 << 10
	largeCall = 960 << 10 // a response may have 1 MiB
)

// measureFormats measures a call of write_file in every format, read by the chain
// with the format's own parser in the sandbox: one of 1 KB, and how the cost grows.
func measureFormats(ctx context.Context, b *bench) (*table, error) {
	sandbox, err := newSandboxed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer sandbox.close()
	t := &table{
		Title: "one call in each format, read by the chain with its own parser, sandboxed",
		Columns: []column{{"1 KB µs", "best"}, {"1 KB µs", "median"}, {"60 KB µs", "best"}, {"960 KB µs", "best"},
			{"960 KB / 60 KB", "of the best"}},
		Note: "targets: 1 KB below 100 µs, the median; and 16 times the text for at most 20 times the time.",
	}
	for _, f := range formats.All() {
		r, err := measureFormat(ctx, b.time/3, sandbox, f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		t.Rows = append(t.Rows, r)
	}
	return t, nil
}

// callRows are of a call of 1 KB: of the format that takes least, and the one that takes
// most.
func callRows(ctx context.Context, b *bench) ([]row, error) {
	sandbox, err := newSandboxed(ctx, b)
	if err != nil {
		return nil, err
	}
	defer sandbox.close()
	var batches []batch
	for _, f := range formats.All() {
		plan, text := newPlan(namesOf(f.Name)...), []byte(formatCall(f, 1<<10))
		batches = append(batches, repeated(func() error { return readCall(ctx, sandbox, plan, text) }))
	}
	times, err := interleave(ctx, 2*b.time, batches...)
	if err != nil {
		return nil, err
	}
	least, most := 0, 0
	for i := range times {
		if best(times[i]) < best(times[least]) {
			least = i
		}
		if best(times[i]) > best(times[most]) {
			most = i
		}
	}
	of := func(which string, i int, limit, beyond float64) row {
		return row{name: fmt.Sprintf("1 KB of a call as text, sandboxed, %s format (%s), µs", which, formats.All()[i].Name),
			figures: compared([]comparison{{none(), best(times[i]), none()}}), target: upTo("", best(times[i]), limit, " µs"), beyond: beyond}
	}
	return []row{of("best", least, 40, 25), of("worst", most, 80, 40)}, nil
}

func measureFormat(ctx context.Context, total time.Duration, e engine, f formats.Format) (row, error) {
	plan := newPlan(namesOf(f.Name)...)
	var batches []batch
	for _, size := range []int{1 << 10, smallCall, largeCall} {
		text := []byte(formatCall(f, size))
		batches = append(batches, repeated(func() error { return readCall(ctx, e, plan, text) }))
	}
	times, err := interleave(ctx, total, batches...)
	if err != nil {
		return row{}, err
	}
	growth := best(times[2]) / best(times[1])
	r := row{name: f.Name, figures: []figure{best(times[0]), median(times[0]), best(times[1]), best(times[2]), growth}}
	r.target = unmet(below("1 KB", r.figures[1], 100, " µs"), upTo("growth", growth, 20, ""))
	return r, nil
}

// namesOf are the parsers that a name stands for, as in a configuration.
func namesOf(name string) []string {
	var names []string
	for _, spec := range newNative() {
		if spec.Name == name || slices.Contains(spec.Aliases, name) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// formatCall is a call of write_file in a format, of about some size.
func formatCall(f formats.Format, size int) string {
	const sample = 4 << 10
	return writeCall(f, size*sample/len(writeCall(f, sample)))
}

// writeCall is a call with a text of some size to write.
func writeCall(f formats.Format, size int) string {
	const line = "a line of text, with \"quotes\" and a newline\n"
	content, _ := json.Marshal(strings.Repeat(line, size/len(line)+1)[:size]) // a string cannot fail
	return f.Write(formats.Turn{Calls: []formats.Call{{ID: "functions.write_file:0", Name: "write_file", Args: []formats.Arg{
		{Key: "path", Value: []byte(`"a.txt"`)}, {Key: "content", Value: content},
	}}}})
}

// readCall reads a text that holds one call, as the gateway reads a whole answer.
func readCall(ctx context.Context, e engine, plan *chain.Plan, text []byte) error {
	runner, end := e.begin()
	defer end()
	c := plan.New(runner, chain.Options{Tools: tools, Reasoning: chain.Auto})
	defer c.Close()
	c.Feed(ctx, text)
	c.Finish(ctx, abi.Stop)
	if c.Report().Calls != 1 {
		return fmt.Errorf("%d calls in %.100q…, want 1 (%q)", c.Report().Calls, text, c.Report().Warnings)
	}
	return nil
}
