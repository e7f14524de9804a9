package limit_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/limit"
	"github.com/callgate/callgate/gateway/redis"
	"github.com/callgate/callgate/internal/redistest"
)

// What a line does with the next request.
const (
	loseNothing = iota
	loseRequest // the connection ends before the Redis has it
	loseAnswer  // the Redis has done what was asked, and the connection ends
	delay       // the connection ends, and the Redis has the request when [line.arrive] is called: a network may send it again
)

// line is between a gateway and its Redis, and loses what it is told to.
type line struct {
	to    string
	lose  atomic.Int32
	in    net.Listener
	ended sync.WaitGroup

	mu   sync.Mutex
	late []byte // requests that the Redis has not had yet
}

// arrive returns when the Redis has done what was delayed.
func (l *line) arrive() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.late) == 0 {
		return nil
	}
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return err
	}
	defer server.Close()
	if _, err := server.Write(append(l.late, "PING\r\n"...)); err != nil {
		return err
	}
	l.late = nil
	for answer := ""; !strings.HasSuffix(answer, "+PONG\r\n"); {
		room := make([]byte, 1<<16)
		n, err := server.Read(room)
		if err != nil {
			return err
		}
		answer += string(room[:n])
	}
	return nil
}

func newLine(t cleaner, to string) *line {
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &line{to: strings.TrimPrefix(to, "redis://"), in: in}
	l.ended.Go(func() {
		for {
			conn, err := in.Accept()
			if err != nil {
				return
			}
			l.ended.Go(func() { l.carry(conn) })
		}
	})
	t.Cleanup(func() {
		in.Close()
		l.ended.Wait()
	})
	return l
}

// carry carries requests and answers until one is lost.
func (l *line) carry(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer server.Close()
	var deaf atomic.Bool // to the next answer
	l.ended.Go(func() {
		defer client.Close()
		for room := make([]byte, 1<<16); ; {
			n, err := server.Read(room)
			if err != nil || deaf.Load() {
				return
			}
			if _, err := client.Write(room[:n]); err != nil {
				return
			}
		}
	})
	for room := make([]byte, 1<<16); ; {
		n, err := client.Read(room)
		if err != nil {
			return
		}
		lost := int32(loseNothing)
		if strings.Contains(string(room[:n]), "eval") { // not what begins a connection
			lost = l.lose.Swap(loseNothing)
		}
		if lost == loseRequest {
			return
		}
		if lost == delay {
			l.mu.Lock()
			l.late = append(l.late, room[:n]...)
			l.mu.Unlock()
			return
		}
		if lost == loseAnswer {
			deaf.Store(true)
		}
		if _, err := server.Write(room[:n]); err != nil {
			return
		}
	}
}

// faulty is a gateway of the test.
type faulty struct {
	*limit.Batches
	line *line
	dead bool
	runs []*faultyRun
	past []*faultyRun
}

// faultyRun is what a request has: hold is what it was granted, and has what it has used, or cost. Of a gateway that is killed the Redis
// knows something from least to most.
type faultyRun struct {
	lease       *limit.Lease
	hold, has   int64
	least, most int64
	renewed     time.Time
}

func (r *faultyRun) uses(n int64) {
	r.has, r.least, r.most = n, min(r.least, n), max(r.most, n)
}

// faults is a world of gateways.
type faults struct {
	c        *clock
	gateways []*faulty
	max      int64
	n        int
}

// tend does a round of a gateway. If nothing is lost the Redis knows all.
func (f *faults) tend(g *faulty) {
	lossy := g.line.lose.Load() != loseNothing
	g.Tend()
	if lossy {
		return
	}
	for _, r := range append(g.runs, g.past...) {
		if limit.InBatch(r.lease) {
			r.least, r.most = r.has, r.has
		}
	}
}

// check holds that what all have been granted and have spent is within the budget.
func (f *faults) check(t *rapid.T, what string) {
	total := int64(0)
	for _, g := range f.gateways {
		for _, r := range g.past {
			if g.dead {
				total += r.least
			} else {
				total += r.has
			}
		}
		for _, r := range g.runs {
			if g.dead {
				total += r.least
			} else {
				total += max(r.hold, r.has)
			}
		}
	}
	if total > f.max {
		t.Fatalf("%s: %d of %d are held and spent", what, total, f.max)
	}
}

// TestBatchesFaults holds, with gateways that are killed and a line that loses or delays requests, and loses answers, that no more is granted than there is,
// nothing is held for good, and what is spent in the end is what was.
func TestBatchesFaults(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rapid.Check(t, func(t *rapid.T) {
		f := &faults{c: newClock(), max: rapid.SampledFrom([]int64{100, 600, 3000}).Draw(t, "max")}
		prefix := fmt.Sprintf("%s-faults-%d", server.KeyPrefix(), fresh.Add(1))
		own := func(of string) *limit.Set {
			return set(t, limit.Limit{Scope: team, Kind: limit.Money, Max: f.max, Window: limit.Total}, limit.Limit{Scope: team, Kind: limit.Concurrency, Max: 300},
				limit.Limit{Scope: limit.Scope{Of: "key", Name: of}, Kind: limit.Money, Max: 2000, Window: limit.Total})
		}
		sets := []*limit.Set{own("alice"), own("bob")}
		start := func() *faulty {
			l := newLine(t, server.URL())
			c, err := redis.Open(redis.Options{URL: "redis://" + l.in.Addr().String(), KeyPrefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			g := &faulty{Batches: limit.NewTended(limit.NewShared(c, f.c.now).Patient()), line: l}
			f.gateways = append(f.gateways, g)
			return g
		}
		start()
		start()
		ctx := context.Background()
		gateway := func(t *rapid.T) *faulty {
			var alive []*faulty
			for _, g := range f.gateways {
				if !g.dead {
					alive = append(alive, g)
				}
			}
			return alive[rapid.IntRange(0, len(alive)-1).Draw(t, "gateway")]
		}
		acquire := func(t *rapid.T, g *faulty) {
			f.n++
			hold := rapid.Int64Range(1, 20).Draw(t, "hold")
			used := rapid.Int64Range(0, hold).Draw(t, "used")
			l, v, err := g.Acquire(ctx, sets[rapid.IntRange(0, 1).Draw(t, "set")], fmt.Sprint("r", f.n), holds(hold, used))
			switch {
			case err != nil:
				for l != nil && g.Release(ctx, l) != nil { // as the journal does
				}
			case v.Refusal == nil:
				r := &faultyRun{lease: l, hold: hold, renewed: f.c.now()}
				if r.uses(used); !limit.InBatch(l) {
					r.least = used
				}
				g.runs = append(g.runs, r)
				f.check(t, "acquire")
			}
		}
		extend := func(t *rapid.T, g *faulty, r *faultyRun, hold, used int64, force bool) {
			v, err := g.Extend(ctx, r.lease, holds(hold, used), force)
			r.uses(used)
			if err != nil {
				return
			}
			r.renewed = f.c.now()
			if !limit.InBatch(r.lease) {
				r.least, r.most = used, used
			}
			if v.Refusal == nil {
				r.hold = hold
				f.check(t, "extend")
			}
		}
		one := func(t *rapid.T, g *faulty) *faultyRun {
			if len(g.runs) == 0 {
				t.Skip("no request")
			}
			return g.runs[rapid.IntRange(0, len(g.runs)-1).Draw(t, "request")]
		}
		settle := func(t *rapid.T, g *faulty, r *faultyRun, cost int64) {
			r.uses(cost)
			for g.Settle(ctx, r.lease, limit.Amount{Nano: cost, Tokens: cost}) != nil { // as the journal does
			}
			if !limit.InBatch(r.lease) {
				r.least, r.most = cost, cost
			}
			for i, other := range g.runs {
				if other == r {
					g.runs = append(g.runs[:i], g.runs[i+1:]...)
					break
				}
			}
			g.past = append(g.past, r)
		}
		renew := func(t *rapid.T) {
			for _, g := range f.gateways {
				for try := 0; try < 2 && !g.dead; try++ { // what is lost is said again in the next round
					for _, r := range g.runs {
						if f.c.now().Sub(r.renewed) >= limit.Renew/2 {
							extend(t, g, r, r.hold, r.has, true)
						}
					}
					f.tend(g)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				g := gateway(t)
				for range rapid.IntRange(1, 8).Draw(t, "times") {
					acquire(t, g)
				}
			},
			"extend": func(t *rapid.T) {
				g := gateway(t)
				r := one(t, g)
				extend(t, g, r, r.hold+rapid.Int64Range(0, 200).Draw(t, "more"), rapid.Int64Range(r.has, r.hold).Draw(t, "used"), false)
			},
			"settle": func(t *rapid.T) {
				g := gateway(t)
				for range min(rapid.IntRange(1, 8).Draw(t, "times"), len(g.runs)) {
					r := one(t, g)
					settle(t, g, r, rapid.Int64Range(0, r.hold).Draw(t, "cost"))
				}
			},
			"tend": func(t *rapid.T) { f.tend(gateway(t)) },
			"lose": func(t *rapid.T) {
				gateway(t).line.lose.Store(rapid.SampledFrom([]int32{loseRequest, loseAnswer, delay}).Draw(t, "what"))
			},
			"arrive": func(t *rapid.T) {
				if err := f.gateways[rapid.IntRange(0, len(f.gateways)-1).Draw(t, "gateway")].line.arrive(); err != nil {
					t.Fatal(err)
				}
			},
			"kill": func(t *rapid.T) {
				if len(f.gateways) > 6 || rapid.IntRange(0, 3).Draw(t, "spared") > 0 {
					t.Skip("spared")
				}
				gateway(t).dead = true
				start()
			},
			"wait": func(t *rapid.T) {
				f.c.move(rapid.SampledFrom([]time.Duration{time.Millisecond, 33 * time.Millisecond, 150 * time.Millisecond, 333 * time.Millisecond, 9 * time.Second, 25 * time.Second}).Draw(t, "time"))
				renew(t)
			},
		})
		for _, g := range f.gateways {
			for len(g.runs) > 0 && !g.dead {
				settle(t, g, g.runs[0], g.runs[0].has)
			}
		}
		f.c.move(time.Second)
		for range 3 {
			renew(t)
		}
		f.c.move(2 * limit.Life)
		least, most := int64(0), int64(0)
		for _, g := range f.gateways {
			for _, r := range append(g.runs, g.past...) {
				least, most = least+r.least, most+r.most
			}
		}
		c, err := redis.Open(redis.Options{URL: server.URL(), KeyPrefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, v, err := limit.NewShared(c, f.c.now).Patient().Acquire(ctx, sets[0], "last", holds(limit.MaxAmount, 0))
		if err != nil {
			t.Fatal(err)
		}
		if st := v.States; st[0].Used < least || st[0].Used > most || st[0].Held != 0 || st[1].Used != 0 {
			t.Fatalf("got %d spent, %d held and %d running, want %d to %d, and nothing held", st[0].Used, st[0].Held, st[1].Used, least, most)
		}
	})
}
