// Package attempt asks upstreams for the answer to one request: one target after the other,
// within one budget of attempts and one deadline, until one has begun a useful answer. It
// knows providers, breakers, retries and the pipeline of stages that an answer passes; what
// the stages do it does not know.
package attempt

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/quality"
)

// Config is what an Engine is made of.
type Config struct {
	Providers map[string]gateway.Provider
	// Policies say what is done around a provider; one that is missing has the defaults.
	Policies map[string]gateway.Policy
	// Targets are those that the configuration names, each with its model.
	Targets []gateway.Target
	// Trace is told of each attempt; it may be nil.
	Trace Trace
	// OnChange is told when a provider's breaker changes its state.
	OnChange func(provider string, c breaker.Change)
	// Quality is told what became of calls; it may be nil.
	Quality *quality.Book
	Log     *slog.Logger
	// Now is the clock of what is remembered of targets for a time.
	Now func() time.Time
	// Previous is the engine whose place this one takes, nil for none: what it knows of a
	// provider that is the same value here goes on, breaker and all.
	Previous *Engine
}

// Trace is told of an attempt, and may add to the header that goes upstream. end is called
// once, with what became of it.
type Trace func(ctx context.Context, a gateway.Attempt, header http.Header) (_ context.Context, end func(gateway.AttemptEnd))

// Engine makes attempts. It is safe for concurrent use.
type Engine struct {
	upstreams map[string]*upstream
	loads     map[targetKey]*load
	pins      *pins
	trace     Trace
	detours   *detours
	book      *quality.Book // of how targets call tools; nil: nobody wants to know
	log       *slog.Logger
	changed   func(provider string, c breaker.Change)
}

// New makes an engine. Of one that has a Previous, Begin is to be called.
func New(c Config) *Engine {
	e := &Engine{upstreams: map[string]*upstream{}, loads: newLoads(c.Targets, maps.Keys(c.Providers)), pins: newPins(c.Now), trace: c.Trace, detours: newDetours(c.Now), book: c.Quality, log: c.Log, changed: c.OnChange}
	for name, p := range c.Providers {
		e.upstreams[name] = newUpstream(name, p, c.Policies[name], c.OnChange)
	}
	if c.Previous != nil {
		e.inherit(c.Previous)
	}
	return e
}

// Needs are what a provider's upstream demands of a conversation.
func (e *Engine) Needs(provider string) gateway.Needs { return e.upstreams[provider].needs }

// Models asks a provider for its models, if it can list them.
func (e *Engine) Models(ctx context.Context, provider string) []string {
	lister, ok := e.upstreams[provider].provider.(gateway.ModelLister)
	if !ok {
		return nil
	}
	models, err := lister.Models(ctx)
	if err != nil && ctx.Err() == nil {
		e.log.WarnContext(ctx, "models not listed", "provider", provider, "error", err)
	}
	return models
}

// HasModel reports whether a provider has a model. It is not known of one that cannot list its models.
func (e *Engine) HasModel(ctx context.Context, provider, model string) (has, known bool) {
	if finder, ok := e.upstreams[provider].provider.(gateway.ModelFinder); ok {
		return finder.HasModel(model), true
	}
	models := e.Models(ctx, provider)
	return slices.Contains(models, model), models != nil
}

// Breakers returns the state of every provider's breaker, sorted by name.
func (e *Engine) Breakers() []breaker.Snapshot {
	var out []breaker.Snapshot
	for _, name := range slices.Sorted(maps.Keys(e.upstreams)) {
		out = append(out, e.upstreams[name].breaker.Snapshot())
	}
	return out
}

// ResetBreaker closes a provider's breaker by hand. It reports whether there is one.
func (e *Engine) ResetBreaker(name string) bool {
	u, ok := e.upstreams[name]
	if ok {
		u.breaker.Reset("manual")
		u.bucket.add(2 * bucketSize) // it is full
	}
	return ok
}

// upstream is a provider with its state.
type upstream struct {
	provider gateway.Provider
	needs    gateway.Needs
	retry    gateway.RetryPolicy
	breaker  *breaker.Breaker
	bucket   *bucket
	// changed is told of the breaker's changes, by the engine that has the upstream now.
	changed atomic.Pointer[func(string, breaker.Change)]
}

// newUpstream is a provider with the defaults of its policy, a closed breaker and a full bucket. changed is
// told of the breaker's changes.
func newUpstream(name string, p gateway.Provider, policy gateway.Policy, changed func(string, breaker.Change)) *upstream {
	retry := policy.Retry
	if retry.Base <= 0 {
		retry.Base = time.Second
	}
	if retry.Cap <= 0 {
		retry.Cap = max(60*time.Second, retry.Base)
	}
	u := &upstream{provider: p, retry: retry, bucket: &bucket{tokens: bucketSize, at: time.Now()}}
	if n, ok := p.(gateway.Needer); ok {
		u.needs = n.Needs()
	}
	u.changed.Store(&changed)
	u.breaker = breaker.New(breaker.Settings{
		Name: name, Failures: policy.Failures, Open: policy.Open,
		OnChange: func(c breaker.Change) { (*u.changed.Load())(name, c) },
	})
	return u
}

// ready reports whether the upstream can be asked: its breaker is closed, or would let a
// probe through, and it has not asked to be left alone.
func (u *upstream) ready() bool { return u.breaker.Available() && u.breaker.Cooling() == 0 }

// Plan is what a request is to be asked with.
type Plan struct {
	// Asked is what the client sent, and Base that with what was changed for all targets.
	Asked, Base *gateway.Request
	// Notes are what was found out about it, and Found is what was changed in Base, and is odd about it.
	Notes gateway.Notes
	Found gateway.Findings
	// Prompt is that of Base, for whoever wants to know; it may be nil.
	Prompt  *gateway.Prompt
	Route   *gateway.RouteChoice
	Targets []gateway.Target
	Model   string // what a target without a name of its own asks for
	// FallbackOn are the causes behind which the next target is asked, though the failure is
	// none of the upstream's.
	FallbackOn []gateway.Cause
	Affinity   Affinity // nil: the targets' order and weights decide
	Calls      Calls
	Exchange   Exchange
	// Timing is when the request came, and what was spent on it since.
	Timing    gateway.Timing
	Execution bool
}

// Calls say how the calls of answers matter.
type Calls struct {
	// Group says which of the targets new conversations with tools are sent to, by how they call;
	// nil: that is of no matter. Conversation is the one that the request belongs to.
	Group        *quality.Group
	Conversation quality.Conversation
	// Counted says that those of the answers are counted.
	Counted bool
}

// Exchange is what a request passes on its way to an upstream, and what its answer passes then.
type Exchange struct {
	// Policies change the request for a target, in their order.
	Policies func(gateway.Target) []gateway.RequestPolicy
	// Send sends the request in the place of the provider's Chat; nil: that does. What comes
	// back is not looked into: its first frame commits the attempt.
	Send func(ctx context.Context, p gateway.Provider, model string, header http.Header) (gateway.Relayed, error)
	// Stages are those that an answer passes, in their order.
	Stages []gateway.Maker
}

// Affinity decides which targets are asked first by what they have in their caches.
type Affinity interface {
	// Order returns the places of candidates in the order in which they are to be asked.
	Order(list []gateway.Candidate) []int
	// Expect returns how the target of an attempt came to be asked, nil if nobody chose.
	Expect(t gateway.Target, first bool) *prefix.Decision
	// Answered notes that a target has answered.
	Answered(t gateway.Target, u gateway.Usage)
}
