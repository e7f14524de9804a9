package flow_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// turn is what a provider makes of one request.
type turn struct {
	wait   time.Duration  // before it answers
	err    *gateway.Error // instead of an answer
	blocks []string       // of the answer; none: a good one
	end    error          // behind them, instead of the end
	stalls bool           // nothing comes behind them until the request is cancelled
}

// actor is a provider that plays turns, the last of them again and again.
type actor struct {
	turns []turn
	needs gateway.Needs

	mu     sync.Mutex
	asked  []time.Time
	bodies []string
	open   int // answers that are not closed
}

func acts(turns ...turn) *actor { return &actor{turns: turns} }

func (a *actor) Needs() gateway.Needs { return a.needs }

func (a *actor) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	a.mu.Lock()
	t := a.turns[min(len(a.asked), len(a.turns)-1)]
	a.asked = append(a.asked, time.Now())
	a.bodies = append(a.bodies, string(req.With(model, nil).Join()))
	a.mu.Unlock()
	if err := pause(ctx, t.wait); err != nil {
		return nil, err
	}
	if t.err != nil {
		e := *t.err
		return nil, &e
	}
	if t.blocks == nil {
		t.blocks = stream("stop", "Hi.").blocks
	}
	a.mu.Lock()
	a.open++
	a.mu.Unlock()
	r := &playedReply{reply: reply{scripted: &scripted{blocks: t.blocks, end: t.end, whole: !req.Stream}}, ctx: ctx, from: a, stalls: t.stalls}
	if !req.Stream && len(t.blocks) > 1 {
		r.scripted = whole("Hi.", "stop")
	}
	return r, nil
}

// pause waits as an adapter does for its upstream.
func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
	}
	if e, ok := errors.AsType[*gateway.Error](context.Cause(ctx)); ok {
		return e
	}
	return &gateway.Error{Kind: gateway.Canceled, Err: ctx.Err()}
}

type playedReply struct {
	reply
	ctx    context.Context //nolint:containedctx // an answer lives as long as its request
	from   *actor
	stalls bool
	closed bool
}

func (r *playedReply) Next() (*gateway.Frame, error) {
	if r.stalls && r.at == len(r.blocks) {
		return nil, pause(r.ctx, 1000*time.Hour)
	}
	return r.reply.Next()
}

func (r *playedReply) Close() error {
	r.from.mu.Lock()
	defer r.from.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.from.open--
	}
	return nil
}

// play is a gateway with one route, m, through its providers in alphabetical order.
type play struct {
	actors   map[string]*actor
	policies map[string]gateway.Policy
	target   gateway.Target // of all, but for the provider
	weights  map[string]int
	models   map[string]string // of a provider's target; "" is the request's
	timeout  time.Duration

	gateway *flow.Gateway
	began   time.Time
}

func (p *play) start(t *testing.T) *play {
	t.Helper()
	o := flow.Options{Providers: map[string]gateway.Provider{}, Policies: p.policies, Routes: map[string][]gateway.Target{}, Timeout: p.timeout}
	for _, name := range []string{"a", "b", "c"} {
		if a := p.actors[name]; a != nil {
			target := p.target
			target.Provider, target.Weight, target.Model = name, p.weights[name], p.models[name]
			o.Providers[name], o.Routes["m"] = a, append(o.Routes["m"], target)
		}
	}
	var err error
	if p.gateway, err = flow.New(o); err != nil {
		t.Fatal(err)
	}
	p.began = time.Now()
	return p
}

// outcome is what became of a request.
type outcome struct {
	out     string
	summary gateway.Summary
	err     *gateway.Error
	took    time.Duration
}

// ask sends a request and reads the answer to its end.
func (p *play) ask(t *testing.T, ctx context.Context, change ...func(*gateway.Request)) outcome {
	t.Helper()
	began := time.Now()
	resp, err := p.chat(t, ctx, change...)
	if err != nil {
		o := outcome{err: gateway.AsError(err), took: time.Since(began)}
		if o.err.Summary != nil {
			o.summary = *o.err.Summary
		}
		return o
	}
	defer resp.Close()
	var out strings.Builder
	for in := reads(resp); err == nil; {
		var b []byte
		b, err = in.next()
		out.Write(b)
	}
	o := outcome{out: out.String(), summary: *resp.Summary, took: time.Since(began)}
	if err != io.EOF {
		o.err = gateway.AsError(err)
	}
	return o
}

func (p *play) chat(t *testing.T, ctx context.Context, change ...func(*gateway.Request)) (*gateway.Response, error) {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range change {
		c(req)
	}
	return p.gateway.Chat(ctx, req)
}

// steps writes the attempts of a request, as in "a first upstream_error; b fallback ok".
// A retry has its wait, which is ~1s where it is up to a quarter less than a second.
func (o *outcome) steps() string {
	var steps []string
	for _, a := range o.summary.Attempts {
		s := a.Provider + " " + string(a.Reason)
		if a.Wait > 0 {
			s += " " + wait(a.Wait)
		}
		steps = append(steps, s+" "+a.Outcome)
	}
	return strings.Join(steps, "; ")
}

func wait(d time.Duration) string {
	if d == d.Round(time.Second) {
		return d.String()
	}
	for full := time.Second; full <= time.Minute; full *= 2 {
		if d <= full && d >= full*3/4 {
			return "~" + full.String()
		}
	}
	return d.String()
}

// checkDone holds that every attempt has told its breaker how it ended, once, and that
// no answer is left open.
func (p *play) checkDone(t *testing.T) {
	t.Helper()
	for _, b := range p.gateway.Breakers() {
		a := p.actors[b.Name]
		if c := b.Totals; b.InFlight != 0 || c.Requests < uint64(len(a.asked)) || c.Successes+c.Failures+c.Excluded != c.Requests {
			t.Errorf("provider %s was asked %d times, and its breaker has %+v with %d in flight", b.Name, len(a.asked), c, b.InFlight)
		}
		if a.open != 0 {
			t.Errorf("%d answers of provider %s are not closed", a.open, b.Name)
		}
	}
}

func (p *play) totals(provider string) string {
	for _, b := range p.gateway.Breakers() {
		if b.Name == provider {
			return fmt.Sprintf("%d ok, %d failed, %d excluded", b.Totals.Successes, b.Totals.Failures, b.Totals.Excluded)
		}
	}
	return ""
}

// Failures that upstreams have.
var (
	unavailable = &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream failed."}
	exhausted   = &gateway.Error{Kind: gateway.QuotaExceeded, Message: "No money."}
	denied      = &gateway.Error{Kind: gateway.Unauthorized, Message: "No key."}
	rejected    = &gateway.Error{Kind: gateway.Rejected, Status: http.StatusBadRequest, Body: []byte(`{"error":{"message":"bad"}}`), Message: "Bad."}
)

// limited is a 429, with a Retry-After unless it is 0.
func limited(after time.Duration) *gateway.Error {
	return &gateway.Error{Kind: gateway.RateLimited, RetryAfter: after, Message: "Slow down."}
}

func retries(n int) gateway.Policy { return gateway.Policy{Retry: gateway.RetryPolicy{Max: n}} }
