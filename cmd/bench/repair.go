package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// manner is a way in which arguments are written.
type manner struct {
	name   string
	write  func(size int) string
	tool   *abi.Tool
	broken bool
	limit  float64 // of 1 KB, in µs
}

func manners() []manner {
	edit := &abi.Tool{Name: "edit_files", Params: []abi.Param{{Name: "edits", Types: abi.Array, Required: true}, {Name: "dry_run", Types: abi.Boolean}}}
	valid := func(size int) string {
		return edits(`{"path": "src/file_%d.go", "line": %d, "all": true, "text": "x = 1"}, `, `null], "dry_run": false}`, size)
	}
	broken := func(size int) string {
		return edits(`{'path': 'src/file_%d.go', line: %d, all: true, text: 'x = 1',}, `, `null,], dry_run: false,}`, size)
	}
	return []manner{
		{"valid, one long string", longArguments, &tools()[0], false, 5},
		{"valid, many values", valid, edit, false, 5},
		{"broken, many values", broken, edit, true, 50},
	}
}

// edits is arguments of about a size, whose entries hold two numbers.
func edits(entry, end string, size int) string {
	var b strings.Builder
	b.WriteString(`{"edits": [`)
	for i := 1; b.Len() < size-len(entry); i++ {
		fmt.Fprintf(&b, entry, i, i)
	}
	return b.String() + end
}

// measureRepair measures what it costs to look at arguments, and to mend them.
func measureRepair(ctx context.Context, b *bench) (*table, error) {
	t := &table{
		Title:   "the arguments of a call read, and mended where they are broken",
		Columns: []column{{"µs", "best"}, {"µs", "median"}, {"", "allocations"}},
		Note: "broken: bare keys, single quotes and trailing commas everywhere. targets: 1 KB below 5 µs if valid and 50 µs\n" +
			"if broken, the median; and 16 times the text for at most 20 times the time.",
	}
	for _, m := range manners() {
		rows, err := m.measure(ctx, b.time/2)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.name, err)
		}
		t.Rows = append(t.Rows, rows...)
	}
	return t, nil
}

// measure measures 1 KB, whole and in pieces, and how the time grows.
func (m *manner) measure(ctx context.Context, total time.Duration) ([]row, error) {
	small := []byte(m.write(1 << 10))
	whole, err := measureEach(ctx, total, 1, m.reading(small, len(small)))
	if err != nil {
		return nil, err
	}
	pieces, err := measureEach(ctx, total, 1, m.reading(small, deltaSize))
	if err != nil {
		return nil, err
	}
	rows := []row{
		{name: "1 KB, " + m.name, figures: whole, target: below("median", whole[1], m.limit, " µs")},
		{name: fmt.Sprintf("  in pieces of %d bytes", deltaSize), figures: pieces},
	}
	var batches []batch
	for _, size := range []int{64 << 10, 1 << 20} {
		text := []byte(m.write(size))
		batches = append(batches, repeated(m.reading(text, len(text))))
	}
	times, err := interleave(ctx, total, batches...)
	if err != nil {
		return nil, err
	}
	growth := []figure{best(times[1]) / best(times[0]), median(times[1]) / median(times[0]), none()}
	return append(rows,
		row{name: "  64 KB", figures: []figure{best(times[0]), median(times[0]), none()}},
		row{name: "  1 MB", figures: []figure{best(times[1]), median(times[1]), none()}},
		row{name: "  1 MB / 64 KB", figures: growth, target: upTo("best", growth[0], 20, "")}), nil
}

// reading makes a batch's work of reading arguments in pieces of a size, as the
// gateway reads those of one call.
func (m *manner) reading(text []byte, piece int) func() error {
	return func() error {
		var a repair.Args
		a.Begin(m.tool, gateway.MaxDepth)
		out := 0
		for from := 0; from < len(text); from += piece {
			out += len(a.Feed(text[from:min(from+piece, len(text))]))
		}
		tail, extra, problem := a.End()
		out += len(tail)
		switch {
		case problem != nil:
			return problem
		case len(extra) > 0, a.Same() == m.broken, out == 0, a.Same() && out != len(text):
			return fmt.Errorf("%d bytes of arguments give %d and %d further objects, the same: %t", len(text), out, len(extra), a.Same())
		}
		return nil
	}
}
