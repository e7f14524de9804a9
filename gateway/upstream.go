package gateway

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
)

// Policy is what the gateway does around one provider.
type Policy struct {
	Retry RetryPolicy
	// Failures in a row open the provider's breaker for Open; zero means 5 and 60 s.
	Failures int
	Open     time.Duration
	// History says what is done about calls in the client's messages that the provider
	// could not take ([Needer]).
	History Mode
	// CacheIdle is how long the provider keeps a prompt in its cache that is not used; 0
	// means 5 minutes.
	CacheIdle time.Duration
	// Hints is what the provider can be told about the beginning of a prompt.
	Hints HintKind
}

// upstream is a provider with its state.
type upstream struct {
	name     string
	provider Provider
	needs    Needs
	policy   Policy
	breaker  *breaker.Breaker
	bucket   *bucket
	unhinted atomic.Int64 // until then, in ns since 1970, it gets no hints
}

func (g *Gateway) newUpstream(name string, p Provider, policy Policy) *upstream {
	u := &upstream{name: name, provider: p, policy: policy, bucket: newBucket()}
	u.policy.Retry = policy.Retry.withDefaults()
	if n, ok := p.(Needer); ok {
		u.needs = n.Needs()
	}
	u.breaker = breaker.New(breaker.Settings{
		Name: name, Failures: policy.Failures, Open: policy.Open,
		OnChange: func(c breaker.Change) { g.changed(name, c) },
	})
	return u
}

// ready reports whether the upstream can be asked: its breaker is closed, or would let a
// probe through, and it has not asked to be left alone.
func (u *upstream) ready() bool { return u.breaker.Available() && u.breaker.Cooling() == 0 }

// reject counts a request that did not come to the upstream since its breaker is open.
func (u *upstream) reject() {
	if pass, err := u.breaker.Allow(); err == nil { // it has just become ready
		pass.Done(breaker.Excluded, "not asked")
	}
}

// Breakers returns the state of every provider's breaker, sorted by name.
func (g *Gateway) Breakers() []breaker.Snapshot {
	var out []breaker.Snapshot
	for _, name := range slices.Sorted(maps.Keys(g.upstreams)) {
		out = append(out, g.upstreams[name].breaker.Snapshot())
	}
	return out
}

// ResetBreaker closes a provider's breaker by hand. It reports whether there is one.
func (g *Gateway) ResetBreaker(name string) bool {
	u, ok := g.upstreams[name]
	if ok {
		u.breaker.Reset("manual")
		u.bucket.fill()
	}
	return ok
}
