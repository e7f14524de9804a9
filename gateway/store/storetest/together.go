package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway/store"
)

// testLock lets many want the same lock.
func testLock(t *testing.T, open Opener) {
	s := open(t, Options())
	shareLock(t, []store.Store{s, s, s, s, s, s, s, s})
}

// shareLock holds that one at a time has a lock, and all come to it.
func shareLock(t *testing.T, stores []store.Store) {
	t.Helper()
	ctx := t.Context()
	inside, most, n := 0, 0, 0
	var guard sync.Mutex
	var g errgroup.Group
	for _, s := range stores {
		g.Go(func() error {
			for range 5 {
				release, err := s.Lock(ctx, "a", "conv_1")
				if err != nil {
					return err
				}
				guard.Lock()
				inside++
				most, n = max(most, inside), n+1
				guard.Unlock()
				time.Sleep(time.Millisecond)
				guard.Lock()
				inside--
				guard.Unlock()
				release()
			}
			return nil
		})
	}
	ok(t, g.Wait())
	if most != 1 || n != 5*len(stores) {
		t.Errorf("got %d at once, %d in all, want one, and %d", most, n, 5*len(stores))
	}
	held := func(s store.Store, tenant, name string, wanted bool) {
		t.Helper()
		if got, err := s.Locked(ctx, tenant, name); err != nil || got != wanted {
			t.Errorf("%s, %s: got held: %v, error %v, want %v", tenant, name, got, err, wanted)
		}
	}
	first, last := stores[0], stores[len(stores)-1]
	held(last, "a", "conv_1", false)
	release, err := first.Lock(ctx, "a", "conv_1")
	ok(t, err)
	held(last, "a", "conv_1", true)
	held(last, "b", "conv_1", false)
	held(last, "a", "conv_2", false)
	for _, other := range [][2]string{{"b", "conv_1"}, {"a", "conv_2"}} { // nobody waits for another's
		r, err := last.Lock(ctx, other[0], other[1])
		ok(t, err)
		r()
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := last.Lock(short, "a", "conv_1"); err == nil {
		t.Error("got a lock that another one has")
	}
	release()
	r, err := last.Lock(ctx, "a", "conv_1")
	ok(t, err)
	r()
}

// Shared holds that two stores on the same data, such as two gateways have, serve one
// conversation.
func Shared(t *testing.T, a, b store.Store) {
	t.Run("lock", func(t *testing.T) { shareLock(t, []store.Store{a, b, a, b, a, b}) })
	t.Run("conversation", func(t *testing.T) {
		ctx := t.Context()
		ok(t, a.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_s"}, nil))
		turns(t, []store.Store{a, b, a, b}, "conv_s", 10)
		ok(t, a.PutResponse(ctx, "a", response("resp_s", ""), true))
		_, err := b.GetResponse(ctx, "a", "resp_s")
		ok(t, err)
		ok(t, b.PutResponse(ctx, "a", response("resp_t", "resp_s"), true))
		if got, err := a.Chain(ctx, "a", "resp_t", store.Bounds{Responses: 2, Bytes: 1 << 20}); err != nil || len(got) != 6 {
			t.Errorf("got %d items, error %v, want those of both", len(got), err)
		}
	})
}

// turns lets several take turns in a conversation: each reads what is there and appends
// what comes next.
func turns(t *testing.T, stores []store.Store, conversation string, each int) {
	t.Helper()
	ctx := t.Context()
	var g errgroup.Group
	for who, s := range stores {
		g.Go(func() error {
			for i := range each {
				release, err := s.Lock(ctx, "a", conversation)
				if err != nil {
					return err
				}
				all, _, err := s.ListItems(ctx, "a", conversation, store.Page{Limit: 1000})
				if err == nil {
					r := response(fmt.Sprintf("resp_%s_%d_%d", conversation, who, i), "")
					r.Conversation, r.Input, r.Output = conversation, items(fmt.Sprintf("%d", len(all))), items(fmt.Sprintf("%d", len(all)+1))
					err = s.PutResponse(ctx, "a", r, true)
				}
				release()
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	ok(t, g.Wait())
	all, _, err := stores[0].ListItems(ctx, "a", conversation, store.Page{Limit: 1000})
	ok(t, err)
	for i, item := range all {
		if item.ID != fmt.Sprint(i) {
			t.Fatalf("got %s, want every turn behind the one before", list(all))
		}
	}
	if len(all) != 2*each*len(stores) {
		t.Errorf("got %d items, want %d", len(all), 2*each*len(stores))
	}
}

// testConcurrent appends to one conversation from many sides without a lock: what is
// appended together stays together, and nothing is lost.
func testConcurrent(t *testing.T, open Opener) {
	s, ctx := open(t, Options()), t.Context()
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_1"}, nil))
	ok(t, s.CreateConversation(ctx, "a", &store.Conversation{ID: "conv_2"}, nil))
	turns(t, []store.Store{s, s, s}, "conv_2", 5)
	var g errgroup.Group
	for who := range 8 {
		g.Go(func() error {
			for i := range 10 {
				if err := s.AddItems(ctx, "a", "conv_1", items(fmt.Sprintf("%d.%d.1", who, i), fmt.Sprintf("%d.%d.2", who, i))); err != nil {
					return err
				}
				r := response(fmt.Sprintf("resp_%d_%d", who, i), "")
				if err := s.PutResponse(ctx, "a", r, true); err != nil {
					return err
				}
				if _, err := s.Chain(ctx, "a", r.ID, store.Bounds{Responses: 1, Bytes: 1 << 20}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ok(t, g.Wait())
	all, _, err := s.ListItems(ctx, "a", "conv_1", store.Page{Limit: 1000})
	ok(t, err)
	if len(all) != 160 {
		t.Fatalf("got %d items, want 160", len(all))
	}
	next := map[string]int{}
	for i := 0; i < len(all); i += 2 {
		who, n, _ := strings.Cut(strings.TrimSuffix(all[i].ID, ".1"), ".")
		if all[i+1].ID != who+"."+n+".2" || n != fmt.Sprint(next[who]) {
			t.Fatalf("got %s and %s after each other", all[i].ID, all[i+1].ID)
		}
		next[who]++
	}
}

// testTenants has 100 tenants with 100 conversations each, under ids that others use too,
// and holds that nobody sees anything of another's.
func testTenants(t *testing.T, open Opener) {
	const tenants, each = 100, 100
	s, ctx := open(t, Options()), t.Context()
	name := func(n int) string { return fmt.Sprintf("tenant-%d", n) }
	var g errgroup.Group
	g.SetLimit(8)
	for n := range tenants {
		g.Go(func() error {
			for i := range each {
				id := fmt.Sprintf("%d", i) // every tenant has the same
				own := func(what string) []store.Item {
					return []store.Item{{ID: what + "_" + id, Body: []byte(name(n))}, {ID: fmt.Sprintf("%s_%d_%d", what, n, i), Body: []byte(name(n))}}
				}
				if err := s.CreateConversation(ctx, name(n), &store.Conversation{ID: "conv_" + id, Metadata: []byte(name(n))}, own("first")); err != nil {
					return err
				}
				r := &store.Response{ID: "resp_" + id, Conversation: "conv_" + id, Body: []byte(name(n)), Input: own("in"), Output: own("out")}
				if err := s.PutResponse(ctx, name(n), r, true); err != nil {
					return err
				}
				if i%10 > 0 { // and chains of ten
					continue
				}
				link := &store.Response{ID: "link_" + id, Body: []byte(name(n)), Input: own("link")}
				if i > 0 {
					link.Previous = fmt.Sprintf("link_%d", i-10)
				}
				if err := s.PutResponse(ctx, name(n), link, true); err != nil {
					return err
				}
			}
			return nil
		})
	}
	ok(t, g.Wait())
	for range 300 {
		n, i, other := rand.IntN(tenants), rand.IntN(each), rand.IntN(tenants)
		seen := seen(t, s, name(n), i)
		for _, text := range seen {
			if text != name(n) {
				t.Fatalf("%s got a text of %s", name(n), text)
			}
		}
		if len(seen) != 1+1+2+2+6+2+2 {
			t.Fatalf("%s got %d texts, want 16", name(n), len(seen))
		}
		if other == n {
			continue
		}
		for _, what := range []string{"first", "in", "out"} {
			_, err := s.GetItem(ctx, name(other), "", fmt.Sprintf("%s_%d_%d", what, n, i))
			want(t, "another's item", err, store.ErrNotFound)
		}
	}
	// What one deletes, others keep.
	for i := range each {
		ok(t, s.DeleteConversation(ctx, name(0), fmt.Sprintf("conv_%d", i)))
		ok(t, s.DeleteResponse(ctx, name(0), fmt.Sprintf("resp_%d", i)))
	}
	if got := seen(t, s, name(1), each-1); len(got) != 16 {
		t.Errorf("got %d texts, want 16", len(got))
	}
	if st, err := s.Stats(ctx); err != nil || st.Entries != 2*(tenants-1)*each+tenants*each/10 {
		t.Errorf("got %+v, error %v, want %d entries", st, err, 2*(tenants-1)*each+tenants*each/10)
	}
}

// seen is all that a tenant reads of its conversation i, and of the response of that number.
func seen(t *testing.T, s store.Store, tenant string, i int) (texts []string) {
	t.Helper()
	ctx, id := t.Context(), fmt.Sprint(i)
	add := func(list []store.Item, err error) {
		t.Helper()
		ok(t, err)
		for _, item := range list {
			texts = append(texts, string(item.Body))
		}
	}
	c, err := s.GetConversation(ctx, tenant, "conv_"+id)
	ok(t, err)
	r, err := s.GetResponse(ctx, tenant, "resp_"+id)
	ok(t, err)
	texts = append(texts, string(c.Metadata), string(r.Body))
	add(r.Input, nil)
	add(r.Output, nil)
	all, _, err := s.ListItems(ctx, tenant, "conv_"+id, store.Page{Limit: 100})
	add(all, err)
	input, _, err := s.ListInput(ctx, tenant, "resp_"+id, store.Page{Limit: 100})
	add(input, err)
	chain, err := s.Chain(ctx, tenant, fmt.Sprintf("link_%d", i-i%10), store.Bounds{Responses: 1000, Bytes: 1 << 30})
	ok(t, err)
	if len(chain) != 2*(i/10+1) {
		t.Errorf("got a chain of %d items, want %d", len(chain), 2*(i/10+1))
	}
	for _, item := range chain {
		if string(item.Body) != tenant {
			t.Errorf("%s got a text of %s", tenant, item.Body)
		}
	}
	for _, what := range []string{"first_", "in_"} {
		item, err := s.GetItem(ctx, tenant, "", what+id)
		add([]store.Item{item}, err)
	}
	return texts
}
