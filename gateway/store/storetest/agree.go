package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// testAgree does the same at random with a store and with one in memory, and holds that
// both say the same.
func testAgree(t *testing.T, open Opener) {
	rapid.Check(t, func(r *rapid.T) {
		clock, o := NewClock(), Options()
		o.TTL, o.Now = time.Hour, clock.Now
		o.Limits.TenantEntries, o.Limits.TenantBytes = 12, 14_000
		once := &once{TB: t}
		defer once.end()
		s := open(once, o)
		defer s.Close()
		model, err := memory.New(o)
		ok(t, err)
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			clock.Add(time.Duration(rapid.IntRange(1, 20*60_000).Draw(r, "pause")) * time.Millisecond)
			do := step(r, t)
			if got, wanted := do(s), do(model); got != wanted {
				r.Fatalf("got %s, want %s", got, wanted)
			}
		}
	})
}

// once is one of many tests within another. What it cleans up it does at its own end.
type once struct {
	testing.TB

	cleanups []func()
}

// Cleanup implements testing.TB.
func (o *once) Cleanup(f func()) { o.cleanups = append(o.cleanups, f) }

func (o *once) end() {
	for _, f := range slices.Backward(o.cleanups) {
		f()
	}
}

func result(err error, what ...any) string {
	for _, own := range []error{store.ErrNotFound, store.ErrTooLong, store.ErrInConversation, store.ErrTooLarge, store.ErrFull} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	return fmt.Sprint(what, err)
}

// step draws something to do with a store.
func step(r *rapid.T, t *testing.T) func(store.Store) string {
	ctx := t.Context()
	tenant := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "tenant")
	id := func(prefix string) string {
		return prefix + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, prefix)
	}
	drawn := func(name string) (out []store.Item) {
		for range rapid.IntRange(0, 3).Draw(r, name) {
			out = append(out, store.Item{ID: id("item"), Body: rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(r, "body")})
		}
		return out
	}
	page := func() store.Page {
		p := store.Page{Limit: rapid.IntRange(1, 4).Draw(r, "limit"), Descending: rapid.Bool().Draw(r, "descending")}
		if rapid.Bool().Draw(r, "after") {
			p.After = id("item")
		}
		return p
	}
	show := func(items []store.Item) (out []string) {
		for _, i := range items {
			out = append(out, fmt.Sprintf("%s %x", i.ID, i.Body))
		}
		return out
	}
	resp, conv := id("resp"), id("conv")
	switch rapid.SampledFrom([]string{"put", "put", "put", "get", "delete", "chain", "chain", "item", "input", "create", "create", "add", "list", "drop", "remove", "metadata", "sweep"}).Draw(r, "what") {
	case "put":
		p := &store.Response{ID: resp, Body: []byte(resp), Input: drawn("input"), Output: drawn("output")}
		if rapid.Bool().Draw(r, "chained") {
			p.Previous = id("resp")
		}
		if rapid.Bool().Draw(r, "in a conversation") {
			p.Conversation = fmt.Sprintf("%s_%d", conv, rapid.IntRange(0, 3).Draw(r, "which"))
		}
		done := rapid.Bool().Draw(r, "done")
		return func(s store.Store) string { return "put " + result(s.PutResponse(ctx, tenant, p, done)) }
	case "get":
		return func(s store.Store) string {
			got, err := s.GetResponse(ctx, tenant, resp)
			if err != nil {
				return result(err)
			}
			return result(nil, got.Previous, got.Conversation, string(got.Body), show(got.Input), show(got.Output), got.Created.UnixMilli(), got.Expires.UnixMilli())
		}
	case "delete":
		return func(s store.Store) string { return "delete " + result(s.DeleteResponse(ctx, tenant, resp)) }
	case "chain":
		b := store.Bounds{Responses: rapid.IntRange(1, 4).Draw(r, "responses"), Bytes: rapid.IntRange(1, 10_000).Draw(r, "bytes")}
		return func(s store.Store) string {
			got, err := s.Chain(ctx, tenant, resp, b)
			return result(err, show(got))
		}
	case "item":
		item, in := id("item"), rapid.SampledFrom([]string{"", "conv1_0", "conv2_1"}).Draw(r, "in")
		return func(s store.Store) string {
			got, err := s.GetItem(ctx, tenant, in, item)
			return result(err, show([]store.Item{got}))
		}
	case "input":
		p := page()
		return func(s store.Store) string {
			got, more, err := s.ListInput(ctx, tenant, resp, p)
			return result(err, show(got), more)
		}
	case "create":
		items := drawn("items")
		conv := fmt.Sprintf("%s_%d", conv, rapid.IntRange(0, 3).Draw(r, "new")) // an id is given once
		return func(s store.Store) string {
			if _, err := s.GetConversation(ctx, tenant, conv); err == nil {
				return "it is there"
			}
			return result(s.CreateConversation(ctx, tenant, &store.Conversation{ID: conv, Metadata: []byte("{}")}, items))
		}
	}
	conv = fmt.Sprintf("%s_%d", conv, rapid.IntRange(0, 3).Draw(r, "which"))
	return conversationStep(r, t, tenant, conv, drawn, page, show)
}

func conversationStep(r *rapid.T, t *testing.T, tenant, conv string, drawn func(string) []store.Item, page func() store.Page, show func([]store.Item) []string) func(store.Store) string {
	ctx := t.Context()
	switch rapid.SampledFrom([]string{"add", "list", "drop", "remove", "metadata", "sweep"}).Draw(r, "with a conversation") {
	case "add":
		items := drawn("items")
		return func(s store.Store) string { return "add " + result(s.AddItems(ctx, tenant, conv, items)) }
	case "list":
		p := page()
		return func(s store.Store) string {
			got, more, err := s.ListItems(ctx, tenant, conv, p)
			return result(err, show(got), more)
		}
	case "drop":
		return func(s store.Store) string { return "drop " + result(s.DeleteConversation(ctx, tenant, conv)) }
	case "remove":
		item := "item" + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "item")
		return func(s store.Store) string { return "remove " + result(s.DeleteItem(ctx, tenant, conv, item)) }
	case "metadata":
		text := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(r, "metadata")
		return func(s store.Store) string {
			got, err := s.SetMetadata(ctx, tenant, conv, text)
			if err != nil {
				return result(err)
			}
			return result(nil, fmt.Sprintf("%x", got.Metadata))
		}
	default:
		return func(s store.Store) string { // how many differs: one store sweeps as it goes
			_, err := s.Sweep(ctx)
			st, statErr := s.Stats(ctx)
			return result(errors.Join(err, statErr), st.Entries, st.Bytes)
		}
	}
}
