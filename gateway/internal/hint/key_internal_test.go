package hint

import (
	"testing"

	"github.com/callgate/callgate/gateway/prefix"
)

// TestRendezvous: with one place more a conversation stays, or moves to the new one, and
// all places have about the same number.
func TestRendezvous(t *testing.T) {
	t.Parallel()
	const conversations = 10_000
	last := make([]int, conversations)
	for n := 2; n <= 40; n++ {
		used := make([]int, n)
		for i := range last {
			place := rendezvous(prefix.Mix(uint64(i)), n)
			if place != last[i] && place != n-1 {
				t.Fatalf("conversation %d: got place %d of %d, want %d or %d", i, place, n, last[i], n-1)
			}
			last[i] = place
			used[place]++
		}
		for place, got := range used {
			if fair := conversations / n; got < fair*3/4 || got > fair*5/4 {
				t.Errorf("%d places: got %d conversations at %d, want about %d", n, got, place, fair)
			}
		}
	}
}

// TestMinimums: each line of the table is read, and the last is for all models.
func TestMinimums(t *testing.T) {
	t.Parallel()
	list := minimums()
	for _, m := range list {
		if m.tokens < 256 || m.tokens > 8192 {
			t.Errorf("%s: got a minimum of %d tokens", m.name, m.tokens)
		}
	}
	if n := len(list); n < 10 || list[n-1].name != "*" {
		t.Errorf("got %v, want at least 10 lines, the last for any model", list)
	}
}
