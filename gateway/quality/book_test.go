package quality_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/quality"
)

// clock is a book's time.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newClock() *clock { return &clock{time.Unix(1_800_000_000, 0)} }

func bookOf(c *clock, log *bytes.Buffer) *quality.Book {
	o := quality.Options{Now: c.now, Rand: rand.New(rand.NewPCG(7, 7)).Float64}
	if log != nil {
		o.Log = slog.New(slog.NewTextHandler(log, nil))
	}
	return quality.New(o)
}

// records counts n turns with a tool of which every badth has a result.
func records(b *quality.Book, c *clock, t quality.Target, tool quality.Tool, n, bad int, r quality.Result) {
	for i := range n {
		var turn quality.Turn
		result := quality.Clean
		if bad > 0 && i%bad == 0 {
			result = r
		}
		turn.Add(tool, result)
		b.Record(t, turn)
		c.at = c.at.Add(100 * time.Millisecond)
	}
}

// settle lets so much time pass that shares are where they are to be.
func settle(c *clock, b *quality.Book, t quality.Target, d time.Duration) {
	for range int(d / (40 * time.Second)) {
		c.at = c.at.Add(40 * time.Second)
		var turn quality.Turn
		turn.Add(search, quality.Clean)
		b.Record(t, turn)
	}
}

func shareOf(b *quality.Book, route string, arm int) float64 {
	for _, r := range b.Snapshot().Routes {
		if r.Route == route {
			return r.Arms[arm].Share
		}
	}
	return -1
}

func TestScores(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	for _, r := range []quality.Result{quality.Clean, quality.Repaired, quality.Corrected, quality.Unparseable, quality.Invalid} {
		b.Record(arms[0], turnOf(r))
	}
	for _, r := range []quality.Result{quality.Unknown, quality.Ghost, quality.Loop} {
		b.Record(arms[0], quality.Turn{Aim: r})
	}
	b.Excuse(arms[0], quality.Upstream)
	b.Excuse(arms[0], quality.Cut)
	got := b.Snapshot().Targets[0]
	if want := (5.0 / 8) * (2.2 / 5); got.Turns != 8 || got.Score.Score != .275 || want != .275 {
		t.Errorf("got %d turns with %v, want 8 with %v", got.Turns, got.Score.Score, want)
	}
	if len(got.Totals) != 8 || got.NotScored["upstream"] != 1 || got.NotScored["cut"] != 1 {
		t.Errorf("got %v and %v", got.Totals, got.NotScored)
	}
}

// TestWindow: the latest 200 turns count, and a bucket more at most.
func TestWindow(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	records(b, c, arms[0], search, 1000, 1, quality.Invalid)
	records(b, c, arms[0], search, 300, 0, quality.Clean)
	if got := b.Snapshot().Targets[0]; got.Score.Score != 1 || got.Turns < 200 || got.Turns > 300 {
		t.Errorf("got %v of %d turns, want 1 of 200 to 300", got.Score.Score, got.Turns)
	}
	c.at = c.at.Add(7 * time.Hour)
	if got := b.Snapshot().Targets[0]; got.Turns != 0 {
		t.Errorf("%d turns of seven hours ago count", got.Turns)
	}
}

// TestHardTool: a target that alone is asked for a hard tool is not worse than one that is not, and
// one that is worse at the same tool is.
func TestHardTool(t *testing.T) {
	t.Parallel()
	hard := quality.Tool{Name: "hard", Schema: 2}
	c := newClock()
	b := bookOf(c, nil)
	groupOf(b)
	records(b, c, arms[0], hard, 100, 2, quality.Invalid)
	records(b, c, arms[0], search, 100, 0, quality.Clean)
	records(b, c, arms[1], search, 200, 0, quality.Clean)
	settle(c, b, arms[1], 10*time.Minute)
	if got := shareOf(b, "r", 0); got != .5 {
		t.Errorf("the target with the hard tool has %v, want its half", got)
	}
	records(b, c, arms[0], hard, 100, 2, quality.Invalid)
	records(b, c, arms[0], search, 100, 0, quality.Clean)
	records(b, c, arms[1], hard, 100, 0, quality.Clean)
	records(b, c, arms[1], search, 100, 0, quality.Clean)
	settle(c, b, arms[1], 4*time.Minute)
	if got := shareOf(b, "r", 0); got != .05 {
		t.Errorf("the target that is worse at the same tools has %v, want the floor", got)
	}
}

// TestBlame: a tool whose calls fail at all models is to blame, and counts against none of them.
func TestBlame(t *testing.T) {
	t.Parallel()
	odd := quality.Tool{Name: "odd", Schema: 3}
	c := newClock()
	var log bytes.Buffer
	b := bookOf(c, &log)
	groupOf(b)
	records(b, c, arms[0], search, 60, 0, quality.Clean)
	records(b, c, arms[0], odd, 60, 1, quality.Invalid)
	settle(c, b, arms[0], 2*time.Minute)
	if strings.Contains(log.String(), "to blame") {
		t.Fatalf("one model alone says that a schema is to blame:\n%s", &log)
	}
	records(b, c, arms[1], search, 60, 0, quality.Clean)
	records(b, c, arms[1], odd, 60, 1, quality.Invalid)
	settle(c, b, arms[1], 2*time.Minute)
	s := b.Snapshot()
	if n := strings.Count(log.String(), "to blame"); n != 1 || !strings.Contains(log.String(), "tool=odd") || !strings.Contains(log.String(), "a/m,b/m") {
		t.Errorf("%d lines, want one that names the tool and both targets:\n%s", n, &log)
	}
	if s.Tools[0].Tool != "odd" || s.Tools[0].Blamed.IsZero() || s.Targets[0].Score.Score != 1 || s.Targets[0].Results["invalid"] != 60 {
		t.Errorf("got %+v and %+v", s.Tools[0], s.Targets[0])
	}
	// One model calls it well now: it was not the schema.
	records(b, c, arms[1], odd, 200, 0, quality.Clean)
	settle(c, b, arms[1], 2*time.Minute)
	if !b.Snapshot().Tools[0].Blamed.IsZero() || !strings.Contains(log.String(), "not to blame any more") {
		t.Errorf("the schema is still to blame:\n%s", &log)
	}
}

// TestBothBad: models that fail at all tools are bad, and their tools are not to blame.
func TestBothBad(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	for _, a := range arms {
		for i := range 3 {
			records(b, c, a, quality.Tool{Name: fmt.Sprint(i)}, 50, 1, quality.Invalid)
		}
	}
	settle(c, b, arms[0], 2*time.Minute)
	for _, tool := range b.Snapshot().Tools {
		if !tool.Blamed.IsZero() {
			t.Errorf("%s is to blame", tool.Tool)
		}
	}
}

// TestGhostsAlone: an arm that never calls has no tools in common with anybody, and is left all the
// same.
func TestGhostsAlone(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	groupOf(b)
	for range 150 {
		b.Record(arms[0], quality.Turn{Aim: quality.Ghost})
		b.Record(arms[1], turnOf(quality.Clean))
	}
	settle(c, b, arms[1], 5*time.Minute)
	if got := shareOf(b, "r", 0); got != .05 {
		t.Errorf("the arm has %v, want the floor", got)
	}
}

// TestHalfStays: of arms that are all worse than one, half at most are left.
func TestHalfStays(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		c := newClock()
		b := bookOf(c, nil)
		var list []quality.Arm
		for i := range n {
			a := quality.Target{Provider: fmt.Sprint(i), Model: "m"}
			list = append(list, quality.Arm{Target: a, Weight: 1})
			bad := 2 // every second
			if i == 0 {
				bad = 0
			}
			records(b, c, a, search, 200, bad, quality.Invalid)
		}
		configure(b, map[string]quality.Settings{"r": {Apply: true}}, map[string][]quality.Arm{"r": list})
		settle(c, b, list[0].Target, 10*time.Minute)
		left, sum := 0, 0.0
		for _, a := range b.Snapshot().Routes[0].Arms {
			sum += a.Share
			if a.Left {
				left++
			}
		}
		if left != n/2 || sum < .99 || sum > 1.01 {
			t.Errorf("%d arms: %d are left, want %d; shares make %v", n, left, n/2, sum)
		}
	}
}

func ready(int) bool { return true }

// TestConversations: a conversation under way stays where it is, whatever becomes of its arm.
func TestConversations(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	g := groupOf(b)
	began := map[uint64]int{}
	for key := range uint64(1000) {
		choice, _ := g.Choose(quality.Conversation{Key: key}, ready)
		began[key] = choice.Arm
	}
	records(b, c, arms[0], search, 200, 2, quality.Invalid)
	records(b, c, arms[1], search, 200, 0, quality.Clean)
	settle(c, b, arms[1], 5*time.Minute)
	if got := shareOf(b, "r", 0); got != .05 {
		t.Fatalf("the arm has %v, want the floor", got)
	}
	for key, arm := range began {
		if choice, _ := g.Choose(quality.Conversation{Key: key, Running: true}, ready); choice.Arm != arm || choice.From >= 0 {
			t.Fatalf("conversation %d was moved from %d: %+v", key, arm, choice)
		}
	}
	asked, moved := [2]int{}, 0
	for key := range uint64(10_000) {
		choice, _ := g.Choose(quality.Conversation{Key: key + 1000}, ready)
		asked[choice.Arm]++
		if choice.From == 0 {
			moved++
		}
	}
	if asked[0] < 400 || asked[0] > 600 || moved < 4000 {
		t.Errorf("of 10000 new conversations %d have the bad arm, and %d were moved; want some 500 and 4500", asked[0], moved)
	}
	// The good arm cannot be asked: the other one is better than nothing.
	asked = [2]int{}
	for key := range uint64(1000) {
		choice, _ := g.Choose(quality.Conversation{Key: key + 20_000}, func(arm int) bool { return arm == 0 })
		asked[choice.Arm]++
	}
	if asked[0] < 400 {
		t.Errorf("%v, want no conversation sent to an arm that cannot be asked", asked)
	}
}

// TestProbe: where there is little traffic an arm that was left gets a conversation a minute, and not
// more than one of ten.
func TestProbe(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	g := configure(b, map[string]quality.Settings{"r": {Apply: true, Floor: .0001}},
		map[string][]quality.Arm{"r": {{Target: arms[0], Weight: 1}, {Target: arms[1], Weight: 1}}})["r"]
	records(b, c, arms[0], search, 200, 2, quality.Invalid)
	records(b, c, arms[1], search, 200, 0, quality.Clean)
	settle(c, b, arms[1], 6*time.Minute)
	n := 0
	for key := range uint64(600) { // one in 3 s: half an hour
		c.at = c.at.Add(3 * time.Second)
		if choice, _ := g.Choose(quality.Conversation{Key: key}, ready); choice.Arm == 0 {
			n++
		}
	}
	if n < 28 || n > 32 {
		t.Errorf("%d of 600 in half an hour, want 30", n)
	}
}

// TestReportOnly: what would be done is said, and nobody asks for it.
func TestReportOnly(t *testing.T) {
	t.Parallel()
	c := newClock()
	var log bytes.Buffer
	b := bookOf(c, &log)
	g := configure(b, map[string]quality.Settings{"r": {}}, map[string][]quality.Arm{"r": {{Target: arms[0], Weight: 1}, {Target: arms[1], Weight: 1}}})["r"]
	records(b, c, arms[0], search, 200, 2, quality.Invalid)
	records(b, c, arms[1], search, 200, 0, quality.Clean)
	settle(c, b, arms[1], 5*time.Minute)
	if g.Applies() || g.Denies(0, quality.Conversation{}) || !strings.Contains(log.String(), "report only") {
		t.Errorf("got:\n%s", &log)
	}
}

// TestReconfigured: a group with the same arms goes on where it was, and one with others begins anew.
func TestReconfigured(t *testing.T) {
	t.Parallel()
	c := newClock()
	b := bookOf(c, nil)
	groupOf(b)
	records(b, c, arms[0], search, 200, 2, quality.Invalid)
	records(b, c, arms[1], search, 200, 0, quality.Clean)
	settle(c, b, arms[1], 5*time.Minute)
	groupOf(b)
	if got := shareOf(b, "r", 0); got != .05 {
		t.Errorf("the arm has %v, want the floor that it had", got)
	}
	configure(b, map[string]quality.Settings{"r": {Apply: true}},
		map[string][]quality.Arm{"r": {{Target: arms[0], Weight: 3}, {Target: arms[1], Weight: 1}}})
	if got := shareOf(b, "r", 0); got != .75 {
		t.Errorf("the arm has %v, want what the new weights say", got)
	}
}

func TestCorrect(t *testing.T) {
	t.Parallel()
	other := quality.Tool{Name: "other"}
	two := func(a, b quality.Result) (t quality.Turn) {
		t.Add(search, a)
		t.Add(other, b)
		return t
	}
	aim := func(r quality.Result, t quality.Turn) quality.Turn { t.Aim = r; return t }
	for name, c := range map[string]struct {
		first, now quality.Turn
		want       string
	}{
		"well made":            {turnOf(quality.Invalid), turnOf(quality.Clean), "clean search=corrected "},
		"repaired":             {turnOf(quality.Invalid), turnOf(quality.Repaired), "clean search=corrected "},
		"again wrong":          {turnOf(quality.Invalid), turnOf(quality.Unparseable), "clean search=unparseable "},
		"not made":             {turnOf(quality.Invalid), quality.Turn{}, "clean search=invalid "},
		"ghost, then called":   {quality.Turn{Aim: quality.Ghost}, turnOf(quality.Clean), "corrected search=corrected "},
		"ghost, again":         {quality.Turn{Aim: quality.Ghost}, quality.Turn{Aim: quality.Ghost}, "ghost "},
		"ghost, then nothing":  {quality.Turn{Aim: quality.Ghost}, quality.Turn{}, "ghost "},
		"unknown, then known":  {quality.Turn{Aim: quality.Unknown}, turnOf(quality.Clean), "corrected search=corrected "},
		"invalid, then ghost":  {turnOf(quality.Invalid), quality.Turn{Aim: quality.Ghost}, "ghost search=invalid "},
		"one of two was wrong": {two(quality.Invalid, quality.Clean), two(quality.Clean, quality.Clean), "clean search=corrected other=clean "},
		"and another":          {aim(quality.Unknown, turnOf(quality.Clean)), turnOf(quality.Clean), "corrected search=corrected "},
	} {
		got := c.first.Correct(c.now)
		text := got.Aim.String() + " "
		for _, call := range got.Calls {
			text += call.Tool.Name + "=" + call.Result.String() + " "
		}
		if text != c.want {
			t.Errorf("%s: got %q, want %q", name, text, c.want)
		}
	}
}

// TestBounded: more targets, tools and conversations than there is room for cost no more memory.
func TestBounded(t *testing.T) { // not parallel: it measures
	c := newClock()
	b := bookOf(c, nil)
	g := groupOf(b)
	before := memory()
	for i := range 40_000 {
		var turn quality.Turn
		for k := range 4 {
			turn.Add(quality.Tool{Name: fmt.Sprintf("tool %d", (i*7+k)%5000), Schema: uint64(i % 3)}, quality.Invalid)
		}
		b.Record(quality.Target{Provider: "p", Model: fmt.Sprint(i % 500)}, turn)
		g.Choose(quality.Conversation{Key: uint64(i)}, ready)
		if i%10 == 0 {
			c.at = c.at.Add(time.Second)
		}
	}
	s := b.Snapshot()
	if len(s.Targets) > 256 || len(s.Tools) > 1024 {
		t.Errorf("%d targets and %d tools", len(s.Targets), len(s.Tools))
	}
	if grown := memory() - before; grown > 24<<20 {
		t.Errorf("%d bytes, want 24 MB at most", grown)
	} else {
		t.Logf("%d bytes", grown)
	}
	runtime.KeepAlive(b)
}

func memory() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkRecord is what a turn costs, and BenchmarkChoose a choice.
func BenchmarkRecord(b *testing.B) {
	c := newClock()
	book := bookOf(c, nil)
	groupOf(book)
	turn := turnOf(quality.Clean)
	b.ReportAllocs()
	for b.Loop() {
		c.at = c.at.Add(time.Millisecond)
		book.Record(arms[0], turn)
	}
}

func BenchmarkChoose(b *testing.B) {
	c := newClock()
	book := bookOf(c, nil)
	g := groupOf(book)
	key := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		key++
		g.Choose(quality.Conversation{Key: key}, ready)
	}
}

// BenchmarkEvaluate is what it takes every half a minute, in one request, with 64 targets and 32 tools.
func BenchmarkEvaluate(b *testing.B) {
	c := newClock()
	book := bookOf(c, nil)
	settings, list := map[string]quality.Settings{}, map[string][]quality.Arm{}
	for i := range 64 {
		a := quality.Target{Provider: fmt.Sprint(i)}
		route := fmt.Sprint(i / 2)
		settings[route] = quality.Settings{Apply: true}
		list[route] = append(list[route], quality.Arm{Target: a, Weight: 1})
		for k := range 200 {
			var turn quality.Turn
			turn.Add(quality.Tool{Name: fmt.Sprint(k % 32)}, quality.Clean)
			book.Record(a, turn)
		}
	}
	configure(book, settings, list)
	turn := turnOf(quality.Clean)
	b.ReportAllocs()
	for b.Loop() {
		c.at = c.at.Add(time.Minute)
		book.Record(arms[0], turn)
	}
}
