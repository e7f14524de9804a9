package admit

import (
	"context"
	"errors"
	"sync"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// account is what a request holds and has used, from its beginning to its end. It is its request's [gateway.Meter]:
// its parts know one thing each, and it tells them what the upstreams have done.
type account struct {
	gate  *Gate
	links links // of those that run
	rates rates // what the client is told of its limits
	reply reply

	mu       sync.Mutex // guards what follows
	tried    bool       // an attempt has begun
	asked    bool       // an upstream has had something of one, or may have
	over     bool
	estimate estimate
	hold     hold
	rows     rows
	bill     bill
	current  attempt
	judge    *begun       // the answer of the judge that is asked
	ended    limit.Amount // used by attempts that are over
}

// attempt is the one that runs.
type attempt struct {
	running  bool
	answer   begun
	input    int64 // tokens of the request
	received int64 // bytes of the answer so far
	growAt   int64 // how many bytes of it there are when the hold is to grow
}

// account makes that of a request, with nothing held yet.
func (g *Gate) account(ctx context.Context, req *gateway.Request, m *model, k kind) *account {
	a := &account{gate: g, hold: hold{state: g.o.State, ctx: ctx, request: req.ID}, rows: rows{records: g.o.Records, req: req, ids: newIDs()}}
	var output int64
	a.estimate, output = newEstimate(req, m, k)
	if g.o.Targets != nil && !k.free {
		for _, t := range g.o.Targets(req, k.provider) {
			a.estimate.price.raise(&g.prices, t, a.estimate.input)
		}
	}
	a.hold.amount = a.estimate.holds(output)
	return a
}

// used is what was used so far.
func (a *account) used() limit.Amount {
	u := a.ended
	if c := &a.current; c.running {
		u = plus(u, a.estimate.amount(c.input, a.estimate.tokens(c.received)))
	}
	return u
}

// Begin implements gateway.Meter: the request of an attempt is held beside what was used before.
func (a *account) Begin(provider, model string, why gateway.Purpose, bytes int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why == gateway.ForJudge {
		judge := a.rows.begin(provider, model, why)
		a.judge = &judge
		a.note(a.judge, a.estimate.tokens(int64(bytes)), 0)
		return nil
	}
	again := a.tried
	a.tried = true
	a.current = attempt{running: true, answer: a.rows.begin(provider, model, why), input: a.estimate.input}
	if again && a.estimate.input > 0 && bytes > 0 {
		a.current.input = a.estimate.inputOf(int64(bytes))
	}
	a.note(&a.current.answer, a.current.input, 0)
	a.estimate.price.raise(&a.gate.prices, Target{provider, model}, a.current.input)
	a.setGrowAt()
	if !again || a.hold.lease == nil {
		return nil
	}
	err := a.grow()
	if err != nil { // it does not begin, and nobody will say that it has ended
		a.current.running = false
		a.rows.forget(&a.current.answer)
	}
	return err
}

// note has the ledger know of an answer that runs, and what it has used at least.
func (a *account) note(b *begun, in, out int64) {
	if a.rows.keeps() {
		a.rows.note(b, in, out, a.gate.prices.of(b.provider, b.served, gateway.Usage{Reported: true, Input: int(in), Output: int(out)}))
	}
}

// Copied implements gateway.Copier: what the answer to a copy uses is in the ledger, and in no limit and on no
// client's bill.
func (a *account) Copied(ctx context.Context, copied *gateway.Request) (gateway.Meter, func()) {
	if a.gate.o.Records == nil {
		return nil, nil
	}
	m := a.gate.account(ctx, copied, a.estimate.model, kind{chat: true})
	if a.gate.o.Records.Keeps() {
		a.gate.o.State.add(m)
	}
	return m, func() { m.finish(false) }
}

// setGrowAt says at which byte of the answer the hold is to grow.
func (a *account) setGrowAt() {
	a.current.growAt = a.current.received + a.estimate.reach(a.hold.left(a.used()))
}

// grow has the hold be a step ahead of what was used.
func (a *account) grow() error {
	used := a.used()
	return a.hold.grow(used, plus(used, a.estimate.amount(0, step)))
}

// Came implements gateway.Meter: the hold grows with the answer.
func (a *account) Came(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current.received += int64(n)
	if a.current.received < a.current.growAt || a.hold.lease == nil || a.hold.wasCut {
		return
	}
	_ = a.grow()
	a.setGrowAt()
}

// renew keeps the lease, and says what was used so far.
func (a *account) renew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	if c := &a.current; c.running {
		a.note(&c.answer, c.input, a.estimate.tokens(c.received))
	}
	if a.hold.lease != nil {
		a.hold.renew(a.used())
	}
}

// tell has the answer's summary say what was spent, from now on.
func (a *account) tell(s *gateway.Summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bill.tell(s)
}

// tellOf has an error that stands in the place of an answer say what was spent on those that were thrown away.
func (a *account) tellOf(err error) {
	var e *gateway.Error
	if !errors.As(err, &e) || e.Summary == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e.Summary.Spent = a.bill.spent
}

// cut reports whether the answer is to end here, and whose budget is spent.
func (a *account) cut() (by string, cut bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hold.cutBy, a.hold.wasCut
}

// Ended implements gateway.Meter.
func (a *account) Ended(u gateway.Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := &a.current.answer
	if u.Purpose == gateway.ForJudge {
		of = a.judge
	} else {
		a.current.running = false
	}
	if a.hold.wasCut && u.Status == gateway.StatusCanceled { // by the gateway, not by the client
		u.Status = billing.StatusCut
	}
	a.asked = a.asked || !u.Unsent
	if u.Unbilled {
		a.rows.forget(of)
		return
	}
	counted, estimated := a.estimate.counted(&u)
	if !estimated && u.Purpose != gateway.ForJudge {
		a.estimate.learn(u.Usage)
	}
	cost := a.gate.prices.of(u.Provider, u.Model, counted)
	a.ended = plus(a.ended, limit.Amount{Tokens: int64(counted.Input) + int64(counted.Output), Nano: cost.nano})
	a.bill.add(cost, estimated)
	a.rows.end(of, &u, counted, estimated, cost)
}

// finish settles the request, once. replayed says that no upstream was asked for it.
func (a *account) finish(replayed bool) {
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		return
	}
	a.over = true
	used, asked := a.ended, a.asked || a.current.running || replayed
	a.mu.Unlock()
	a.gate.o.State.remove(a)
	a.hold.end(used, asked)
}

// plus is the sum of two.
func plus(a, b limit.Amount) limit.Amount {
	return limit.Amount{Tokens: a.Tokens + b.Tokens, Nano: a.Nano + b.Nano}
}
