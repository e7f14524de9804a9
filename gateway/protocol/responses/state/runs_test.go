package state

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
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

// TestReplayOfLostEvents asks for the events of a response that had more than are kept: the client is
// told so, wherever it wants to go on.
func TestReplayOfLostEvents(t *testing.T) {
	t.Parallel()
	kept := newStore(t)
	s := New(Options{Store: kept, Gateway: panics{}, MaxChain: 10})
	defer s.Close()
	d := detached(t, s, `{"model":"m","input":"x","background":true,"stream":true}`)
	s.Drain(t.Context())
	s.runs.find("", d.ID()).feed.drop()
	for _, query := range []string{"", "starting_after=3"} {
		values, _ := url.ParseQuery(query)
		_, err := s.Replay(t.Context(), Call{ID: d.ID(), Query: values})
		if e := gateway.AsError(err); err == nil || e.Kind != gateway.Unavailable || !strings.Contains(e.Message, "more than the gateway keeps") {
			t.Errorf("%q: got %v, want that the events are lost", query, err)
		}
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
	kept := newStore(t)
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

// stuck is a gateway that does not heed that nobody waits any more.
type stuck chan struct{}

func (s stuck) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	<-s
	return nil, errors.New("too late")
}

// TestWhileItRuns deletes a response that does not end when it is told to, and goes on from it before that:
// the first waits for no longer than its client does, and the second would miss what the model says.
func TestWhileItRuns(t *testing.T) {
	t.Parallel()
	kept := newStore(t)
	release := make(stuck)
	s := New(Options{Store: kept, Gateway: release, MaxChain: 10})
	defer s.Close()
	defer close(release)
	d := detached(t, s, `{"model":"m","input":"x","background":true}`)
	_, err := s.Parse(t.Context(), []byte(`{"model":"m","input":"y","previous_response_id":"`+d.ID()+`"}`), protocol.Client{})
	wantNotOver(t, err)
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := s.DeleteResponse(gone, Call{ID: d.ID()}); err != nil {
		t.Errorf("got %v, want that it is deleted", err)
	}
	if _, err := kept.GetResponse(t.Context(), "", d.ID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want that the response is no more", err)
	}
}

// newStore makes a store in memory with room for what a test has.
func newStore(t *testing.T) store.Store {
	t.Helper()
	kept, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 1 << 30, Entries: 100}})
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

// wantNotOver wants the error of a request that goes on from a response which runs yet.
func wantNotOver(t *testing.T, err error) {
	t.Helper()
	if e := gateway.AsError(err); err == nil || e.Kind != gateway.Invalid || e.Param != "previous_response_id" || !strings.Contains(e.Message, "not over yet") {
		t.Errorf("got %v, want that the response before is not over", err)
	}
}

// TestWhileItRunsElsewhere goes on from a response that another gateway with the same store runs, and from one
// whose gateway has ended without a word: it has failed, and is over.
func TestWhileItRunsElsewhere(t *testing.T) {
	t.Parallel()
	kept := newStore(t)
	release := make(stuck)
	one, other := New(Options{Store: kept, Gateway: release, MaxChain: 10}), New(Options{Store: kept, Gateway: release, MaxChain: 10})
	defer one.Close()
	defer other.Close()
	d := detached(t, one, `{"model":"m","input":"x","background":true}`)
	next := []byte(`{"model":"m","input":"y","previous_response_id":"` + d.ID() + `"}`)
	_, err := other.Parse(t.Context(), next, protocol.Client{})
	wantNotOver(t, err)
	close(release)
	one.Drain(t.Context())
	dead := &store.Response{ID: d.ID(), Body: d.Object(responses.InProgress, nil), Input: []store.Item{{ID: "msg_1", Body: []byte(`{"type":"message","role":"user","content":"x"}`)}}}
	if err := kept.PutResponse(t.Context(), "", dead, false); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Parse(t.Context(), next, protocol.Client{}); err != nil {
		t.Errorf("got %v, want that a response which nobody runs is over", err)
	}
}

// endsMeanwhile is a store in which a response ends just behind the first look at it.
type endsMeanwhile struct {
	store.Store
	ended *store.Response
}

func (s endsMeanwhile) Chain(ctx context.Context, tenant, id string, b store.Bounds) ([]store.Item, error) {
	items, err := s.Store.Chain(ctx, tenant, id, b)
	return items, errors.Join(err, s.PutResponse(ctx, tenant, s.ended, true))
}

// TestEndsMeanwhile holds that nothing is missing of a response that another gateway ends while it is looked at.
func TestEndsMeanwhile(t *testing.T) {
	t.Parallel()
	kept := newStore(t)
	r := &store.Response{ID: "resp_1", Body: []byte(`{"status":"in_progress","output":[]}`), Input: []store.Item{{ID: "msg_1", Body: []byte(`{"type":"message","role":"user","content":"x"}`)}}}
	if err := kept.PutResponse(t.Context(), "", r, false); err != nil {
		t.Fatal(err)
	}
	ended := *r
	ended.Body, ended.Output = []byte(`{"status":"completed","output":[]}`), []store.Item{{ID: "msg_2", Body: []byte(`{"type":"message","role":"assistant","content":"the answer"}`)}}
	s := New(Options{Store: endsMeanwhile{kept, &ended}, Gateway: panics{}, MaxChain: 10})
	defer s.Close()
	front, err := s.Parse(t.Context(), []byte(`{"model":"m","input":"y","previous_response_id":"resp_1"}`), protocol.Client{})
	if err != nil || !strings.Contains(string(front.Chat()), "the answer") {
		t.Errorf("got %v, want a prompt with the answer", err)
	}
}

// TestSummaryIsNoResponse holds that the record of a conversation's summary, which may say what was deleted,
// is none that a client can read, go on from or delete.
func TestSummaryIsNoResponse(t *testing.T) {
	t.Parallel()
	kept := newStore(t)
	s := New(Options{Store: kept, Gateway: panics{}, MaxChain: 10})
	defer s.Close()
	id := summaryPrefix + "conv_1"
	if err := kept.PutResponse(t.Context(), "", &store.Response{ID: id, Body: []byte(`{"last":"x"}`), Input: []store.Item{{ID: "msg_1", Body: []byte(`{"type":"message","role":"user","content":"s"}`)}}}, false); err != nil {
		t.Fatal(err)
	}
	c := Call{ID: id, Query: url.Values{}}
	_, got := s.GetResponse(t.Context(), c)
	_, listed := s.InputItems(t.Context(), c)
	_, cancelled := s.CancelResponse(t.Context(), c)
	_, deleted := s.DeleteResponse(t.Context(), c)
	_, continued := s.Parse(t.Context(), []byte(`{"model":"m","input":"y","previous_response_id":"`+id+`"}`), protocol.Client{})
	for what, err := range map[string]error{"get": got, "input_items": listed, "cancel": cancelled, "delete": deleted, "previous_response_id": continued} {
		if e := gateway.AsError(err); err == nil || e.Kind != gateway.NotFound && e.Code != "previous_response_not_found" {
			t.Errorf("%s: got %v, want that there is no such response", what, err)
		}
	}
}

// TestSlots has responses wait for a slot: one that was cancelled keeps its own until its work is over,
// and one key takes neither all of them nor all places of those that wait.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, slots) // its clock goes on once nobody can
}

func slots(t *testing.T) {
	r := newRuns(t.Context())
	var running []*run
	for i := range maxRunsOfKey {
		n, err := r.add("greedy", string(rune('a'+i)), false)
		if err != nil || r.turn(n) != nil {
			t.Fatal(err)
		}
		running = append(running, n)
	}
	waits := func(tenant, id string) bool {
		n, err := r.add(tenant, id, false)
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan bool, 1)
		go func() { begun <- r.turn(n) == nil }()
		defer r.remove(n)
		select {
		case <-begun:
			return false
		case <-time.After(time.Second):
			n.end(errCancelled)
			<-begun
			return true
		}
	}
	if !waits("greedy", "more") || waits("modest", "one") {
		t.Error("got a slot for a key that has its share, or none for another one")
	}
	running[0].end(errCancelled)
	if !waits("greedy", "again") {
		t.Error("got the slot of a response that is cancelled and still works")
	}
	r.remove(running[0])
	if waits("greedy", "then") {
		t.Error("got no slot of a response that is over")
	}
	for i := len(running) - 1; i < maxOfKey; i++ {
		if _, err := r.add("greedy", fmt.Sprint("w", i), false); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := r.add("greedy", "last", false); err == nil || gateway.AsError(err).Code != "background_full" {
		t.Errorf("got %v for a key that has all its places", err)
	}
	if _, err := r.add("modest", "last", false); err != nil {
		t.Errorf("got %v for another key", err)
	}
}

// detached begins a response in the background.
func detached(t *testing.T, s *Service, body string) *background {
	t.Helper()
	front, err := s.Parse(t.Context(), []byte(body), protocol.Client{})
	if err != nil {
		t.Fatal(err)
	}
	d := front.(*background)
	req, err := gateway.ParseRequest(d.Chat())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Detach(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	return d
}
