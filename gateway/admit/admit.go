package admit

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/limit"
)

// Inner asks upstreams; *flow.Gateway does.
type Inner interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
	Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error)
	Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error)
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
type Gate struct {
	o      Options
	prices pricing
}

// New makes a Gate.
func New(o Options) *Gate { return &Gate{o, pricing{o.Prices, o.Assumed}} }

// Chat implements run.Chatter.
func (g *Gate) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return g.pass(ctx, req, kind{chat: true}, func(ctx context.Context) (*gateway.Response, error) { return g.o.Inner.Chat(ctx, req) })
}

// Relay implements httpapi.Chatter.
func (g *Gate) Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error) {
	k := kind{free: r.Path == gateway.CountPath, text: r.Path == "completions"}
	return g.pass(ctx, req, k, func(ctx context.Context) (*gateway.Response, error) { return g.o.Inner.Relay(ctx, req, r, one) })
}

// Passthrough implements httpapi.Chatter.
func (g *Gate) Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error) {
	k := kind{provider: provider, free: r.Method == "GET" || r.Method == "HEAD"}
	return g.pass(ctx, req, k, func(ctx context.Context) (*gateway.Response, error) {
		return g.o.Inner.Passthrough(ctx, provider, req, r)
	})
}

// pass lets a request pass, if its limits do.
func (g *Gate) pass(ctx context.Context, req *gateway.Request, k kind, ask func(context.Context) (*gateway.Response, error)) (resp *gateway.Response, err error) {
	set, err := g.o.Limits(req)
	if err != nil {
		return nil, err
	}
	if set == nil && g.o.Records == nil {
		return ask(ctx)
	}
	a := g.account(ctx, req, g.o.State.models.of(req.Model), k)
	rates, err := g.acquire(ctx, a, set)
	if err != nil {
		return nil, err
	}
	if r := g.o.Records; a.hold.lease != nil || r != nil && r.Keeps() {
		g.o.State.add(a)
	}
	defer func() {
		if resp == nil { // also if something panicked
			a.finish(false)
		}
	}()
	answer, err := ask(gateway.WithMeter(ctx, a))
	if err != nil {
		a.tellOf(err)
		tellRates(err, rates)
		return nil, err
	}
	answer.Summary.RateLimits = rates
	a.tell(answer.Summary)
	a.reply = reply{Reply: answer.Reply, account: a, summary: answer.Summary, replayed: answer.Summary.Replayed()}
	if a.hold.mayCut && answer.Streamed() {
		a.reply.cutter = &cutter{}
	}
	answer.Reply = &a.reply
	return answer, nil
}

// acquire takes hold of what a request will use, within its limits; set may be nil for none.
func (g *Gate) acquire(ctx context.Context, a *account, set *limit.Set) (*gateway.RateLimits, error) {
	if set == nil {
		return nil, nil
	}
	if unpriced := a.estimate.price.unpriced; unpriced != "" && set.Has(limit.Money) {
		return nil, &gateway.Error{Kind: gateway.Forbidden, Code: "price_unknown", Param: "model",
			Message: fmt.Sprintf("Your budget is in US dollars, and the gateway knows no price of %s. Ask for another model.", unpriced)}
	}
	if err := g.seed(ctx, set); err != nil {
		if ctx.Err() == nil {
			g.o.State.away(ctx, err)
		}
		return nil, errAway(ctx, err)
	}
	return a.hold.acquire(ctx, set, a.rows.ids.id, &a.rates)
}

// renewal renews the leases of requests that run, and says what they have used so far.
type renewal struct {
	mu      sync.Mutex
	running *account // the first of them
	stop    chan struct{}
	ended   chan struct{}
}

// start begins the goroutine that renews, which end ends.
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

// end returns when the goroutine has ended.
func (r *renewal) end() {
	close(r.stop)
	<-r.ended
}

// renewing is how many leases are renewed at a time. Thousands one after the other, at a Redis that is far away, would take longer than
// a lease lives.
const renewing = 32

// renew renews the leases of all that run now.
func (r *renewal) renew() {
	r.mu.Lock()
	var list []*account
	for a := r.running; a != nil; a = a.links.next {
		list = append(list, a)
	}
	r.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(renewing)
	for _, a := range list {
		group.Go(func() error { a.renew(); return nil })
	}
	_ = group.Wait() // there is no error
}

// links are an account's place in the list of those that run.
type links struct{ next, before *account }

// add has a request renewed until remove.
func (r *renewal) add(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.links = (links{next: r.running}); r.running != nil {
		r.running.links.before = a
	}
	r.running = a
}

// remove may be called for one that was never added.
func (r *renewal) remove(a *account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := a.links
	if l.before == nil && r.running != a {
		return // it is not among them
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
		if a.hold.lease != nil { // it does not change any more
			n++
		}
	}
	return n
}
