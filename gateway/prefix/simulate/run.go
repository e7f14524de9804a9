package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/callgate/callgate/gateway/prefix"
)

// Run replays a trace. Every request is answered: one whose target dies is sent to
// another. The same options give the same result. It takes about a second for 20,000
// requests.
func Run(trace Trace, options Options) (Result, error) {
	o, err := options.withDefaults()
	if err != nil {
		return Result{}, err
	}
	r := newRun(o)
	for i := range trace {
		at := time.Duration(trace[i].Timestamp) * time.Millisecond
		r.until(at)
		r.now = at
		r.fail(i, len(trace))
		r.dispatch(r.call(&trace[i]))
		if r.err != nil {
			return Result{}, r.err
		}
	}
	r.until(-1)
	return r.result(), r.err
}

// run is the state of a replay.
type run struct {
	Options
	key       prefix.Key
	shared    []int64
	now       time.Duration
	gateways  []*gateway
	upstreams []*upstream
	calls     calls // being answered
	synced    time.Duration
	err       error // of an exchange, after which there is none
	chance    *rand.Rand
	failed    int // how far the failure has come
	started   int
	sums      sums
}

func newRun(o Options) *run {
	r := &run{Options: o, key: prefix.NewKey([]byte("simulate"), strconv.FormatUint(o.Seed, 10), "")}
	r.chance = rand.New(rand.NewPCG(o.Seed, 0)) //nolint:gosec // a simulation wants the same chances each time
	for i := range o.Shared / o.BlockTokens {
		r.shared = append(r.shared, int64(-1-i)) // no trace has negative ids
	}
	var names []string
	for i := range o.Targets {
		names = append(names, fmt.Sprintf("target-%d", i+1))
		r.upstreams = append(r.upstreams, &upstream{name: names[i], idle: o.Idle, alive: true, cache: map[int64]time.Duration{}})
	}
	start := time.Unix(0, 0)
	clock := func() time.Time { return start.Add(r.now) }
	for i := range o.Gateways {
		r.gateways = append(r.gateways, newGateway(o, names, uint64(i+1), clock))
	}
	r.sums = sums{served: make([]int, o.Targets), work: make([]int64, o.Targets)}
	return r
}

// call makes the call for a request, at a gateway by chance.
func (r *run) call(q *Request) *call {
	c := &call{Request: q, blocks: q.Blocks, input: q.Input + r.Shared}
	if len(r.shared) > 0 {
		c.blocks = slices.Concat(r.shared, q.Blocks)
	}
	// As for bytes, only whole blocks are in the chain.
	c.chain = prefix.OfIDs(r.key, c.blocks[:min(len(c.blocks), c.input/r.BlockTokens)])
	c.gateway = r.gateways[r.chance.IntN(len(r.gateways))]
	return c
}

// dispatch sends a call to a target.
func (r *run) dispatch(c *call) {
	c.target, c.expected = c.gateway.choose(c.chain, func(i int) bool { return r.upstreams[i].alive })
	u := r.upstreams[c.target]
	c.hit = u.take(c.blocks, r.now)
	c.ends = r.now + time.Duration(r.uncached(c))*perUncached + time.Duration(c.Output)*perOutput
	c.gateway.candidates[c.target].Running++
	r.started++
	c.number = r.started
	heap.Push(&r.calls, c)
}

// uncached returns how many tokens of a call's input were not in the cache.
func (r *run) uncached(c *call) int { return max(0, c.input-c.hit*r.BlockTokens) }

// until lets all happen that does before a time; a time below 0 is the end.
func (r *run) until(end time.Duration) {
	for len(r.calls) > 0 && (end < 0 || r.calls[0].ends <= end) {
		r.syncUntil(r.calls[0].ends)
		r.finish(heap.Pop(&r.calls).(*call))
	}
	r.syncUntil(end)
}

// finish is the end of an answer: the gateway learns by it.
func (r *run) finish(c *call) {
	r.now = c.ends
	u := r.upstreams[c.target]
	c.gateway.candidates[c.target].Running--
	c.gateway.index.Reported(u.name, c.chain, c.expected, c.hit)
	c.gateway.index.Add(u.name, c.chain)
	r.sums.add(c, r.uncached(c))
}

// syncUntil exchanges deltas for each interval that has passed.
func (r *run) syncUntil(end time.Duration) {
	if r.Sync == 0 || len(r.gateways) == 1 || r.err != nil {
		return
	}
	exchange := r.exchange
	if r.Join != nil {
		exchange = r.exchangeByPeers
	}
	for r.synced+r.Sync <= end {
		r.synced += r.Sync
		r.now = r.synced
		if !exchange() { // nothing is new, nor will it be until the next event
			r.synced += (end - r.synced) / r.Sync * r.Sync
		}
	}
}

// exchange gives the deltas of each gateway to all others, and reports whether there were
// some.
func (r *run) exchange() (some bool) {
	for _, from := range r.gateways {
		deltas := from.index.Deltas(syncMarks)
		if len(deltas) == 0 {
			continue
		}
		some = true
		for _, to := range r.gateways {
			if to != from {
				to.index.Apply(deltas)
			}
		}
	}
	return some
}

// exchangeByPeers does the same on the way that Join has made.
func (r *run) exchangeByPeers() (some bool) {
	for _, g := range r.gateways {
		n, err := g.peer.Push()
		if r.err = err; err != nil {
			return false
		}
		some = some || n > 0
	}
	if !some {
		return false
	}
	for _, g := range r.gateways {
		if _, r.err = g.peer.Pull(); r.err != nil {
			return false
		}
	}
	return true
}

// syncMarks bounds the deltas of a gateway in one exchange.
const syncMarks = 50_000

// fail lets the first target die or return before a request, if it is time.
func (r *run) fail(i, n int) {
	f := r.Failure
	if f == nil {
		return
	}
	u := r.upstreams[0]
	if r.failed == 0 && i >= int(f.Dies*float64(n)) {
		r.failed++
		clear(u.cache)
		if f.Unnoticed {
			r.failed++ // it is back already
			return
		}
		u.alive = false
		r.resend(u)
	}
	if r.failed == 1 && i >= int(f.Returns*float64(n)) {
		r.failed++
		u.alive = true
	}
}

// resend is what gateways do when a target dies: they forget what it had, and send what
// it was answering to others.
func (r *run) resend(u *upstream) {
	for _, g := range r.gateways {
		g.index.Drop(u.name)
	}
	var lost []*call
	r.calls = slices.DeleteFunc(r.calls, func(c *call) bool {
		if c.target == 0 {
			lost = append(lost, c)
		}
		return c.target == 0
	})
	heap.Init(&r.calls)
	for _, c := range lost {
		c.gateway.candidates[c.target].Running--
		r.sums.resent++
		r.dispatch(c)
	}
}
