package admit_test

import (
	"context"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// past is a ledger that answers the first time only when whoever asks has left.
type past struct {
	asked chan struct{}
	n     int
}

func (p *past) Flush(context.Context) error { return nil }

func (p *past) Sums(ctx context.Context, _ billing.Filter, _ []billing.Dimension, _ billing.Page) (billing.Sums, error) {
	if p.n++; p.n > 1 {
		return billing.Sums{}, nil
	}
	close(p.asked)
	<-ctx.Done()
	return billing.Sums{}, ctx.Err()
}

// TestSeedLeft holds that a client that leaves while the ledger is read keeps no other client out: that says nothing of the ledger.
func TestSeedLeft(t *testing.T) {
	t.Parallel()
	set, err := limit.NewSet("key", []limit.Limit{{Scope: limit.Scope{Of: "key", Name: "k"}, Kind: limit.Quota, Max: 100_000, Window: limit.Total}})
	if err != nil {
		t.Fatal(err)
	}
	state := admit.NewState(limit.NewMemory(nil), nil)
	defer state.Close()
	p := &past{asked: make(chan struct{})}
	g := admit.New(admit.Options{Inner: inner{}, Limits: func(*gateway.Request) (*limit.Set, error) { return set, nil }, Past: p, State: state})
	ask := func(ctx context.Context) error {
		req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Chat(ctx, req)
		return err
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- ask(ctx) }()
	<-p.asked
	leave()
	if err := <-left; err == nil || gateway.AsError(err).Kind != gateway.Canceled {
		t.Errorf("who left got error %v", err)
	}
	if err := ask(t.Context()); err != nil {
		t.Errorf("got error %v, want that the next one passes", err)
	}
	if n := state.Stats().Away; n != 0 {
		t.Errorf("the limits could not be looked at %d times, want 0", n)
	}
}
