package prefix

import (
	"math"

	"github.com/cespare/xxhash/v2"
)

// rendezvous is the score of a candidate for a block: the highest wins. It depends on
// nothing but the block and the candidate, so one that comes or goes moves no blocks
// between the others. A candidate wins as often as its weight says (weighted rendezvous
// hashing: the weight divided by the negative logarithm of a number from 0 to 1).
func rendezvous(block uint64, target string, weight float64) float64 {
	u := Mix(block ^ xxhash.Sum64String(target))
	const bits = 53
	return weight / -math.Log((float64(u>>(64-bits))+0.5)/(1<<bits))
}

// Mix is the finalizer of SplitMix64: each bit of the result depends on all of x.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
