package cli

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/breaker"
)

// circuitOpen is a failure of requests whose only target is left alone.
var circuitOpen = failure{status: 503, code: "circuit_open", retry: "true", says: "is open"}

// TestFaultSuiteHungRequests has an upstream that never answers. A request that hangs
// is a failure at its deadline and not at some later end, so five of them open the
// breaker; then the only target is refused at once, and another is asked in its place.
func TestFaultSuiteHungRequests(t *testing.T) {
	t.Parallel()
	hung := newSite(t, hangs)
	var s setup
	s.provider("up", hung.url, "timeouts: {first_token: 50ms}, circuit_breaker: {open_timeout: 2m}")
	s.provider("well", well(t).url, "")
	s.model("alone", "up")
	s.model("two", "up", "well")
	g := serve(t, s.String())
	for i := range 5 {
		if b := g.breaker("up"); b.State != "closed" || b.ConsecutiveFailures != uint64(i) {
			t.Errorf("got breaker %+v, want it closed after %d failures", b, i)
		}
		late("first_token").check(t, g.chat(prompt("alone", "hi", true)))
	}
	b := g.breaker("up")
	if len(b.History) != 1 || b.State != "open" || b.History[0].Reason != "upstream_timeout" || b.ReopensIn <= 0 || b.ReopensIn > 120 {
		t.Errorf("got breaker %+v, want it open for two minutes because of upstream_timeout", b)
	}
	for range 10 {
		r := g.chat(prompt("alone", "hi", true))
		circuitOpen.check(t, r)
		clean(t, r)
		if after, err := strconv.Atoi(r.header.Get("retry-after")); err != nil || after < 1 || after > 120 {
			t.Errorf("got retry-after %q, want 1 to 120", r.header.Get("retry-after"))
		}
		hasHeader(t, r.header, map[string]string{"x-callgate-attempts": "0"})
		two := g.chat(prompt("two", "hi", true))
		healthyAnswer(t, two, true)
		hasHeader(t, two.header, map[string]string{"x-callgate-attempts": "1", "x-callgate-provider": "well"})
	}
	if n := hung.asked.Load(); n > 5 { // on a busy machine the time may be over before one gets there
		t.Errorf("got %d requests at the upstream, want 5 at most", n)
	}
	if b := g.breaker("up"); b.Totals.Rejections < 10 || b.Totals.Requests != 5 || b.FailureRate != 1 {
		t.Errorf("got breaker %+v, want 5 failures and 10 rejections or more", b)
	}
}

// TestFaultSuiteWhatDoesNotCount has results that say nothing about the upstream's
// health: clients that leave, at each point of an answer, and what is the client's or
// the operator's own mistake. The breaker opens at the first failure, and does not.
func TestFaultSuiteWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	here := make(chan struct{}, 1)
	begins := func(text string) func(w http.ResponseWriter, r received) {
		return func(w http.ResponseWriter, r received) {
			if text != "" {
				w.Header().Set("content-type", events)
				send(w, text)
			}
			here <- struct{}{}
			hangs(w, r)
		}
	}
	leaves := []struct{ name, text string }{{"before the header", ""}, {"behind the role", role}, {"in the text", role + delta("Hello")}}
	var s setup
	const once = "circuit_breaker: {failure_threshold: 1}"
	for i, l := range leaves {
		s.provider(fmt.Sprintf("leave%d", i), newSite(t, begins(l.text)).url, once)
	}
	statuses := []int{400, 401, 403, 404, 413, 415, 422, 429, 451}
	for _, status := range statuses {
		s.provider(fmt.Sprintf("s%d", status), static(t, status, mimeJSON, `{"error":{"message":"no"}}`), once)
	}
	g := serve(t, s.String())
	for i, l := range leaves {
		t.Run("leave "+l.name, func(t *testing.T) {
			for n := range 5 {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if resp, err := g.open(ctx, prompt(fmt.Sprintf("leave%d/m", i), "hi", true)); err == nil {
						defer resp.Body.Close()
						<-ctx.Done()
					}
				}()
				<-here
				cancel()
				<-ended
				g.awaitBreaker(fmt.Sprintf("leave%d", i), "excluded", func(b breaker.Snapshot) bool {
					return b.Totals.Excluded == uint64(n+1) && b.Totals.Failures == 0 && b.State == "closed" && b.InFlight == 0
				})
			}
		})
	}
	for _, status := range statuses {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			name := fmt.Sprintf("s%d", status)
			for i := range 6 {
				g.chat(prompt(name+"/m", "hi", i%2 == 0))
			}
			if b := g.breaker(name); b.State != "closed" || b.Totals.Failures != 0 || b.Totals.Excluded != 6 {
				t.Errorf("got breaker %+v, want it closed and 6 results that do not count", b)
			}
		})
	}
}

// TestFaultSuiteProbe has a breaker whose time is over: one request goes through, all
// others are refused until it is known how that one ends, and its end decides.
func TestFaultSuiteProbe(t *testing.T) {
	t.Parallel()
	for _, recovers := range []bool{true, false} {
		t.Run(fmt.Sprintf("recovers %t", recovers), func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			var healthy atomic.Bool
			var up *site
			up = newSite(t, func(w http.ResponseWriter, r received) {
				if up.asked.Load() > 2 { // the probe, and all behind it
					select {
					case <-release:
					case <-r.Context().Done():
					}
				}
				if !healthy.Load() {
					w.WriteHeader(503)
					return
				}
				answerWith(w, r, healthyText)
			})
			var s setup
			s.provider("up", up.url, "circuit_breaker: {failure_threshold: 2, open_timeout: 100ms}")
			g := serve(t, s.String())
			for range 2 {
				fails(503, "503").check(t, g.chat(prompt("up/m", "hi", false)))
			}
			healthy.Store(recovers)
			g.awaitBreaker("up", "half-open", func(b breaker.Snapshot) bool { return b.State == "half-open" })
			const clients = 20
			results := make(chan result, clients)
			var all sync.WaitGroup
			for range clients {
				all.Go(func() { results <- g.chat(prompt("up/m", "hi", true)) })
			}
			for range clients - 1 { // all but the probe are answered while it is under way
				r := <-results
				circuitOpen.check(t, r)
				if r.header.Get("retry-after") == "" {
					t.Error("got no retry-after, want one")
				}
			}
			close(release)
			probe := <-results
			all.Wait()
			if n := up.asked.Load(); n != 3 {
				t.Errorf("got %d requests at the upstream, want two failures and one probe", n)
			}
			state := breaker.State("closed")
			if recovers {
				healthyAnswer(t, probe, true)
			} else {
				fails(503, "503").check(t, probe)
				state = "open"
			}
			b := g.awaitBreaker("up", string(state), func(b breaker.Snapshot) bool { return b.InFlight == 0 })
			if len(b.History) < 3 || b.History[2].From != "half-open" || b.History[2].To != state {
				t.Errorf("got history %+v, want it to go from half-open to %s", b.History, state)
			}
		})
	}
}

// TestFaultSuiteReset closes a breaker by hand, which takes the operator's key.
func TestFaultSuiteReset(t *testing.T) {
	t.Parallel()
	const key, client = "cg-admin-key-canary", "cg-client-key-canary"
	var healthy atomic.Bool
	var s setup
	fmt.Fprintf(&s.head, "keys: [{name: c, hash: %q}]\n", hashed(client))
	s.provider("up", newSite(t, func(w http.ResponseWriter, r received) {
		if !healthy.Load() {
			w.WriteHeader(500)
			return
		}
		answerWith(w, r, healthyText)
	}).url, "circuit_breaker: {failure_threshold: 1, open_timeout: 2m}")
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hashed(key)+"\"}\nlog: {level: error}\n"+s.head.String()+"providers:\n"+s.providers.String())
	auth := []string{"authorization", "Bearer " + client}
	fails(500, "500").check(t, g.chat(prompt("up/m", "hi", false), auth...))
	healthy.Store(true)
	circuitOpen.check(t, g.chat(prompt("up/m", "hi", false), auth...))
	const path = "/admin/breakers/up/reset"
	for name, header := range map[string][]string{"no key": nil, "a client's key": auth, "a wrong key": {"authorization", "Bearer x"}} {
		if r := g.adminDo("POST", path, header...); r.status != 401 {
			t.Errorf("%s: got status %d, want 401", name, r.status)
		}
	}
	operator := []string{"authorization", "Bearer " + key}
	for _, c := range []struct {
		method, path string
		status       int
	}{{"GET", path, 405}, {"POST", "/admin/breakers/nobody/reset", 404}, {"POST", "/v1/chat/completions", 404}} {
		if r := g.adminDo(c.method, c.path, operator...); r.status != c.status {
			t.Errorf("%s %s: got status %d, want %d", c.method, c.path, r.status, c.status)
		}
	}
	if r := g.get("/admin/breakers", auth...); r.status != 404 {
		t.Errorf("got status %d from the clients' listener, want 404", r.status)
	}
	circuitOpen.check(t, g.chat(prompt("up/m", "hi", false), auth...))
	if r := g.adminDo("POST", path, operator...); r.status != 200 {
		t.Errorf("got status %d %q, want 200", r.status, r.body)
	}
	healthyAnswer(t, g.chat(prompt("up/m", "hi", false), auth...), false)
}

// TestFaultSuiteWeights draws the first target of many requests by weight.
func TestFaultSuiteWeights(t *testing.T) {
	t.Parallel()
	const requests = 1000
	a, b, spare := well(t), well(t), well(t)
	var s setup
	s.provider("a", a.url, "")
	s.provider("b", b.url, "")
	s.provider("spare", spare.url, "")
	g := serve(t, s.String()+"models: {m: {targets: [{provider: spare}, {provider: b, weight: 1}, {provider: a, weight: 3}]}}\n")
	if ok := crowd(g, requests, 4, "m"); ok != requests {
		t.Errorf("got %d answers, want %d", ok, requests)
	}
	// Six standard deviations: a slip in one of some hundred million runs.
	spread := 6 * math.Sqrt(requests*0.75*0.25)
	if n := float64(a.asked.Load()); math.Abs(n-requests*0.75) > spread {
		t.Errorf("got %v of %d requests at the target of weight 3 of 4, want %v less or more than 750", n, requests, spread)
	}
	if total, n := a.asked.Load()+b.asked.Load(), spare.asked.Load(); total != requests || n != 0 {
		t.Errorf("got %d requests at the targets with weights and %d at the one without, want all and none", total, n)
	}
}

// TestFaultSuiteCoolDown has an upstream that limits the rate for a while: others are
// asked in its place meanwhile, though its breaker is closed.
func TestFaultSuiteCoolDown(t *testing.T) {
	t.Parallel()
	f := &refusing{failing: failing{status: 429, times: always, header: map[string]string{"retry-after": "3600"}}}
	up := newSite(t, f.answer)
	var s setup
	s.provider("up", up.url, "")
	s.provider("well", well(t).url, "")
	s.model("m", "up", "well")
	g := serve(t, s.String())
	for i := range 20 {
		r := g.chat(prompt("m", "hi", i%2 == 0))
		healthyAnswer(t, r, i%2 == 0)
		hasHeader(t, r.header, map[string]string{"x-callgate-provider": "well"})
		if waited := r.header.Get("x-callgate-retry-delay-ms"); waited != "" && waited != "0" {
			t.Errorf("got a wait of %s ms, want none for the upstream that is limited", waited)
		}
	}
	if n := up.asked.Load(); n != 1 {
		t.Errorf("got %d requests at the limited upstream, want 1", n)
	}
	if b := g.breaker("up"); b.Cooling <= 0 || b.State != "closed" || b.Totals.Failures != 0 {
		t.Errorf("got breaker %+v, want it closed and cooling down", b)
	}
}
