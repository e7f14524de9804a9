package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How many goroutines and files more there may be at the end: connections that are kept.
const slack = 100

// report is what an attack came to.
type report struct {
	settings   settings
	good       *good
	took       time.Duration
	rounds     map[string]*atomic.Int64
	asked      int64 // requests to the hostile upstream
	redis      int64 // and commands to the hostile Redis
	base, peak int   // MiB: before the attack, and the most
	rest       int   // MiB at the end
	children   int   // MiB: the most of one process that the gateway has started
	compilers  int   // the most of them at once
	before     map[string]float64
	after      map[string]float64
	running    int64 // requests at the hostile upstream that nobody waits for
	left       int   // processes
	exit       error
}

// attack starts a gateway, attacks it, and says what became of it.
func attack(ctx context.Context, s settings) (r *report, err error) {
	dir, err := os.MkdirTemp("", "callgate-attack")
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	up := newEvilUpstream(s.answer)
	goodSite, evilSite := httptest.NewServer(http.HandlerFunc(goodUpstream)), httptest.NewServer(up)
	defer goodSite.Close()
	defer evilSite.Close()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	redis := &evilRedis{listener: listener}
	go redis.serve()
	g, err := start(ctx, s, dir, config(s, dir, goodSite.Listener.Addr().String(), evilSite.Listener.Addr().String(), listener.Addr().String()))
	if err != nil {
		return nil, err
	}
	r = &report{settings: s, good: &good{gateway: g, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}, rounds: map[string]*atomic.Int64{}}
	r.run(ctx, g, newEvil(g, up, s))
	r.asked, r.redis = up.asked.Load(), redis.asked.Load()
	r.settle(ctx, g, up)
	r.exit = g.stop()
	return r, nil
}

// run attacks until the time is over, or each attack was made often enough.
func (r *report) run(ctx context.Context, g *gateway, e *evil) {
	const warm = 10
	for n := range warm {
		r.good.ask(ctx, n)
	}
	r.base, r.before = memory(g.cmd.Process.Pid, "VmHWM"), g.gauges(ctx)
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.settings.time > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.settings.time)
		defer cancel()
	}
	var attackers, others sync.WaitGroup
	for name, round := range e.attacks() {
		count := new(atomic.Int64)
		r.rounds[name] = count
		attackers.Go(func() {
			for ctx.Err() == nil && (r.settings.time > 0 || count.Load() < r.settings.rounds) {
				round(ctx)
				count.Add(1)
			}
		})
	}
	over := make(chan struct{})
	go func() {
		attackers.Wait()
		close(over)
	}()
	others.Go(func() { r.askOften(context.WithoutCancel(ctx), over, warm) })
	others.Go(func() { r.watch(g, over) })
	<-over
	others.Wait()
	r.took = time.Since(began)
	e.client.CloseIdleConnections()
	r.good.client.CloseIdleConnections()
}

// askOften sends a good request at a steady pace, whether or not those before are answered.
func (r *report) askOften(ctx context.Context, over <-chan struct{}, n int) {
	var all sync.WaitGroup
	defer all.Wait()
	for tick := time.NewTicker(r.settings.pause); ; n++ {
		select {
		case <-over:
			tick.Stop()
			return
		case <-tick.C:
			number := n
			all.Go(func() { r.good.ask(ctx, number) })
		}
	}
}

// watch looks at the processes that the gateway starts, and says each minute how things are.
func (r *report) watch(g *gateway, over <-chan struct{}) {
	look, tell := time.NewTicker(200*time.Millisecond), time.NewTicker(time.Minute)
	defer look.Stop()
	defer tell.Stop()
	for {
		select {
		case <-over:
			return
		case <-look.C:
			pids := g.children()
			r.compilers = max(r.compilers, len(pids))
			for _, pid := range pids {
				r.children = max(r.children, memory(pid, "VmHWM"))
			}
		case <-tell.C:
			c := r.good
			c.mu.Lock()
			fmt.Fprintf(os.Stderr, "%d sent, %d right, %d refused, %d wrong; %d MiB, %d at most\n", c.sent, c.right, c.refused, len(c.wrong),
				memory(g.cmd.Process.Pid, "VmRSS"), memory(g.cmd.Process.Pid, "VmHWM"))
			c.mu.Unlock()
		}
	}
}

// The gauges that are looked at before and after.
const (
	goroutines = "go_goroutines"
	openFiles  = "process_open_fds"
	claimed    = "callgate_memory_claimed_bytes"
)

// settle waits until nothing of the attack is under way any more, and notes what is left if it
// does not end.
func (r *report) settle(ctx context.Context, g *gateway, up *evilUpstream) {
	r.peak = memory(g.cmd.Process.Pid, "VmHWM")
	_ = dropPlugins(g.plugins, 1)                          // away with them
	_ = until(ctx, "a gateway without work", func() bool { // if it never is, the report says so
		r.after = g.gauges(ctx)
		r.running, r.left = up.running.Load(), len(g.children())
		return r.running == 0 && r.left == 0 && len(r.leaks()) == 0
	})
	r.rest = memory(g.cmd.Process.Pid, "VmRSS")
}

// leaks are the gauges that are higher than before.
func (r *report) leaks() (said []string) {
	if len(r.after) == 0 {
		return []string{"the gateway has no metrics any more"}
	}
	for name, more := range map[string]float64{goroutines: slack, openFiles: slack, claimed: 0} {
		if before, after := r.before[name], r.after[name]; after > before+more {
			said = append(said, fmt.Sprintf("%s: %.0f before, %.0f after", name, before, after))
		}
	}
	return said
}

// bound is the most memory that the gateway's process may take, in MiB: limits.memory is for what
// requests need at once, and by default a half of GOMEMLIMIT.
func (r *report) bound() int { return 2 * r.settings.memory }

// faults are what is wrong with the gateway.
func (r *report) faults() (said []string) {
	c := r.good
	said = r.leaks()
	if c.right == 0 {
		said = append(said, "the client that behaves well got no answer")
	}
	if len(c.wrong) > 0 {
		said = append(said, fmt.Sprintf("%d answers are wrong, such as %s", len(c.wrong), c.wrong[0]))
	}
	if r.peak > r.bound() {
		said = append(said, fmt.Sprintf("a peak of %d MiB, want at most %d", r.peak, r.bound()))
	}
	if r.running > 0 {
		said = append(said, fmt.Sprintf("%d requests are left at the upstream", r.running))
	}
	if r.left > 0 {
		said = append(said, fmt.Sprintf("%d processes are left", r.left))
	}
	if r.exit != nil {
		said = append(said, fmt.Sprintf("the end of the gateway: %v", r.exit))
	}
	return said
}

// String is what is printed.
func (r *report) String() string {
	var b strings.Builder
	c := r.good
	fmt.Fprintf(&b, "attacked for %v; rounds:", r.took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(r.rounds)) {
		fmt.Fprintf(&b, " %s %d,", name, r.rounds[name].Load())
	}
	fmt.Fprintf(&b, "\nasked: the hostile upstream %d times, the hostile Redis %d times\n", r.asked, r.redis)
	fmt.Fprintf(&b, "good requests: %d sent, %d answered right, %d refused with 503 and Retry-After, %d wrong; p50 %v, p99 %v, slowest %v\n", c.sent, c.right, c.refused,
		len(c.wrong), c.percentile(0.5).Round(time.Millisecond), c.percentile(0.99).Round(time.Millisecond), c.percentile(1).Round(time.Millisecond))
	fmt.Fprintf(&b, "memory in MiB: %d before, %d at most, %d at the end; the bound is %d = GOMEMLIMIT, of which limits.memory is a half, kept answers have %d and kept responses %d\n",
		r.base, r.peak, r.rest, r.bound(), keptAnswers, keptResponses)
	fmt.Fprintf(&b, "compilers: %d at once, %d MiB at most\n", r.compilers, r.children)
	for _, name := range []string{goroutines, openFiles, claimed, "callgate_memory_refused_total"} {
		fmt.Fprintf(&b, "%s: %.0f before, %.0f after\n", name, r.before[name], r.after[name])
	}
	fmt.Fprintf(&b, "left: %d requests at the hostile upstream, %d processes\n", r.running, r.left)
	return b.String()
}
