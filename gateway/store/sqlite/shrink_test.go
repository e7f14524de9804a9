package sqlite_test

import (
	"bytes"
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

// TestAddedThoughNotShrunk holds that items which were added are said to be, also where the store is beyond its bound then and cannot make
// room: whoever is told that they were not adds them again. Room is made with the next ones.
func TestAddedThoughNotShrunk(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var shrinks atomic.Bool // the time is asked for then
	s := open(t, filepath.Join(t.TempDir(), "store.db"), store.Options{TTL: time.Hour, Limits: store.Limits{Bytes: 4000, Entries: 100}, Now: func() time.Time {
		if shrinks.Load() {
			leave() // the client
		}
		return time.Now()
	}})
	text := bytes.Repeat([]byte("a"), 2500)
	if err := s.PutResponse(t.Context(), "one", &store.Response{ID: "r", Body: text}, true); err != nil {
		t.Fatal(err)
	}
	if err := s.CreateConversation(t.Context(), "two", &store.Conversation{ID: "c", Metadata: []byte("{}")}, nil); err != nil {
		t.Fatal(err)
	}
	shrinks.Store(true)
	err := s.AddItems(ctx, "two", "c", []store.Item{{ID: "i", Body: text}})
	shrinks.Store(false)
	if ctx.Err() == nil {
		t.Fatal("the store has not made room")
	}
	items, _, listErr := s.ListItems(t.Context(), "two", "c", store.Page{Limit: 9})
	if listErr != nil || (err == nil) != (len(items) == 1) {
		t.Errorf("got error %v, and %d items, error %v", err, len(items), listErr)
	}
	if err := s.AddItems(t.Context(), "two", "c", []store.Item{{ID: "j", Body: []byte("b")}}); err != nil {
		t.Fatal(err)
	}
	if stats, err := s.Stats(t.Context()); err != nil || stats.Bytes > 4000 {
		t.Errorf("got %+v, error %v, want at most 4000 bytes", stats, err)
	}
}
