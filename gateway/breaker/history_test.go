package breaker_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/breaker"
)

// TestSnapshot compares a snapshot's JSON with testdata/snapshot.json. The clock of
// the bubble begins at the same moment each time.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "local-vllm", Failures: 2})
		fail := func(reason string) { allow(t, b).Done(breaker.Failure, reason) }
		send(t, b, 3, breaker.Success)
		send(t, b, 1, breaker.Excluded)
		allow(t, b) // stays in flight
		fail("upstream_error")
		time.Sleep(time.Second)
		fail("upstream_timeout")
		for range 5 {
			rejected(t, b)
		}
		time.Sleep(90 * time.Second)
		fail("")
		time.Sleep(time.Minute)
		send(t, b, 1, breaker.Success)
		b.Reset("by the operator")
		fail("")
		fail("")
		b.CoolDown(20 * time.Second)
		time.Sleep(1500 * time.Millisecond)
		got, err := json.MarshalIndent(b.Snapshot(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/snapshot.json")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(got, '\n'), want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

func TestFreshSnapshot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := breaker.New(breaker.Settings{})
		time.Sleep(time.Hour)
		s := b.Snapshot()
		if s.State != breaker.Closed || !s.Since.Equal(began) || s.OpensAfter != 5 || s.FailureRate != 0 || s.RejectionRate != 0 {
			t.Errorf("got %+v", s)
		}
		if text, err := json.Marshal(s); err != nil || !bytes.Contains(text, []byte(`"history":[]`)) {
			t.Errorf("got %s and %v, want an empty list as history", text, err)
		}
	})
}

// TestHistoryLimit holds that the last 64 changes are kept, the oldest first.
func TestHistoryLimit(t *testing.T) {
	t.Parallel()
	b := breaker.New(breaker.Settings{})
	var want []string
	for i := range 200 {
		reason := strings.Repeat("x", i)
		b.Reset("r" + reason)
		want = append(want, "r"+reason)
	}
	var got []string
	for _, c := range b.Snapshot().History {
		got = append(got, c.Reason)
	}
	if want = want[len(want)-64:]; !slices.Equal(got, want) {
		t.Errorf("got %d changes %q, want %q", len(got), got, want)
	}
	b.Snapshot().History[0].Reason = "changed" // a copy
	if got := b.Snapshot().History[0].Reason; got != want[0] {
		t.Errorf("a snapshot shares its history: got %q", got)
	}
}

// TestBoundedText holds that no name or reason makes a snapshot large or invalid.
func TestBoundedText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "text"))
		if rapid.Bool().Draw(t, "runes") {
			text = rapid.StringN(0, 300, 600).Draw(t, "text of runes")
		}
		b := breaker.New(breaker.Settings{Name: text})
		b.Reset(text)
		s := b.Snapshot()
		for _, c := range []struct {
			got   string
			limit int
		}{{s.Name, 128}, {s.History[0].Reason, 256}} {
			if len(c.got) > c.limit || !utf8.ValidString(c.got) {
				t.Errorf("%q becomes %q", text, c.got)
			}
			if utf8.ValidString(text) && len(text) > 0 && len(text) <= c.limit && c.got != text {
				t.Errorf("%q is changed to %q", text, c.got)
			}
		}
	})
}

// TestOnChange holds that changes are told in order, one at a time and without a
// lock, so that OnChange may use the breaker, and that a slow one keeps nobody waiting.
func TestOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			b    *breaker.Breaker
			mu   sync.Mutex
			told []string
			hold = make(chan struct{})
		)
		b = breaker.New(breaker.Settings{Name: "p", Failures: 1, OnChange: func(c breaker.Change) {
			if c.Reason == "slow" {
				<-hold
			}
			b.Snapshot()
			if c.Reason == "again" {
				b.Reset("from within")
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, c.Name+": "+string(c.From)+" to "+string(c.To)+": "+c.Reason)
		}})
		go allow(t, b).Done(breaker.Failure, "slow")
		synctest.Wait()
		b.Reset("again") // returns, though the change before is still being told
		wantState(t, b, breaker.Closed)
		send(t, b, 1, breaker.Failure)
		wantState(t, b, breaker.Open)
		if len(told) != 0 {
			t.Errorf("told out of order: %q", told)
		}
		close(hold)
		synctest.Wait()
		want := []string{
			"p: closed to open: slow",
			"p: open to closed: again",
			"p: closed to open: failures in a row",
			"p: open to closed: from within",
		}
		if !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
	})
}

// TestOnChangeBacklog holds that a callback which never returns costs a bounded
// amount of memory, and that the newest changes are those that are kept for it.
func TestOnChangeBacklog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		var told []string
		b := breaker.New(breaker.Settings{OnChange: func(c breaker.Change) {
			<-hold
			told = append(told, c.Reason)
		}})
		go b.Reset("first")
		synctest.Wait()
		for range 1000 {
			b.Reset("lost")
		}
		for range 64 {
			b.Reset("kept")
		}
		close(hold)
		synctest.Wait()
		if want := append([]string{"first"}, slices.Repeat([]string{"kept"}, 64)...); !slices.Equal(told, want) {
			t.Errorf("got %q, want %q", told, want)
		}
	})
}

// TestOnChangePanics holds that a panic of the callback leaves the breaker in order.
func TestOnChangePanics(t *testing.T) {
	t.Parallel()
	calls := 0
	b := breaker.New(breaker.Settings{OnChange: func(breaker.Change) {
		if calls++; calls == 1 {
			panic("first")
		}
	}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		b.Reset("")
	}()
	b.Reset("")
	if got := len(b.Snapshot().History); calls != 2 || got != 2 {
		t.Errorf("got %d calls and %d changes, want 2 and 2", calls, got)
	}
}
