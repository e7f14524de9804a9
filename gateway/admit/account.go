package admit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/usage"
)

// account is what a request holds and has used. It is its request's [gateway.Meter].
type account struct {
	gate *Gate
	req  *gateway.Request
	ctx  context.Context //nolint:containedctx // of the request, for the limiter
	ids
	model *model
	text  int64   // bytes of the request that are text
	ratio float64 // bytes of a token
	// output is what the model's answers have at most, mostly; input what the request itself has.
	output, input int64
	rate          struct{ in, out int64 } // 10⁻⁹ US dollars for a thousand tokens
	rated         Target                  // whose price is in the rate, of some the last
	texts         bool                    // it is answered with text
	unpriced      string                  // a target whose price nobody knows

	mu      sync.Mutex
	lease   *limit.Lease // nil: none
	cuts    bool         // some budget has running answers cut
	cut     bool         // and did
	hold    limit.Holds
	ended   limit.Amount // of attempts that are over
	current attempt
	judge   *billing.Row // of the judge that is asked
	asked   bool         // an upstream
	rows    int
	spent   gateway.Spent
	summary *gateway.Summary // of the answer, once there is one
	over    bool

	links links // of those that run
	rates rates // what the client is told of its limits
	reply reply
}

// attempt is the one that runs.
type attempt struct {
	runs  bool
	row   billing.Row // what it has used at least
	input int64       // tokens
	came  int64       // bytes
	next  int64       // bytes at which the hold is to grow
}

// used is what was used so far.
func (a *account) used() limit.Amount {
	u := a.ended
	if a.current.runs {
		out := tokens(a.current.came, a.ratio)
		u.Tokens += a.current.input + out
		u.Nano += a.worth(a.current.input, out)
	}
	return u
}

// acquire takes hold of what a request will use.
func (a *account) acquire(ctx context.Context, set *limit.Set) (*gateway.RateLimits, error) {
	limits := set.Limits()
	for i := range limits {
		l := &limits[i]
		a.cuts = a.cuts || l.Cut
		if l.Kind == limit.Tokens { // no answer is refused for what it may have, where its request alone would pass
			most := l.Max
			if l.Burst > 0 {
				most = l.Burst
			}
			if a.hold.Hold.Tokens > most && a.input <= most {
				a.hold.Hold.Tokens = most
			}
		}
	}
	s := a.gate.o.State
	if err := a.gate.seed(ctx, set); err != nil {
		s.away(a.ctx, err)
		if a.ctx.Err() != nil {
			return nil, gateway.Ended(a.ctx)
		}
		return nil, errAway(err)
	}
	lease, v, err := s.limiter.Acquire(ctx, set, a.id, a.hold)
	if err != nil {
		s.away(a.ctx, err)
		if lease != nil { // it may be held nevertheless
			a.giveBack(lease)
		}
		if a.ctx.Err() != nil {
			return nil, gateway.Ended(a.ctx)
		}
		return nil, errAway(err)
	}
	defer v.Free()
	t := s.tally(set)
	s.count(t, limits, &v)
	s.see(t, limits, &v)
	rates := a.rates.limits(&v)
	if v.Refusal != nil {
		e := refusal(&v, a.hold.Hold)
		e.Header = rateHeader(rates)
		s.log.InfoContext(a.ctx, "limit reached", "id", a.req.ID, "scope", v.Refusal.Limit.Scope.String(), "kind", v.Refusal.Limit.Kind.String(), "limit", v.Refusal.Limit.Of())
		return nil, e
	}
	a.lease = lease
	return rates, nil
}

// giveBack releases what may have been acquired. The lease expires if that fails too.
func (a *account) giveBack(l *limit.Lease) {
	_ = a.gate.o.State.limiter.Release(context.WithoutCancel(a.ctx), l)
}

// Begin implements gateway.Meter: the request of an attempt is held beside what was used before.
func (a *account) Begin(provider, model string, why gateway.Purpose, bytes int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why == gateway.ForJudge {
		a.judge = &billing.Row{}
		a.begin(a.judge, provider, model, why)
		a.note(a.judge, tokens(int64(bytes), a.ratio), 0)
		return nil
	}
	again := a.asked
	a.asked = true
	a.current = attempt{runs: true, input: a.input}
	if again && a.input > 0 && bytes > 0 {
		a.current.input = tokens(int64(bytes), a.ratio)
	}
	a.begin(&a.current.row, provider, model, why)
	a.note(&a.current.row, a.current.input, 0)
	a.costs(provider, model)
	a.aim()
	if !again || a.lease == nil {
		return nil
	}
	return a.grow(limit.Amount{Tokens: a.used().Tokens + step, Nano: a.used().Nano + a.worth(0, step)})
}

// begin begins the row of an answer.
func (a *account) begin(row *billing.Row, provider, model string, why gateway.Purpose) {
	a.rows++
	*row = billing.Row{ID: a.row(a.rows), Request: a.req.ID, Key: a.req.From.Tenant, Model: a.req.Model, Provider: provider, Served: model, Purpose: string(why)}
	r := a.gate.o.Records
	if r == nil {
		return
	}
	if r.Keeps() { // else it has the time of its end alone
		row.Time = time.Now()
	}
	if a.req.Way.Arm != nil {
		row.Arm = a.req.Way.Arm.String()
	}
	if a.req.Way.Mirror {
		row.Key, row.Purpose = "", string(gateway.ForMirror)
		return
	}
	row.Session = a.req.Session()
	if c := a.req.From.Client; c != nil {
		row.Key, row.Team, row.Labels = c.Key, c.Team, c.Labels
	}
}

// Copied implements gateway.Copier: what the answer to a copy uses is in the ledger, and in no limit and on no
// client's bill.
func (a *account) Copied(ctx context.Context, copied *gateway.Request) (gateway.Meter, func()) {
	if a.gate.o.Records == nil {
		return nil, nil
	}
	m := &account{gate: a.gate, req: copied, ctx: ctx, ids: newIDs(), model: a.model}
	m.estimate(estimate{chat: true})
	if a.gate.o.Records.Keeps() {
		a.gate.o.State.add(m)
	}
	return m, func() { m.finish(false) }
}

// note has the ledger know of an answer that runs, and what it has used at least.
func (a *account) note(row *billing.Row, in, out int64) {
	if r := a.gate.o.Records; r != nil && r.Keeps() {
		row.Input, row.Output, row.Estimated = in, out, true
		row.Nano, row.Priced, row.PriceVersion = a.gate.price(row.Provider, row.Served, gateway.Usage{Reported: true, Input: int(in), Output: int(out)})
		r.Begin(*row)
	}
}

// aim says at which byte of the answer the hold is to grow.
func (a *account) aim() {
	room := a.hold.Hold.Tokens - a.used().Tokens
	if a.rate.out > 0 {
		room = min(room, (a.hold.Hold.Nano-a.used().Nano)*1000/a.rate.out)
	}
	a.current.next = a.current.came + int64(float64(max(room-step/4, step/4))*a.ratio)
}

// Came implements gateway.Meter: the hold grows with the answer.
func (a *account) Came(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current.came += int64(n)
	if a.current.came < a.current.next || a.lease == nil || a.cut {
		return
	}
	u := a.used()
	_ = a.grow(limit.Amount{Tokens: u.Tokens + step, Nano: u.Nano + a.worth(0, step)})
	a.aim()
}

// grow makes the hold larger. If there is no room for that the answer is finished nevertheless, or cut.
func (a *account) grow(to limit.Amount) error {
	to = to.Most(a.hold.Hold)
	v, err := a.extend(limit.Holds{Hold: to, Used: a.used()}, !a.cuts)
	defer func() { v.Free() }()
	if err == nil && v.Refusal != nil && a.cuts && !v.Cut { // those that have no room let it finish
		v, err = a.extend(limit.Holds{Hold: to, Used: a.used()}, true)
	}
	switch {
	case err != nil: // the lease lives a while; what it has used is settled at the end
		a.gate.o.State.away(a.ctx, err)
	case v.Refusal != nil && v.Cut:
		a.cut = true
		a.gate.o.State.cut(a.ctx, a.req.ID, &v)
		return refusal(&v, to)
	default:
		a.hold.Hold = to
	}
	return nil
}

func (a *account) extend(h limit.Holds, force bool) (limit.Verdict, error) {
	return a.gate.o.State.limiter.Extend(context.WithoutCancel(a.ctx), a.lease, h, force)
}

// renew keeps the lease, and says what was used so far.
func (a *account) renew() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	if c := &a.current; c.runs {
		a.note(&c.row, c.input, tokens(c.came, a.ratio))
	}
	if a.lease == nil {
		return
	}
	a.hold.Hold = a.hold.Hold.Most(a.used())
	v, err := a.extend(limit.Holds{Hold: a.hold.Hold, Used: a.used().Most(a.hold.Used)}, true)
	if err != nil {
		a.gate.o.State.away(a.ctx, err)
	}
	v.Free()
}

// isCut reports whether the answer is to end here.
func (a *account) isCut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cut
}

// Ended implements gateway.Meter.
func (a *account) Ended(u gateway.Use) {
	a.mu.Lock()
	defer a.mu.Unlock()
	row := &a.current.row
	if u.Purpose == gateway.ForJudge {
		row = a.judge
	} else {
		a.current.runs = false
	}
	records := a.gate.o.Records
	if u.Unbilled {
		if records != nil {
			records.Forget(row.ID)
		}
		return
	}
	counted, estimated := a.counted(&u)
	if !estimated && u.Purpose != gateway.ForJudge {
		a.model.learn(u.Usage, a.text)
	}
	nano, priced, version := a.gate.price(u.Provider, u.Model, counted)
	a.ended.Tokens += int64(counted.Input) + int64(counted.Output)
	a.ended.Nano += nano
	a.spend(nano, priced && version != assumed, estimated)
	if records == nil {
		return
	}
	row.Time, row.Took = time.Now(), u.Took
	row.Input, row.Cached, row.CacheWrite = int64(counted.Input), int64(counted.CacheRead), int64(counted.WriteShort+counted.WriteLong)
	row.Output, row.Reasoning = int64(counted.Output), int64(counted.Reasoning)
	row.Nano, row.Priced, row.PriceVersion = nano, priced, version
	row.Estimated, row.Tools, row.Status = estimated, u.Tools, u.Status
	records.Record(*row)
}

// spend adds an answer to what the client is told of its costs.
func (a *account) spend(nano int64, priced, estimated bool) {
	one := gateway.Spent{Nano: nano, Answers: 1}
	if !priced {
		one.Nano, one.Unpriced = 0, 1
	}
	if estimated {
		one.Estimated = 1
	}
	if a.spent = a.spent.Plus(one); a.summary != nil {
		a.summary.Spent = a.spent
	}
}

// unsound are the faults of a usage that nobody can bill by: a count in it is none, or is larger than any answer's.
const unsound = usage.NotACount | usage.Negative | usage.TooLarge

// counted is what an answer counts: what its upstream reports; and where that is not all, nothing or nonsense, what came.
func (a *account) counted(u *gateway.Use) (counted gateway.Usage, estimated bool) {
	counted = u.Usage
	sound := counted.Faults&unsound == 0
	if counted.Reported && u.Complete && sound {
		return counted, false
	}
	input, output := tokens(int64(u.Sent), a.ratio), tokens(int64(u.Came), a.ratio)
	if u.Purpose != gateway.ForJudge && a.input == 0 {
		input = 0 // of what uses no tokens
	} else if u.Purpose == gateway.ForAnswer {
		input = a.input
	}
	if counted.Reported && (sound || counted.Input > 0) {
		input = int64(counted.Input)
	}
	counted.Reported = true
	counted.Input, counted.Output = int(input), max(counted.Output, int(output))
	return counted, true
}

// finish settles the request, once. replayed says that no upstream was asked for it.
func (a *account) finish(replayed bool) {
	a.mu.Lock()
	if a.over {
		a.mu.Unlock()
		return
	}
	a.over = true
	lease, used, asked := a.lease, a.ended, a.asked || replayed
	a.mu.Unlock()
	s := a.gate.o.State
	s.remove(a)
	if lease == nil {
		return
	}
	ctx := context.WithoutCancel(a.ctx)
	var err error
	if asked {
		err = s.limiter.Settle(ctx, lease, used)
	} else {
		err = s.limiter.Release(ctx, lease)
	}
	if err != nil {
		s.away(a.ctx, err)
	}
}

var errLost = errors.New("admit: nobody can tell the limits")

func errAway(err error) *gateway.Error {
	return &gateway.Error{Kind: gateway.LimitsAway, Message: "The gateway cannot look at your limits at the moment. Try again in a moment.", RetryAfter: time.Second,
		Err: fmt.Errorf("%w: %w", errLost, err)}
}
