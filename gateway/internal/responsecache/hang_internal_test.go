package responsecache

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/answers"
	"github.com/callgate/callgate/gateway/wire"
)

// silent is a server that says nothing for a time.
type silent struct {
	reads, writes time.Duration
	asked         []string
}

func (*silent) Key(...string) string { return "" }

func (s *silent) wait(ctx context.Context, name string, d time.Duration) error {
	s.asked = append(s.asked, name)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func (s *silent) GetUpTo(ctx context.Context, _ string, _ int) ([]byte, bool, error) {
	return nil, false, s.wait(ctx, "get", s.reads)
}

func (s *silent) Set(ctx context.Context, _ string, _ []byte, _ time.Duration) error {
	return s.wait(ctx, "set", s.writes)
}

// TestRedisHangsOnce holds that a request waits a tenth of a second for a Redis that hangs, and not
// once more to store its answer. Its clock is none of the machine's.
func TestRedisHangsOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		reads, writes time.Duration
		waits         time.Duration
		asked, spared int
	}{
		{"always", time.Hour, time.Hour, answers.MaxWait, 1, 1},
		{"for writes", 0, time.Hour, answers.MaxWait, 2, 0},
		{"it is slow", 70 * time.Millisecond, 70 * time.Millisecond, answers.MaxWait, 2, 0},
		{"never", time.Millisecond, time.Millisecond, 2 * time.Millisecond, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &silent{reads: tt.reads, writes: tt.writes}
				store := answers.NewShared(server, 1<<20, slog.New(slog.DiscardHandler))
				cache := New([]byte("salt"), nil, time.Now, slog.New(slog.DiscardHandler))
				r := &recording{cache: cache, ctx: t.Context(), policy: Policy{Store: store, Largest: 1 << 20, TTL: time.Hour}, key: cache.keys.Of()}
				began := time.Now()
				if a, _, err := r.find(t.Context()); a != nil || err != nil {
					t.Fatalf("got %+v, error %v, want nothing", a, err)
				}
				o := &gateway.Outcome{}
				s, err := r.Begin(t.Context(), &gateway.AttemptInfo{}, o)
				if err != nil {
					t.Fatal(err)
				}
				data := []byte(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`)
				var out sink
				if err := s.Frame(&wire.Frame{Raw: []byte("data: " + string(data) + "\n\n"), Data: data}, &out); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // the model takes its time, which is none of the store's
				o.End = []byte("data: [DONE]\n\n")
				if err := s.End(io.EOF, &out); err != nil {
					t.Fatal(err)
				}
				if got := time.Since(began) - time.Minute; got != tt.waits || len(server.asked) != tt.asked || store.Stats().Spared != uint64(tt.spared) {
					t.Errorf("got a wait of %v, the calls %q and %d spared, want %v, %d and %d", got, server.asked, store.Stats().Spared, tt.waits, tt.asked, tt.spared)
				}
			})
		})
	}
}
