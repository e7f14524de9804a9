package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/flow"
)

// versioned is a ParserSource whose parsers are now of one version. leased is that of its
// sessions, which differs while somebody swaps parsers.
type versioned struct {
	native
	now, leased string
}

func (v *versioned) Fingerprint() string { return v.now }

func (v *versioned) Plan(ctx context.Context, spec gateway.ParserSpec, model string) (*chain.Plan, gateway.ParserSession, error) {
	plan, _, err := v.native.Plan(ctx, spec, model)
	return plan, lease{v.native, v.leased}, err
}

type lease struct {
	native
	version string
}

func (l lease) Fingerprint() string { return l.version }

const atZeroWithTool = `{"model":"m","temperature":0,"stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"get_time"}}]}`

// TestAnswerOfItsParsers holds that an answer is given again only where the parsers are those
// that read it, and that one is not kept under another version's key.
func TestAnswerOfItsParsers(t *testing.T) {
	t.Parallel()
	store, err := answers.NewMemory(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	source := &versioned{}
	g, err := flow.New(flow.Options{
		Providers: map[string]gateway.Provider{"p": stream("stop", "Hi.")}, Parsers: source,
		Routes: map[string][]gateway.Target{"m": {{Provider: "p", Mode: gateway.Repair, Parsers: gateway.ParserSpec{Auto: true}}}},
		RoutePolicies: map[string]flow.RoutePolicy{"m": {Answers: flow.AnswerPolicy{
			Store: store, TTL: time.Hour, Largest: 1 << 18,
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range []struct {
		now, leased string
		want        gateway.AnswerOutcome
	}{
		{"", "one", gateway.AnswerMiss}, // they were loaded meanwhile
		{"one", "one", gateway.AnswerMiss},
		{"one", "one", gateway.AnswerHit},
		{"two", "two", gateway.AnswerMiss},
		{"two", "two", gateway.AnswerHit},
		{"one", "one", gateway.AnswerHit},     // back again
		{"three", "four", gateway.AnswerMiss}, // swapped between the two
		{"three", "three", gateway.AnswerMiss},
		{"three", "three", gateway.AnswerHit},
		{"four", "four", gateway.AnswerMiss},
		{"", "one", gateway.AnswerMiss},
	} {
		source.now, source.leased = row.now, row.leased
		if s := through(t, g, atZeroWithTool); s.AnswerCache != row.want {
			t.Errorf("%d, parsers %q, read by %q: got %s, want %s", i, row.now, row.leased, s.AnswerCache, row.want)
		}
	}
}
