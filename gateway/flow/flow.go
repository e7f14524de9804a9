// Package flow is the story of a request. It alone sees all the stages and policies: what is
// done, and in which order, stands in this package, and how in theirs.
package flow

import (
	"cmp"
	"context"
	"crypto/rand"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/internal/responsecache"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/internal/routing"
	"github.com/callgate/callgate/gateway/internal/stage/binding"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/prefix"
	"github.com/callgate/callgate/gateway/rollout"
)

// Gateway takes chat requests to upstreams and brings correct answers back. It is
// safe for concurrent use.
type Gateway struct {
	options  Options
	table    *routing.Table
	engine   *attempt.Engine
	models   models
	caches   caches
	answers  *responsecache.Cache
	lists    *tools.Cache
	policies policies
	shared   *shared
	sharing  sharing
	gone     []string // the providers of the gateway before that are not those of this one
	deadline deadline
}

// policies are those of all routes, made ready.
type policies struct {
	routes map[string]*compiled // by route
	others *compiled            // all other routes
	trials map[*rollout.Rollout]*trial
}

// of is what the requests of a route pass, as long as they are in no arm.
func (p *policies) of(route string) *compiled { return cmp.Or(p.routes[route], p.others) }

// New makes a gateway. A target whose provider is missing is a mistake of the
// wiring and gives an error. One that has a Previous changes nothing of it before Begin.
func New(o Options) (*Gateway, error) {
	o = o.withDefaults()
	g := &Gateway{lists: tools.NewCache(), deadline: newDeadline(o.Timeout)}
	if err := o.check(); err != nil {
		return nil, err
	}
	var err error
	table := o.routing()
	if o.Previous != nil {
		table.Previous = o.Previous.table
	}
	if g.table, err = routing.New(table); err != nil {
		return nil, err
	}
	wants := func(name string) bool { return o.policy(name).Affinity }
	idle := func(provider string) time.Duration { return o.Policies[provider].CacheIdle }
	engine := attempt.Config{Providers: o.Providers, Policies: o.Policies, Targets: o.named(), Trace: o.Trace, OnChange: g.changed, Quality: o.Quality, Log: o.Log, Now: o.Now}
	if p := o.Previous; p == nil {
		g.caches.index, g.answers = prefix.New(prefix.Options{Share: o.ShareIndex}), responsecache.New(o.CacheSalt, o.Parsers, o.Now, o.Log)
	} else {
		g.caches.index, g.answers, g.lists, engine.Previous = p.caches.index, p.answers.With(o.Parsers), p.lists, p.engine
		for name := range p.options.Providers {
			if o.Providers[name] == nil || !p.engine.Has(name, o.Providers[name]) {
				g.gone = append(g.gone, name)
			}
		}
	}
	g.caches.salt, g.caches.notesPrompts = o.CacheSalt, o.Prompts
	g.caches.affinity = routing.NewAffinity(o.routing(), wants, idle, o.CacheSalt, g.caches.index)
	g.engine = attempt.New(engine)
	g.models = models{table: g.table, engine: g.engine, direct: o.Direct, unlisted: o.Unlisted, others: o.Routes[gateway.AnyModel], hint: o.NoModelHint}
	g.sharing = newSharing(&o)
	first := o.Previous == nil
	g.shared = newShared(&o)
	o.Previous = nil
	g.options, g.shared.options = o, &g.options
	g.policies = policies{routes: map[string]*compiled{}, others: g.shared.compile(o.RoutePolicy, g.engine), trials: g.shared.trials(o.Rollouts, g.engine)}
	for name, p := range o.RoutePolicies {
		g.policies.routes[name] = g.shared.compile(p, g.engine)
	}
	if first {
		g.Begin()
	}
	return g, nil
}

// Begin has the gateway take the place of the one before it, for requests that come from now on:
// breakers tell it of their changes, and what is known of the caches of targets that it has not is
// forgotten. Requests of the other go on. The wiring calls it once, for a gateway that has a
// Previous.
func (g *Gateway) Begin() {
	g.engine.Begin()
	if g.sharing.begin != nil {
		g.sharing.begin()
	}
	g.caches.begin(g.gone)
}

// withDefaults has the defaults in the place of what may be left out.
func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(o.CacheSalt) == 0 {
		o.CacheSalt = []byte(rand.Text())
	}
	return o
}

// policy is that of a route.
func (o *Options) policy(route string) *RoutePolicy {
	if p, ok := o.RoutePolicies[route]; ok {
		return &p
	}
	return &o.RoutePolicy
}

// check says what is wrong with the wiring.
func (o *Options) check() error {
	for name, p := range o.RoutePolicies {
		if err := p.Answers.Check(name); err != nil {
			return err
		}
	}
	if err := o.RoutePolicy.Answers.Check(gateway.AnyModel); err != nil {
		return err
	}
	one := func(model string, t gateway.Target) error {
		if o.Providers[t.Provider] == nil {
			return gateway.Errorf(gateway.Internal, "", "model %q: there is no provider %q", model, t.Provider)
		}
		if _, ok := prompted.Find(t.Prompted); t.Prompted != "" && !ok {
			return gateway.Errorf(gateway.Internal, "", "model %q: the format %q has no form for prompts", model, t.Prompted)
		}
		return nil
	}
	for name, targets := range o.lists() {
		if len(targets) == 0 {
			return gateway.Errorf(gateway.Internal, "", "model %q: there is no target", name)
		}
		for _, t := range targets {
			if err := one(name, t); err != nil {
				return err
			}
		}
	}
	for name, t := range o.Direct {
		if err := one(name, t); err != nil {
			return err
		}
	}
	return nil
}

// lists are the target lists of all routes and of their rules, by the route's name.
func (o *Options) lists() iter.Seq2[string, []gateway.Target] {
	r := o.routing()
	return r.Lists()
}

// targets are all that a request may go to.
func (o *Options) targets() (list []gateway.Target) {
	for _, targets := range o.lists() {
		list = append(list, targets...)
	}
	for _, t := range o.Direct {
		list = append(list, t)
	}
	return list
}

// named are the targets that the configuration names, each with its model.
func (o *Options) named() (list []gateway.Target) {
	for name, targets := range o.lists() {
		for _, t := range targets {
			if t.Model == "" && !route.IsPattern(name) {
				t.Model = name
			}
			list = append(list, t)
		}
	}
	return list
}

// PromptForms are the names of the formats in which tools can be written into a prompt.
// The wiring checks the configuration against them.
func PromptForms() []string { return prompted.Names() }

// changed notes that a provider's breaker has changed its state.
func (g *Gateway) changed(provider string, c breaker.Change) {
	g.options.Log.Warn("circuit breaker", "provider", provider, "from", c.From, "to", c.To, "reason", c.Reason)
	if c.To == breaker.Open {
		g.caches.affinity.Forget(provider)
	}
	if g.options.OnChange != nil {
		g.options.OnChange(c)
	}
}

// Chat sends a request where its model's route leads, as often as its budget allows,
// until an upstream has begun a useful answer. The caller reads the response to its
// end, or closes it. An error is an *gateway.Error that says what was tried.
func (g *Gateway) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	requested := time.Now()
	choice, ok := g.table.Choose(req)
	if !ok {
		return nil, g.models.missing(req.Model)
	}
	req.Routing.Route, req.Reading.Cache = choice.Route, g.lists
	c, t, err := g.arm(req, choice, g.policies.of(choice.Route))
	if err != nil {
		return nil, err
	}
	resp, err := g.deadline.within(ctx, func(ctx context.Context) (*gateway.Response, error) {
		if c.Answers.Store == nil {
			return g.ask(ctx, req, c, choice, requested, nil)
		}
		query := responsecache.Query{Request: req, Policy: c.Answers, Route: &choice.RouteChoice, Targets: choice.Targets, Model: choice.Model,
			Execution: c.Execution, Day: c.day(g.options.Now())}
		return g.answers.Answer(ctx, query, func(recorder gateway.Maker) (*gateway.Response, error) {
			return g.ask(ctx, req, c, choice, requested, recorder)
		})
	})
	if err == nil && t != nil {
		g.mirrored(ctx, req, t, resp)
	}
	return resp, err
}

// Route is the entry of the configuration that a model's name leads to, whose policy holds for its
// requests; "" for none.
func (g *Gateway) Route(model string) string { return g.table.Route(model) }

// ask looks at a request, changes what the route says, and has upstreams asked. What is
// refused costs nothing more.
func (g *Gateway) ask(ctx context.Context, req *gateway.Request, c *compiled, choice *routing.Choice, requested time.Time, recorder gateway.Maker) (*gateway.Response, error) {
	reads := slices.ContainsFunc(choice.Targets, func(t gateway.Target) bool { return t.Mode != gateway.Off })
	if c.Binding != gateway.BindingOff && reads {
		if err := binding.CheckChoice(req); err != nil {
			return nil, err
		}
	}
	p := &attempt.Plan{Asked: req, Route: &choice.RouteChoice, Targets: choice.Targets, Model: choice.Model, FallbackOn: c.FallbackOn,
		Exchange: attempt.Exchange{Policies: c.forTarget, Stages: c.stages}, Timing: gateway.Timing{Requested: requested},
		Found: gateway.Findings{Warnings: slices.Clip(req.Warnings)}, Execution: c.Execution}
	if recorder != nil {
		p.Exchange.Stages = append(slices.Clip(p.Exchange.Stages), recorder)
	}
	var err error
	p.Base, err = attempt.Amend(ctx, req, c.before, nil, func(_ int, a gateway.Amendment) {
		p.Found.Warnings = append(p.Found.Warnings, a.Warnings...)
		for kind, n := range a.Repairs {
			p.Found.Repairs = gateway.Count(p.Found.Repairs, kind, n)
		}
		if a.Note != nil {
			a.Note(&p.Notes)
		}
	})
	if err != nil {
		return nil, withSummary(err, p)
	}
	p.Notes.Choice = p.Base.Reading.Choice()
	g.caches.prompt(p, c.Affinity)
	g.countCalls(p, c, choice)
	p.Timing.Overhead = time.Since(requested)
	resp, err := g.engine.Do(metered(ctx, p.Notes.Turn, c, g.options.Price), p)
	if err != nil {
		return nil, err
	}
	return trackTurn(resp, p.Notes.Turn), nil
}

// withSummary is the error of a policy, with what is known of the request where it was refused for its rounds.
func withSummary(err error, p *attempt.Plan) error {
	e := gateway.AsError(err)
	if e.Kind != gateway.Looping {
		return e
	}
	e.Summary = &gateway.Summary{Route: p.Route, Rounds: p.Notes.Rounds, PromptCache: gateway.PromptCache{PrefixChange: p.Notes.PrefixChange},
		Outcome: gateway.Outcome{Findings: p.Found}}
	return e
}

// Breakers returns the state of every provider's breaker, sorted by name.
func (g *Gateway) Breakers() []breaker.Snapshot { return g.engine.Breakers() }

// ResetBreaker closes a provider's breaker by hand. It reports whether there is one.
func (g *Gateway) ResetBreaker(name string) bool { return g.engine.ResetBreaker(name) }

// Targets returns the state of every target that the configuration names, and of each
// provider for other models, sorted by provider and model.
func (g *Gateway) Targets() []gateway.TargetState { return g.engine.Targets() }

// Models returns the names that clients may send, sorted: the routes and aliases, and the
// models of providers that can list them, under the provider's name, and under their own
// where they are the route for any model.
func (g *Gateway) Models(ctx context.Context) []string { return g.models.list(ctx) }

// HasModel reports whether there is a model of this name for clients: it is one of Models, or leads to
// a target that has what it is asked for. A pattern of the configuration is believed where its
// target's provider cannot say what it has.
func (g *Gateway) HasModel(ctx context.Context, name string) bool { return g.models.has(ctx, name) }

// Caches is what the gateway believes to be in the caches of targets, for the operator.
func (g *Gateway) Caches() gateway.CacheSnapshot { return g.caches.snapshot() }

// Index is where the gateway keeps what it knows of targets' caches, for whoever tells
// other gateways; nil if no route wants it.
func (g *Gateway) Index() *prefix.Index {
	if g.caches.affinity == nil {
		return nil
	}
	return g.caches.index
}
