package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
)

// Policy is a way to choose a target.
type Policy string

// The policies. Cost is the gateway's own, the others are there to be compared with.
const (
	Cost       Policy = "cost"
	Random     Policy = "random"
	RoundRobin Policy = "round_robin"
	Longest    Policy = "longest_prefix" // plain affinity, the first target of equals
)

// Policies are all of them, the plainest first.
func Policies() []Policy { return []Policy{Random, RoundRobin, Longest, Cost} }

// Options of a run. The zero value is one gateway with eight targets and the policy Cost.
type Options struct {
	Policy   Policy // "" is Cost
	Targets  int    // 0 is 8
	Gateways int    // 0 is 1; a request comes to any of them by chance
	// Sync is how often gateways exchange deltas; 0 is never. What was learned is known
	// to the others half of it later, in the mean.
	Sync time.Duration
	// Join makes a gateway's way to the others, by its index; nil is memory. It is called
	// for each gateway in turn, if there are several and Sync is not 0.
	Join func(x *prefix.Index) Peer
	// Entries bounds an index's blocks for each target; 0 is prefix.DefaultEntries.
	Entries int
	// Idle is after which time without use both targets and indexes forget a block; 0 is
	// never.
	Idle time.Duration
	// BlockTokens is the size of a block in the trace; 0 is 512, as in Mooncake's.
	BlockTokens int
	// Shared puts a system prompt of so many tokens in front of every request, a whole
	// number of blocks.
	Shared int
	// Failure is what happens to the first target; nil is nothing.
	Failure *Failure
	// Seed is that of the chances, and of the hashes.
	Seed uint64
}

// Peer is a gateway's way to the others: Push sends them what it has learned, in so many
// batches, and Pull takes in what they have sent. Both are done when they return. An error
// ends the run.
type Peer struct {
	Push, Pull func() (batches int, err error)
}

// Failure is the death of the first target, in shares of the trace's requests from 0 to
// 1. Requests that it was answering are sent again, and it comes back with an empty cache.
type Failure struct {
	Dies, Returns float64
	// Unnoticed says that it was gone so shortly that no gateway saw it: requests go on,
	// only its cache is empty. Gateways learn it from the cached tokens that it reports.
	// It happens at Dies; Returns does not count.
	Unnoticed bool
}

// Bounds of options, for what a user types.
const (
	maxTargets  = 1024
	maxGateways = 1024
)

// withDefaults fills in what is 0 and says what cannot be.
func (o Options) withDefaults() (Options, error) {
	o.Policy = cmp.Or(o.Policy, Cost)
	o.Targets = cmp.Or(o.Targets, 8)
	o.Gateways = cmp.Or(o.Gateways, 1)
	o.BlockTokens = cmp.Or(o.BlockTokens, 512)
	switch {
	case !slices.Contains(Policies(), o.Policy):
		return o, fmt.Errorf("policy: %q is unknown", o.Policy)
	case o.Targets < 1 || o.Targets > maxTargets:
		return o, fmt.Errorf("targets: %d is not between 1 and %d", o.Targets, maxTargets)
	case o.Gateways < 1 || o.Gateways > maxGateways:
		return o, fmt.Errorf("gateways: %d is not between 1 and %d", o.Gateways, maxGateways)
	case o.BlockTokens < 1:
		return o, fmt.Errorf("block tokens: %d is not above 0", o.BlockTokens)
	case min(o.Entries, o.Shared) < 0:
		return o, errors.New("entries and shared tokens must not be negative")
	case o.Shared%o.BlockTokens != 0:
		return o, fmt.Errorf("shared: %d tokens are not a whole number of blocks of %d", o.Shared, o.BlockTokens)
	case o.Shared/o.BlockTokens > prefix.MaxBlocks:
		return o, fmt.Errorf("shared: %d tokens are more than %d blocks of %d", o.Shared, prefix.MaxBlocks, o.BlockTokens)
	case min(o.Sync, o.Idle) < 0:
		return o, errors.New("sync and idle must not be negative")
	}
	return o, o.Failure.check(o.Targets)
}

func (f *Failure) check(targets int) error {
	if f == nil {
		return nil
	}
	returns := f.Returns
	if f.Unnoticed {
		returns = f.Dies
	} else if targets == 1 {
		return errors.New("failure: the only target cannot die")
	}
	if !(0 <= f.Dies && f.Dies <= returns && returns <= 1) { // NaN is refused as well
		return fmt.Errorf("failure: 0 ≤ dies %g ≤ returns %g ≤ 1 does not hold", f.Dies, returns)
	}
	return nil
}
