package quality

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Arm is a target of a route that shares its requests with others.
type Arm struct {
	Target
	// Weight is the operator's; one of 0 takes no part.
	Weight int
}

// Settings are those of a group.
type Settings struct {
	// Apply sends new conversations elsewhere; else it is only said what would be done.
	Apply bool
	// Low is the score below which an arm may lose requests, and High that above which it gets them
	// back. 0 is .85 and .92.
	Low, High float64
	// Floor is the share that an arm keeps at least, or all that it has; 0 is .05.
	Floor float64
}

// The defaults of Settings.
const (
	DefaultLow   = .85
	DefaultHigh  = .92
	DefaultFloor = .05
)

// Steps of shares, in one evaluation: down, and back, which is slower, since what an arm can do with
// few requests does not tell what it can do with many.
const (
	stepDown = .10
	stepBack = .05
)

// An arm that was left stays so for five minutes, and each time in a day twice as long, up to four
// hours.
const (
	holdFirst = 5 * time.Minute
	holdMost  = 4 * time.Hour
	holdDay   = 24 * time.Hour
)

// Group is the targets of one route, of which each has a share of its new conversations. It is made
// by [Book.Configure].
type Group struct {
	book     *Book
	name     string
	settings Settings
	arms     []arm
	weights  float64 // all
	hash     uint64  // of the name and the arms
}

// arm is a target of a group. Shares are of all requests, 0 to 1.
type arm struct {
	Arm
	base, share float64
	demoted     bool
	until       time.Time // it stays so until then at least
	times       []time.Time
	estimate    estimate
	probe
}

// probe is when an arm that was left got a conversation.
type probe struct {
	at    time.Time
	since int // new conversations of the group
}

// Configure returns groups by name. From begin on, which is to be called once they are used, they are
// all that there are. One that was there with the same arms goes on where it was.
func (b *Book) Configure(groups map[string]Settings, arms map[string][]Arm) (out map[string]*Group, begin func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out = map[string]*Group{}
	settings := map[string]Settings{}
	for name, s := range groups {
		s.Low, s.High, s.Floor = cmp.Or(s.Low, DefaultLow), cmp.Or(s.High, DefaultHigh), cmp.Or(s.Floor, DefaultFloor)
		g := newGroup(b, name, s, arms[name])
		if old := b.groups[name]; old != nil && slices.EqualFunc(old.arms, g.arms, func(x, y arm) bool { return x.Arm == y.Arm }) {
			g = old
		}
		out[name], settings[name] = g, s
	}
	return out, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.groups = out
		for name, s := range settings {
			out[name].settings = s
		}
	}
}

func newGroup(b *Book, name string, s Settings, arms []Arm) *Group {
	g := &Group{book: b, name: name, settings: s, hash: xxhash.Sum64String(fmt.Sprintf("%q %q", name, fmt.Sprint(arms)))}
	for _, a := range arms {
		g.weights += float64(a.Weight)
	}
	for _, a := range arms {
		share := float64(a.Weight) / max(1, g.weights)
		g.arms = append(g.arms, arm{Arm: a, base: share, share: share})
	}
	return g
}

// evaluate decides which arms are left and which come back, and makes a step. The book is locked.
func (g *Group) evaluate(now time.Time, all map[Target]sums) (said []event) {
	for i := range g.arms {
		g.arms[i].estimate = overall(all[g.arms[i].Target], g.book.isBlamed)
	}
	for i := range g.arms {
		if why := g.returns(i, now, all); why != "" {
			g.arms[i].demoted = false
			said = append(said, g.event("an arm comes back", i, "reason", why))
		}
	}
	if i, than := g.worst(all); i >= 0 {
		g.demote(i, now)
		said = append(said, g.event("an arm is left slowly: it calls tools worse than another", i, "than", g.arms[than].name()))
	}
	return append(said, g.step()...)
}

func (a *arm) name() string { return a.Provider + "/" + a.Model }

func (g *Group) event(message string, i int, attrs ...any) event {
	a := &g.arms[i]
	verb := "tool call quality: "
	if !g.settings.Apply {
		verb = "tool call quality (report only): "
	}
	attrs = append([]any{"route", g.name, "target", a.name(), "parser", a.Parser, "score", round(a.estimate.score), "turns", int(a.estimate.n),
		"share", round(a.share)}, attrs...)
	return event{slog.LevelInfo, verb + message, attrs}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// worst is the arm that is to be left next, -1 for none, and one that is better for certain.
func (g *Group) worst(all map[Target]sums) (worst, than int) {
	worst, lowest := -1, math.Inf(1)
	var sound []int
	taking := 0
	for i := range g.arms {
		if g.arms[i].Weight == 0 {
			continue
		}
		if taking++; !g.arms[i].demoted {
			sound = append(sound, i)
		}
	}
	if taking-len(sound)+1 > taking/2 { // half of them at most, and never the last
		return -1, -1
	}
	for _, i := range sound {
		for _, j := range sound {
			a, b := compare(all[g.arms[i].Target], all[g.arms[j].Target], g.book.isBlamed)
			if min(a.n, b.n) >= enoughTurns && a.score < g.settings.Low && a.high < b.low && a.score < lowest {
				worst, than, lowest = i, j, a.score
			}
		}
	}
	return worst, than
}

func (g *Group) demote(i int, now time.Time) {
	a := &g.arms[i]
	a.times = slices.DeleteFunc(a.times, func(t time.Time) bool { return now.Sub(t) > holdDay })
	hold := min(holdFirst<<min(len(a.times), 10), holdMost)
	a.times = append(a.times, now)
	a.demoted, a.until, a.probe = true, now.Add(hold), probe{at: now}
}

// returns says why an arm that was left comes back, "" if it does not.
func (g *Group) returns(i int, now time.Time, all map[Target]sums) string {
	a := &g.arms[i]
	switch {
	case !a.demoted || now.Before(a.until):
		return ""
	case a.estimate.n < enoughTurns: // what was known of it is too old
		return "unknown"
	}
	compared := false
	for j := range g.arms {
		other := &g.arms[j]
		if i == j || other.demoted || other.Weight == 0 {
			continue
		}
		x, y := compare(all[a.Target], all[other.Target], g.book.isBlamed)
		if y.n < enoughTurns {
			continue
		}
		compared = true
		if x.score <= g.settings.High && x.score < y.score {
			return ""
		}
	}
	switch {
	case compared:
		return "as good as the others"
	case a.estimate.score > g.settings.High:
		return "good"
	}
	return ""
}

// step moves the shares towards what they are to be.
func (g *Group) step() (said []event) {
	kept, sound, step := 0.0, 0.0, stepBack
	goal := make([]float64, len(g.arms))
	for i := range g.arms {
		if a := &g.arms[i]; a.demoted {
			goal[i] = min(a.base, g.settings.Floor)
			kept += goal[i]
			if a.share > goal[i] {
				step = stepDown
			}
		} else {
			sound += a.base
		}
	}
	if sound == 0 { // it cannot be: the last is never left
		return nil
	}
	far := 0.0
	for i := range g.arms {
		if a := &g.arms[i]; !a.demoted {
			goal[i] = a.base / sound * (1 - kept)
		}
		far = max(far, math.Abs(goal[i]-g.arms[i].share))
	}
	if far < 1e-9 {
		return nil
	}
	part := min(1, step/far)
	for i := range g.arms {
		a := &g.arms[i]
		was := a.share
		if a.share += part * (goal[i] - a.share); part == 1 {
			a.share = goal[i]
		}
		if math.Abs(a.share-was) >= .0005 {
			said = append(said, g.event("share changed", i, "from", round(was)))
		}
	}
	return said
}
