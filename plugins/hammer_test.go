package plugins_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/plugins"
	"github.com/callgate/callgate/sdk/abi"
)

// TestHammer uses few instances from many goroutines that are canceled, fail and
// come back, while the plugin is loaded again and again. All results must be
// right, and at the end no instance may be missing.
func TestHammer(t *testing.T) {
	t.Parallel()
	const rounds, idle = 60, 3
	h := newHost(t, plugins.Config{Idle: idle, Failures: 1 << 30})
	wasm := goGuest(t)
	load(t, h, "go.wasm", wasm)
	var done atomic.Int64
	var wg sync.WaitGroup
	for n := range 8 * max(1, runtime.GOMAXPROCS(0)/2) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 0))
			for i := range rounds {
				if n == 0 && i%20 == 0 {
					load(t, h, "go.wasm", wasm)
				}
				hammer(t, h, random, fmt.Sprintf("%d.%d", n, i))
				done.Add(1)
			}
		})
	}
	wg.Wait()
	m := h.Modules()[0]
	if m.InUse != 0 || m.Idle < 1 || m.Idle > idle {
		t.Errorf("got %d used and %d idle instances, want 0 and 1 to %d", m.InUse, m.Idle, idle)
	}
	t.Logf("%d responses", done.Load())
}

// hammer is one response, which must see nothing of any other.
func hammer(t *testing.T, h *plugins.Host, random *rand.Rand, id string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := h.Session()
	defer s.Close()
	r, err := s.Open(ctx, "go", abi.Options{})
	if err != nil {
		t.Errorf("open: %v", err)
		return
	}
	for _, step := range []struct{ text, want string }{{"!recall", ""}, {"!remember " + id, ""}, {"!recall", id}} {
		got, err := r.Feed(ctx, []byte(step.text))
		if err != nil || content(got) != step.want {
			t.Errorf("%s: got %q, %v, want %q", step.text, content(got), err, step.want)
		}
	}
	switch random.IntN(8) {
	case 0:
		_, err = r.Feed(ctx, []byte("!panic"))
		wantKind(t, err, plugins.KindTrap)
		if got, err := feedIn(ctx, s, "go", "!recall"); got != "" || err != nil {
			t.Errorf("after a trap: got %q, %v", got, err)
		}
	case 1:
		time.AfterFunc(time.Duration(random.IntN(3000))*time.Microsecond, cancel)
		if _, err = r.Feed(ctx, []byte("!loop")); kindOf(err) != plugins.KindCanceled && kindOf(err) != plugins.KindTimeLimit {
			t.Errorf("loop: got %v", err)
		}
	case 2: // leave it open
		return
	}
	r.Close()
}
