package flow_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
)

// TestAttempts holds which attempts follow which failures, and how long is waited
// between them.
func TestAttempts(t *testing.T) {
	t.Parallel()
	const limit = "upstream_rate_limited"
	fails := acts(turn{err: unavailable})
	max3 := map[string]gateway.Policy{"a": retries(3), "b": retries(3), "c": retries(3)}
	three := 3
	for _, tt := range []struct {
		name    string
		play    play
		change  func(*gateway.Request)
		want    string // the attempts
		code    string // of the error; "" if there is none
		took    time.Duration
		after   time.Duration // its Retry-After
		message string        // a part of it
	}{
		{name: "a good answer", play: play{actors: map[string]*actor{"a": acts(turn{})}}, want: "a first ok"},

		// No retries: a limit that says how long it lasts is waited for, once.
		{name: "Retry-After is waited for once", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)}, turn{})}},
			want: "a first " + limit + "; a retry 5s ok", took: 5 * time.Second},
		{name: "and not twice", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)})}},
			want: "a first " + limit + "; a retry 5s " + limit, code: limit, took: 5 * time.Second, after: 5 * time.Second, message: "Tried: a/m (" + limit + "), a/m (" + limit + ")."},
		{name: "and not behind another failure", play: play{actors: map[string]*actor{"a": acts(turn{err: unavailable})}}, want: "a first upstream_error", code: "upstream_error"},
		{name: "a limit that does not say how long", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(0)})}}, want: "a first " + limit, code: limit},
		{name: "a limit that lasts too long", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(61 * time.Second)})}}, want: "a first " + limit, code: limit, after: 61 * time.Second},
		{name: "as long as the cap", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(60 * time.Second)}, turn{})}},
			want: "a first " + limit + "; a retry 1m0s ok", took: time.Minute},
		{name: "what the client has waited for is not waited for", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)})}},
			change: func(r *gateway.Request) { r.Wishes.ClientRetries = 1 }, want: "a first " + limit, code: limit, after: 5 * time.Second},
		{name: "a limit where there is another target", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)}), "b": acts(turn{})}},
			want: "a first " + limit + "; b fallback ok"},
		{name: "two limits: the first that is over is waited for", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(9 * time.Second)}), "b": acts(turn{err: limited(5 * time.Second)}, turn{})}},
			want: "a first " + limit + "; b fallback " + limit + "; b retry 5s ok", took: 5 * time.Second},
		{name: "and none twice", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)}), "b": acts(turn{err: limited(9 * time.Second)})}},
			want: "a first " + limit + "; b fallback " + limit + "; a fallback 5s " + limit, code: limit, took: 5 * time.Second, after: 4 * time.Second},

		// Retries: exponential, and a Retry-After first.
		{name: "exponential", play: play{actors: map[string]*actor{"a": fails}, policies: max3},
			want: "a first upstream_error; a retry ~1s upstream_error; a retry ~2s upstream_error; a retry ~4s upstream_error", code: "upstream_error"},
		{name: "until one is good", play: play{actors: map[string]*actor{"a": acts(turn{err: unavailable}, turn{err: limited(7 * time.Second)}, turn{})}, policies: max3},
			want: "a first upstream_error; a retry ~1s " + limit + "; a retry 7s ok"},
		{name: "a timeout and an answer with nothing in it", play: play{actors: map[string]*actor{"a": acts(turn{err: &gateway.Error{Kind: gateway.Timeout}}, turn{blocks: stream("stop").blocks}, turn{})}, policies: max3},
			want: "a first upstream_timeout; a retry ~1s empty_completion; a retry ~2s ok"},
		{name: "the client's number", play: play{actors: map[string]*actor{"a": fails}}, change: func(r *gateway.Request) { r.Wishes.MaxRetries = new(int); *r.Wishes.MaxRetries = 1 },
			want: "a first upstream_error; a retry ~1s upstream_error", code: "upstream_error"},
		{name: "the client's number is 0", play: play{actors: map[string]*actor{"a": fails}, policies: max3}, change: func(r *gateway.Request) { r.Wishes.MaxRetries = new(int) },
			want: "a first upstream_error", code: "upstream_error"},
		{name: "less what the client has tried", play: play{actors: map[string]*actor{"a": fails}}, change: func(r *gateway.Request) { r.Wishes.MaxRetries, r.Wishes.ClientRetries = &three, 2 },
			want: "a first upstream_error; a retry ~1s upstream_error", code: "upstream_error"},
		{name: "which may be more", play: play{actors: map[string]*actor{"a": fails}, policies: max3}, change: func(r *gateway.Request) { r.Wishes.ClientRetries = 9 },
			want: "a first upstream_error", code: "upstream_error"},

		// Fallbacks share the budget.
		{name: "each target once", play: play{actors: map[string]*actor{"a": fails, "b": fails, "c": fails}},
			want: "a first upstream_error; b fallback upstream_error; c fallback upstream_error", code: "upstream_error", message: "Tried: a/m (upstream_error), b/m (upstream_error), c/m (upstream_error)."},
		{name: "and the rest of the budget by turns", play: play{actors: map[string]*actor{"a": fails, "b": fails}, policies: max3},
			want: "a first upstream_error; b fallback upstream_error; a fallback ~1s upstream_error; b fallback ~2s upstream_error", code: "upstream_error"},
		{name: "a limit that is over first", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(61 * time.Second)}), "b": acts(turn{err: limited(3 * time.Second)}, turn{})}, policies: max3},
			want: "a first " + limit + "; b fallback " + limit + "; b retry 3s ok", took: 3 * time.Second},

		// Failures of other kinds.
		{name: "no money, and another target", play: play{actors: map[string]*actor{"a": acts(turn{err: exhausted}), "b": acts(turn{})}, policies: max3},
			want: "a first insufficient_quota; b fallback ok"},
		{name: "no money", play: play{actors: map[string]*actor{"a": acts(turn{err: exhausted})}, policies: max3}, want: "a first insufficient_quota", code: "insufficient_quota"},
		{name: "no key, and another target", play: play{actors: map[string]*actor{"a": acts(turn{err: denied}), "b": acts(turn{})}, policies: max3},
			want: "a first upstream_auth_error; b fallback ok"},
		{name: "no key", play: play{actors: map[string]*actor{"a": acts(turn{err: denied})}, policies: max3}, want: "a first upstream_auth_error", code: "upstream_auth_error"},
		{name: "no money anywhere is not waited for", play: play{actors: map[string]*actor{"a": acts(turn{err: exhausted}), "b": acts(turn{err: denied})}, policies: max3},
			want: "a first insufficient_quota; b fallback upstream_auth_error", code: "upstream_auth_error"},
		{name: "a request that is at fault", play: play{actors: map[string]*actor{"a": acts(turn{err: rejected}), "b": acts(turn{})}, policies: max3},
			want: "a first upstream_rejected", code: "upstream_rejected"},
		{name: "an error in the place of the answer", play: play{actors: map[string]*actor{"a": acts(turn{blocks: []string{`data: {"error":{"message":"busy","code":503}}`}}), "b": acts(turn{})}},
			want: "a first upstream_error; b fallback ok"},
		{name: "an error of the request in the place of the answer", play: play{actors: map[string]*actor{"a": acts(turn{blocks: []string{`data: {"error":{"message":"bad","code":400}}`}}), "b": acts(turn{})}},
			want: "a first upstream_rejected", code: "upstream_rejected"},
		{name: "an answer that breaks off before it says anything", play: play{actors: map[string]*actor{"a": acts(turn{blocks: stream("stop").blocks[:1], end: unavailable}), "b": acts(turn{})}},
			want: "a first upstream_error; b fallback ok"},
		{name: "an answer that breaks off behind its beginning", play: play{actors: map[string]*actor{"a": acts(turn{blocks: stream("stop", "Hi").blocks[:2], end: unavailable}), "b": acts(turn{})}},
			want: "a first upstream_error", code: "upstream_error"},

		// The deadline of the request.
		{name: "a wait beyond the deadline", play: play{actors: map[string]*actor{"a": acts(turn{err: limited(5 * time.Second)})}, timeout: 4 * time.Second},
			want: "a first " + limit, code: limit, after: 5 * time.Second},
		{name: "the deadline ends an attempt", play: play{actors: map[string]*actor{"a": acts(turn{wait: time.Hour}), "b": acts(turn{})}, timeout: 4 * time.Second},
			want: "a first upstream_timeout", code: "upstream_timeout", took: 4 * time.Second, message: "No complete answer within 4s (timeout)."},
		{name: "the deadline ends an answer", play: play{actors: map[string]*actor{"a": acts(turn{blocks: stream("stop", "Hi").blocks[:2], stalls: true})}, timeout: 4 * time.Second},
			want: "a first upstream_timeout", code: "upstream_timeout", took: 4 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := tt.play
				p.actors = map[string]*actor{}
				for name, a := range tt.play.actors {
					p.actors[name] = acts(a.turns...)
				}
				p.start(t)
				change := tt.change
				if change == nil {
					change = func(*gateway.Request) {}
				}
				o := p.ask(t, t.Context(), change)
				if got := o.steps(); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				code, after, message := "", time.Duration(0), ""
				if o.err != nil {
					code, after, message = o.err.CodeOrDefault(), o.err.RetryAfter, o.err.Message
				}
				if code != tt.code || after != tt.after || !strings.Contains(message, tt.message) {
					t.Errorf("got %q after %s (%s), want %q after %s", code, after, message, tt.code, tt.after)
				}
				if o.took != tt.took && !strings.Contains(tt.want, "~") {
					t.Errorf("it took %s, want %s", o.took, tt.took)
				}
				p.checkDone(t)
			})
		})
	}
}

// TestRejectedIsPassedOn holds that an upstream's own word about a bad request reaches
// the client.
func TestRejectedIsPassedOn(t *testing.T) {
	t.Parallel()
	p := (&play{actors: map[string]*actor{"a": acts(turn{err: rejected})}}).start(t)
	o := p.ask(t, t.Context())
	if o.err == nil || o.err.HTTPStatus() != 400 || string(o.err.Body) != string(rejected.Body) {
		t.Errorf("got %+v", o.err)
	}
}

// TestBackoff holds the bounds of the wait: a quarter of it is left to chance.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		low, high := time.Hour, time.Duration(0)
		for range 200 {
			policy := gateway.Policy{Retry: gateway.RetryPolicy{Max: 4, Base: 8 * time.Second, Cap: 20 * time.Second}}
			p := (&play{actors: map[string]*actor{"a": acts(turn{err: unavailable})}, policies: map[string]gateway.Policy{"a": policy}}).start(t)
			o := p.ask(t, t.Context())
			full := []time.Duration{0, 8 * time.Second, 16 * time.Second, 20 * time.Second, 20 * time.Second}
			for i, a := range o.summary.Attempts {
				if a.Wait > full[i] || a.Wait < full[i]*3/4 {
					t.Fatalf("attempt %d waited %s, want %s or up to a quarter less", i, a.Wait, full[i])
				}
			}
			low, high = min(low, o.summary.Attempts[1].Wait), max(high, o.summary.Attempts[1].Wait)
		}
		if high-low < time.Second { // of two
			t.Errorf("200 waits are all between %s and %s", low, high)
		}
	})
}

// TestClientLeaves holds that a client that leaves ends the wait for the next attempt at
// once.
func TestClientLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := (&play{actors: map[string]*actor{"a": acts(turn{err: limited(50 * time.Second)})}}).start(t)
		ctx, leave := contextThatEnds(t, 2*time.Second)
		defer leave()
		o := p.ask(t, ctx)
		if o.err == nil || o.err.Kind != gateway.Canceled || o.took != 2*time.Second || len(o.summary.Attempts) != 1 {
			t.Errorf("got %v after %s", o.err, o.took)
		}
		p.checkDone(t)
	})
}

// TestCoolDown holds that a target which wants to be left alone is asked last, until
// the time that it has asked for is over.
func TestCoolDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := (&play{actors: map[string]*actor{"a": acts(turn{err: limited(30 * time.Second)}, turn{}), "b": acts(turn{})}}).start(t)
		for i, want := range []string{"a first upstream_rate_limited; b fallback ok", "b first ok", "b first ok", "b first ok", "a first ok"} {
			o := p.ask(t, t.Context())
			if got := o.steps(); got != want {
				t.Errorf("request %d: got %s, want %s", i, got, want)
			}
			time.Sleep(9 * time.Second)
		}
		p.checkDone(t)
	})
}

// TestWeights holds that the first target is drawn by weight, and that the others keep
// their order.
func TestWeights(t *testing.T) {
	t.Parallel()
	p := (&play{actors: map[string]*actor{"a": acts(turn{err: exhausted}), "b": acts(turn{err: exhausted}), "c": acts(turn{err: exhausted})},
		weights: map[string]int{"a": 1, "b": 3}}).start(t)
	count := map[string]int{}
	const requests = 4000
	for range requests {
		o := p.ask(t, t.Context())
		count[o.summary.Attempts[0].Provider]++
	}
	if share := float64(count["b"]) / requests; share < 0.70 || share > 0.80 || count["c"] > 0 { // seven sigmas
		t.Errorf("got %v, want about 1 to 3", count)
	}
}
