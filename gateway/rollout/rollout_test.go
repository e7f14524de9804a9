package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/rollout"
)

// two are the options of a control and an arm that has so many hundredths of a percent.
func two(weight int) rollout.Options {
	return rollout.Options{Name: "r", Arms: []rollout.Arm{{Name: "control", Weight: rollout.Buckets - weight}, {Name: "new", Weight: weight}}}
}

// open makes a rollout, with the events of its book.
func open(t *testing.T, o rollout.Options) (*rollout.Book, *rollout.Rollout, *[]rollout.Event) {
	t.Helper()
	events := &[]rollout.Event{}
	now := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	b := rollout.NewBook(func() time.Time { return now }, func(e rollout.Event) { *events = append(*events, e) })
	r, err := b.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return b, r, events
}

// feed records n turns of an arm, of which failed have failed.
func feed(r *rollout.Rollout, arm, n, failed int) {
	for i := range n {
		t := rollout.Turn{Result: rollout.Clean}
		if i >= n-failed {
			t.Result = rollout.Failed
		}
		r.Record(arm, t)
	}
}

// TestUsersStayInside widens an arm from 10 to 50 and 100 % of users: the shares are right, and nobody
// who is inside leaves.
func TestUsersStayInside(t *testing.T) {
	t.Parallel()
	b := rollout.NewBook(nil, nil)
	inside := map[string]bool{}
	const users = 20_000
	for _, percent := range []int{0, 10, 50, 100} {
		r, err := b.Open(two(percent * 100))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for i := range users {
			user := fmt.Sprintf("user-%d", i)
			in := r.Arm(user) == 1
			if inside[user] && !in {
				t.Fatalf("at %d %%: %s has left the arm", percent, user)
			}
			if inside[user] = in; in {
				n++
			}
		}
		if d := n*100 - percent*users; d > users || d < -users {
			t.Errorf("at %d %%: got %d of %d users, want them within a point", percent, n, users)
		}
	}
}

// TestStop stops an arm with 200 requests whose failures are beyond doubt above the control's, and no
// sooner: 199 do not, nor do two points.
func TestStop(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                           string
		control, controlFailed, n, bad int
		off, want                      bool
	}{
		{"far worse", 1000, 20, 200, 60, false, true},
		{"one request short", 1000, 20, 199, 60, false, false},
		{"within the doubt", 1000, 50, 200, 20, false, false},
		{"worse by less than the margin", 100_000, 5000, 100_000, 6500, false, false},
		{"worse by more than the margin", 100_000, 5000, 100_000, 8000, false, true},
		{"nothing known of the control", 0, 0, 1000, 900, false, false},
		{"switched off", 1000, 20, 200, 200, true, false},
	} {
		o := two(5000)
		o.Stop.Off = tt.off
		_, r, events := open(t, o)
		feed(r, 0, tt.control, tt.controlFailed)
		feed(r, 1, tt.n, tt.bad)
		if got := len(*events) == 1; got != tt.want {
			t.Errorf("%s: got events %+v, want a stop: %t", tt.name, *events, tt.want)
		}
		arms := map[int]int{}
		for i := range 1000 {
			arms[r.Arm(fmt.Sprint(i))]++
		}
		if got := arms[1] == 0; got != tt.want {
			t.Errorf("%s: got units %v by arm, want none in the arm: %t", tt.name, arms, tt.want)
		}
		s := r.Snapshot().Arms
		if live := map[bool]float64{true: 0, false: 50}[tt.want]; s[1].Live != live || s[0].Live != 100-live || s[1].Weight != 50 {
			t.Errorf("%s: got live weights %.0f and %.0f, want %.0f for the arm", tt.name, s[0].Live, s[1].Live, live)
		}
	}
}

// TestControlIsNeverStopped holds that a better arm is not promoted, and the control not stopped.
func TestControlIsNeverStopped(t *testing.T) {
	t.Parallel()
	_, r, events := open(t, two(5000))
	feed(r, 1, 1000, 0)
	feed(r, 0, 1000, 900)
	if len(*events) > 0 {
		t.Errorf("got events %+v, want none", *events)
	}
	if s := r.Snapshot().Arms[1]; s.Verdict != rollout.Better || s.Live != 50 {
		t.Errorf("got verdict %q and weight %.0f, want better and 50", s.Verdict, s.Live)
	}
}

// TestStoppedStays holds that a stop outlives a configuration that is read again, and that resume ends
// it, with figures that begin anew.
func TestStoppedStays(t *testing.T) {
	t.Parallel()
	b, r, events := open(t, two(5000))
	feed(r, 0, 1000, 10)
	feed(r, 1, 300, 300)
	wider := two(10_000)
	again, err := b.Open(wider)
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Arm("anybody"); got != 0 {
		t.Errorf("got arm %d behind a wider configuration, want the control", got)
	}
	if !again.Resume("new") || again.Resume("other") || again.Arm("anybody") != 1 {
		t.Errorf("got arm %d behind a resume, want 1", again.Arm("anybody"))
	}
	if n := again.Snapshot().Arms[1].Requests; n != 0 {
		t.Errorf("got %d requests behind a resume, want 0", n)
	}
	var actions []string
	for _, e := range *events {
		actions = append(actions, e.Action+" by "+e.By)
	}
	if want := []string{"stop by figures", "resume by operator"}; !slices.Equal(actions, want) {
		t.Errorf("got events %v, want %v", actions, want)
	}
	if !again.Stop("") || again.Arm("anybody") != 0 || again.Snapshot().Arms[1].Stops != 2 {
		t.Error("got an arm that goes on behind a stop of all")
	}
}

// TestFiguresGoOn holds that figures outlive a configuration that says the same, and begin anew with
// one that does not.
func TestFiguresGoOn(t *testing.T) {
	t.Parallel()
	b, r, _ := open(t, two(5000))
	feed(r, 1, 10, 1)
	same, _ := b.Open(two(5000))
	if n := same.Snapshot().Arms[1].Requests; n != 10 {
		t.Errorf("got %d requests behind the same configuration, want 10", n)
	}
	for name, change := range map[string]func(*rollout.Options){
		"weight": func(o *rollout.Options) { o.Arms[0].Weight, o.Arms[1].Weight = 4000, 6000 },
		"change": func(o *rollout.Options) { o.Fingerprint = "other" }, "salt": func(o *rollout.Options) { o.Salt = "other" },
	} {
		o := two(5000)
		change(&o)
		other, err := b.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if n := other.Snapshot().Arms[1].Requests; n != 0 {
			t.Errorf("%s: got %d requests, want 0", name, n)
		}
	}
}

// TestFigures counts one turn of each sort.
func TestFigures(t *testing.T) {
	t.Parallel()
	_, r, _ := open(t, two(5000))
	for _, turn := range []rollout.Turn{
		{Result: rollout.Plain, FirstToken: 100 * time.Millisecond, Nano: 2_000_000, Priced: true},
		{Result: rollout.Clean, FirstToken: 100 * time.Millisecond, ToolErrors: 2},
		{Result: rollout.Repaired, FirstToken: 2 * time.Second},
		{Result: rollout.Reasked, Ghost: true, Loop: true, Nano: 3_000_000, Priced: true},
		{Result: rollout.Failed, Ghost: true},
		{Result: rollout.Canceled, Nano: 1, Priced: true}, {Result: rollout.Mixed, Ghost: true}, {Result: rollout.Forced}, {Result: rollout.Replayed}, {Result: rollout.Refused},
	} {
		r.Record(1, turn)
	}
	got := r.Snapshot().Arms[1].Figures
	if got.FirstToken.P50 < 0.1 || got.FirstToken.P50 > 0.11 || got.FirstToken.P90 < 2 || got.FirstToken.P90 > 2.2 {
		t.Errorf("got first token %+v, want 0.1 and 2 s to within a tenth", got.FirstToken)
	}
	got.FirstToken = rollout.Times{}
	want := rollout.Figures{Requests: 5, Plain: 1, Clean: 1, Repaired: 1, Reasked: 1, Failed: 1, Ghosts: 2, Loops: 1, ToolErrors: 2, CostUSD: 0.005, Priced: 2,
		LeftOut: map[string]int{"canceled": 1, "mixed": 1, "forced": 1, "replayed": 1, "refused": 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestVerdict holds what is said of an arm, and how many requests more it needs.
func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		control, controlFailed, n, failed int
		want                              string
		missing                           int
	}{
		{0, 0, 0, 0, rollout.NotEnough, 1139},      // 2 % is assumed, and 4 % is what is looked for
		{500, 10, 400, 10, rollout.NotEnough, 739}, // 2 % is known
		{2000, 40, 2000, 42, rollout.Alike, 0},
		{2000, 40, 2000, 100, rollout.Worse, 0},
		{2000, 100, 2000, 40, rollout.Better, 0},
		{40, 0, 40, 40, rollout.NotEnough, 1099}, // far apart, and too few to say so
	} {
		o := two(5000)
		o.Stop.Off = true
		_, r, _ := open(t, o)
		feed(r, 0, tt.control, tt.controlFailed)
		feed(r, 1, tt.n, tt.failed)
		if got := r.Snapshot().Arms[1]; got.Verdict != tt.want || got.Missing != tt.missing {
			t.Errorf("%+v: got %q and %d missing", tt, got.Verdict, got.Missing)
		}
	}
}

// TestFalseStops runs equal arms, each looked at behind every failure: hardly any is stopped. An arm
// that fails in 15 % and not in 5 % is stopped always, most of the time before it has 600 requests.
func TestFalseStops(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 5))
	trial := func(share float64) (stoppedAt int) {
		_, r, events := open(t, two(5000))
		for n := 1; n <= 2000; n++ {
			for arm, p := range []float64{0.05, share} {
				turn := rollout.Turn{Result: rollout.Clean}
				if rng.Float64() < p {
					turn.Result = rollout.Failed
				}
				r.Record(arm, turn)
			}
			if len(*events) > 0 {
				return n
			}
		}
		return 0
	}
	const trials = 500
	wrong, late, missed := 0, 0, 0
	for range trials {
		if trial(0.05) > 0 {
			wrong++
		}
		switch n := trial(0.15); {
		case n == 0:
			missed++
		case n > 600:
			late++
		}
	}
	t.Logf("of %d trials each: %d equal arms stopped; of arms at 15 %%: %d missed, %d later than 600", trials, wrong, missed, late)
	if wrong > 2 || missed > 0 || late > trials/2 {
		t.Errorf("got %d equal arms stopped, %d worse ones missed and %d late", wrong, missed, late)
	}
}

// TestOpenRefuses holds that what does not add up is an error.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	b := rollout.NewBook(nil, nil)
	for want, o := range map[string]rollout.Options{
		"add up":       {Name: "r", Arms: []rollout.Arm{{"a", 5000}, {"b", 4000}}},
		"name of":      {Name: "r", Arms: []rollout.Arm{{"a", 5000}, {"a", 5000}}},
		"no name, or":  {Name: "r", Arms: []rollout.Arm{{"", 10_000}}},
		"is none":      {Name: "r", Arms: []rollout.Arm{{"a", 11_000}, {"b", -1000}}},
		"1 to 16 arms": {Name: "r"},
		"needs a name": {Arms: []rollout.Arm{{"a", 10_000}}},
	} {
		if want == "name of" {
			want = "that of another"
		}
		if _, err := b.Open(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got error %v, want one with %q", o, err, want)
		}
	}
}

// TestPairs compares pairs of answers.
func TestPairs(t *testing.T) {
	t.Parallel()
	call := func(name, args string) []rollout.Call { return []rollout.Call{{Name: name, Arguments: args}} }
	var got rollout.PairTally
	for _, p := range []struct{ live, mirror rollout.Answer }{
		{rollout.Answer{Calls: call("f", `{"a": 1, "b": "é"}`), Took: time.Second, Input: 10}, rollout.Answer{Calls: call("f", `{"b":"\u00e9","a":1.0}`), Took: 3 * time.Second, Output: 5}},
		{rollout.Answer{Calls: call("f", `{"a":1}`)}, rollout.Answer{Calls: call("f", `{"a":2}`)}},
		{rollout.Answer{Calls: call("f", "")}, rollout.Answer{Calls: call("f", "{}")}},
		{rollout.Answer{Calls: call("f", "{}")}, rollout.Answer{Calls: call("g", "{}"), Broken: true}},
		{rollout.Answer{}, rollout.Answer{Ghost: true}},
		{rollout.Answer{}, rollout.Answer{Failed: true}},
		{rollout.Answer{Failed: true}, rollout.Answer{}},
	} {
		got.Add(p.live, p.mirror)
	}
	if got.Pairs != 5 || got.Failed != 1 || got.SameTools != 4 || got.SameArguments != 3 {
		t.Errorf("got %+v, want 5 pairs, 1 failed, 4 with the same tools, 3 with the same arguments", got)
	}
	if got.Live.Called != 4 || got.Mirror.Called != 4 || got.Live.Valid != 5 || got.Mirror.Valid != 3 || got.Mirror.Ghosts != 1 || got.Live.Took != 0.2 || got.Mirror.Took != 0.6 || got.Live.Input != 10 || got.Mirror.Output != 5 {
		t.Errorf("got sides %+v and %+v", got.Live, got.Mirror)
	}
}

// TestDiff names the kinds of differences.
func TestDiff(t *testing.T) {
	t.Parallel()
	read := func(text string, calls ...string) rollout.Reading {
		r := rollout.Reading{Text: text}
		for _, c := range calls {
			name, args, _ := strings.Cut(c, " ")
			r.Calls = append(r.Calls, rollout.Call{Name: name, Arguments: args})
		}
		return r
	}
	for _, tt := range []struct {
		live, other rollout.Reading
		want        string
	}{
		{read("hi", `f {"a":1}`), read("hi\n", `f { "a" : 1 }`), "same"},
		{read("", "f {}"), read("<call>f</call>"), "missing_call,other_text"},
		{read("<call>f</call>"), read("", "f {}"), "extra_call,other_text"},
		{read("", "f {}"), read("", "g {}"), "other_tool"},
		{read("", `f {"a":1}`), read("", `f {"a":"1"}`), "other_arguments"},
		{read("", "f {}"), rollout.Reading{Failed: true}, "failed"},
		{rollout.Reading{Reasoning: "so"}, rollout.Reading{}, "other_reasoning"},
	} {
		if got := strings.Join(rollout.Diff(tt.live, tt.other), ","); got != tt.want {
			t.Errorf("%+v and %+v: got %s, want %s", tt.live, tt.other, got, tt.want)
		}
	}
	_, r, _ := open(t, two(0))
	for i := range 100 {
		r.Diff([]string{"other_tool"}, rollout.Sample{Request: fmt.Sprint(i)})
		r.Diff([]string{"same"}, rollout.Sample{})
	}
	got := r.Snapshot().Diffs
	if got.Read != 200 || got.Kinds["other_tool"] != 100 || len(got.Samples) != 20 || got.Samples[19].Request != "99" {
		t.Errorf("got %d read, %v and %d samples, want 200, 100 and the latest 20", got.Read, got.Kinds, len(got.Samples))
	}
}

// TestTogether uses a rollout from many goroutines; the race detector looks on.
func TestTogether(t *testing.T) {
	t.Parallel()
	b := rollout.NewBook(nil, func(rollout.Event) {})
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 500 {
				r, err := b.Open(two(5000))
				if err != nil {
					t.Error(err)
					return
				}
				r.Record(r.Arm(fmt.Sprint(g, i)), rollout.Turn{Result: rollout.Result(i % 5)})
				if i%100 == 0 {
					r.Stop("new")
					r.Snapshot()
					r.Resume("")
				}
			}
		})
	}
	all.Wait()
}

// TestFailureWhileResumed holds that an arm which has its units again is not stopped by its old figures: one of
// its requests may fail at the same moment.
func TestFailureWhileResumed(t *testing.T) {
	t.Parallel()
	var r *rollout.Rollout
	b := rollout.NewBook(nil, func(e rollout.Event) {
		if e.Action == "resume" {
			r.Record(1, rollout.Turn{Result: rollout.Failed})
		}
	})
	r, err := b.Open(rollout.Options{Name: "r", Arms: []rollout.Arm{{Name: "old", Weight: 0}, {Name: "new", Weight: rollout.Buckets}}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		r.Record(0, rollout.Turn{Result: rollout.Clean})
		r.Record(1, rollout.Turn{Result: rollout.Failed})
	}
	if r.Arm("anybody") != 0 {
		t.Fatal("the arm is not stopped")
	}
	if !r.Resume("new") || r.Arm("anybody") != 1 {
		t.Error("the arm was stopped again by the figures before it was resumed")
	}
}
