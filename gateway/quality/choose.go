package quality

import "time"

// Choice is which arm a request is to be asked first.
type Choice struct {
	Arm int
	// From is the arm that it would have been by the operator's weights, where that is another one
	// because of how they call tools; -1 otherwise.
	From int
}

// probeEvery is how often an arm that was left gets a conversation at least, and probeAmong of how many
// new ones that is one at most.
const (
	probeEvery = time.Minute
	probeAmong = 10
)

// Applies reports whether the group sends new conversations elsewhere. It may be nil.
func (g *Group) Applies() bool {
	if g == nil {
		return false
	}
	g.book.mu.Lock()
	defer g.book.mu.Unlock()
	return g.settings.Apply
}

// Choose draws the arm that a request is to be asked first: of a conversation under way the one that it
// has, as far as this gateway knows, or one by the operator's weights; of a new one one by the shares.
// ready says which arms can be asked now. ok is false if no arm has a weight.
func (g *Group) Choose(c Conversation, ready func(arm int) bool) (choice Choice, ok bool) {
	b := g.book
	now := b.o.Now()
	b.mu.Lock()
	choice, ok, said := g.choose(c, ready, now)
	b.mu.Unlock()
	b.say(said)
	return choice, ok
}

func (g *Group) choose(c Conversation, ready func(arm int) bool, now time.Time) (choice Choice, ok bool, said []event) {
	if g.weights == 0 {
		return Choice{}, false, nil
	}
	said = g.book.due(now)
	key := c.Key ^ g.hash
	if c.Running {
		if i, known := g.book.keys.find(key); known && int(i) < len(g.arms) && g.arms[i].Weight > 0 {
			return Choice{int(i), -1}, true, said
		}
	}
	i := g.draw()
	choice = Choice{i, -1}
	if !c.Running {
		if j := g.move(i, ready, now); j != i {
			choice = Choice{j, i}
		}
	}
	g.book.keys.put(key, uint8(choice.Arm))
	g.book.place(key, uint8(choice.Arm))
	return choice, true, said
}

// draw draws an arm by the operator's weights.
func (g *Group) draw() int {
	at := g.book.o.Rand() * g.weights
	last := 0
	for i := range g.arms {
		if g.arms[i].Weight == 0 {
			continue
		}
		last = i
		if at -= float64(g.arms[i].Weight); at < 0 {
			break
		}
	}
	return last
}

// move is the arm that a new conversation is sent to, of which i was drawn. An arm that has lost a part
// of its share gives away as many of its own, to those that have gained and can be asked.
func (g *Group) move(i int, ready func(arm int) bool, now time.Time) int {
	if k := g.probe(i, ready, now); k >= 0 {
		return k
	}
	a := &g.arms[i]
	if a.share >= a.base || g.book.o.Rand()*a.base < a.share {
		return i
	}
	gained := 0.0
	for j := range g.arms {
		if d := g.arms[j].share - g.arms[j].base; d > 0 && ready(j) {
			gained += d
		}
	}
	at := g.book.o.Rand() * gained
	for j := range g.arms {
		if d := g.arms[j].share - g.arms[j].base; d > 0 && ready(j) {
			if at -= d; at < 0 {
				return j
			}
		}
	}
	return i
}

// probe is an arm that was left and has had no conversation for a while, -1 if there is none.
func (g *Group) probe(drawn int, ready func(arm int) bool, now time.Time) int {
	due := -1
	for k := range g.arms {
		a := &g.arms[k]
		if !a.demoted {
			continue
		}
		a.since++
		if due < 0 && a.since >= probeAmong && now.Sub(a.at) >= probeEvery && (k == drawn || ready(k)) {
			due = k
			a.probe = probe{at: now}
		}
	}
	return due
}

// Denies reports whether a new conversation is not to be asked of an arm that something else than the
// weights has chosen, such as what is in its cache. It draws.
func (g *Group) Denies(i int, c Conversation) bool {
	if g == nil || c.Running {
		return false
	}
	b := g.book
	now := b.o.Now()
	b.mu.Lock()
	said := b.due(now)
	defer b.say(said)
	defer b.mu.Unlock()
	if !g.settings.Apply || i >= len(g.arms) {
		return false
	}
	a := &g.arms[i]
	if a.demoted {
		if a.since++; a.since >= probeAmong && now.Sub(a.at) >= probeEvery {
			a.probe = probe{at: now}
			return false
		}
	}
	return a.share < a.base && b.o.Rand()*a.base >= a.share
}

// Demoted reports whether an arm is one that was left.
func (g *Group) Demoted(i int) bool {
	g.book.mu.Lock()
	defer g.book.mu.Unlock()
	return g.settings.Apply && i < len(g.arms) && g.arms[i].demoted
}
