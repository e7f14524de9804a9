package gateway

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/prefix"
)

// affinity leads requests to targets that have the beginning of their prompt in their
// cache.
type affinity struct {
	index   *prefix.Index
	salt    []byte
	targets map[string]bool // those in the index
}

// CacheSnapshot is what the gateway believes to be in the caches of targets.
type CacheSnapshot = prefix.Snapshot

// newAffinity makes one for the targets of routes that want it; nil if none does.
func (g *Gateway) newAffinity(o Options) *affinity {
	a := &affinity{salt: g.salt, targets: map[string]bool{}}
	var targets []prefix.Target
	for name, list := range o.lists() {
		if c := g.conducts[name]; c == nil && !g.conduct.Affinity || c != nil && !c.Affinity {
			continue
		}
		for _, t := range list {
			if !a.targets[t.name()] {
				a.targets[t.name()] = true
				targets = append(targets, prefix.Target{Name: t.name(), Idle: o.Policies[t.Provider].CacheIdle})
			}
		}
	}
	if len(targets) == 0 {
		return nil
	}
	a.index = prefix.New(prefix.Options{Targets: targets, Share: o.ShareIndex})
	return a
}

// name is what a target is called in the index: a model of a provider.
func (t Target) name() string { return t.Provider + "/" + t.Model }

// chain is the prompt of a request as the upstreams' caches see it: what comes first is
// the tools, then the messages. That of the next turn begins with it.
func (a *affinity) chain(req *Request, model string) prefix.Chain {
	parts := [][]byte{req.Tools()}
	if req.hasMessages() {
		messages := req.messages.Of(req.body)
		parts = append(parts, messages[1:len(messages)-1]) // the bracket is elsewhere in the next turn
	}
	return prefix.Of(prefix.NewKey(a.salt, req.Tenant, req.Route+"\x00"+model), parts...)
}

// near puts the target in front that has the most of the prompt and is not too busy, and
// the others behind it by what they would cost. Targets that want to be left alone come
// last.
func (a *attempts) near() {
	f := a.g.affinity
	if f == nil || !a.conduct.Affinity || len(a.targets) < 2 {
		return
	}
	a.chain = f.chain(a.req, a.way.model)
	weighted := slices.ContainsFunc(a.targets, func(c *candidate) bool { return c.Weight > 0 })
	var candidates []prefix.Candidate
	for _, c := range a.targets {
		if f.targets[c.name()] && c.upstream.ready() && (c.Weight > 0 || !weighted) { // else it is only a fallback
			candidates = append(candidates, prefix.Candidate{Target: c.name(), Running: int(c.load.running.Load()), Weight: float64(c.Weight)})
		}
	}
	if len(candidates) == 0 {
		return
	}
	d := f.index.Choose(a.chain, candidates)
	cost := map[string]float64{d.Target: math.Inf(-1)}
	for _, c := range d.Costs {
		if c.Target != d.Target {
			cost[c.Target] = c.Total
		}
	}
	rank := func(c *candidate) float64 {
		if total, ok := cost[c.name()]; ok {
			return total
		}
		return math.Inf(1)
	}
	slices.SortStableFunc(a.targets, func(x, y *candidate) int { return cmp.Compare(rank(x), rank(y)) })
	a.decision = &d
}

// expects returns how the target of an attempt came to be asked, nil if nobody chose, and
// how many blocks of the prompt it should have now. Behind a failure that may differ from
// what was known when the target was chosen.
func (a *attempts) expects(target string) (d *prefix.Decision, blocks int) {
	f := a.g.affinity
	if f == nil || a.decision != nil && a.decision.Target == target && len(a.made) == 0 {
		d = a.decision
		if d != nil {
			blocks = d.Expected
		}
		return d, blocks
	}
	blocks = f.index.Match(target, a.chain)
	if a.decision == nil {
		return nil, blocks
	}
	now := *a.decision
	if now.Target != target {
		now.Target, now.Reason = target, prefix.Fallback
	}
	now.Expected = blocks
	return &now, blocks
}

// answered notes that a target has answered a prompt.
func (r *Response) answered() {
	if f, a := r.gateway.affinity, r.of; f != nil && len(a.chain) > 0 {
		f.index.Answered(r.target.name(), a.chain, r.expected, r.Summary.Usage)
	}
}

// forget drops what is known of a provider's caches: it failed so often that it may have
// been started anew.
func (f *affinity) forget(provider string) {
	if f == nil {
		return
	}
	for name := range f.targets {
		if strings.HasPrefix(name, provider+"/") {
			f.index.Drop(name)
		}
	}
}

// Caches is what the gateway believes to be in the caches of targets, for the operator.
func (g *Gateway) Caches() CacheSnapshot {
	if g.affinity == nil {
		return CacheSnapshot{Targets: []prefix.TargetSnapshot{}}
	}
	return g.affinity.index.Snapshot()
}

// Index is where the gateway keeps what it knows of targets' caches, for whoever tells
// other gateways; nil if no route wants it.
func (g *Gateway) Index() *prefix.Index {
	if g.affinity == nil {
		return nil
	}
	return g.affinity.index
}

// PrefixText writes how the target was chosen as a header does: cached;expected=12/64.
func (s *Summary) PrefixText() string {
	if s.Prefix == nil {
		return ""
	}
	return fmt.Sprintf("%s;expected=%d/%d", s.Prefix.Reason, s.Prefix.Expected, s.Prefix.Blocks)
}
