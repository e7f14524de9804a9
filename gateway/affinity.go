package gateway

import (
	"cmp"
	"crypto/rand"
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
	a := &affinity{salt: o.CacheSalt, targets: map[string]bool{}}
	if len(a.salt) == 0 {
		a.salt = []byte(rand.Text())
	}
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

// leastCached is how many tokens a prompt has that providers cache at all; 1,024 is
// OpenAI's and Anthropic's number for most models.
const leastCached = 1024

// answered notes that a target has answered a prompt, and has it in its cache now.
func (r *Response) answered() {
	f, a := r.gateway.affinity, r.of
	if f == nil || len(a.chain) == 0 {
		return
	}
	name := r.target.name()
	if u := r.Summary.Usage; u.Reported && u.Input < leastCached {
		return
	}
	if u := r.Summary.Usage; u.CacheReported && u.Input > 0 {
		expected := f.index.Match(name, a.chain)
		f.index.Reported(name, a.chain, expected, a.chain.Share(u.CacheRead, u.Input))
	}
	f.index.Add(name, a.chain)
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
