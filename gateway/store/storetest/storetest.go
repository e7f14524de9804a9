// Package storetest holds every [store.Store] to one contract.
package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/store"
)

// Opener opens an empty store, which ends with the test.
type Opener func(t testing.TB, o store.Options) store.Store

// Options are those of a store with room for everything.
func Options() store.Options {
	return store.Options{TTL: 30 * 24 * time.Hour, Limits: store.Limits{Bytes: 1 << 40, Entries: 1 << 40}}
}

// Clock is a time that tests move.
type Clock struct{ ms atomic.Int64 }

// NewClock makes a clock at some time.
func NewClock() *Clock {
	c := &Clock{}
	c.ms.Store(1_790_000_000_000)
	return c
}

// Now is the time.
func (c *Clock) Now() time.Time { return time.UnixMilli(c.ms.Load()) }

// Add moves the clock.
func (c *Clock) Add(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// Run runs the contract's tests.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*testing.T, Opener){
		"response": testResponse, "replaced": testReplaced, "expiry": testExpiry, "chain": testChain, "branch": testBranch, "prolonged": testProlonged,
		"input pages": testInputPages, "item": testItem, "conversation": testConversation, "conversation's items": testItems,
		"done": testDone, "record": testRecord, "tenant's bound": testTenantBound, "bound of all": testBound, "full": testFull, "refused": testRefused,
		"odd ids": testOddIDs, "lock": testLock, "concurrent": testConcurrent, "agree": testAgree, "tenants": testTenants, "ended context": testEnded,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t testing.TB, what string, err, wanted error) {
	t.Helper()
	if !errors.Is(err, wanted) {
		t.Errorf("%s: got error %v, want %v", what, err, wanted)
	}
}

// items makes items with ids that say where they are from.
func items(ids ...string) (out []store.Item) {
	for _, id := range ids {
		out = append(out, store.Item{ID: id, Body: fmt.Appendf(nil, `{"id":%q}`, id)})
	}
	return out
}

// list is the ids of items.
func list(items []store.Item) string {
	var ids []string
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	return strings.Join(ids, " ")
}

func response(id, previous string) *store.Response {
	return &store.Response{ID: id, Previous: previous, Body: []byte(`{"id":"` + id + `"}`), Input: items(id + ".in"), Output: items(id+".out1", id+".out2")}
}

func testResponse(t *testing.T, open Opener) {
	clock, o := NewClock(), Options()
	o.Now = clock.Now
	s, ctx := open(t, o), t.Context()
	r := response("resp_1", "")
	r.Conversation, r.Previous = "conv_none", "resp_0"
	r.Body = []byte("{\"text\":\"\x00\u00e4\"}\n")
	ok(t, s.PutResponse(ctx, "a", r, false))
	got, err := s.GetResponse(ctx, "a", "resp_1")
	ok(t, err)
	if !bytes.Equal(got.Body, r.Body) || got.ID != r.ID || got.Previous != "resp_0" || got.Conversation != "conv_none" ||
		list(got.Input) != "resp_1.in" || list(got.Output) != "resp_1.out1 resp_1.out2" || string(got.Output[1].Body) != `{"id":"resp_1.out2"}` {
		t.Errorf("got %+v, want %+v", got, r)
	}
	if !got.Created.Equal(clock.Now()) || !got.Expires.Equal(clock.Now().Add(o.TTL)) {
		t.Errorf("got created %v, expires %v, want now and a month later", got.Created, got.Expires)
	}
	_, unknown := s.GetResponse(ctx, "a", "resp_2")
	_, foreign := s.GetResponse(ctx, "b", "resp_1")
	want(t, "unknown", unknown, store.ErrNotFound)
	want(t, "foreign", foreign, store.ErrNotFound)
	want(t, "delete unknown", s.DeleteResponse(ctx, "a", "resp_2"), store.ErrNotFound)
	want(t, "delete foreign", s.DeleteResponse(ctx, "b", "resp_1"), store.ErrNotFound)
	ok(t, s.DeleteResponse(ctx, "a", "resp_1"))
	_, err = s.GetResponse(ctx, "a", "resp_1")
	want(t, "deleted", err, store.ErrNotFound)
	want(t, "delete twice", s.DeleteResponse(ctx, "a", "resp_1"), store.ErrNotFound)
	_, err = s.GetItem(ctx, "a", "", "resp_1.in")
	want(t, "item of a deleted one", err, store.ErrNotFound)
	if st, err := s.Stats(ctx); err != nil || st != (store.Stats{}) {
		t.Errorf("got %+v, error %v, want nothing left", st, err)
	}
}

func testReplaced(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	r := response("resp_1", "")
	r.Output = nil
	ok(t, s.PutResponse(ctx, "a", r, false))
	before, err := s.Stats(ctx)
	ok(t, err)
	ok(t, s.PutResponse(ctx, "a", response("resp_1", ""), false))
	ok(t, s.PutResponse(ctx, "a", r, false))
	after, err := s.Stats(ctx)
	ok(t, err)
	if before != after || before.Entries != 1 || before.Bytes != int64(r.Size()) {
		t.Errorf("got %+v and after it was replaced %+v, want one of %d bytes", before, after, r.Size())
	}
	_, err = s.GetItem(ctx, "a", "", "resp_1.out1")
	want(t, "replaced output", err, store.ErrNotFound)
}

func testExpiry(t *testing.T, open Opener) {
	clock, o := NewClock(), Options()
	o.TTL, o.Now = time.Hour, clock.Now
	s, ctx := open(t, o), t.Context()
	for i := range 5 {
		ok(t, s.PutResponse(ctx, "a", response(fmt.Sprintf("resp_%d", i), ""), false))
		clock.Add(time.Minute)
	}
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, items("x")))
	clock.Add(time.Hour - 3*time.Minute) // 0 and 1 are an hour old, 2 is as old to the millisecond
	for i := range 5 {
		id := fmt.Sprintf("resp_%d", i)
		_, get := s.GetResponse(ctx, "a", id)
		_, item := s.GetItem(ctx, "a", "", id+".in")
		_, _, input := s.ListInput(ctx, "a", id, store.Page{Limit: 1})
		_, chain := s.Chain(ctx, "a", id, store.Bounds{Responses: 9, Bytes: 1 << 20})
		for what, err := range map[string]error{"get": get, "item": item, "input": input, "chain": chain} {
			if gone := errors.Is(err, store.ErrNotFound); gone != (i <= 2) || err != nil && !gone {
				t.Errorf("%s of %s: got error %v", what, id, err)
			}
		}
	}
	want(t, "delete expired", s.DeleteResponse(ctx, "a", "resp_2"), store.ErrNotFound)
	clock.Add(2 * time.Hour)
	if _, err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Stats(ctx); err != nil || st.Entries != 1 || st.Evicted != 0 {
		t.Errorf("got %+v, error %v after all has expired, want the conversation and nothing evicted", st, err)
	}
	if got, _, err := s.ListItems(ctx, "a", "conv_1", store.Page{Limit: 1}); err != nil || list(got) != "x" {
		t.Errorf("got %q, error %v, want that a conversation does not expire", list(got), err)
	}
}

func testChain(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	previous, size := "", 0
	for i := range 20 {
		r := response(fmt.Sprintf("resp_%d", i), previous)
		if i == 7 {
			r.Input, r.Output = nil, nil
		}
		ok(t, s.PutResponse(ctx, "a", r, true))
		previous, size = r.ID, size+r.Size()
	}
	got, err := s.Chain(ctx, "a", "resp_8", store.Bounds{Responses: 9, Bytes: size})
	ok(t, err)
	var ids []string
	for i := range 9 {
		if i != 7 {
			ids = append(ids, fmt.Sprintf("resp_%d.in resp_%[1]d.out1 resp_%[1]d.out2", i))
		}
	}
	if list(got) != strings.Join(ids, " ") {
		t.Errorf("got %s, want all, oldest first", list(got))
	}
	for name, c := range map[string]struct {
		tenant, id string
		b          store.Bounds
		want       error
	}{
		"all":            {"a", "resp_19", store.Bounds{Responses: 20, Bytes: size}, nil},
		"too many":       {"a", "resp_19", store.Bounds{Responses: 19, Bytes: size}, store.ErrTooLong},
		"too many bytes": {"a", "resp_19", store.Bounds{Responses: 20, Bytes: size - 1}, store.ErrTooLong},
		"unknown":        {"a", "resp_20", store.Bounds{Responses: 20, Bytes: size}, store.ErrNotFound},
		"foreign":        {"b", "resp_1", store.Bounds{Responses: 20, Bytes: size}, store.ErrNotFound},
	} {
		_, err := s.Chain(ctx, c.tenant, c.id, c.b)
		if want(t, name, err, c.want); (err == nil) != (c.want == nil) {
			t.Errorf("%s: got error %v", name, err)
		}
	}
	ok(t, s.DeleteResponse(ctx, "a", "resp_3"))
	_, err = s.Chain(ctx, "a", "resp_8", store.Bounds{Responses: 20, Bytes: size})
	want(t, "broken", err, store.ErrNotFound)
	_, err = s.Chain(ctx, "a", "resp_3", store.Bounds{Responses: 20, Bytes: size})
	want(t, "deleted", err, store.ErrNotFound)
}

func testBranch(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	for id, previous := range map[string]string{"root": "", "left": "root", "right": "root"} {
		ok(t, s.PutResponse(ctx, "a", response(id, previous), true))
	}
	for id, wanted := range map[string]string{"left": "root.in root.out1 root.out2 left.in left.out1 left.out2", "right": "root.in root.out1 root.out2 right.in right.out1 right.out2"} {
		got, err := s.Chain(ctx, "a", id, store.Bounds{Responses: 9, Bytes: 1 << 20})
		if err != nil || list(got) != wanted {
			t.Errorf("%s: got %s, error %v, want %s", id, list(got), err, wanted)
		}
	}
	// A response that names itself, or the one after it, is no chain without an end.
	ok(t, s.PutResponse(ctx, "a", response("self", "self"), true))
	_, err := s.Chain(ctx, "a", "self", store.Bounds{Responses: 9, Bytes: 1 << 20})
	want(t, "a circle", err, store.ErrTooLong)
}

// testProlonged reads a chain for longer than a response lives that nobody uses.
func testProlonged(t *testing.T, open Opener) {
	clock, o := NewClock(), Options()
	o.Now = clock.Now
	s, ctx := open(t, o), t.Context()
	ok(t, s.PutResponse(ctx, "a", response("old", ""), true))
	ok(t, s.PutResponse(ctx, "a", response("new", "old"), true))
	ok(t, s.PutResponse(ctx, "a", response("unused", ""), true))
	for range 50 {
		clock.Add(24*time.Hour + time.Minute)
		if _, err := s.Chain(ctx, "a", "new", store.Bounds{Responses: 9, Bytes: 1 << 20}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := s.Chain(ctx, "a", "new", store.Bounds{Responses: 9, Bytes: 1 << 20})
	if err != nil || list(got) != "old.in old.out1 old.out2 new.in new.out1 new.out2" {
		t.Errorf("got %s, error %v after 50 days of use, want both", list(got), err)
	}
	_, err = s.GetItem(ctx, "a", "", "old.in")
	ok(t, err)
	_, err = s.GetResponse(ctx, "a", "unused")
	want(t, "unused for 50 days", err, store.ErrNotFound)
}

func testInputPages(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	r := response("resp_1", "")
	r.Input = items("1", "2", "3", "4", "5")
	ok(t, s.PutResponse(ctx, "a", r, true))
	testPages(t, func(p store.Page) ([]store.Item, bool, error) { return s.ListInput(ctx, "a", "resp_1", p) })
	for _, c := range [][2]string{{"a", "resp_2"}, {"b", "resp_1"}, {"a", "1"}} {
		_, _, err := s.ListInput(ctx, c[0], c[1], store.Page{Limit: 1})
		want(t, "unknown or foreign", err, store.ErrNotFound)
	}
	_, _, err := s.ListInput(ctx, "a", "resp_1", store.Page{Limit: 1, After: "resp_1.out1"})
	want(t, "after an output item", err, store.ErrNotFound)
}

// testPages reads a list of 1 to 5 page by page.
func testPages(t *testing.T, read func(store.Page) ([]store.Item, bool, error)) {
	t.Helper()
	for _, c := range []struct {
		p    store.Page
		want string
		more bool
	}{
		{store.Page{Limit: 5}, "1 2 3 4 5", false},
		{store.Page{Limit: 4}, "1 2 3 4", true},
		{store.Page{Limit: 100, Descending: true}, "5 4 3 2 1", false},
		{store.Page{Limit: 2, Descending: true}, "5 4", true},
		{store.Page{Limit: 2, After: "2"}, "3 4", true},
		{store.Page{Limit: 2, After: "3"}, "4 5", false},
		{store.Page{Limit: 2, After: "5"}, "", false},
		{store.Page{Limit: 2, After: "4", Descending: true}, "3 2", true},
		{store.Page{Limit: 3, After: "4", Descending: true}, "3 2 1", false},
		{store.Page{Limit: 2, After: "1", Descending: true}, "", false},
	} {
		got, more, err := read(c.p)
		if err != nil || list(got) != c.want || more != c.more {
			t.Errorf("%+v: got %q, more: %v, error %v, want %q, %v", c.p, list(got), more, err, c.want, c.more)
		}
	}
	_, _, err := read(store.Page{Limit: 2, After: "6"})
	want(t, "after what is not there", err, store.ErrNotFound)
}

func testItem(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	ok(t, s.PutResponse(ctx, "a", response("resp_1", ""), true))
	second := response("resp_2", "")
	second.Input = []store.Item{{ID: "resp_1.out1", Body: []byte("later")}}
	ok(t, s.PutResponse(ctx, "a", second, true))
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, items("c")))
	for id, body := range map[string]string{"resp_1.in": `{"id":"resp_1.in"}`, "resp_1.out1": "later", "c": `{"id":"c"}`} {
		got, err := s.GetItem(ctx, "a", "", id)
		if err != nil || got.ID != id || string(got.Body) != body {
			t.Errorf("%s: got %s, error %v, want %s", id, got.Body, err, body)
		}
		_, err = s.GetItem(ctx, "b", "", id)
		want(t, "foreign", err, store.ErrNotFound)
	}
	ok(t, s.DeleteResponse(ctx, "a", "resp_2"))
	if got, err := s.GetItem(ctx, "a", "", "resp_1.out1"); err != nil || string(got.Body) != `{"id":"resp_1.out1"}` {
		t.Errorf("got %s, error %v, want the first response's item again", got.Body, err)
	}
}

func testConversation(t *testing.T, open Opener) {
	clock, o := NewClock(), Options()
	o.Now = clock.Now
	s, ctx := open(t, o), t.Context()
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1", Metadata: []byte(`{"k":"v"}`)}, items("1", "2")))
	clock.Add(time.Hour)
	got, err := s.GetConversation(ctx, "a", "conv_1")
	if err != nil || got.ID != "conv_1" || string(got.Metadata) != `{"k":"v"}` || !got.Created.Equal(clock.Now().Add(-time.Hour)) {
		t.Errorf("got %+v, error %v", got, err)
	}
	for _, metadata := range []string{`{"longer":"than before"}`, "{}"} {
		got, err = s.SetMetadata(ctx, "a", "conv_1", []byte(metadata))
		if err != nil || string(got.Metadata) != metadata || !got.Created.Equal(clock.Now().Add(-time.Hour)) {
			t.Errorf("got %+v, error %v, want %s", got, err, metadata)
		}
		if got, err = s.GetConversation(ctx, "a", "conv_1"); err != nil || string(got.Metadata) != metadata {
			t.Errorf("got %+v, error %v, want %s", got, err, metadata)
		}
	}
	for _, c := range [][2]string{{"b", "conv_1"}, {"a", "conv_2"}} {
		_, get := s.GetConversation(ctx, c[0], c[1])
		_, set := s.SetMetadata(ctx, c[0], c[1], []byte("{}"))
		_, _, list := s.ListItems(ctx, c[0], c[1], store.Page{Limit: 1})
		for what, err := range map[string]error{"get": get, "set": set, "list": list, "add": s.AddItems(ctx, c[0], c[1], items("x")),
			"delete": s.DeleteConversation(ctx, c[0], c[1]), "delete item": s.DeleteItem(ctx, c[0], c[1], "1")} {
			want(t, what, err, store.ErrNotFound)
		}
	}
	ok(t, s.DeleteConversation(ctx, "a", "conv_1"))
	_, err = s.GetConversation(ctx, "a", "conv_1")
	want(t, "deleted", err, store.ErrNotFound)
	_, err = s.GetItem(ctx, "a", "", "1")
	want(t, "item of a deleted one", err, store.ErrNotFound)
	if st, err := s.Stats(ctx); err != nil || st != (store.Stats{}) {
		t.Errorf("got %+v, error %v, want nothing left", st, err)
	}
}

func testItems(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, items("1", "2")))
	ok(t, s.AddItems(ctx, "a", "conv_1", items("3", "x")))
	ok(t, s.AddItems(ctx, "a", "conv_1", items("4", "5")))
	want(t, "delete unknown", s.DeleteItem(ctx, "a", "conv_1", "6"), store.ErrNotFound)
	ok(t, s.DeleteItem(ctx, "a", "conv_1", "x"))
	want(t, "delete twice", s.DeleteItem(ctx, "a", "conv_1", "x"), store.ErrNotFound)
	testPages(t, func(p store.Page) ([]store.Item, bool, error) { return s.ListItems(ctx, "a", "conv_1", p) })
	_, err := s.GetItem(ctx, "a", "", "x")
	want(t, "deleted", err, store.ErrNotFound)
	ok(t, s.PutResponse(ctx, "a", response("resp_1", ""), true))
	if got, err := s.GetItem(ctx, "a", "conv_1", "3"); err != nil || list([]store.Item{got}) != "3" {
		t.Errorf("got %+v, error %v, want the item", got, err)
	}
	for _, c := range [][3]string{{"a", "conv_1", "x"}, {"a", "conv_1", "resp_1.in"}, {"a", "resp_1", "resp_1.in"}, {"a", "conv_2", "3"}, {"b", "conv_1", "3"}} {
		_, err := s.GetItem(ctx, c[0], c[1], c[2])
		want(t, "not in the conversation", err, store.ErrNotFound)
	}
}

func testDone(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, items("0")))
	r := response("resp_1", "")
	r.Conversation = "conv_1"
	ok(t, s.PutResponse(ctx, "a", r, false))
	all := store.Page{Limit: 100}
	if got, _, err := s.ListItems(ctx, "a", "conv_1", all); err != nil || list(got) != "0" {
		t.Errorf("got %q, error %v, want nothing of a response that is not done", list(got), err)
	}
	ok(t, s.PutResponse(ctx, "a", r, true))
	if got, _, err := s.ListItems(ctx, "a", "conv_1", all); err != nil || list(got) != "0 resp_1.in resp_1.out1 resp_1.out2" {
		t.Errorf("got %q, error %v, want the response's items too", list(got), err)
	}
	ok(t, s.DeleteResponse(ctx, "a", "resp_1"))
	if got, _, err := s.ListItems(ctx, "a", "conv_1", all); err != nil || list(got) != "0 resp_1.in resp_1.out1 resp_1.out2" {
		t.Errorf("got %q, error %v, want that the conversation keeps the items", list(got), err)
	}
	ok(t, s.PutResponse(ctx, "a", r, false))
	ok(t, s.PutResponse(ctx, "a", response("resp_2", "resp_1"), true))
	for _, id := range []string{"resp_1", "resp_2"} {
		_, err := s.Chain(ctx, "a", id, store.Bounds{Responses: 9, Bytes: 1 << 20})
		want(t, "a chain with a conversation's", err, store.ErrInConversation)
		ok(t, s.DeleteResponse(ctx, "a", id))
		if id == "resp_1" {
			ok(t, s.PutResponse(ctx, "a", r, false))
		}
	}
	ok(t, s.DeleteResponse(ctx, "a", "resp_1"))
	ok(t, s.DeleteConversation(ctx, "a", "conv_1"))
	for _, tenant := range []string{"a", "b"} {
		want(t, "no conversation", s.PutResponse(ctx, tenant, r, true), store.ErrNotFound)
		_, err := s.GetResponse(ctx, tenant, "resp_1")
		want(t, "what was not stored", err, store.ErrNotFound)
	}
	if st, err := s.Stats(ctx); err != nil || st != (store.Stats{}) {
		t.Errorf("got %+v, error %v, want nothing left", st, err)
	}
}

func testRecord(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	r := response("resp_1", "")
	r.Input[0].Body = make([]byte, store.MaxRecord-r.Size()+len(r.Input[0].Body))
	if r.Size() != store.MaxRecord {
		t.Fatalf("the response has %d bytes", r.Size())
	}
	ok(t, s.PutResponse(ctx, "a", r, true))
	r.Body = append(slices.Clip(r.Body), ' ')
	want(t, "response", s.PutResponse(ctx, "a", r, true), store.ErrTooLarge)
	large := []store.Item{{ID: "1", Body: make([]byte, store.MaxRecord)}}
	want(t, "conversation", s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, large), store.ErrTooLarge)
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, nil))
	want(t, "items", s.AddItems(ctx, "a", "conv_1", large), store.ErrTooLarge)
	if got, err := s.GetResponse(ctx, "a", "resp_1"); err != nil || len(got.Input[0].Body) != len(r.Input[0].Body) {
		t.Errorf("got error %v, want the response whole", err)
	}
}

func testEnded(t *testing.T, open Opener) {
	s := open(t, Options())
	release, err := s.Lock(t.Context(), "a", "x")
	ok(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(ctx, "a", "x"); err == nil {
		t.Error("got a lock twice")
	}
	ok(t, s.PutResponse(t.Context(), "a", response("resp_1", ""), true))
}
