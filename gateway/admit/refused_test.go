package admit_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/limit"
)

// ledger keeps rows, and what has begun and has not ended.
type ledger struct {
	mu    sync.Mutex
	begun map[string]bool
	rows  []billing.Row
}

func (l *ledger) Begin(r billing.Row) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun == nil {
		l.begun = map[string]bool{}
	}
	l.begun[r.ID] = true
}

func (l *ledger) Record(r billing.Row) {
	l.Forget(r.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
}

func (l *ledger) Forget(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.begun, id)
}

func (l *ledger) Keeps() bool { return true }

// twice asks an upstream again after its first answer, which uses so many tokens.
type twice struct {
	inner
	output int
}

func (t twice) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	m := gateway.MeterOf(ctx)
	for _, why := range []gateway.Purpose{gateway.ForAnswer, gateway.ForReask} {
		if err := m.Begin("up", "real", why, 100); err != nil {
			return nil, err // as the pipeline does: the attempt has not begun, and has no end
		}
		m.Ended(gateway.Use{Provider: "up", Model: "real", Purpose: why, Complete: true, Usage: gateway.Usage{Reported: true, Input: 20, Output: t.output}, Status: "ok"})
	}
	return &gateway.Response{Reply: nothing{}, Summary: &gateway.Summary{}}, nil
}

// TestRefusedAgain holds that an answer which a budget keeps from its upstream is nowhere in the ledger: nor as one that has begun,
// of which the next start would make a row.
func TestRefusedAgain(t *testing.T) {
	t.Parallel()
	set, err := limit.NewSet("team", []limit.Limit{{Scope: limit.Scope{Of: "team", Name: "red"}, Kind: limit.Quota, Max: 5000, Window: limit.Total, Cut: true}})
	if err != nil {
		t.Fatal(err)
	}
	state := admit.NewState(limit.NewMemory(nil), nil)
	defer state.Close()
	l := &ledger{}
	g := admit.New(admit.Options{Inner: twice{output: 4500}, Limits: func(*gateway.Request) (*limit.Set, error) { return set, nil }, Prices: prices{}, Records: l, State: state})
	req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hello"}],"max_tokens":100}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Chat(t.Context(), req)
	var e *gateway.Error
	if !errors.As(err, &e) || e.Kind != gateway.BudgetSpent {
		t.Fatalf("got error %v, want that the budget is spent", err)
	}
	if len(l.rows) != 1 || len(l.begun) != 0 {
		t.Errorf("got %d rows, and begun %v, want 1 and none", len(l.rows), slices.Sorted(maps.Keys(l.begun)))
	}
	if n := state.Running(); n != 0 {
		t.Errorf("got %d running", n)
	}
}

// tries asks an upstream once for each of what becomes of it.
type tries struct {
	inner
	unsent []bool
}

func (u tries) Chat(ctx context.Context, _ *gateway.Request) (*gateway.Response, error) {
	m := gateway.MeterOf(ctx)
	for _, unsent := range u.unsent {
		if err := m.Begin("up", "real", gateway.ForAnswer, 100); err != nil {
			return nil, err
		}
		m.Ended(gateway.Use{Provider: "up", Model: "real", Purpose: gateway.ForAnswer, Unbilled: true, Unsent: unsent, Status: "upstream_error"})
	}
	return nil, &gateway.Error{Kind: gateway.Unavailable, Message: "away"}
}

// TestUnsentGivesBack holds that a request of which no upstream has had a byte does not count where requests are limited, and
// that one which an upstream has refused does.
func TestUnsentGivesBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		unsent []bool
		passes bool
	}{{[]bool{true, true}, true}, {[]bool{false}, false}, {[]bool{false, true}, false}, {[]bool{true, false}, false}} {
		set, err := limit.NewSet("key", []limit.Limit{{Scope: limit.Scope{Of: "key", Name: "k"}, Kind: limit.Requests, Max: 1, Per: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		state := admit.NewState(limit.NewMemory(nil), nil)
		defer state.Close()
		g := admit.New(admit.Options{Inner: tries{unsent: c.unsent}, Limits: func(*gateway.Request) (*limit.Set, error) { return set, nil }, State: state})
		for n := range 2 {
			req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"hello"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			_, err = g.Chat(t.Context(), req)
			if e, ok := errors.AsType[*gateway.Error](err); !ok || (e.Kind != gateway.RequestLimit) != (n == 0 || c.passes) {
				t.Errorf("attempts unsent %v, request %d: got error %v; want to pass: %v", c.unsent, n+1, err, n == 0 || c.passes)
			}
		}
	}
}
