package state_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// broken is a gateway that panics.
type broken struct{}

// Chat implements state.Chatter.
func (broken) Chat(context.Context, *gateway.Request) (*gateway.Response, error) { panic("a bug") }

// TestBackgroundPanic has a response in the background meet a bug: the process goes on, the
// response has failed, the log says why, and nothing of its memory is left.
func TestBackgroundPanic(t *testing.T) {
	t.Parallel()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 100, TenantBytes: 1 << 20, TenantEntries: 100}})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	ended := make(chan gateway.Record, 1)
	s := state.New(state.Options{Store: kept, Sealer: responses.NewSealer(nil), Gateway: broken{}, MaxChain: 10, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Ended: func(r gateway.Record) { ended <- r }})
	defer s.Close() // if the test fails
	budget := inflight.New(1 << 20)
	room := budget.Claim()
	front, err := s.Parse(t.Context(), []byte(`{"model":"m","input":"x","background":true}`), protocol.Client{Header: map[string][]string{}, Room: room})
	if err != nil {
		t.Fatal(err)
	}
	req, err := gateway.ParseRequest(front.Chat())
	if err != nil {
		t.Fatal(err)
	}
	if req.Room = room; room.Grow(1000) != nil {
		t.Fatal("there is no room")
	}
	d, err := front.(protocol.Detached).Detach(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if r := <-ended; r.Status != 500 {
		t.Errorf("got the status %d, want 500", r.Status)
	}
	_, id, _ := strings.Cut(string(d.Body), `"id":"`)
	id, _, _ = strings.Cut(id, `"`)
	if b, err := s.GetResponse(t.Context(), state.Call{ID: id}); err != nil || !strings.Contains(string(b), `"status":"failed"`) || strings.Contains(string(b), "a bug") {
		t.Errorf("got %s, error %v, want that it has failed", b, err)
	}
	if n := budget.Stats().Taken; n != 0 {
		t.Errorf("got %d bytes that are claimed, want none", n)
	}
	if err := s.Close(); err != nil { // nothing more is logged
		t.Error(err)
	}
	if !strings.Contains(log.String(), "a bug") {
		t.Errorf("got no reason in the log: %s", log.String())
	}
}
