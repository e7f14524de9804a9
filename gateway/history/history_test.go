package history_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/history"
)

// clock is one that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newHistory() (*history.History, *clock) {
	c := &clock{t: time.Date(2026, 3, 4, 15, 0, 30, 0, time.UTC)}
	return history.New(history.Options{Now: c.now, Models: []string{"qwen3", "gpt"}}), c
}

// record is a request that one target has answered well.
func record(change func(r *gateway.Record)) *gateway.Record {
	r := &gateway.Record{ID: "req_1", Route: "chat", Status: 200, Protocol: "chat", Took: 800 * time.Millisecond, Summary: &gateway.Summary{
		Origin: gateway.Origin{Provider: "local", Model: "qwen3", Mode: gateway.Repair}, Timing: gateway.Timing{FirstToken: 100 * time.Millisecond},
		Attempts: []gateway.Attempt{{Provider: "local", Model: "qwen3", Reason: gateway.First, Outcome: "ok", Took: 700 * time.Millisecond}},
	}}
	if change != nil {
		change(r)
	}
	return r
}

// TestJudgement holds what each sort of request counts as, in all and at its target.
func TestJudgement(t *testing.T) {
	t.Parallel()
	type want map[history.Count]uint64
	for name, c := range map[string]struct {
		change func(r *gateway.Record)
		want   want // beside Requests
		marks  history.Mark
	}{
		"clean": {nil, nil, 0},
		"failed": {func(r *gateway.Record) {
			r.Status, r.Code, r.Summary.Attempts[0].Outcome = 502, "upstream_error", "upstream_error"
		}, want{history.Failed: 1}, history.MarkFailed},
		"failed in its stream":           {func(r *gateway.Record) { r.Code = "upstream_cut" }, want{history.Failed: 1}, history.MarkFailed},
		"ended by the upstream's error":  {func(r *gateway.Record) { r.Summary.UpstreamError = true }, want{history.Failed: 1}, history.MarkFailed},
		"limited by the upstream":        {func(r *gateway.Record) { r.Status, r.Code = 429, "upstream_rate_limited" }, want{history.Failed: 1}, history.MarkFailed},
		"limited by the gateway":         {func(r *gateway.Record) { r.Status, r.Code, r.Summary = 429, "rate_limit_exceeded", nil }, want{history.Refused: 1}, 0},
		"without a key":                  {func(r *gateway.Record) { r.Status, r.Code, r.Summary = 401, "invalid_api_key", nil }, want{history.Refused: 1}, 0},
		"refused by the upstream":        {func(r *gateway.Record) { r.Status, r.Code = 400, "context_length_exceeded" }, want{history.Refused: 1}, history.MarkRefused},
		"left by the client":             {func(r *gateway.Record) { r.Status, r.Code = 499, "client_closed_request" }, want{history.Left: 1}, 0},
		"out of memory":                  {func(r *gateway.Record) { r.Status, r.Code, r.Summary = 503, "memory_spent", nil }, want{history.Failed: 1}, history.MarkFailed},
		"calls in the text are no fault": {func(r *gateway.Record) { r.Summary.Calls, r.Summary.Changed = 2, true }, want{history.TextCalls: 2}, 0},
		"repaired": {func(r *gateway.Record) {
			r.Summary.Changed, r.Summary.Native = true, 1
			r.Summary.Repairs, r.Summary.Faults = map[string]int{"args_json": 1}, map[string]int{"invalid_json": 1}
		}, want{history.Repaired: 1, history.Faulted: 1, history.NativeCalls: 1}, history.MarkRepaired},
		"only reported": {func(r *gateway.Record) {
			r.Summary.Mode, r.Summary.Repairs, r.Summary.Faults = gateway.Report, map[string]int{"args_json": 1}, map[string]int{"invalid_json": 1}
			r.Summary.Warnings = []string{"invalid_json"}
		}, want{history.Faulted: 1, history.Broken: 1}, history.MarkBroken},
		"not repairable": {func(r *gateway.Record) {
			r.Summary.Faults, r.Summary.Warnings = map[string]int{"schema_mismatch": 1}, []string{"schema_mismatch"}
		}, want{history.Faulted: 1, history.Broken: 1}, history.MarkBroken},
		"rejected call": {func(r *gateway.Record) {
			r.Status, r.Code, r.Summary.Faults = 502, "invalid_tool_call", map[string]int{"schema_mismatch": 1}
		}, want{history.Failed: 1, history.Faulted: 1, history.Broken: 1}, history.MarkFailed | history.MarkBroken},
		"bad JSON": {func(r *gateway.Record) {
			r.Summary.Structured, r.Summary.Faults = &gateway.Structured{Result: gateway.StructuredInvalid}, map[string]int{"answer_schema": 1}
		}, want{history.Faulted: 1, history.Broken: 1}, history.MarkBroken},
		"ghost": {func(r *gateway.Record) { r.Summary.Guard = &gateway.Verdict{Ghost: true} },
			want{history.Ghosts: 1, history.GhostsPassed: 1, history.Faulted: 1}, history.MarkGhost},
		"ghost that was put right": {func(r *gateway.Record) {
			r.Summary.Guard = &gateway.Verdict{}
			r.Summary.Corrections = []gateway.Correction{{Tool: "delete", Reason: "tool_not_triggered", Verdict: &gateway.Verdict{Ghost: true}}}
			r.Summary.Attempts = append(r.Summary.Attempts, gateway.Attempt{Provider: "local", Model: "qwen3", Reason: gateway.Forced, Outcome: "ok"})
			r.Summary.Attempts[0].Outcome = "tool_not_triggered"
		}, want{history.Ghosts: 1, history.Faulted: 1, history.Reasked: 1}, history.MarkReask},
		"refused ghost": {func(r *gateway.Record) { r.Status, r.Code = 502, "tool_not_triggered" }, want{history.Failed: 1, history.Ghosts: 1, history.Faulted: 1}, history.MarkFailed},
		"out of the cache": {func(r *gateway.Record) {
			r.Summary.AnswerCache, r.Summary.Attempts, r.Summary.Repairs, r.Summary.Changed = gateway.AnswerHit, nil, map[string]int{"args_json": 1}, true
		}, want{history.Replayed: 1}, 0},
		"a field left out": {func(r *gateway.Record) {
			r.Summary.Warnings = []string{"dropped:tools.cache_control", "clamped:temperature", "more"}
		}, nil, 0},
		"odd": {func(r *gateway.Record) { r.Summary.Warnings = []string{"done_missing"} }, nil, history.MarkWarning},
		"tool fails": {func(r *gateway.Record) {
			r.Summary.ToolRun = &gateway.ToolRun{Calls: []gateway.ToolCall{{Outcome: "timeout"}}}
		}, nil, history.MarkTool},
		"tokens": {func(r *gateway.Record) {
			r.Summary.Usage = gateway.Usage{Reported: true, Input: 100, CacheRead: 60, Output: 9}
		},
			want{history.Input: 100, history.Cached: 60, history.Output: 9}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, _ := newHistory()
			h.Request(record(c.change), history.Money{})
			for _, w := range []history.Window{history.Hour, history.Day, history.Week, history.Last(5)} {
				got := h.Read(w).Total
				var want history.Counts
				want[history.Requests] = 1
				for n, v := range c.want {
					want[n] = v
				}
				if got.Counts != want || got.Points[w.Steps-1].Counts != want {
					t.Errorf("%s: got %v, want %v", w.Name, got.Counts, want)
				}
			}
			switch last := h.Last(); {
			case c.marks == 0 && len(last) > 0, c.marks != 0 && (len(last) != 1 || last[0].Marks != c.marks):
				t.Errorf("got %d entries, want the marks %b: %+v", len(last), c.marks, last)
			}
		})
	}
}

// TestTargets holds that a failure is counted at the target that failed, and not at the one that
// answered, and that no client names a target.
func TestTargets(t *testing.T) {
	t.Parallel()
	h, _ := newHistory()
	h.Request(record(func(r *gateway.Record) {
		r.Summary.Provider, r.Summary.Model = "openai", "gpt"
		r.Summary.Attempts = []gateway.Attempt{
			{Provider: "local", Model: "qwen3", Reason: gateway.First, Outcome: "upstream_timeout"},
			{Provider: "local", Model: "qwen3", Reason: gateway.Retry, Outcome: "upstream_error"},
			{Provider: "spare", Model: "qwen3", Reason: gateway.Fallback, Outcome: "circuit_open"},
			{Provider: "openai", Model: "gpt", Reason: gateway.Fallback, Outcome: "ok"},
		}
	}), history.Money{})
	h.Request(record(func(r *gateway.Record) {
		r.Route, r.Summary.Model, r.Summary.Attempts[0].Model = "local/*", "what a client writes", "what a client writes"
	}), history.Money{})
	r := h.Read(history.Hour)
	var got []string
	for _, x := range r.Targets {
		got = append(got, fmt.Sprintf("%s/%s asked %d failed %d retried %d fell back %d", x.Provider, x.Model, x.Counts[history.Requests], x.Counts[history.Failed],
			x.Counts[history.Retried], x.Counts[history.FellBack]))
	}
	want := []string{"local/local/* asked 1 failed 0 retried 0 fell back 0", "local/qwen3 asked 2 failed 2 retried 1 fell back 0", "openai/gpt asked 1 failed 0 retried 0 fell back 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := fmt.Sprint(r.Of(history.Outcome), r.Of(history.Failure)); got != "[{upstream_error 1} {upstream_timeout 1}] []" {
		t.Errorf("got the outcomes %s", got)
	}
	if c := r.Total.Counts; c[history.Requests] != 2 || c[history.Failed] != 0 || c[history.Retried] != 1 || c[history.FellBack] != 2 {
		t.Errorf("got %v in all", c)
	}
}

// TestWindows holds that what is older than a window is not in it, also after a pause of weeks and
// after the clock was set back.
func TestWindows(t *testing.T) {
	t.Parallel()
	h, c := newHistory()
	one := func() {
		h.Request(record(func(r *gateway.Record) { r.Status, r.Code = 502, "upstream_error" }), history.Money{Currency: "USD", Spent: 0.5, SavedPrompts: 0.25})
	}
	check := func(when string, hour, day, week uint64) {
		t.Helper()
		for _, x := range []struct {
			w    history.Window
			want uint64
		}{{history.Hour, hour}, {history.Day, day}, {history.Week, week}} {
			r := h.Read(x.w)
			var points uint64
			for _, p := range r.Total.Points {
				points += p.Counts[history.Requests]
			}
			kinds, money := uint64(0), 0.0
			for _, k := range r.Of(history.Failure) {
				kinds += k.Count
			}
			for _, m := range r.Money {
				money += m.Spent
			}
			if got := r.Total.Counts[history.Requests]; got != x.want || points != x.want || kinds != x.want || money != float64(x.want)/2 {
				t.Errorf("%s: %s: got %d requests, %d in steps, %d failures and $%v, want %d of each", when, x.w.Name, got, points, kinds, money, x.want)
			}
		}
	}
	one()
	check("at once", 1, 1, 1)
	c.pass(59 * time.Minute)
	one()
	check("within the hour", 2, 2, 2)
	c.pass(2 * time.Minute)
	check("behind the hour", 1, 2, 2)
	c.pass(23 * time.Hour)
	one()
	check("behind the day", 1, 2, 3)
	c.pass(-30 * time.Minute)
	one()
	check("the clock was set back", 1, 2, 3) // what is of the future is not there yet
	c.pass(30 * time.Minute)
	check("and has come again", 2, 3, 4)
	c.pass(7 * 24 * time.Hour)
	check("behind the week", 0, 0, 0)
	c.pass(100 * 24 * time.Hour)
	one()
	check("behind a pause", 1, 1, 1)
}

// TestTimes holds that percentiles are right to a third, over the whole range.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, scale := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Second, time.Minute} {
		h, _ := newHistory()
		random := rand.New(rand.NewPCG(1, uint64(scale)))
		var all []time.Duration
		for range 2000 {
			d := time.Duration((1 + random.ExpFloat64()) * float64(scale))
			all = append(all, d)
			h.Request(record(func(r *gateway.Record) { r.Took, r.Summary.FirstToken = d, d }), history.Money{})
		}
		slices.Sort(all)
		got := h.Read(history.Day).Total
		for _, x := range []struct{ got, want time.Duration }{{got.Took.P50, all[1000]}, {got.First.P95, all[1900]}} {
			if ratio := float64(x.got) / float64(x.want); ratio < 0.75 || ratio > 1.34 {
				t.Errorf("%v: got %v, want about %v", scale, x.got, x.want)
			}
		}
	}
	h, _ := newHistory()
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Hour * 1e5} {
		h.Request(record(func(r *gateway.Record) { r.Took, r.Summary.FirstToken = d, d }), history.Money{})
	}
	if got := h.Read(history.Day).Total.Took; got.P50 <= 0 || got.P95 > time.Hour {
		t.Errorf("got %v of odd times", got)
	}
}

// TestLast holds that there are 200 at most, the newest first, and that a flood of small things does
// not wash away what failed.
func TestLast(t *testing.T) {
	t.Parallel()
	h, _ := newHistory()
	for i := range 60 {
		h.Request(record(func(r *gateway.Record) { r.ID, r.Status, r.Code = fmt.Sprintf("bad_%d", i), 502, "upstream_error" }), history.Money{})
	}
	for i := range 1000 {
		h.Request(record(func(r *gateway.Record) {
			r.ID, r.Summary.Warnings = fmt.Sprintf("odd_%d", i%900), []string{"done_missing"}
		}), history.Money{})
	}
	last := h.Last()
	if len(last) != 250 || last[0].ID != "odd_99" || last[199].ID != "odd_800" || last[200].ID != "bad_59" || last[249].ID != "bad_10" {
		t.Errorf("got %d from %s over %s to %s", len(last), last[0].ID, last[200].ID, last[len(last)-1].ID)
	}
	if e := h.Find("bad_20", 0); e == nil || e.Code != "upstream_error" {
		t.Errorf("got %+v, want what failed", e)
	}
	if e := h.Find("odd_50", last[49].Seq); e == nil || e.Seq != last[49].Seq {
		t.Errorf("got %+v, want the entry of that number", e)
	}
	if e := h.Find("bad_1", 0); e != nil {
		t.Errorf("got %+v, want nothing so old", e)
	}
}

// TestBounded holds that names without an end, and without a bound to their number, take less than 20
// MB, and that a name that is a part of a large text does not keep it.
func TestBounded(t *testing.T) {
	h, c := newHistory()
	before := heap()
	long := func(i int) string {
		return fmt.Sprintf("%d", i) + strings.Repeat("\xffé", 200_000)
	}
	for i := range 400 {
		name := long(i)
		r := record(func(r *gateway.Record) {
			r.ID, r.Route, r.Tenant, r.Code, r.Status = name, "", name, name, 502
			r.Summary.Provider, r.Summary.Model = name, name
			r.Summary.Attempts = nil
			for range 40 {
				r.Summary.Attempts = append(r.Summary.Attempts, gateway.Attempt{Provider: name, Model: name, Outcome: name, Reason: gateway.Retry})
				r.Summary.Corrections = append(r.Summary.Corrections, gateway.Correction{Tool: name, Reason: name})
			}
			r.Summary.Repairs, r.Summary.Faults, r.Summary.Changed = map[string]int{name: 1}, map[string]int{name: -1}, true
			for k := range 30 {
				r.Summary.Warnings = append(r.Summary.Warnings, fmt.Sprintf("w%d_%d:", i, k)+name)
			}
			r.Summary.ToolRun = &gateway.ToolRun{Calls: slices.Repeat([]gateway.ToolCall{{Server: name, Tool: name, Outcome: name}}, 30)}
			r.Summary.Structured = &gateway.Structured{Path: name, Class: name, Message: name}
			r.Summary.Guard = &gateway.Verdict{Ghost: true, Tool: name}
		})
		h.Request(r, history.Money{Currency: name, Spent: 1})
		c.pass(time.Minute)
	}
	if used := heap() - before; used > 20<<20 {
		t.Errorf("got %d MB, want less than 20", used>>20)
	} else {
		t.Logf("%.1f MB at most", float64(used)/(1<<20))
	}
	r := h.Read(history.Week)
	if len(r.Targets) > 64 || len(r.Of(history.Warning)) > 64 || len(r.Money) > 4 || len(h.Last()) > 250 {
		t.Errorf("got %d targets, %d kinds, %d currencies, %d entries", len(r.Targets), len(r.Of(history.Warning)), len(r.Money), len(h.Last()))
	}
	if first := r.Of(history.Failure)[0]; first.Name != "other" || first.Count != 400-63 {
		t.Errorf("got %v, want what is too much as others", first)
	}
	runtime.KeepAlive(h)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestAllocations holds that a clean request leaves nothing behind.
func TestAllocations(t *testing.T) {
	h, c := newHistory()
	r := record(nil)
	h.Request(r, history.Money{Currency: "USD", Spent: 1})
	if n := testing.AllocsPerRun(1000, func() { h.Request(r, history.Money{Currency: "USD", Spent: 1}); c.pass(time.Second) }); n != 0 {
		t.Errorf("got %v allocations for a clean request, want none", n)
	}
}

// TestTogether lets many write and read at once, for the race detector.
func TestTogether(t *testing.T) {
	t.Parallel()
	h, c := newHistory()
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 200 {
				h.Request(record(func(r *gateway.Record) { r.ID, r.Code, r.Status = fmt.Sprint(i), "upstream_error", 502 }), history.Money{})
				h.Spend(history.Money{Currency: "EUR", Spent: 1})
				c.pass(time.Second)
				h.Read(history.Day)
				h.Last()
			}
		})
	}
	all.Wait()
	if got := h.Read(history.Week); got.Total.Counts[history.Requests] != 800 || got.Money[0].Spent != 800 {
		t.Errorf("got %v and %v", got.Total.Counts, got.Money)
	}
}

func BenchmarkRequest(b *testing.B) {
	for name, change := range map[string]func(r *gateway.Record){
		"clean": nil,
		"repaired": func(r *gateway.Record) {
			r.Summary.Changed, r.Summary.Parsers = true, []string{"hermes"}
			r.Summary.Repairs, r.Summary.Faults = map[string]int{"args_json": 1, "name": 1}, map[string]int{"invalid_json": 1, "unknown_name": 1}
		},
	} {
		b.Run(name, func(b *testing.B) {
			h := history.New(history.Options{Models: []string{"qwen3"}})
			r := record(change)
			b.ReportAllocs()
			for b.Loop() {
				h.Request(r, history.Money{Currency: "USD", Spent: 0.01})
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	h := history.New(history.Options{})
	for i := range 60 {
		h.Request(record(func(r *gateway.Record) { r.Route, r.Summary.Attempts[0].Model = "", fmt.Sprint(i) }), history.Money{})
	}
	for b.Loop() {
		h.Read(history.Week)
	}
}
