// Package wilson says how sure a share is.
package wilson

import "math"

// The z of intervals.
const (
	Z95 = 1.959963984540054
	Z99 = 2.5758293035489004
)

// Interval is Wilson's score interval of a share p of n, from 0 to 1 without any n. Values between 0 and 1 vary less than
// those that are one of both, so for a mean of such values it is too wide rather than too narrow.
func Interval(p, n, z float64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	scale := 1 + z*z/n
	middle := (p + z*z/(2*n)) / scale
	half := z / scale * math.Sqrt(max(0, p*(1-p))/n+z*z/(4*n*n))
	low, high = max(middle-half, 0), min(middle+half, 1)
	if p <= 0 {
		low = 0 // and not what rounding leaves
	}
	if p >= 1 {
		high = 1
	}
	return low, high
}
