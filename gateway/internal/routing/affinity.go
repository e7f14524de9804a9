package routing

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/prefix"
)

// Affinity leads requests to targets that have the beginning of their prompt in their cache.
// It is safe for concurrent use.
type Affinity struct {
	index   *prefix.Index
	salt    []byte
	targets map[string]bool // those in the index
	list    []prefix.Target
}

// NewAffinity makes one for the targets of routes that want it; nil if none does. idle is how
// long a provider keeps a prompt that is not used. What targets have is kept in index, from Begin
// on.
func NewAffinity(c Config, wants func(route string) bool, idle func(provider string) time.Duration, salt []byte, index *prefix.Index) *Affinity {
	a := &Affinity{salt: salt, targets: map[string]bool{}, index: index}
	for name, list := range c.Lists() {
		if !wants(name) {
			continue
		}
		for _, t := range list {
			if !a.targets[t.Name()] {
				a.targets[t.Name()] = true
				a.list = append(a.list, prefix.Target{Name: t.Name(), Idle: idle(t.Provider)})
			}
		}
	}
	if len(a.list) == 0 {
		return nil
	}
	return a
}

// Begin makes the targets of the index those of a. What is known of one that stays is kept.
func (a *Affinity) Begin() { a.index.Keep(a.list) }

// Forget drops what is known of a provider's caches: it failed so often that it may have
// been started anew.
func (a *Affinity) Forget(provider string) {
	if a == nil {
		return
	}
	for name := range a.targets {
		if strings.HasPrefix(name, provider+"/") {
			a.index.Drop(name)
		}
	}
}

// Chain is the prompt of a request as upstreams' caches see it: what comes first is the
// tools, then the messages. That of the next turn begins with it.
func Chain(salt []byte, r *gateway.Request, model string) prefix.Chain {
	parts := [][]byte{r.Reading.ToolsJSON()}
	if r.Reading.HasMessages() {
		messages := r.Body.Places().Messages.Of(r.Body.Bytes())
		parts = append(parts, messages[1:len(messages)-1]) // the bracket is elsewhere in the next turn
	}
	return prefix.Of(prefix.NewKey(salt, r.From.Tenant, r.Routing.Route+"\x00"+model), parts...)
}

// Prompt is one request on its way to a target that has the beginning of its prompt. It is
// used by one goroutine.
type Prompt struct {
	affinity *Affinity
	chain    prefix.Chain
	decision *prefix.Decision
	expected int // blocks that the target which was asked last should have
}

// Prompt takes a request whose prompt chain is the hashes of.
func (a *Affinity) Prompt(chain prefix.Chain) *Prompt { return &Prompt{affinity: a, chain: chain} }

// Order returns the places of candidates in the order in which they are to be asked: the one
// that has the most of the prompt and is not too busy, and the others behind it by what they
// would cost. Targets that want to be left alone come last.
func (p *Prompt) Order(list []gateway.Candidate) []int {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	weighted := slices.ContainsFunc(list, func(c gateway.Candidate) bool { return c.Weight > 0 })
	var candidates []prefix.Candidate
	for _, c := range list {
		if p.affinity.targets[c.Name()] && c.Ready && !c.OfControl && (c.Weight > 0 || !weighted) { // else it is only a fallback
			candidates = append(candidates, prefix.Candidate{Target: c.Name(), Running: c.Running, Weight: float64(c.Weight)})
		}
	}
	if len(candidates) == 0 {
		return order
	}
	d := p.affinity.index.Choose(p.chain, candidates)
	cost := map[string]float64{d.Target: math.Inf(-1)}
	for _, c := range d.Costs {
		if c.Target != d.Target {
			cost[c.Target] = c.Total
		}
	}
	rank := func(i int) float64 {
		if total, ok := cost[list[i].Name()]; ok {
			return total
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(rank(x), rank(y)) })
	p.decision = &d
	return order
}

// Expect returns how the target of an attempt came to be asked, nil if nobody chose. Behind a
// failure what the target has may differ from what was known when it was chosen.
func (p *Prompt) Expect(t gateway.Target, first bool) *prefix.Decision {
	if d := p.decision; d != nil && d.Target == t.Name() && first {
		p.expected = d.Expected
		return d
	}
	p.expected = p.affinity.index.Match(t.Name(), p.chain)
	if p.decision == nil {
		return nil
	}
	now := *p.decision
	if now.Target != t.Name() {
		now.Target, now.Reason = t.Name(), prefix.Fallback
	}
	now.Expected = p.expected
	return &now
}

// Answered notes that the target has answered the prompt.
func (p *Prompt) Answered(t gateway.Target, u gateway.Usage) {
	if len(p.chain) > 0 {
		p.affinity.index.Answered(t.Name(), p.chain, p.expected, u)
	}
}
