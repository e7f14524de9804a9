package state

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// TestReplayInPieces holds that a client which reads a long feed is given pieces, and all of it:
// each of many that take nothing would else hold a copy of the whole.
func TestReplayInPieces(t *testing.T) {
	t.Parallel()
	f := newFeed()
	event := []byte("event: x\ndata: " + strings.Repeat("y", 1000) + "\n\n")
	all := bytes.Repeat(event, 4000)
	f.add(all)
	f.end()
	next := f.from(0)
	var got []byte
	for {
		piece, err := next(t.Context())
		if len(piece) > maxPiece+len(event) {
			t.Fatalf("got a piece of %d bytes, want at most %d and an event", len(piece), maxPiece)
		}
		if got = append(got, piece...); err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := string(all) + "data: [DONE]\n\n"; string(got) != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

// panics is a gateway with a defect.
type panics struct{}

func (panics) Chat(context.Context, *gateway.Request) (*gateway.Response, error) { panic("a defect") }

// deletes is a gateway at whose end the response was deleted by another one.
type deletes struct{ store store.Store }

func (d deletes) Chat(ctx context.Context, _ *gateway.Request) (*gateway.Response, error) {
	return nil, errors.Join(d.store.DeleteResponse(ctx, "", <-deletedID), errors.New("no answer"))
}

var deletedID = make(chan string, 1)

// TestBackgroundEnds runs responses that end badly: a defect fails the response and ends no process,
// and what another gateway has deleted meanwhile does not come back.
func TestBackgroundEnds(t *testing.T) {
	t.Parallel()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 30, Entries: 100}})
	if err != nil {
		t.Fatal(err)
	}
	for name, g := range map[string]Chatter{"panic": panics{}, "deleted": deletes{kept}} {
		s := New(Options{Store: kept, Gateway: g, MaxChain: 10})
		front, err := s.Parse(t.Context(), []byte(`{"model":"m","input":"x","background":true}`), protocol.Client{})
		if err != nil {
			t.Fatal(err)
		}
		d := front.(*background)
		req, err := gateway.ParseRequest(d.Chat())
		if err != nil {
			t.Fatal(err)
		}
		if name == "deleted" {
			deletedID <- d.ID()
		}
		if _, err := d.Detach(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		s.Drain(t.Context())
		got, err := kept.GetResponse(t.Context(), "", d.ID())
		switch {
		case name == "deleted":
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("deleted: got %v, error %v, want that it stays so", got, err)
			}
		case err != nil || status(got.Body) != "failed":
			t.Errorf("panic: got %v, error %v, want that it has failed", got, err)
		}
		s.runs.stop()
		s.cancel()
		s.done.Wait()
	}
}
