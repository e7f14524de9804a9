package memory_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/store"
	"github.com/callgate/callgate/gateway/store/memory"
)

// BenchmarkPut stores a response of 4 KB with one item each way, in a store that is full.
func BenchmarkPut(b *testing.B) {
	s, err := memory.New(store.Options{TTL: time.Hour, Limits: store.Limits{Record: 4 << 20, Bytes: 64 << 20, Entries: 100_000}})
	if err != nil {
		b.Fatal(err)
	}
	body, item := bytes.Repeat([]byte("x"), 4000), bytes.Repeat([]byte("y"), 200)
	n := 0
	put := func() {
		n++
		r := &store.Response{ID: fmt.Sprintf("resp_%d", n), Body: bytes.Clone(body), Created: time.Now(),
			Input:  []store.Item{{ID: fmt.Sprintf("msg_i%d", n), Body: bytes.Clone(item)}},
			Output: []store.Item{{ID: fmt.Sprintf("msg_o%d", n), Body: bytes.Clone(item)}}}
		if err := s.PutResponse(b.Context(), "t", r, true); err != nil {
			b.Fatal(err)
		}
	}
	for range 40_000 {
		put()
	}
	b.ReportAllocs()
	for b.Loop() {
		put()
	}
}
