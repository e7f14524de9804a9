package inflight_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/inflight"
)

// TestShares checks who may take how much: one request a half, large ones three quarters
// together, and small ones the rest.
func TestShares(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	b := inflight.New(limit)
	first := b.Claim()
	if err := first.Grow(limit/2 + 1); !errors.Is(err, inflight.ErrShare) {
		t.Errorf("got %v for more than a half, want ErrShare", err)
	}
	if err := first.Grow(limit / 2); err != nil {
		t.Errorf("got %v for a half, want room", err)
	}
	second := b.Claim()
	if err := second.Grow(limit / 4); err != nil {
		t.Errorf("got %v for a quarter, want room", err)
	}
	third := b.Claim()
	if err := third.Grow(limit / 32); !errors.Is(err, inflight.ErrSpent) {
		t.Errorf("got %v where three quarters are taken, want ErrSpent", err)
	}
	for i := range 16 {
		if err := b.Claim().Grow(limit / 64); err != nil {
			t.Fatalf("got %v for small request %d, want room", err, i)
		}
	}
	if err := b.Claim().Grow(1); !errors.Is(err, inflight.ErrSpent) {
		t.Errorf("got %v where all is taken, want ErrSpent", err)
	}
	if got := b.Stats(); got != (inflight.Stats{Limit: limit, Taken: limit, Refused: 3}) {
		t.Errorf("got %+v", got)
	}
	first.Close()
	first.Close()
	if err := first.Grow(1); err != nil || first.Taken() != 0 {
		t.Errorf("got %v and %d bytes of a claim that is closed, want neither", err, first.Taken())
	}
	if got := b.Stats().Taken; got != limit/2 {
		t.Errorf("got %d bytes taken, want those of the others, %d", got, limit/2)
	}
}

// TestParts checks that a part counts for its request, and gives back what it has.
func TestParts(t *testing.T) {
	t.Parallel()
	b := inflight.New(1 << 20)
	request := b.Claim()
	attempt := request.Part()
	if err := errors.Join(request.Grow(100_000), attempt.Grow(400_000)); err != nil {
		t.Fatal(err)
	}
	if err := attempt.Grow(100_000); !errors.Is(err, inflight.ErrShare) {
		t.Errorf("got %v for more than the request's half, want ErrShare", err)
	}
	attempt.Shrink(100_000)
	if got := request.Taken(); got != 400_000 {
		t.Errorf("got %d, want 400000", got)
	}
	hold := inflight.Hold{Of: attempt}
	if err := hold.Fit(100_000); err != nil || attempt.Taken() != 300_000+98_304 {
		t.Errorf("got %v and %d, want what is held in steps of 16 KiB", err, attempt.Taken())
	}
	if err := hold.Fit(200_000); !errors.Is(err, inflight.ErrShare) || attempt.Taken() != 300_000+98_304 {
		t.Errorf("got %v and %d, want nothing changed", err, attempt.Taken())
	}
	_ = hold.Fit(0)
	attempt.Close()
	attempt.Shrink(1)
	if got := request.Taken(); got != 100_000 {
		t.Errorf("got %d, want the request's own 100000", got)
	}
	request.Close()
	if got := b.Stats().Taken; got != 0 {
		t.Errorf("got %d bytes taken behind the end, want 0", got)
	}
}

// TestNoBound checks that nothing is bounded without a budget.
func TestNoBound(t *testing.T) {
	t.Parallel()
	c := inflight.New(0).Claim()
	hold := inflight.Hold{Of: c.Part()}
	if err := errors.Join(c.Grow(1<<60), hold.Fit(1<<40)); err != nil {
		t.Errorf("got %v, want no bound", err)
	}
	c.Shrink(1)
	c.Close()
	if got := (*inflight.Budget)(nil).Stats(); got != (inflight.Stats{}) || c.Taken() != 0 {
		t.Errorf("got %+v", got)
	}
}

// TestConcurrent claims and closes from many goroutines; the race detector watches.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	b := inflight.New(1 << 20)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 2000 {
				c := b.Claim()
				part := c.Part()
				if c.Grow(int64(i*j)) == nil {
					_ = part.Grow(int64(j))
				}
				if b.Stats().Taken > 1<<20 {
					t.Error("more is taken than there is")
				}
				go part.Close()
				c.Close()
			}
		})
	}
	group.Wait()
	for b.Stats().Taken != 0 { // what part.Close gives back, its request has given back already
		t.Fatalf("got %d bytes taken, want 0", b.Stats().Taken)
	}
}

// TestLasting holds that what outlives requests gets an eighth of a budget together, and gives it back.
func TestLasting(t *testing.T) {
	t.Parallel()
	b := inflight.New(8000)
	claims := []*inflight.Claim{b.Lasting(), b.Lasting()}
	for i, want := range []error{nil, inflight.ErrSpent} {
		if err := claims[i].Grow(600); !errors.Is(err, want) {
			t.Errorf("claim %d: got %v, want %v", i, err, want)
		}
	}
	if err := claims[1].Grow(400); err != nil {
		t.Errorf("got %v within the part", err)
	}
	if r := b.Claim(); r.Grow(4000) != nil {
		t.Error("what lasts keeps a request out")
	} else {
		r.Close()
	}
	for _, c := range claims {
		c.Close()
	}
	if err := b.Lasting().Grow(1000); err != nil || b.Stats().Taken != 1000 {
		t.Errorf("got %v and %+v after the end of the others", err, b.Stats())
	}
}
