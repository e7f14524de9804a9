package memory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
	"github.com/callgate/callgate/gateway/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestContract holds the store in memory to the contract.
func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t testing.TB, o store.Options) store.Store {
		s, err := memory.New(o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// TestManyItemsOfOneID deletes responses whose items all have the id that a client gave them. One
// item after the other, each moving all behind it, it took minutes, and everybody waited.
func TestManyItemsOfOneID(t *testing.T) {
	t.Parallel()
	o := storetest.Options()
	o.Limits = store.Limits{Bytes: 1 << 40, Entries: 1 << 40}
	s, err := memory.New(o)
	if err != nil {
		t.Fatal(err)
	}
	const responses, items = 60, 10_000
	for n := range responses {
		r := &store.Response{ID: fmt.Sprintf("resp_%d", n), Body: []byte("{}")}
		for range items {
			r.Input = append(r.Input, store.Item{ID: "msg_1", Body: []byte{'{', '}'}})
		}
		if err := s.PutResponse(t.Context(), "a", r, true); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan error, 1)
	go func() {
		var all error
		for n := range responses {
			if n == responses-1 {
				_, err := s.GetItem(context.Background(), "a", "", "msg_1")
				all = errors.Join(all, err)
			}
			all = errors.Join(all, s.DeleteResponse(context.Background(), "a", fmt.Sprintf("resp_%d", n)))
		}
		over <- all
	}()
	select {
	case err := <-over:
		if st, _ := s.Stats(t.Context()); err != nil || st != (store.Stats{}) {
			t.Errorf("got %v, and %+v left, want nothing", err, st)
		}
	case <-time.After(time.Minute): // it takes less than a second
		t.Error("the responses are not deleted after a minute")
	}
	if _, err := s.GetItem(t.Context(), "a", "", "msg_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("got %v, want no item left", err)
	}
}

func BenchmarkTurn(b *testing.B) {
	s, err := memory.New(storetest.Options())
	if err != nil {
		b.Fatal(err)
	}
	storetest.Bench(b, s)
}
