package rollout

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"
)

// Buckets is how many parts all units are divided into: a part is a hundredth of a percent.
const Buckets = 10_000

// MaxArms is how many arms a rollout may have.
const MaxArms = 16

// bucket is the part, from 0 to Buckets-1, that a unit belongs to under a salt. It is the same in
// every process, at any time.
func bucket(salt, unit string) int {
	d := xxhash.New()
	_, _ = d.WriteString(salt) // neither can fail
	_, _ = d.WriteString("|")
	_, _ = d.WriteString(unit)
	part, _ := bits.Mul64(d.Sum64(), Buckets) // the upper bits: no remainder that favours the first parts
	return int(part)
}

// table has the arm of each bucket.
type table [Buckets]uint8

// newTable deals the buckets to arms by their weights, which add up to Buckets. The first arm, the
// control, has what the others leave. Each of those begins at a place of its own and grows from
// there: as long as an arm widens at the control's cost nobody who is in it leaves, and none of the
// others moves unless one has more than its part of all places.
func newTable(weights []int) *table {
	t := &table{}
	others := len(weights) - 1
	if others < 1 {
		return t
	}
	part := Buckets / others
	for arm := 1; arm <= others; arm++ {
		from := (arm - 1) * part
		for i := range min(weights[arm], part) {
			t[from+i] = uint8(arm)
		}
	}
	at := Buckets - 1
	for arm := 1; arm <= others; arm++ {
		for over := weights[arm] - part; over > 0 && at >= 0; at-- {
			if t[at] == 0 {
				t[at] = uint8(arm)
				over--
			}
		}
	}
	return t
}
