package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/store"
)

// testTenantBound gives one tenant more than it may have, by number and by bytes.
func testTenantBound(t *testing.T, open Opener) {
	clock := NewClock()
	size := int64(response("resp_00", "").Size())
	for name, l := range map[string]store.Limits{
		"entries": {Bytes: 1 << 40, Entries: 1 << 40, TenantEntries: 5},
		"bytes":   {Bytes: 1 << 40, Entries: 1 << 40, TenantBytes: 5*size + size/2},
	} {
		o := Options()
		o.Limits, o.Now = l, clock.Now
		s, ctx := open(t, o), t.Context()
		ok(t, s.PutResponse(ctx, "b", response("resp_xx", ""), true))
		for i := range 12 {
			ok(t, s.PutResponse(ctx, "a", response(fmt.Sprintf("resp_%02d", i), ""), true))
			clock.Add(1e6)
		}
		for i := range 12 {
			_, err := s.GetResponse(ctx, "a", fmt.Sprintf("resp_%02d", i))
			if gone := errors.Is(err, store.ErrNotFound); gone != (i < 7) {
				t.Errorf("%s: response %d: got error %v, want the last five", name, i, err)
			}
		}
		_, err := s.GetResponse(ctx, "b", "resp_xx")
		ok(t, err)
		if st, err := s.Stats(ctx); err != nil || st.Entries != 6 || st.Evicted != 7 {
			t.Errorf("%s: got %+v, error %v, want 6 entries, and 7 evicted", name, st, err)
		}
	}
}

// testBound fills a store: the tenant with the most makes room, and not the one with the
// oldest.
func testBound(t *testing.T, open Opener) {
	clock, o := NewClock(), Options()
	o.Now = clock.Now
	o.Limits = store.Limits{Bytes: 1 << 40, Entries: 8}
	s, ctx := open(t, o), t.Context()
	put := func(tenant string, i int) {
		t.Helper()
		ok(t, s.PutResponse(ctx, tenant, response(fmt.Sprintf("%s_%02d", tenant, i), ""), true))
		clock.Add(1e6)
	}
	put("small", 0)
	put("small", 1)
	for i := range 20 {
		put("large", i)
	}
	put("small", 2)
	for i := range 3 {
		if _, err := s.GetResponse(ctx, "small", fmt.Sprintf("small_%02d", i)); err != nil {
			t.Errorf("small %d: got error %v, want that it is left alone", i, err)
		}
	}
	for i := range 20 {
		_, err := s.GetResponse(ctx, "large", fmt.Sprintf("large_%02d", i))
		if gone := errors.Is(err, store.ErrNotFound); gone != (i < 15) {
			t.Errorf("large %d: got error %v, want the last five", i, err)
		}
	}
}

// testFull fills a tenant's room with conversations, which never make room themselves.
func testFull(t *testing.T, open Opener) {
	o := Options()
	o.Limits = store.Limits{Bytes: 1 << 40, Entries: 1 << 40, TenantBytes: 20_000}
	s, ctx := open(t, o), t.Context()
	ok(t, s.PutResponse(ctx, "a", response("resp_1", ""), true))
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, nil))
	piece := []store.Item{{ID: "1", Body: []byte(strings.Repeat("x", 3000))}}
	n := 0
	var err error
	for ; n < 20; n++ {
		if err = s.AddItems(ctx, "a", "conv_1", piece); err != nil {
			break
		}
	}
	want(t, "full", err, store.ErrFull)
	got, more, err := s.ListItems(ctx, "a", "conv_1", store.Page{Limit: 100})
	if err != nil || more || len(got) != n || n < 5 {
		t.Errorf("got %d items, error %v, want the %d that were taken", len(got), err, n)
	}
	_, err = s.GetResponse(ctx, "a", "resp_1")
	if st, _ := s.Stats(ctx); !errors.Is(err, store.ErrNotFound) && st.Bytes > 20_000 {
		t.Errorf("got error %v, %+v, want the bound kept", err, st)
	}
	want(t, "response", s.PutResponse(ctx, "a", &store.Response{ID: "resp_2", Body: make([]byte, 19_000)}, true), store.ErrFull)
	want(t, "conversation", s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_2", Metadata: make([]byte, 19_000)}, nil), store.ErrFull)
	ok(t, s.CreateConversation(ctx, "b", &store.Conversation{ID: "conv_1"}, piece))
	ok(t, s.DeleteConversation(ctx, "a", "conv_1"))
	ok(t, s.PutResponse(ctx, "a", &store.Response{ID: "resp_2", Body: make([]byte, 19_000)}, true))
}

// testRefused holds that what is refused since there is no room for it changes nothing: neither what could have been given
// up, nor what it would have replaced, nor which of two items was stored last.
func testRefused(t *testing.T, open Opener) {
	o := Options()
	o.Limits = store.Limits{Bytes: 1 << 40, Entries: 1 << 40, TenantBytes: 20_000}
	s, ctx := open(t, o), t.Context()
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, []store.Item{{ID: "long", Body: make([]byte, 9000)}}))
	ok(t, s.PutResponse(ctx, "a", &store.Response{ID: "resp_1", Output: []store.Item{{ID: "x", Body: []byte("1")}}}, true))
	ok(t, s.PutResponse(ctx, "a", &store.Response{ID: "resp_2", Output: []store.Item{{ID: "x", Body: []byte("2")}}}, true))
	for _, id := range []string{"resp_1", "resp_3"} {
		want(t, id, s.PutResponse(ctx, "a", &store.Response{ID: id, Body: make([]byte, 15_000)}, true), store.ErrFull)
	}
	want(t, "items", s.AddItems(ctx, "a", "conv_1", []store.Item{{ID: "y", Body: make([]byte, 15_000)}}), store.ErrFull)
	want(t, "conversation", s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_2", Metadata: make([]byte, 15_000)}, nil), store.ErrFull)
	for _, id := range []string{"resp_1", "resp_2"} {
		_, err := s.GetResponse(ctx, "a", id)
		want(t, id, err, nil)
	}
	if got, err := s.GetItem(ctx, "a", "", "x"); err != nil || string(got.Body) != "2" {
		t.Errorf("got %q, error %v, want the item that was stored last", got.Body, err)
	}
	if st, err := s.Stats(ctx); err != nil || st.Evicted != 0 {
		t.Errorf("got %+v, error %v, want nothing given up", st, err)
	}
}

// testOddIDs asks for ids that no database takes.
func testOddIDs(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	ok(t, s.PutResponse(ctx, "a", response("resp_1", ""), true))
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, items("x")))
	for _, id := range []string{"", "\x00", "resp_1\x00", "\xff", strings.Repeat("x", 1<<20), "'; DROP TABLE responses; --", "%", "resp_%", "_esp_1", "RESP_1", "resp_1 ", "résp"} {
		_, get := s.GetResponse(ctx, "a", id)
		_, item := s.GetItem(ctx, "a", "", id)
		_, chain := s.Chain(ctx, "a", id, store.Bounds{Responses: 9, Bytes: 1 << 20})
		_, _, input := s.ListInput(ctx, "a", id, store.Page{Limit: 1})
		_, conversation := s.GetConversation(ctx, "a", id)
		for what, err := range map[string]error{"get": get, "item": item, "input": input, "conversation": conversation,
			"delete": s.DeleteResponse(ctx, "a", id), "delete item": s.DeleteItem(ctx, "a", "conv_1", id)} {
			want(t, fmt.Sprintf("%s of %.20q", what, id), err, store.ErrNotFound)
		}
		if id != "" {
			want(t, fmt.Sprintf("chain of %.20q", id), chain, store.ErrNotFound)
			_, _, err := s.ListItems(ctx, "a", "conv_1", store.Page{Limit: 1, After: id})
			want(t, fmt.Sprintf("after %.20q", id), err, store.ErrNotFound)
		}
	}
	_, err := s.GetResponse(ctx, "a", "resp_1")
	ok(t, err)
}
