package flow_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
)

func contextThatEnds(t *testing.T, after time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(after, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// TestBreakersOpen holds what requests get while breakers are open: other targets, and
// where there are none a word about when the first of them may be asked again.
func TestBreakersOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := turn{err: unavailable}
		p := (&play{actors: map[string]*actor{"a": acts(fails, fails, turn{}), "b": acts(turn{}, fails, fails, turn{})},
			policies: map[string]gateway.Policy{"a": {Failures: 2, Open: 60 * time.Second}, "b": {Failures: 2, Open: 20 * time.Second}}}).start(t)
		for i, want := range []string{
			"a first upstream_error; b fallback ok",
			"a first upstream_error; b fallback upstream_error", // a is open
			"b first upstream_error",                            // and b
			"",
		} {
			o := p.ask(t, t.Context())
			if got := o.steps(); got != want {
				t.Errorf("request %d: got %q, want %q", i, got, want)
			}
			time.Sleep(time.Second)
		}
		o := p.ask(t, t.Context()) // 4 s after a has opened, and 2 s after b
		if o.err == nil || o.err.Kind != gateway.CircuitOpen || o.err.HTTPStatus() != 503 || o.err.RetryAfter != 18*time.Second {
			t.Errorf("got %+v, want circuit_open for 18s", o.err)
		}
		time.Sleep(o.err.RetryAfter)
		if o := p.ask(t, t.Context()); o.steps() != "b first ok" || strings.Join(o.summary.Warnings, ",") != "circuit_open:a" {
			t.Errorf("got %q, warnings %v, want b first ok", o.steps(), o.summary.Warnings)
		}
		time.Sleep(40 * time.Second)
		if o := p.ask(t, t.Context()); o.steps() != "a first ok" {
			t.Errorf("got %q, want a first ok", o.steps())
		}
		p.checkDone(t)
	})
}

// TestFailureBeforeOpen holds that the failure of a target is what the client hears of,
// not that others were left alone.
func TestFailureBeforeOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := (&play{actors: map[string]*actor{"a": acts(turn{err: unavailable}), "b": acts(turn{err: exhausted})},
			policies: map[string]gateway.Policy{"a": {Failures: 1}}}).start(t)
		p.ask(t, t.Context())
		o := p.ask(t, t.Context())
		if o.err == nil || o.err.Kind != gateway.QuotaExceeded || o.steps() != "b first insufficient_quota" {
			t.Errorf("got %v and %q", o.err, o.steps())
		}
		p.checkDone(t)
	})
}

// TestStorm holds that retries and fallbacks hardly add to the load of an upstream that
// fails, for one request in two or for all.
func TestStorm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		turns []turn
	}{
		{"all", []turn{{err: unavailable}}},
		{"every second", func() (turns []turn) {
			for range 20_000 {
				turns = append(turns, turn{err: unavailable}, turn{})
			}
			return turns
		}()},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := (&play{actors: map[string]*actor{"a": acts(tt.turns...)}, policies: map[string]gateway.Policy{"a": {
					Retry: gateway.RetryPolicy{Max: 3}, Failures: 1 << 30}}}).start(t)
				const requests = 1000 // in ten seconds
				var running sync.WaitGroup
				for range requests {
					running.Go(func() { p.ask(t, t.Context()) })
					time.Sleep(10 * time.Millisecond)
				}
				running.Wait()
				if sent := float64(len(p.actors["a"].asked)) / requests; sent >= 1.2 {
					t.Errorf("%.2f attempts for a request, want less than 1.2", sent)
				}
				p.checkDone(t)
			})
		})
	}
}

// TestFallbackToGoodOne holds that a target which works is asked as often as the one
// before it fails.
func TestFallbackToGoodOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := (&play{actors: map[string]*actor{"a": acts(turn{err: unavailable}), "b": acts(turn{})}, policies: map[string]gateway.Policy{"a": {Failures: 1 << 30}}}).start(t)
		for i := range 500 {
			if o := p.ask(t, t.Context()); o.steps() != "a first upstream_error; b fallback ok" {
				t.Fatalf("request %d: got %s", i, o.steps())
			}
		}
		p.checkDone(t)
	})
}

// TestHealth holds what each way in which an attempt can end says to the breaker of its
// provider: it is told once, also by clients that leave or never read.
func TestHealth(t *testing.T) {
	t.Parallel()
	fail := func(k gateway.Kind) turn { return turn{err: &gateway.Error{Kind: k}} }
	begun := stream("stop", "Hi").blocks[:2]
	const ok, failed, excluded = "1 ok, 0 failed, 0 excluded", "0 ok, 1 failed, 0 excluded", "0 ok, 0 failed, 1 excluded"
	for _, tt := range []struct {
		name string
		turn turn
		read int // how many pieces the client reads before it leaves; -1: all
		want string
	}{
		{"a good answer", turn{}, -1, ok},
		{"unavailable", fail(gateway.Unavailable), -1, failed},
		{"timeout", fail(gateway.Timeout), -1, failed},
		{"limited", fail(gateway.RateLimited), -1, excluded},
		{"exhausted", fail(gateway.QuotaExceeded), -1, excluded},
		{"rejected", fail(gateway.Rejected), -1, excluded},
		{"unauthorized", fail(gateway.Unauthorized), -1, excluded},
		{"canceled", fail(gateway.Canceled), -1, excluded},
		{"internal", fail(gateway.Internal), -1, excluded},
		{"an answer with nothing in it", turn{blocks: stream("stop").blocks}, -1, ok},
		{"a call that is refused", turn{blocks: blocksOf("nobody", "{}", 9).blocks}, -1, ok},
		{"an error instead of an answer", turn{blocks: []string{`data: {"error":{"code":500}}`}}, -1, failed},
		{"an error that says the key is wrong", turn{blocks: []string{`data: {"error":{"code":401}}`}}, -1, excluded},
		{"an error in an answer", turn{blocks: append(begun[:2:2], `data: {"error":{"code":500}}`)}, -1, failed},
		{"an answer that breaks off", turn{blocks: begun, end: unavailable}, -1, failed},
		{"an answer that stalls", turn{blocks: begun, end: &gateway.Error{Kind: gateway.Timeout}}, -1, failed},
		{"the client leaves", turn{}, 1, excluded},
		{"the client never reads", turn{}, 0, excluded},
		{"the client leaves an answer that stalls", turn{blocks: begun, stalls: true}, 1, excluded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := (&play{actors: map[string]*actor{"a": acts(tt.turn)}, target: gateway.Target{Mode: gateway.Repair, OnInvalid: gateway.RejectInvalid}}).start(t)
				if tt.read < 0 {
					p.ask(t, t.Context())
				} else if resp, err := p.chat(t, t.Context()); err != nil {
					t.Error(err)
				} else {
					for range tt.read {
						resp.Next()
					}
					resp.Close()
					resp.Close()
				}
				if got := p.totals("a"); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				p.checkDone(t)
			})
		})
	}
}

// TestPanickingProvider holds that the breaker hears of an attempt also if the adapter
// panics.
func TestPanickingProvider(t *testing.T) {
	t.Parallel()
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"a": providerFunc(func() gateway.Reply { panic("slip") })},
		Routes:    map[string][]gateway.Target{"m": {{Provider: "a"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest([]byte(request))
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }()
		g.Chat(t.Context(), req)
	}()
	if b := g.Breakers()[0]; b.InFlight != 0 || b.Totals.Requests != 1 {
		t.Errorf("got %+v", b)
	}
}

// TestWholeIsSettled holds that a whole answer counts as soon as it was given out: many
// clients do not read on.
func TestWholeIsSettled(t *testing.T) {
	t.Parallel()
	p := (&play{actors: map[string]*actor{"a": acts(turn{blocks: whole("Hi.", "stop").blocks})}}).start(t)
	resp, err := p.chat(t, t.Context(), func(r *gateway.Request) { r.Stream = false })
	if err != nil {
		t.Fatal(err)
	}
	resp.Next()
	resp.Close()
	if got := p.totals("a"); got != "1 ok, 0 failed, 0 excluded" {
		t.Errorf("got %s", got)
	}
	p.checkDone(t)
}
