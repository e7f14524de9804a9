package content_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/wire"
)

const half = 16 << 10 // that is kept of each end

// clock is one that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func keeper(t *testing.T, keep time.Duration, memory int) (*content.Keeper, *clock) {
	t.Helper()
	c := &clock{time.Unix(1_700_000_000, 0)}
	k := content.New(c.now)
	t.Cleanup(k.Close)
	k.Configure(keep, memory)
	return k, c
}

// TestTexts holds that of a text in any pieces the first and the last 16 KiB stay, and no byte is there
// twice.
func TestTexts(t *testing.T) {
	t.Parallel()
	k, _ := keeper(t, time.Hour, 64<<20)
	for _, n := range []int{0, 1, half - 1, half, half + 1, 2 * half, 2*half + 1, 3 * half, 10*half + 7} {
		all := make([]byte, n)
		for i := range all {
			all[i] = byte('a' + rand.IntN(26))
		}
		for _, most := range []int{1, 100, half, 5 * half, 20 * half} {
			if most == 1 && n > 3*half {
				continue
			}
			tape := k.Begin()
			for rest := all; len(rest) > 0; {
				p := min(len(rest), 1+rand.IntN(most))
				tape.Asked(rest[:p])
				rest = rest[p:]
			}
			tape.End(true)
			got := tape.Content().Asked
			if got.Len() != n || !strings.HasPrefix(string(all), got.Head) || !strings.HasSuffix(string(all), got.Tail) || got.Cut != max(0, n-2*half) {
				t.Errorf("%d bytes in pieces of up to %d: got %d and %d, %d between them", n, most, len(got.Head), len(got.Tail), got.Cut)
			}
		}
	}
}

// TestWays holds that attempts have what was sent and what came, and that only so many are kept.
func TestWays(t *testing.T) {
	t.Parallel()
	k, _ := keeper(t, time.Hour, 64<<20)
	tape := k.Begin()
	tape.Came([]byte("nobody was asked"))
	for i := range 18 {
		tape.Sent("p", fmt.Sprint("m", i), wire.Pieces{[]byte("to")})
		tape.Came([]byte(fmt.Sprint("from ", i)))
	}
	tape.Answered([]byte("out"))
	if tape.Content() != nil {
		t.Error("got content of a request that runs")
	}
	tape.End(true)
	tape.Came([]byte("late"))
	tape.End(false)
	c := tape.Content()
	if len(c.Attempts) != 16 || c.More != 2 || c.Short || c.Answered.Head != "out" {
		t.Fatalf("got %d attempts and %d more, %+v", len(c.Attempts), c.More, c.Answered)
	}
	for i, a := range c.Attempts {
		if a.Model != fmt.Sprint("m", i) || a.Sent.Head != "to" || a.Came.Head != fmt.Sprint("from ", i) {
			t.Errorf("got %+v", a)
		}
	}
}

// TestBounds holds that all that is kept stays within the memory: the oldest makes room, and if nothing
// is left that could, the text is short and says so.
func TestBounds(t *testing.T) {
	t.Parallel()
	const memory = 1 << 20
	k, _ := keeper(t, time.Hour, memory)
	big := []byte(strings.Repeat("x", 100_000))
	var tapes []*content.Tape
	for range 100 {
		tape := k.Begin()
		tape.Asked(big)
		tape.End(true)
		tapes = append(tapes, tape)
		if s := k.Stats(); s.Bytes > memory {
			t.Fatalf("got %d bytes, want at most %d", s.Bytes, memory)
		}
	}
	if tapes[0].Content() != nil || tapes[99].Content() == nil || k.Stats().Requests < 20 {
		t.Errorf("got %+v: the oldest %v, the last %v", k.Stats(), tapes[0].Content() != nil, tapes[99].Content() != nil)
	}
	running := make([]*content.Tape, 100)
	for i := range running {
		running[i] = k.Begin()
		running[i].Asked(big)
		running[i].Sent("p", "m", wire.Pieces{[]byte("y")})
	}
	if s := k.Stats(); s.Bytes > memory || s.Requests != 0 {
		t.Errorf("got %+v, want at most %d bytes, and that requests in progress come first", s, memory)
	}
	for i, tape := range running {
		tape.End(i == 99)
	}
	if c := running[99].Content(); c == nil || !c.Short || k.Stats().Short != 1 {
		t.Errorf("got %+v, %+v, want that it is short", c, k.Stats())
	}
	k.Configure(0, memory)
	if s := k.Stats(); s.Bytes != 0 || running[99].Content() != nil || k.Begin() != nil {
		t.Errorf("got %+v after it was turned off", s)
	}
}

// TestAge holds that nothing is kept longer than it may be, also if nobody asks.
func TestAge(t *testing.T) {
	t.Parallel()
	k, c := keeper(t, time.Hour, 1<<20)
	first := k.Begin()
	first.Asked([]byte("a"))
	first.End(true)
	c.at = c.at.Add(59 * time.Minute)
	second := k.Begin()
	second.Asked([]byte("b"))
	second.End(true)
	if first.Content() == nil {
		t.Error("got nothing after 59 minutes")
	}
	c.at = c.at.Add(time.Minute)
	k.Configure(time.Hour, 1<<20) // looks, as the timer does
	if first.Content() != nil || second.Content() == nil {
		t.Errorf("got the first %v, the second %v", first.Content() != nil, second.Content() != nil)
	}

	real := content.New(nil)
	t.Cleanup(real.Close)
	real.Configure(time.Millisecond, 1<<20)
	tape := real.Begin()
	tape.Asked([]byte("a"))
	tape.End(true)
	for end := time.Now().Add(time.Minute); tape.Content() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("got it kept though nobody asks")
		}
	}
	if s := real.Stats(); s.Bytes != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestOff holds that a tape that is none takes all, as where nothing is kept.
func TestOff(t *testing.T) {
	t.Parallel()
	var none *content.Keeper
	k, _ := keeper(t, 0, 1<<20)
	for _, tape := range []*content.Tape{none.Begin(), k.Begin()} {
		tape.Asked([]byte("a"))
		tape.Sent("p", "m", nil)
		tape.Came(nil)
		tape.Answered(nil)
		tape.End(true)
		if tape.Content() != nil {
			t.Error("got content")
		}
	}
}

// TestAtOnce holds that many may use one keeper, and that no byte stays claimed.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	k, _ := keeper(t, time.Hour, 1<<20)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for n := range 50 {
				tape := k.Begin()
				tape.Asked([]byte(strings.Repeat("x", rand.IntN(3*half))))
				tape.Sent("p", "m", wire.Pieces{[]byte("y")})
				tape.Came([]byte(strings.Repeat("x", rand.IntN(3*half))))
				tape.End((i+n)%3 != 0)
				_ = tape.Content()
			}
		})
	}
	wg.Wait()
	if s := k.Stats(); s.Bytes > 1<<20 {
		t.Errorf("got %+v", s)
	}
	k.Close()
	if s := k.Stats(); s.Bytes != 0 || s.Requests != 0 {
		t.Errorf("got %+v claimed at the end", s)
	}
}
