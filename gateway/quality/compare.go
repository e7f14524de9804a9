package quality

import (
	"github.com/callgate/callgate/internal/wilson"
)

// estimate is a score with its interval. n is on how many turns it rests.
type estimate struct {
	score, low, high float64
	n                float64
}

// certainty is the z of intervals: 99 %, since they are looked at all day.
const certainty = wilson.Z99

func estimated(score, n float64) estimate {
	low, high := wilson.Interval(score, min(n, windowTurns), certainty)
	return estimate{score, low, high, n}
}

// minCommon is how many calls of common tools each of two targets has to have made for their
// arguments to be compared.
const minCommon = 30

// compare is how two targets call the same tools. The score is the share of turns in which a tool was
// aimed at, times the score of the calls: tools that both have called have the same weight on both
// sides, the more calls the more, and all others none. skip says which tools count for nobody.
func compare(a, b sums, skip func(tool uint16) bool) (ea, eb estimate) {
	total, sumA, sumB, varA, varB, nA, nB := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for tool, ca := range a {
		cb := b[tool]
		if tool < firstTool || tool == allCalls || cb == nil || skip(tool) {
			continue
		}
		ka, kb := float64(ca.n()), float64(cb.n())
		if ka == 0 || kb == 0 { // another gateway may tell of none
			continue
		}
		w := ka * kb / (ka + kb)
		total, nA, nB = total+w, nA+ka, nB+kb
		sumA, sumB = sumA+w*ca.score(), sumB+w*cb.score()
		varA, varB = varA+w*w/ka, varB+w*w/kb
	}
	one := func(s sums, sum, variance, n float64) estimate {
		turns := s.n(aim)
		if turns == 0 {
			return estimated(0, 0)
		}
		score, enough := s[aim].score(), turns
		if nA >= minCommon && nB >= minCommon {
			score *= sum / total
			enough = min(turns, n, total*total/variance)
		}
		e := estimated(score, enough)
		e.n = turns
		return e
	}
	return one(a, sumA, varA, nA), one(b, sumB, varB, nB)
}

// overall is the score of a target by itself, on all tools that skip does not leave out.
func overall(s sums, skip func(tool uint16) bool) estimate {
	turns := s.n(aim)
	if turns == 0 {
		return estimated(0, 0)
	}
	s.total(skip)
	calls := s[allCalls]
	score := s[aim].score()
	if calls.n() > 0 {
		score *= calls.score()
	}
	return estimated(score, turns)
}
