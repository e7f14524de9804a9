package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/prefix"
)

// What routing by prefix is measured with, and its limits.
const (
	prefixTargets  = 8
	prefixBody     = 32 << 10 // bytes of a prompt
	decisionLimit  = 20       // µs
	entryLimit     = 100      // bytes
	decisionsBatch = 100      // decisions in one go
)

// measurePrefix measures what routing by prefix adds to a request, among targets of which
// as much is remembered as may be, and what that takes of memory.
func measurePrefix(ctx context.Context, b *bench) (*table, error) {
	before := heap()
	x, candidates := fullIndex()
	perEntry := figure(float64(heap()-before) / (prefixTargets * prefix.DefaultEntries))
	text := bytes.Repeat([]byte("0123456789abcdef"), prefixBody/16)
	decide := func(name string) func() error {
		return func() error {
			for range decisionsBatch {
				key := prefix.NewKey([]byte("salt"), "tenant", name)
				if d := x.Choose(prefix.Of(key, text), candidates); d.Target == "" {
					return fmt.Errorf("%s: nobody was chosen", name)
				}
			}
			return nil
		}
	}
	counted := gateway.Usage{Reported: true, CacheReported: true, Input: prefixBody / 4, CacheRead: prefixBody / 4}
	learn := func() error {
		chain := prefix.Of(prefix.NewKey([]byte("salt"), "tenant", "learned"), text)
		for range decisionsBatch {
			x.Answered(candidates[0].Target, chain, len(chain), counted)
		}
		return nil
	}
	for i, c := range candidates { // what the rows say is known
		chain := func(name string) prefix.Chain { return prefix.Of(prefix.NewKey([]byte("salt"), "tenant", name), text) }
		x.Add(c.Target, chain("all"))
		if i == 0 {
			x.Add(c.Target, chain("one"))
		}
	}
	t := &table{
		Title:   fmt.Sprintf("routing by prefix: a prompt of %d KB, %d targets of which %d blocks each are remembered", prefixBody>>10, prefixTargets, prefix.DefaultEntries),
		Columns: []column{{"µs", "best"}, {"µs", "median"}, {"", "allocations"}},
		Note: fmt.Sprintf("targets: below %d µs for a decision, the median; below %d bytes for a block that is remembered, all told: %s.", decisionLimit, entryLimit,
			below("bytes", perEntry, entryLimit, "").verdict()),
	}
	cpus := runtime.GOMAXPROCS(0)
	for _, s := range []struct {
		name   string
		f      func() error
		atOnce int
		aim    bool
	}{
		{"decision, nobody has the prompt", decide("none"), 1, true},
		{"decision, one has it", decide("one"), 1, true},
		{"decision, all have it", decide("all"), 1, true},
		{"decision, all have it, at once", decide("all"), cpus, true},
		{"an answer is noted", learn, 1, false},
	} {
		figures, err := measureEach(ctx, b.time/2, decisionsBatch, func() error { return together(s.atOnce, s.f) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		figures[2] /= figure(s.atOnce)
		r := row{name: s.name, figures: figures}
		if s.aim {
			r.target = below("median", figures[1], decisionLimit, " µs")
		}
		t.Rows = append(t.Rows, r)
	}
	t.Rows = append(t.Rows, row{name: fmt.Sprintf("memory of a block: %s bytes", perEntry), figures: []figure{none(), none(), none()},
		target: below("bytes", perEntry, entryLimit, "")})
	return t, nil
}

// fullIndex returns an index that has pushed out as much as it remembers, and its targets.
func fullIndex() (*prefix.Index, []prefix.Candidate) {
	const chain = 50
	var o prefix.Options
	var candidates []prefix.Candidate
	for i := range prefixTargets {
		name := fmt.Sprintf("provider/target-%d", i)
		o.Targets = append(o.Targets, prefix.Target{Name: name})
		candidates = append(candidates, prefix.Candidate{Target: name, Running: i})
	}
	x := prefix.New(o)
	for range 2 * prefix.DefaultEntries / chain {
		for _, t := range o.Targets {
			c := make(prefix.Chain, chain)
			for i := range c {
				c[i] = rand.Uint64() //nolint:gosec // stands for a hash
			}
			x.Choose(c, candidates)
			x.Add(t.Name, c)
		}
	}
	return x, candidates
}

// heap is how many bytes of the heap are in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
