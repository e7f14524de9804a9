package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/repair"
)

// Options are what a Gateway is made of. The wiring in cmd/gateway fills them.
type Options struct {
	Providers map[string]Provider
	// Policies say what is done around a provider; one that is missing has the
	// defaults.
	Policies map[string]Policy
	// Routes maps the names that clients send to targets, of which the first is asked
	// first and the others if it fails. A name with AnyModel in it stands for several, and
	// AnyModel alone for all that have no other.
	Routes map[string][]Target
	// Rules are those of routes, the first of which that is met has its targets asked and
	// not the route's.
	Rules map[string][]Rule
	// Aliases maps further names, which may have AnyModel in them too, to the name that is
	// meant: of a route, of another alias, or "provider/model".
	Aliases map[string]string
	// Direct maps a provider's name to the target for models called
	// "provider/model"; the rest of the name is the upstream's.
	Direct map[string]Target
	// RoutePolicies say what is watched over in the requests of a route, by its name;
	// one that is missing has RoutePolicy.
	RoutePolicies map[string]RoutePolicy
	RoutePolicy   RoutePolicy
	// Parsers may be nil if no target reads text.
	Parsers ParserSource
	// ReasoningField is the member that reasoning is written to. An upstream's own is
	// renamed. If it is empty that stays as it is, and what the gateway splits off
	// goes to "reasoning_content".
	ReasoningField string
	// Timeout bounds a request over all its attempts; 0 means DefaultTimeout.
	Timeout time.Duration
	// Trace is told of each attempt, and may add to the header that goes upstream. end is
	// called once, with what became of it. It may be nil.
	Trace Trace
	// OnChange is told when a breaker changes its state; it may be nil.
	OnChange func(breaker.Change)
	// CacheSalt is the secret that keeps apart what tenants have sent, where targets are
	// chosen by what they have in their caches, and told of it, and where answers are kept.
	// Empty makes one.
	CacheSalt []byte
	// ShareIndex keeps what is learned about targets' caches for other gateways. Who sets
	// it fetches that from Index.
	ShareIndex bool
	// Prompts has the hashes of every prompt's blocks noted, in Summary.Prompt.
	Prompts bool
	// Saved prices what upstreams' caches save, for headers; it may be nil.
	Saved Saved
	// Now is the clock that dates are taken from; nil means time.Now.
	Now func() time.Time
	// Log may be nil.
	Log *slog.Logger
}

// Trace is what Options.Trace is.
type Trace func(ctx context.Context, a Attempt, header http.Header) (_ context.Context, end func(outcome string))

// DefaultTimeout is that of Options: one attempt of ten minutes and half another.
const DefaultTimeout = 15 * time.Minute

// Gateway takes chat requests to upstreams and brings correct replies back. It is
// safe for concurrent use.
type Gateway struct {
	upstreams      map[string]*upstream
	routes         map[string][]Target
	direct         map[string]Target
	rules          map[string]*ruleSet // by route
	table          *route.Table
	languages      *language.Detector // nil: no rule asks
	loads          map[targetKey]*load
	forms          map[string]*prompted.Format // of targets whose tools go into the prompt
	affinity       *affinity                   // nil: no route wants it
	hints          *hints                      // likewise
	answering      *answering                  // nil: no route keeps answers
	salt           []byte
	conducts       map[string]*conduct // by route
	conduct        *conduct            // of all other routes
	parsers        ParserSource
	schemas        *repair.Schemas
	tools          *toolCache
	reasoningField string
	renameTo       string // the name for upstreams' own reasoning too; "" leaves it
	timeout        time.Duration
	late           *Error // what ends a request then
	trace          Trace
	saved          Saved
	prompts        bool // are noted
	onChange       func(breaker.Change)
	now            func() time.Time
	withheld       atomic.Int64 // bytes of answers that wait for the guard
	log            *slog.Logger
}

// maxSchemas is how many tools' compiled schemas are kept.
const maxSchemas = 1024

// New makes a gateway. A target whose provider is missing is a mistake of the
// wiring and gives an error.
func New(o Options) (*Gateway, error) {
	g := &Gateway{
		upstreams: map[string]*upstream{}, routes: o.Routes, direct: o.Direct, parsers: o.Parsers,
		schemas: repair.NewSchemas(maxSchemas), tools: newToolCache(), reasoningField: cmp.Or(o.ReasoningField, "reasoning_content"),
		renameTo: o.ReasoningField, timeout: cmp.Or(o.Timeout, DefaultTimeout), trace: o.Trace, saved: o.Saved, onChange: o.OnChange, log: o.Log, now: o.Now,
		rules: map[string]*ruleSet{}, loads: o.newLoads(), prompts: o.Prompts,
		conducts: map[string]*conduct{}, forms: map[string]*prompted.Format{}, conduct: newConduct(o.RoutePolicy),
	}
	g.late = &Error{Kind: Timeout, Message: fmt.Sprintf("No complete answer within %s (timeout).", g.timeout)}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	for name, p := range o.RoutePolicies {
		g.conducts[name] = newConduct(p)
	}
	for name, p := range o.Providers {
		g.upstreams[name] = g.newUpstream(name, p, o.Policies[name])
	}
	if err := g.newRouting(o); err != nil {
		return nil, err
	}
	for name, targets := range o.lists() {
		if len(targets) == 0 {
			return nil, Errorf(Internal, "", "model %q: there is no target", name)
		}
		for _, t := range targets {
			if err := g.check(name, t); err != nil {
				return nil, err
			}
		}
	}
	for name, t := range o.Direct {
		if err := g.check(name, t); err != nil {
			return nil, err
		}
	}
	if g.salt = o.CacheSalt; len(g.salt) == 0 {
		g.salt = []byte(rand.Text())
	}
	g.affinity, g.hints = g.newAffinity(o), g.newHints()
	var err error
	g.answering, err = newAnswering(o)
	return g, err
}

// check says what is wrong with a target, and gets the form ready that its tools go into
// the prompt in.
func (g *Gateway) check(model string, t Target) error {
	if g.upstreams[t.Provider] == nil {
		return Errorf(Internal, "", "model %q: there is no provider %q", model, t.Provider)
	}
	if t.Prompted == "" {
		return nil
	}
	form, ok := prompted.Find(t.Prompted)
	if !ok {
		return Errorf(Internal, "", "model %q: the format %q has no form for prompts", model, t.Prompted)
	}
	g.forms[t.Prompted] = form
	return nil
}

// Chat sends a request where its model's route leads, as often as its budget allows,
// until an upstream has begun a useful answer. The caller reads the response to its
// end, or closes it. An error is an *Error that says what was tried.
func (g *Gateway) Chat(ctx context.Context, req *Request) (*Response, error) {
	way, err := g.choose(req)
	if err != nil {
		return nil, err
	}
	req.Route = way.Route
	req.read = sync.OnceValue(func() *toolList { return g.tools.read(req.Tools()) })
	c := cmp.Or(g.conducts[way.Route], g.conduct)
	ctx, cancel := context.WithTimeoutCause(ctx, g.timeout, g.late)
	handed := false
	defer func() {
		if !handed { // also if something panicked
			cancel()
		}
	}()
	ask := g.ask
	if c.Answers.Store != nil {
		ask = g.cached
	}
	resp, err := ask(ctx, req, c, way)
	if err != nil {
		return nil, err
	}
	resp.cancel, handed = cancel, true
	return resp, nil
}

// ask sends a request to one target after the other, as far as need be.
func (g *Gateway) ask(ctx context.Context, req *Request, c *conduct, way *chosen) (*Response, error) {
	if err := req.checkChoice(c.Binding, way.targets); err != nil {
		return nil, err
	}
	a, err := g.prepare(req, c, way)
	if err != nil {
		return nil, err
	}
	return a.begin().run(ctx)
}

// changed notes that a provider's breaker has changed its state.
func (g *Gateway) changed(provider string, c breaker.Change) {
	g.log.Warn("circuit breaker", "provider", provider, "from", c.From, "to", c.To, "reason", c.Reason)
	if c.To == breaker.Open {
		g.affinity.forget(provider)
	}
	if g.onChange != nil {
		g.onChange(c)
	}
}

// Models returns the names that clients may send, sorted.
func (g *Gateway) Models(ctx context.Context) []string { return g.names(ctx) }

// names lists the routes and aliases, and the models of providers that can list them: under
// the provider's name, and under their own where they are the route for any model.
func (g *Gateway) names(ctx context.Context) []string {
	set := map[string]bool{}
	for name := range g.table.Names() {
		set[name] = true
	}
	listed := map[string][]string{} // by provider
	add := func(prefix string, t Target) {
		models, known := listed[t.Provider]
		if !known {
			models = g.list(ctx, t.Provider)
			listed[t.Provider] = models
		}
		for _, m := range models {
			set[prefix+m] = true
		}
	}
	for prefix, t := range g.direct {
		add(prefix+"/", t)
	}
	for _, t := range g.routes[AnyModel] {
		add("", t)
	}
	return slices.Sorted(maps.Keys(set))
}

// list asks a provider for its models, if it can list them.
func (g *Gateway) list(ctx context.Context, provider string) []string {
	lister, ok := g.upstreams[provider].provider.(ModelLister)
	if !ok {
		return nil
	}
	models, err := lister.Models(ctx)
	if err != nil && ctx.Err() == nil {
		g.log.WarnContext(ctx, "models not listed", "provider", provider, "error", err)
	}
	return models
}
