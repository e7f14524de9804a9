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
			recording := k.Begin()
			for rest := all; len(rest) > 0; {
				p := min(len(rest), 1+rand.IntN(most))
				recording.Asked(rest[:p])
				rest = rest[p:]
			}
			recording.End(true)
			got := recording.Content().Asked
			if len(got.Head)+got.Cut+len(got.Tail) != n || !strings.HasPrefix(string(all), got.Head) || !strings.HasSuffix(string(all), got.Tail) || got.Cut != max(0, n-2*half) {
				t.Errorf("%d bytes in pieces of up to %d: got %d and %d, %d between them", n, most, len(got.Head), len(got.Tail), got.Cut)
			}
		}
	}
}

// TestWays holds that attempts have what was sent and what came, and that only so many are kept.
func TestWays(t *testing.T) {
	t.Parallel()
	k, _ := keeper(t, time.Hour, 64<<20)
	recording := k.Begin()
	recording.Came([]byte("nobody was asked"))
	for i := range 18 {
		recording.Sent("p", fmt.Sprint("m", i), wire.Pieces{[]byte("to")})
		recording.Came([]byte(fmt.Sprint("from ", i)))
	}
	recording.Answered([]byte("out"))
	if recording.Content() != nil {
		t.Error("got content of a request that runs")
	}
	recording.End(true)
	recording.Came([]byte("late"))
	recording.End(false)
	c := recording.Content()
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
	var recordings []*content.Recording
	for range 100 {
		recording := k.Begin()
		recording.Asked(big)
		recording.End(true)
		recordings = append(recordings, recording)
		if s := k.Stats(); s.Bytes > memory {
			t.Fatalf("got %d bytes, want at most %d", s.Bytes, memory)
		}
	}
	if recordings[0].Content() != nil || recordings[99].Content() == nil || k.Stats().Requests < 20 {
		t.Errorf("got %+v: the oldest %v, the last %v", k.Stats(), recordings[0].Content() != nil, recordings[99].Content() != nil)
	}
	running := make([]*content.Recording, 100)
	for i := range running {
		running[i] = k.Begin()
		running[i].Asked(big)
		running[i].Sent("p", "m", wire.Pieces{[]byte("y")})
	}
	if s := k.Stats(); s.Bytes > memory || s.Requests != 0 {
		t.Errorf("got %+v, want at most %d bytes, and that requests in progress come first", s, memory)
	}
	for i, recording := range running {
		recording.End(i == 99)
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
	recording := real.Begin()
	recording.Asked([]byte("a"))
	recording.End(true)
	for end := time.Now().Add(time.Minute); recording.Content() != nil; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("got it kept though nobody asks")
		}
	}
	if s := real.Stats(); s.Bytes != 0 {
		t.Errorf("got %+v", s)
	}
}

// TestOff holds that a recording that is none takes all, as where nothing is kept.
func TestOff(t *testing.T) {
	t.Parallel()
	var none *content.Keeper
	k, _ := keeper(t, 0, 1<<20)
	for _, recording := range []*content.Recording{none.Begin(), k.Begin()} {
		recording.Asked([]byte("a"))
		recording.Sent("p", "m", nil)
		recording.Came(nil)
		recording.Answered(nil)
		recording.End(true)
		if recording.Content() != nil {
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
				recording := k.Begin()
				recording.Asked([]byte(strings.Repeat("x", rand.IntN(3*half))))
				recording.Sent("p", "m", wire.Pieces{[]byte("y")})
				recording.Came([]byte(strings.Repeat("x", rand.IntN(3*half))))
				recording.End((i+n)%3 != 0)
				_ = recording.Content()
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
