package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/formats"
	"github.com/callgate/callgate/sdk/abi"
)

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
		batches = append(batches, repeatedBy(ownCPU, func() error { return readCall(ctx, sandbox, plan, text) }))
	}
	times, err := interleave(ctx, 2*b.time, batches...)
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, f := range formats.All() {
		took := median(times[i])
		rows = append(rows, row{name: f.Name, figures: compared([]comparison{{none(), took, none()}}), target: upTo("", took, 80, " µs"), beyond: "40"})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.figures[2], b.figures[2]) })
	var dearest []string
	for _, r := range rows[max(0, len(rows)-8):] {
		dearest = append(dearest, fmt.Sprintf("%s %s", r.name, r.figures[2]))
	}
	least, most := rows[0], rows[len(rows)-1]
	least.target.limit, least.beyond = 40, "25"
	for r, which := range map[*row]string{&least: "best", &most: "worst"} {
		r.name = fmt.Sprintf("CPU for 1 KB of a call as text, sandboxed, %s format (%s), µs", which, r.name)
	}
	most.note = fmt.Sprintf("1 KB of a call, the dearest formats: %s.\n", strings.Join(dearest, ", "))
	return []row{least, most}, nil
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

// ownCPU is the time that this process has used of all CPUs, or the time of day where that
// is not known.
func ownCPU() time.Duration {
	if seconds := cpuTime(os.Getpid()); !math.IsNaN(seconds) {
		return time.Duration(seconds * float64(time.Second))
	}
	return time.Duration(time.Now().UnixNano())
}
