package playground

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/sdk/abi"
)

// MaxRandom is how many random cuts one comparison makes at most.
const MaxRandom = 200

// maxDifferent is how many cuts that differ are kept with their results.
const maxDifferent = 3

// Comparison says whether a text means the same however it is cut.
type Comparison struct {
	Seed  uint64
	Asked int // cuts that were wanted
	// Names are the cuts that were read, in order.
	Names []string
	// Different is how many gave another result than the text as a whole, and First are
	// the first of them.
	Different int
	First     []Difference
	// Stopped says why not all cuts were read, or is "".
	Stopped string
}

// Same reports whether all cuts were read and gave the same.
func (c *Comparison) Same() bool { return c.Different == 0 && c.Stopped == "" }

// Difference is a cut that gave something else.
type Difference struct {
	Cut   string
	Parts []Part
}

// Part is a part of the result that differs.
type Part struct{ Name, Want, Got string }

// Compare reads a text whole, byte by byte, in sixes and in random cuts, and compares what
// comes of it with the reading of the whole. It stops when a parser fails or reaches one of
// its limits, which says nothing of the cut: whoever looks for the reason should not put
// the parser into quarantine. The error is of the input or
// of ctx before anything was read.
func (b *Bench) Compare(ctx context.Context, in Input, seed uint64, random int) (*Comparison, error) {
	p, err := b.prepare(in)
	if err != nil {
		return nil, err
	}
	cuts := []Cut{Whole(), Bytes(), Sixes()}
	for i := range min(max(random, 0), MaxRandom) {
		cuts = append(cuts, Random(seed, i+1))
	}
	out := &Comparison{Seed: seed, Asked: len(cuts)}
	var want Result
	for i, cut := range cuts {
		got, err := b.once(ctx, p, cut)
		switch {
		case err != nil && i == 0:
			return nil, err
		case err != nil:
			if out.Stopped = err.Error(); ctx.Err() != nil {
				out.Stopped = "the time for one comparison was over"
			}
			return out, nil // what was compared until then counts
		case got.Failed():
			out.Stopped = fmt.Sprintf("read %s, a parser failed (%s), and failures in a row would put it into quarantine", cut.Name, list(got.Warnings))
			return out, nil
		}
		out.Names = append(out.Names, cut.Name)
		if i == 0 {
			want = *got
		} else if parts := differences(&want, got); len(parts) > 0 {
			if out.Different++; len(out.First) < maxDifferent {
				out.First = append(out.First, Difference{cut.Name, parts})
			}
		}
	}
	return out, nil
}

// once reads a text without notes.
func (b *Bench) once(ctx context.Context, p *prepared, cut Cut) (*Result, error) {
	plan, session, err := b.source.Plan(ctx, p.spec, p.model)
	if err != nil {
		return nil, err
	}
	defer session.Close()
	out := &Result{}
	return out, p.read(ctx, plan, session, cut.Apply(p.text), silent{}, out)
}

// silent is a watcher that does not care.
type silent struct{}

func (silent) fed(string)                      {}
func (silent) came([]abi.Event, *chain.Report) {}

// differences are the parts of two results that are not the same. The order of warnings
// does not count.
func differences(want, got *Result) []Part {
	var parts []Part
	add := func(name, want, got string) {
		if want != got {
			parts = append(parts, Part{name, want, got})
		}
	}
	add("content", want.Content, got.Content)
	add("reasoning", want.Reasoning, got.Reasoning)
	if !reflect.DeepEqual(want.Calls, got.Calls) {
		parts = append(parts, Part{"tool calls", want.CallsJSON(), got.CallsJSON()})
	}
	add("finish reason", want.Finish, got.Finish)
	add("repairs", list(slices.Sorted(maps.Keys(want.Repairs))), list(slices.Sorted(maps.Keys(got.Repairs))))
	add("warnings", list(slices.Sorted(slices.Values(want.Warnings))), list(slices.Sorted(slices.Values(got.Warnings))))
	return parts
}
