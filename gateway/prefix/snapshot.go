package prefix

import (
	"maps"
	"slices"
)

// Snapshot is what an index has seen so far, for the operator.
type Snapshot struct {
	Targets []TargetSnapshot `json:"targets"` // by name
	// Unknown counts deltas of other gateways about targets that are not configured here.
	Unknown uint64 `json:"unknown_deltas"`
}

// TargetSnapshot is the part of one target. All but Caches, Entries and Limit grow only.
type TargetSnapshot struct {
	Target string `json:"target"`
	// Caches is false where the provider has reported again and again that it had nothing
	// of what should have been cached. Nothing is expected of it then; see [Index.Answered].
	Caches bool `json:"caches"`
	// Entries is how many blocks are remembered, a few of which may have grown too old;
	// Limit is how many there may be.
	Entries int `json:"entries"`
	Limit   int `json:"limit"`
	// Choices counts decisions for the target, Hits those that expected cached blocks.
	Choices uint64 `json:"choices"`
	Hits    uint64 `json:"hits"`
	// Expected and Reported add up cached blocks, as decisions expected them and as the
	// provider reported them, over the answers for which it did.
	Expected uint64 `json:"expected_blocks"`
	Reported uint64 `json:"reported_blocks"`
	// Evicted counts blocks that were pushed out. If it grows as fast as prompts come,
	// the target's Entries are too few.
	Evicted uint64 `json:"evicted_blocks"`
	// Lost counts marks for other gateways that were not fetched in time.
	Lost uint64 `json:"lost_marks"`
}

// Snapshot returns the counts of all targets.
func (x *Index) Snapshot() Snapshot {
	targets := *x.targets.Load()
	s := Snapshot{Targets: make([]TargetSnapshot, 0, len(targets)), Unknown: x.unknown.Load()}
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		s.Targets = append(s.Targets, targets[name].snapshot())
	}
	return s
}

func (t *target) snapshot() TargetSnapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := TargetSnapshot{
		Target: t.name, Caches: t.caches(), Entries: t.blocks.Len(), Limit: t.limit,
		Choices: t.counts.choices, Hits: t.counts.hits,
		Expected: t.counts.expected, Reported: t.counts.reported, Evicted: t.counts.evicted,
	}
	if t.pending != nil {
		s.Lost = t.pending.lost
	}
	return s
}
