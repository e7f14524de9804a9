package plugins

import (
	"context"
	"errors"
	"testing"
)

// TestPrograms has modules wait for a program that another one makes.
func TestPrograms(t *testing.T) {
	t.Parallel()
	s := programs{live: map[programKey]*program{}}
	key := programKey{dir: "d"}
	enter := func() (*program, bool) {
		t.Helper()
		p, mine, err := s.enter(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return p, mine
	}
	first, mine := enter()
	if !mine {
		t.Fatal("the first module is not to make it")
	}

	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.enter(over, key); !errors.Is(err, context.Canceled) {
		t.Errorf("one that waits no longer got %v", err)
	}

	next := make(chan *program)
	go func() {
		p, mine, err := s.enter(context.Background(), key)
		if err != nil || !mine {
			t.Errorf("the one that waited got %v, and is to make it: %v", err, mine)
		}
		next <- p
	}()
	s.finish(first, false)
	s.leave(t.Context(), first)
	second := <-next
	if second == first {
		t.Fatal("what failed is used")
	}
	s.finish(second, true)
	if p, mine := enter(); p != second || mine {
		t.Error("what was made is not used")
	}
	s.leave(t.Context(), second)
	s.leave(t.Context(), second)
	if len(s.live) != 0 {
		t.Errorf("%d programs are kept that nothing uses", len(s.live))
	}
}
