package admit

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// Inner asks upstreams; *flow.Gateway does.
type Inner interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
	Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error)
	Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error)
}

// Pricer knows what answers cost; accounts.Prices does.
type Pricer interface {
	// Price is the cost of a usage in 10⁻⁹ US dollars, and the version of the prices.
	Price(provider, model string, u gateway.Usage) (nano int64, priced bool, version string)
}

// Recorder takes the rows of usage; *billing.Book does, and says more of it.
type Recorder interface {
	// Begin notes what an answer uses at least that has not ended, for when the process is killed. Record and
	// Forget end it, by its ID. Nobody needs to call it unless Keeps.
	Begin(r billing.Row)
	Record(r billing.Row)
	Forget(id string)
	Keeps() bool
}

// Target is where a request may go.
type Target struct{ Provider, Model string }

// Options are what a Gate is made of. The wiring in internal/cli fills them.
type Options struct {
	Inner Inner
	// Limits are those of a request; nil for none. [Table.Of] says so.
	Limits func(req *gateway.Request) (*limit.Set, error)
	// Targets are those that a request may go to, for an estimate of its price; provider is where it goes
	// that names a provider and no model. It may be nil.
	Targets func(req *gateway.Request, provider string) []Target
	// Prices may be nil: then nothing costs money.
	Prices Pricer
	// Assumed is the price of models without one, as of a million tokens in and out, in 10⁻⁹ US dollars; it may
	// be nil.
	Assumed *Assumed
	// Records may be nil.
	Records Recorder
	// Past is what budgets in memory begin with when the gateway is started again; nil for nothing.
	Past Past
	// Route is the entry of the configuration that a model's name leads to. Without Past it may be nil.
	Route func(model string) string
	// State is what lives as long as the process.
	State *State
}

// Assumed is the price that is taken of models that have none, in 10⁻⁹ US dollars for a million tokens.
type Assumed struct{ Input, Output int64 }

// Of is what a usage costs by an assumed price, in 10⁻⁹ US dollars; priced is false where there is none.
func (p *Assumed) Of(u gateway.Usage) (nano int64, priced bool) {
	if p == nil {
		return 0, false
	}
	return (int64(u.Input)*p.Input + int64(u.Output)*p.Output + 500_000) / 1_000_000, true
}

// State is what outlives the configuration: the numbers of limits, the leases of running requests and what was
// learned of models. It owns the limiter and a goroutine, which end with Close.
type State struct {
	limiter limit.Limiter
	models  *models
	log     *slog.Logger
	seeds   seeds
	renewal
	figures
	budgets
}

// NewState makes a State; log may be nil. The caller closes it.
func NewState(l limit.Limiter, log *slog.Logger) *State {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &State{limiter: l, models: newModels(), log: log, seeds: newSeeds()}
	s.start(limit.Renew / 2)
	return s
}

// Close ends the renewal of leases. Requests that run yet lose theirs in a minute.
func (s *State) Close() error {
	if s == nil {
		return nil
	}
	s.end()
	if c, ok := s.limiter.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Gate lets requests pass within their limits. It is safe for concurrent use.
type Gate struct{ o Options }

// New makes a Gate.
func New(o Options) *Gate { return &Gate{o} }

// Chat implements run.Chatter.
func (g *Gate) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return g.pass(ctx, req, estimate{chat: true}, func(ctx context.Context) (*gateway.Response, error) { return g.o.Inner.Chat(ctx, req) })
}

// Relay implements httpapi.Chatter.
func (g *Gate) Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error) {
	e := estimate{free: r.Path == gateway.CountPath, text: r.Path == "completions"}
	return g.pass(ctx, req, e, func(ctx context.Context) (*gateway.Response, error) { return g.o.Inner.Relay(ctx, req, r, one) })
}

// Passthrough implements httpapi.Chatter.
func (g *Gate) Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error) {
	e := estimate{provider: provider, free: r.Method == "GET" || r.Method == "HEAD"}
	return g.pass(ctx, req, e, func(ctx context.Context) (*gateway.Response, error) {
		return g.o.Inner.Passthrough(ctx, provider, req, r)
	})
}

// pass lets a request pass, if its limits do.
func (g *Gate) pass(ctx context.Context, req *gateway.Request, e estimate, ask func(context.Context) (*gateway.Response, error)) (resp *gateway.Response, err error) {
	set, err := g.o.Limits(req)
	if err != nil {
		return nil, err
	}
	if set == nil && g.o.Records == nil {
		return ask(ctx)
	}
	a := &account{gate: g, req: req, ctx: ctx, ids: newIDs(), model: g.o.State.models.of(req.Model)}
	a.estimate(e)
	if a.unpriced != "" && set.Has(limit.Money) {
		return nil, &gateway.Error{Kind: gateway.Forbidden, Code: "price_unknown", Param: "model",
			Message: fmt.Sprintf("Your budget is in US dollars, and the gateway knows no price of %s. Ask for another model.", a.unpriced)}
	}
	var rates *gateway.RateLimits
	if set != nil {
		if rates, err = a.acquire(ctx, set); err != nil {
			return nil, err
		}
	}
	if r := g.o.Records; a.lease != nil || r != nil && r.Keeps() {
		g.o.State.add(a)
	}
	defer func() {
		if resp == nil { // also if something panicked
			a.finish(false)
		}
	}()
	answer, err := ask(gateway.WithMeter(ctx, a))
	if err != nil {
		return nil, err
	}
	answer.Summary.RateLimits = rates
	a.tell(answer.Summary)
	a.reply = reply{Reply: answer.Reply, account: a, replayed: answer.Summary.Replayed()}
	answer.Reply = &a.reply
	return answer, nil
}

// assumed is the version of prices that were assumed.
const assumed = "assumed"

// tell has the answer's summary say what was spent, from now on.
func (a *account) tell(s *gateway.Summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.summary, s.Spent = s, a.spent
}

// price is what a usage costs. One without a price costs what is assumed.
func (g *Gate) price(provider, model string, u gateway.Usage) (nano int64, priced bool, version string) {
	if g.o.Prices != nil {
		if nano, priced, version = g.o.Prices.Price(provider, model, u); priced {
			return nano, priced, version
		}
	}
	nano, priced = g.o.Assumed.Of(u)
	if priced {
		version = assumed
	}
	return nano, priced, version
}

// renewal renews the leases of requests that run, and says what they have used so far.
type renewal struct {
	mu      sync.Mutex
	running *account // the first of them
	stop    chan struct{}
	ended   chan struct{}
}

func (r *renewal) start(every time.Duration) {
	r.stop, r.ended = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(r.ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-t.C:
				r.renew()
			}
		}
	}()
}

func (r *renewal) end() {
	close(r.stop)
	<-r.ended
}

func (r *renewal) renew() {
	r.mu.Lock()
	var list []*account
	for a := r.running; a != nil; a = a.links.next {
		list = append(list, a)
	}
	r.mu.Unlock()
	for _, a := range list {
		a.renew()
	}
}

// links are an account's place in the list of those that run.
type links struct {
	runs         bool
	next, before *account
}

func (r *renewal) add(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.links = (links{runs: true, next: r.running}); r.running != nil {
		r.running.links.before = a
	}
	r.running = a
}

func (r *renewal) remove(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := a.links
	if !l.runs {
		return
	}
	if l.before != nil {
		l.before.links.next = l.next
	} else {
		r.running = l.next
	}
	if l.next != nil {
		l.next.links.before = l.before
	}
	a.links = links{}
}

// Running is how many requests hold something.
func (s *State) Running() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for a := s.running; a != nil; a = a.links.next {
		if a.lease != nil { // it does not change any more
			n++
		}
	}
	return n
}
