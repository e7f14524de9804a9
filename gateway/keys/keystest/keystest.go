// Package keystest holds every [keys.Keeper] to one contract.
package keystest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/callgate/callgate/gateway/keys"
)

// Opener opens an empty keeper, which ends with the test.
type Opener func(t testing.TB) keys.Keeper

// Run runs the contract's tests.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*testing.T, keys.Keeper){"records": testRecords, "conflicts": testConflicts, "together": testTogether, "odd names": testOddNames} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Shared has two keepers with the same records, as two gateways do.
func Shared(t *testing.T, a, b keys.Keeper) {
	ctx := t.Context()
	_, before, err := b.LoadKeys(ctx, 0)
	ok(t, err)
	ok(t, a.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: "shared", Body: []byte("1")}, 0))
	all, after, err := b.LoadKeys(ctx, before)
	ok(t, err)
	if after <= before || !slices.ContainsFunc(all, func(r keys.Record) bool { return r.Name == "shared" && string(r.Body) == "1" }) {
		t.Errorf("got %v at revision %d behind %d, want the other gateway's key", all, after, before)
	}
	if all, again, err := b.LoadKeys(ctx, after); err != nil || again != after || len(all) != 0 {
		t.Errorf("got %v at %d, error %v, want no records where nothing has changed", all, again, err)
	}
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// list is what a keeper has, in one line.
func list(t *testing.T, k keys.Keeper) string {
	t.Helper()
	all, _, err := k.LoadKeys(t.Context(), 0)
	ok(t, err)
	var out []string
	for _, r := range all {
		out = append(out, fmt.Sprintf("%s %s=%s", r.Kind, r.Name, r.Body))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// version is that of a record.
func version(t *testing.T, k keys.Keeper, name string) int64 {
	t.Helper()
	all, _, err := k.LoadKeys(t.Context(), 0)
	ok(t, err)
	i := slices.IndexFunc(all, func(r keys.Record) bool { return r.Name == name })
	if i < 0 {
		t.Fatalf("got no record %q", name)
	}
	return all[i].Version
}

func testRecords(t *testing.T, k keys.Keeper) {
	ctx := t.Context()
	_, revision, err := k.LoadKeys(ctx, 0)
	if err != nil || revision < 1 {
		t.Fatalf("got revision %d of an empty keeper, error %v, want 1 or more", revision, err)
	}
	ok(t, k.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: "a", Body: []byte("1")}, 0))
	ok(t, k.PutKey(ctx, keys.Record{Kind: keys.TeamRecord, Name: "a", Body: []byte("2")}, 0))
	ok(t, k.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: "b", Body: []byte("3")}, 0))
	if got := list(t, k); got != "key a=1, key b=3, team a=2" {
		t.Errorf("got %s", got)
	}
	ok(t, k.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: "b", Body: []byte("4")}, version(t, k, "b")))
	_, before, err := k.LoadKeys(ctx, 0)
	ok(t, err)
	ok(t, k.DeleteKey(ctx, keys.KeyRecord, "b", version(t, k, "b")))
	_, after, err := k.LoadKeys(ctx, before)
	if err != nil || after <= before {
		t.Errorf("got revision %d behind %d, error %v, want that a deletion is a change", after, before, err)
	}
	if got := list(t, k); got != "key a=1, team a=2" {
		t.Errorf("got %s", got)
	}
}

func testConflicts(t *testing.T, k keys.Keeper) {
	ctx := t.Context()
	r := keys.Record{Kind: keys.KeyRecord, Name: "a", Body: []byte("1")}
	ok(t, k.PutKey(ctx, r, 0))
	at := version(t, k, "a")
	for name, err := range map[string]error{
		"made twice": k.PutKey(ctx, r, 0), "another version": k.PutKey(ctx, r, at+1), "delete another version": k.DeleteKey(ctx, r.Kind, r.Name, at+1),
		"not there": k.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: "b"}, at), "delete what is not there": k.DeleteKey(ctx, keys.TeamRecord, "a", at),
	} {
		if !errors.Is(err, keys.ErrConflict) {
			t.Errorf("%s: got error %v, want a conflict", name, err)
		}
	}
	if got := list(t, k); got != "key a=1" {
		t.Errorf("got %s, want that conflicts change nothing", got)
	}
}

// testTogether has many make the same key at once, and change it: one of them does.
func testTogether(t *testing.T, k keys.Keeper) {
	for round, was := range []int64{0, 1} {
		if was == 1 {
			was = version(t, k, "a")
		}
		var g errgroup.Group
		var mu sync.Mutex
		done := 0
		for i := range 16 {
			g.Go(func() error {
				err := k.PutKey(context.Background(), keys.Record{Kind: keys.KeyRecord, Name: "a", Body: fmt.Appendf(nil, "%d", i)}, was)
				if errors.Is(err, keys.ErrConflict) {
					return nil
				}
				mu.Lock()
				defer mu.Unlock()
				done++
				return err
			})
		}
		if err := g.Wait(); err != nil || done != 1 {
			t.Errorf("round %d: got %d that succeed, error %v, want 1", round, done, err)
		}
	}
}

func testOddNames(t *testing.T, k keys.Keeper) {
	ctx := t.Context()
	for _, name := range []string{"it's", "ä \" ;--", "*", "%"} {
		ok(t, k.PutKey(ctx, keys.Record{Kind: keys.KeyRecord, Name: name, Body: []byte("{}")}, 0))
		ok(t, k.DeleteKey(ctx, keys.KeyRecord, name, version(t, k, name)))
	}
	if got := list(t, k); got != "" {
		t.Errorf("got %s, want nothing left", got)
	}
}

// Memory is a keeper for tests of what uses one.
type Memory struct {
	mu       sync.Mutex
	records  []keys.Record
	revision int64
	err      error
}

// NewMemory makes an empty keeper.
func NewMemory() *Memory { return &Memory{revision: 1} }

// Fail has all that follows end with an error; nil has it work again.
func (m *Memory) Fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
}

// LoadKeys implements keys.Keeper.
func (m *Memory) LoadKeys(_ context.Context, since int64) ([]keys.Record, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if since == m.revision {
		return nil, since, m.err
	}
	return slices.Clone(m.records), m.revision, m.err
}

// PutKey implements keys.Keeper.
func (m *Memory) PutKey(_ context.Context, r keys.Record, was int64) error {
	return m.change(r.Kind, r.Name, was, func() { m.records = append(m.records, r); m.records[len(m.records)-1].Version = m.revision })
}

// DeleteKey implements keys.Keeper.
func (m *Memory) DeleteKey(_ context.Context, kind keys.Kind, name string, was int64) error {
	if was == 0 {
		return keys.ErrConflict
	}
	return m.change(kind, name, was, func() {})
}

func (m *Memory) change(kind keys.Kind, name string, was int64, then func()) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.records, func(r keys.Record) bool { return r.Kind == kind && r.Name == name })
	switch {
	case m.err != nil:
		return m.err
	case i < 0 && was != 0, i >= 0 && m.records[i].Version != was:
		return keys.ErrConflict
	case i >= 0:
		m.records = slices.Delete(slices.Clone(m.records), i, i+1)
	}
	m.revision++
	then()
	return nil
}
