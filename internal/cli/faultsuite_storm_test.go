package cli

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// chance is a number that looks random and is the same in every run (SplitMix64).
func chance(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// stormy is an upstream that refuses every other request, in no order.
func stormy(t *testing.T, seed uint64) *site {
	t.Helper()
	var n atomic.Uint64
	return newSite(t, func(w http.ResponseWriter, r received) {
		if chance(seed<<32+n.Add(1))&1 == 0 {
			w.WriteHeader(503)
			return
		}
		answerWith(w, r, healthyText)
	})
}

// crowd sends n requests by so many clients, and returns how many got an answer.
func crowd(g *gate, n, clients int, model string) int {
	var ok, next atomic.Int64
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for next.Add(1) <= int64(n) {
				if r := g.chat(prompt(model, "hi", next.Load()%2 == 0)); r.status == 200 {
					ok.Add(1)
				}
			}
		})
	}
	all.Wait()
	return int(ok.Load())
}

// TestFaultSuiteRetryStorm has upstreams that fail half of the time, and a policy that
// would triple the load. What retries and fallbacks add stays below a fifth.
func TestFaultSuiteRetryStorm(t *testing.T) {
	t.Parallel()
	const requests = 1200
	for _, targets := range []int{1, 2} {
		for _, clients := range []int{1, 16} {
			t.Run(fmt.Sprintf("%d targets, %d clients", targets, clients), func(t *testing.T) {
				t.Parallel()
				var s setup
				var sites []*site
				var names []string
				for i := range targets {
					up, name := stormy(t, uint64(i)), fmt.Sprintf("up%d", i)
					s.provider(name, up.url, "circuit_breaker: {failure_threshold: 1000}, retry: {max_retries: 3, base_delay: 1ms}")
					sites, names = append(sites, up), append(names, name)
				}
				s.model("m", names...)
				g := serve(t, s.String())
				began := time.Now()
				ok, asked := crowd(g, requests, clients, "m"), int64(0)
				for _, up := range sites {
					asked += up.asked.Load()
				}
				ratio := float64(asked) / requests
				t.Logf("%d requests, %d of them answered, made %d at the upstreams: %.3f", requests, ok, asked, ratio)
				// The budget grows with time too, by one failed attempt a second at each target. A
				// slow machine has more seconds.
				most := 1.2 + 2.5*float64(targets)*time.Since(began).Seconds()/requests
				if ratio >= most {
					t.Errorf("got %.3f requests upstream for each of a client's, want less than %.3f", ratio, most)
				}
				if ratio <= 1.01 || ok < requests*2/5 {
					t.Errorf("got %d answers and a ratio of %.3f, want some retries and half of the answers", ok, ratio)
				}
			})
		}
	}
}

// TestFaultSuiteDeadProvider has a provider that is down and a healthy one behind it:
// whoever asks gets an answer, before the breaker has opened too.
func TestFaultSuiteDeadProvider(t *testing.T) {
	t.Parallel()
	for _, threshold := range []int{5, 1000} {
		t.Run(fmt.Sprintf("threshold %d", threshold), func(t *testing.T) {
			t.Parallel()
			var s setup
			s.provider("dead", down(t), fmt.Sprintf("circuit_breaker: {failure_threshold: %d}", threshold))
			s.provider("well", well(t).url, "")
			s.model("m", "dead", "well")
			g := serve(t, s.String())
			const requests = 500
			if ok := crowd(g, requests, 16, "m"); ok != requests {
				t.Errorf("got %d answers to %d requests, want all: the second target is healthy", ok, requests)
			}
		})
	}
}

// TestFaultSuiteDeadProviderAndLongAnswers is the same where answers take long, as those
// of models do: many are under way at once when the provider dies.
func TestFaultSuiteDeadProviderAndLongAnswers(t *testing.T) {
	t.Parallel()
	const clients = 64
	release := make(chan struct{})
	healthy := newSite(t, func(w http.ResponseWriter, r received) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		answerWith(w, r, healthyText)
	})
	var dying sync.WaitGroup // all clients have come before the provider fails
	dying.Add(clients)
	dead := newSite(t, func(w http.ResponseWriter, _ received) {
		dying.Done()
		dying.Wait()
		w.WriteHeader(503)
	})
	var s setup
	s.provider("dead", dead.url, "")
	s.provider("well", healthy.url, "")
	s.model("m", "dead", "well")
	g := serve(t, s.String())
	var all sync.WaitGroup
	var failed atomic.Int64
	for range clients {
		all.Go(func() {
			if r := g.chat(prompt("m", "hi", true)); r.status != 200 {
				failed.Add(1)
			}
		})
	}
	await(t, "all requests at the healthy target, or refused", func() bool { return healthy.asked.Load()+failed.Load() == clients })
	close(release)
	all.Wait()
	if n := failed.Load(); n != 0 {
		t.Errorf("got %d of %d requests refused, want none: the second target is healthy", n, clients)
	}
}
