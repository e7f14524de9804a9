package turns_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/internal/turns"
)

// clock is one that a test sets.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func book() (*turns.Book, *clock) {
	c := &clock{time.Unix(1e9, 0)}
	return turns.New(c.now), c
}

func TestTurn(t *testing.T) {
	t.Parallel()
	b, c := book()
	w := turns.Whose{Tenant: "a", Said: "Tidy up."}
	first := b.Find(w, nil)
	first.Spend(7, true)
	first.Called("call_1")
	c.Time = c.Add(time.Minute)
	second := b.Find(w, []string{"call_1"})
	if got, want := second.Taken(), (turns.Taken{Time: time.Minute, Nano: 7}); second != first || got != want {
		t.Errorf("got %+v, want %+v of the same turn", got, want)
	}
	second.Spend(5, true)
	second.Spend(0, false)
	second.Called("call_2")
	c.Time = c.Add(time.Minute)
	for name, calls := range map[string][]string{"whole": {"call_1", "call_2"}, "the last alone": {"call_2"}, "the first alone": {"call_1"}, "a parallel one behind it": {"call_2", "call_3"}} {
		if got, want := b.Find(w, calls).Taken(), (turns.Taken{Time: 2 * time.Minute, Nano: 12, Unpriced: true}); got != want {
			t.Errorf("%s: got %+v, want %+v", name, got, want)
		}
	}
}

// TestOthersTurn holds that nothing is counted for a turn that is another one.
func TestOthersTurn(t *testing.T) {
	t.Parallel()
	b, c := book()
	w := turns.Whose{Tenant: "a", Session: "s", Said: "Tidy up."}
	b.Find(w, nil).Called("call_1")
	c.Time = c.Add(time.Hour)
	for name, other := range map[string]turns.Whose{
		"tenant":  {Tenant: "b", Session: "s", Said: "Tidy up."},
		"session": {Tenant: "a", Session: "t", Said: "Tidy up."},
		"message": {Tenant: "a", Session: "s", Said: "Now the other room."},
		"shifted": {Tenant: "as", Said: "Tidy up."},
	} {
		if got := b.Find(other, []string{"call_1"}).Taken(); got != (turns.Taken{}) {
			t.Errorf("another %s: got %+v, want a turn that begins", name, got)
		}
	}
	if got := b.Find(w, nil).Taken(); got != (turns.Taken{}) {
		t.Errorf("the same words again: got %+v, want a turn that begins", got)
	}
	if got := b.Find(w, []string{"call_9"}).Taken(); got != (turns.Taken{}) {
		t.Errorf("a call that nobody has seen: got %+v, want a turn that begins", got)
	}
	c.Time = c.Add(time.Minute)
	if got := b.Find(w, []string{"call_9"}).Taken(); got.Time != time.Minute {
		t.Errorf("and again: got %+v, want a minute", got)
	}
}

// TestTurnsAlike holds that of turns with the same words and the same ids neither is stopped for the
// other.
func TestTurnsAlike(t *testing.T) {
	t.Parallel()
	b, c := book()
	w := turns.Whose{Said: "Tidy up."}
	for range 3 {
		turn := b.Find(w, nil)
		turn.Spend(7, true)
		turn.Called("functions.look:0")
	}
	c.Time = c.Add(time.Hour)
	if got := b.Find(w, []string{"functions.look:0"}).Taken(); got != (turns.Taken{}) {
		t.Errorf("got %+v, want nothing", got)
	}
}

// TestTurnsNameless holds that calls without ids make no turn of two, and that those beside them do.
func TestTurnsNameless(t *testing.T) {
	t.Parallel()
	b, c := book()
	w := turns.Whose{Said: "Tidy up."}
	b.Find(w, []string{""}).Spend(7, true)
	c.Time = c.Add(time.Hour)
	if got := b.Find(w, []string{""}).Taken(); got != (turns.Taken{}) {
		t.Errorf("got %+v of another's turn, want nothing", got)
	}
	b.Find(w, []string{"call_1", ""}).Spend(7, true)
	if got := b.Find(w, []string{"call_1", ""}).Taken(); got.Nano != 7 {
		t.Errorf("got %+v, want the turn of call_1", got)
	}
}

// TestTurnsWide holds that a turn is found behind an answer of many calls side by side, of which the first
// is known.
func TestTurnsWide(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 64, 65, 200, 4096} {
		b, _ := book()
		first := b.Find(turns.Whose{}, nil)
		first.Called("call_0")
		var calls []string
		for i := range n {
			calls = append(calls, fmt.Sprint("call_", i))
		}
		if b.Find(turns.Whose{}, calls) != first {
			t.Errorf("%d calls side by side: got another turn", n)
		}
	}
}

// TestTurnsBounds holds that what is remembered ends, by number and by age.
func TestTurnsBounds(t *testing.T) {
	t.Parallel()
	b, c := book()
	for i := range 40000 {
		b.Find(turns.Whose{Said: fmt.Sprint(i % 1000)}, []string{fmt.Sprint("call_", i)}).Called(fmt.Sprint("next_", i))
	}
	if n := b.Len(); n != 16384 {
		t.Errorf("got %d answers, want 16384", n)
	}
	c.Time = c.Add(25 * time.Hour)
	b.Find(turns.Whose{Said: "new"}, nil).Called("call_new")
	if n := b.Len(); n != 1 {
		t.Errorf("got %d answers after a day, want 1", n)
	}
}
