package prefix

import (
	"math"
	"slices"
)

const (
	// steady is how many running requests of each target the recent ones count as.
	steady = 4
	// recentWindow is how many choices of this index the recent ones are.
	recentWindow = 512
	// recentPrior is what each target is assumed to have been given at first.
	recentPrior = 2
	// recentMost bounds what recent requests say. It is below overlap: they alone never
	// take a prompt from a target that has all of it.
	recentMost = 3
	// A candidate is ahead of its share when it was given more than aheadShare of it and
	// aheadSome beyond.
	aheadShare, aheadSome = 1.25, 1
)

// load is what a candidate has to do, and what it was given lately, by its weight: equal
// numbers are fair.
type load struct{ running, recent, weight float64 }

// loads are those of all candidates.
type loads struct {
	of              []load
	weight          float64
	running, recent float64
}

func (l *loads) add(i int, o Candidate, recent float64) {
	running, weight := float64(max(0, o.Running)), o.weight()
	l.of[i] = load{running / weight, recent / weight, weight}
	l.weight += weight
	l.running += running
	l.recent += recent
}

// ahead reports whether a candidate was given so much more lately than its share that
// others should have what nobody knows. It evens out what chance makes of a few
// conversations while so little runs that this says nothing; otherwise load does. It is
// the bound of consistent hashing with bounded loads, on requests that were in the place
// of those that are. Never are all candidates ahead.
func (l *loads) ahead(i int) bool {
	own := l.of[i]
	return l.running < float64(len(l.of)) && own.recent*own.weight > aheadShare*l.recent*own.weight/l.weight+aheadSome
}

// relative sets the load of each candidate: 1 is that of one which has little to do. All
// have been added.
//
// With many requests it is running ÷ those of the lower quartile. (Over the mean it could
// not grow above the number of candidates: of four, one could have all requests and still
// be the cheapest for what it has cached. Over the least, one that is ill and gets nothing
// would make all others look busy.) With one or two running at a target their number is
// chance, and a gateway that is one of many only sees its own. So it is drawn towards what
// the candidate was given lately, as if that were some running requests of each target,
// but not more than there are in all: while nothing runs there is no load. The fourth
// power makes a tenth too much count as half, so that shares even out before they are far
// apart.
func (l *loads) relative(costs []Cost) {
	n := float64(len(l.of))
	part := l.weight / n
	running := make([]float64, len(l.of))
	for i, own := range l.of {
		running[i] = own.running * part
	}
	slices.Sort(running)
	some := min(steady, l.running)
	usual := running[(len(running)-1)/4] + max(1, some)
	for i, own := range l.of {
		recent := (own.recent*part + recentPrior) / (l.recent/n + recentPrior)
		recent = min(recentMost, recent*recent*recent*recent)
		costs[i].Load = (own.running*part + some*recent) / usual
	}
}

// fading counts what was given to a target, of which each choice since makes it less.
type fading struct {
	value float64
	turn  uint64
}

func (f fading) at(turn uint64) float64 {
	if turn <= f.turn {
		return f.value
	}
	return f.value * math.Exp(-float64(turn-f.turn)/recentWindow)
}

func (f fading) plusOne(turn uint64) fading {
	return fading{f.at(turn) + 1, max(f.turn, turn)}
}

// weight is Weight within bounds that keep quotients of weights finite.
func (o Candidate) weight() float64 {
	const least, most = 1e-6, 1e6
	if o.Weight > 0 {
		return min(max(o.Weight, least), most)
	}
	return 1
}
