package flow_test

import (
	"context"
	"io"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/flow"
)

// counted is a provider that counts its requests, and panics at those that it is told to.
type counted struct {
	*scripted
	asked  atomic.Int64
	panics int64 // at the request with this number
}

func (c *counted) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	if c.asked.Add(1) == c.panics {
		panic("the provider's own")
	}
	return c.scripted.Chat(ctx, model, req)
}

const atZero = `{"model":"m","temperature":0,"stream":true,"messages":[{"role":"user","content":"hi"}]}`

// keeper is a gateway that keeps the answers of a provider, with the time that now tells.
func keeper(t testing.TB, p gateway.Provider, policy flow.RoutePolicy, now func() time.Time) *flow.Gateway {
	t.Helper()
	store, err := answers.NewMemory(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	policy.Answers = flow.AnswerPolicy{Store: store, TTL: time.Hour, Largest: 1 << 18}
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"p": p}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}},
		RoutePolicies: map[string]flow.RoutePolicy{"m": policy}, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// through sends a request and reads the answer to its end.
func through(t testing.TB, g *flow.Gateway, body string) gateway.Summary {
	t.Helper()
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Chat(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Close()
	for {
		if _, err := resp.Next(); err == io.EOF {
			return *resp.Summary
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnswerOfTheDay holds that an answer to a prompt that tells the date is that day's, in
// the zone of the route.
func TestAnswerOfTheDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	zone := time.FixedZone("east", 10*3600)
	p := &counted{scripted: stream("stop", "Hi.")}
	g := keeper(t, p, flow.RoutePolicy{Date: zone}, func() time.Time { return now })
	for _, row := range []struct {
		after time.Duration
		want  gateway.AnswerOutcome
	}{
		{0, gateway.AnswerMiss},
		{time.Hour, gateway.AnswerHit},
		{time.Hour, gateway.AnswerMiss}, // midnight in the east
		{time.Minute, gateway.AnswerHit},
	} {
		now = now.Add(row.after)
		if s := through(t, g, atZero); s.AnswerCache != row.want || s.Repairs["date_context"] != 1 {
			t.Errorf("%v: got %s with repairs %v, want %s and that a date was added", now, s.AnswerCache, s.Repairs, row.want)
		}
	}
	if s := through(t, g, atZero); s.Age != time.Minute || len(s.Attempts) != 0 || s.Usage.Reported {
		t.Errorf("got %+v, want an age of a minute and no attempt", s)
	}
}

// TestAnswerPanic holds that a panic of a provider leaves nobody waiting.
func TestAnswerPanic(t *testing.T) {
	t.Parallel()
	p := &counted{scripted: stream("stop", "Hi."), panics: 1}
	g := keeper(t, p, flow.RoutePolicy{}, nil)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("got no panic")
			}
		}()
		through(t, g, atZero)
	}()
	for _, want := range []gateway.AnswerOutcome{gateway.AnswerMiss, gateway.AnswerHit} {
		if s := through(t, g, atZero); s.AnswerCache != want {
			t.Errorf("got %s behind a panic, want %s", s.AnswerCache, want)
		}
	}
}

// TestAnswerPolicy holds that a policy that cannot work is refused.
func TestAnswerPolicy(t *testing.T) {
	t.Parallel()
	store, err := answers.NewMemory(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range []flow.AnswerPolicy{{Store: store}, {Store: store, TTL: time.Hour}, {Store: store, Largest: 1}} {
		p := flow.RoutePolicy{Answers: policy}
		if _, err := flow.New(flow.Options{RoutePolicies: map[string]flow.RoutePolicy{"m": p}}); err == nil {
			t.Errorf("got no error for %+v", policy)
		}
		if _, err := flow.New(flow.Options{RoutePolicy: p}); err == nil {
			t.Errorf("got no error for %+v of all routes", policy)
		}
	}
}

// BenchmarkAnswer is what a request costs in the gateway whose answer has a hundred chunks:
// without a cache, stored, and found.
func BenchmarkAnswer(b *testing.B) {
	texts := make([]string, 100)
	for i := range texts {
		texts[i] = " word"
	}
	p := stream("stop", texts...)
	plain, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": p}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}})
	if err != nil {
		b.Fatal(err)
	}
	kept := keeper(b, p, flow.RoutePolicy{}, nil)
	b.Run("off", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			through(b, plain, atZero)
		}
	})
	b.Run("miss", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			if s := through(b, kept, atZero[:len(atZero)-1]+`,"seed":`+strconv.Itoa(n)+"}"); s.AnswerCache != gateway.AnswerMiss {
				b.Fatal(s.AnswerCache)
			}
		}
	})
	b.Run("hit", func(b *testing.B) {
		through(b, kept, atZero)
		b.ReportAllocs()
		for b.Loop() {
			if s := through(b, kept, atZero); s.AnswerCache != gateway.AnswerHit {
				b.Fatal(s.AnswerCache)
			}
		}
	})
}
