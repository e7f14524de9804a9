package rollout

import (
	"math"

	"github.com/callgate/callgate/internal/wilson"
)

// z and zPower are those quantiles of the normal distribution: of an interval of 95 %, and of a
// power of 80 %.
const (
	z      = wilson.Z95
	zPower = 0.8416212335729143
)

// Interval is what a share may be, as far as its counts say.
type Interval struct {
	Rate float64 `json:"rate"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// intervalOf is the interval of 95 % by Wilson's score for k of n; without any n it is from 0 to 1.
func intervalOf(k, n int) Interval {
	if n <= 0 {
		return Interval{High: 1}
	}
	i := Interval{Rate: float64(k) / float64(n)}
	i.Low, i.High = wilson.Interval(i.Rate, float64(n), z)
	return i
}

// needed is how many requests each of two arms needs for the difference between the shares p and q to
// be seen: in four of five trials, at a level of 5 %. It is 0 if there is no difference.
func needed(p, q float64) int {
	d := p - q
	if d == 0 {
		return 0
	}
	return max(fewest, int(math.Ceil((z+zPower)*(z+zPower)*(p*(1-p)+q*(1-q))/(d*d))))
}

// fewest is how many requests it takes until the intervals of none and of all of them part, which no other
// difference does before.
const fewest = 4 // the first above z*z
