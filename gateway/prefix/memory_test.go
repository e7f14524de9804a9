package prefix_test

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// TestMemoryPerEntry measures a full index after much has come and gone, with room for
// deltas that nobody fetches. It must run alone: it reads the heap of the process.
func TestMemoryPerEntry(t *testing.T) { //nolint:paralleltest // see above
	o, targets := candidates(8)
	before := heap()
	x := prefix.New(prefix.Options{Targets: targets, Share: true})
	for range 3 * prefix.DefaultEntries / 50 {
		for _, target := range targets {
			chain := make(prefix.Chain, 50)
			for i := range chain {
				chain[i] = rand.Uint64()
			}
			x.Choose(chain, o) // for the sketch
			x.Add(target.Name, chain)
		}
	}
	entries := 0
	for _, s := range x.Snapshot().Targets {
		entries += s.Entries
	}
	if want := 8 * prefix.DefaultEntries; entries != want {
		t.Fatalf("got %d entries, want %d", entries, want)
	}
	got := float64(heap()-before) / float64(entries)
	t.Logf("%.1f bytes for an entry", got)
	if got >= 100 {
		t.Errorf("got %.1f bytes for an entry, want less than 100", got)
	}
	runtime.KeepAlive(x)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
