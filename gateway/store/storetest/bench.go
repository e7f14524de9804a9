package storetest

import (
	"fmt"
	"testing"

	"github.com/callgate/callgate/gateway/store"
)

// Bench measures what a turn of a conversation costs: reading the chain of the ten turns
// before it, and storing the response, with about 8 KB.
func Bench(b *testing.B, s store.Store) {
	ctx, text := b.Context(), make([]byte, 2000)
	for i := range text {
		text[i] = 'x'
	}
	turn := func(i int) *store.Response {
		r := &store.Response{ID: fmt.Sprint("resp_", i), Body: text}
		for n := range 3 {
			r.Output = append(r.Output, store.Item{ID: fmt.Sprintf("msg_%d_%d", i, n), Body: text})
		}
		r.Input, r.Output = r.Output[:1], r.Output[1:]
		if i%10 > 0 {
			r.Previous = fmt.Sprint("resp_", i-1)
		}
		return r
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r := turn(i)
		if r.Previous != "" {
			if _, err := s.Chain(ctx, "a", r.Previous, store.Bounds{Responses: 100, Bytes: 1 << 30}); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.PutResponse(ctx, "a", r, true); err != nil {
			b.Fatal(err)
		}
	}
}
