package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/wire"
)

// turn plays one of a tenant, and returns what went upstream, the response's id and what was said of it.
func (t *turns) turn(ctx context.Context, tenant, body string) (chat, id string, said []string, err error) {
	f, err := t.service.Parse(ctx, []byte(body), protocol.Client{Tenant: tenant})
	if err != nil {
		return "", "", nil, err
	}
	chat = string(f.Chat())
	s := &gateway.Summary{}
	out, err := f.Writer(&gateway.Response{Reply: head{}, Summary: s}).Whole(&wire.Frame{Raw: t.answer, Data: t.answer, Whole: true})
	var r struct{ ID string }
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	return chat, r.ID, s.Warnings, err
}

// TestSession goes on from responses that are not stored. The connection that they came on remembers the
// latest eight, for their tenant.
func TestSession(t *testing.T) {
	t.Parallel()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	turns, room := newTurns(t, kept, "Yes."), inflight.New(1<<20)
	session := state.NewSession(room)
	ctx := state.WithSession(t.Context(), session)
	var ids []string
	for i := range 10 {
		body := fmt.Sprintf(`{"model":"m","store":false,"input":"Question %d."`, i)
		if i > 0 {
			body += fmt.Sprintf(`,"previous_response_id":%q`, ids[i-1])
		}
		chat, id, said, err := turns.turn(ctx, "a", body+"}")
		if err != nil || len(said) > 0 || strings.Count(chat, "Question") != i+1 || strings.Count(chat, "Yes.") != i {
			t.Fatalf("turn %d: got %s, %v, %v", i, chat, said, err)
		}
		ids = append(ids, id)
	}
	from := func(id string) string {
		return fmt.Sprintf(`{"model":"m","store":false,"input":"More.","previous_response_id":%q}`, id)
	}
	for i, id := range ids {
		chat, _, _, err := turns.turn(ctx, "a", strings.Replace(from(id), `"store":false`, `"store":true`, 1))
		if known := i >= 2; known != (err == nil) || known && strings.Count(chat, "Question") != i+1 {
			t.Errorf("from response %d: got %s, %v", i, chat, err)
		}
	}
	another := state.WithSession(t.Context(), state.NewSession(nil))
	for _, of := range []func() (string, string, []string, error){
		func() (string, string, []string, error) { return turns.turn(ctx, "b", from(ids[9])) },
		func() (string, string, []string, error) { return turns.turn(another, "a", from(ids[9])) },
		func() (string, string, []string, error) { return turns.turn(t.Context(), "a", from(ids[9])) },
	} {
		if _, _, _, err := of(); err == nil || gateway.AsError(err).Code != "previous_response_not_found" {
			t.Errorf("another tenant, another connection or none: got %v", err)
		}
	}
	if room.Stats().Taken == 0 {
		t.Error("what is remembered is not counted")
	}
	session.Close()
	if taken := room.Stats().Taken; taken != 0 {
		t.Errorf("%d bytes are still claimed", taken)
	}
}

// TestSessionMemory holds that a response for which there is no memory is answered, and said not to be kept.
func TestSessionMemory(t *testing.T) {
	t.Parallel()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 20, Entries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	session := state.NewSession(inflight.New(1))
	defer session.Close()
	_, id, said, err := newTurns(t, kept, "Yes.").turn(state.WithSession(t.Context(), session), "a", `{"model":"m","store":false,"input":"x"}`)
	if err != nil || id == "" || !slices.Contains(said, "not_stored:memory") {
		t.Errorf("got %q, %v, %v", id, said, err)
	}
}
