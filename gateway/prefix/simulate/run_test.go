package simulate_test

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/prefix/simulate"
)

func readTrace(t *testing.T, name string) simulate.Trace {
	t.Helper()
	f, err := os.Open("../testdata/mooncake_" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	trace, err := simulate.ReadTrace(f)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func run(t *testing.T, trace simulate.Trace, o simulate.Options) simulate.Result {
	t.Helper()
	r, err := simulate.Run(trace, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != len(trace) {
		t.Errorf("got %d requests answered, want %d", r.Requests, len(trace))
	}
	return r
}

// goal is what a run must reach, in percent of blocks for hit.
type goal struct {
	name      string
	options   simulate.Options
	hit       [2]float64 // conversation, synthetic
	imbalance float64    // 0: any
}

// goals of routing with eight targets and at most 10,000 entries for each. One cache for
// all would have 36.6 and 64.0 %, with the shared prompt 52.5 and 71.4.
func goals() []goal {
	shared, second := 4096, time.Second
	death := &simulate.Failure{Dies: 0.4, Returns: 0.5}
	return []goal{
		{"plain", simulate.Options{}, [2]float64{36.0, 63.5}, 1.15},
		{"shared prompt", simulate.Options{Shared: shared}, [2]float64{52.0, 71.0}, 1.15},
		{"8 gateways", simulate.Options{Gateways: 8, Sync: second}, [2]float64{36.0, 63.5}, 1.15},
		{"8 gateways, shared prompt", simulate.Options{Gateways: 8, Sync: second, Shared: shared}, [2]float64{52.0, 71.0}, 1.15},
		{"8 gateways that do not talk", simulate.Options{Gateways: 8}, [2]float64{35.5, 63.5}, 1.15},
		{"a target dies", simulate.Options{Failure: death}, [2]float64{36.0, 62.5}, 0},
		{"a target dies, 8 gateways", simulate.Options{Failure: death, Gateways: 8, Sync: second}, [2]float64{36.0, 62.5}, 0},
		{"a target loses its cache unseen", simulate.Options{Failure: &simulate.Failure{Dies: 0.4, Unnoticed: true}}, [2]float64{36.0, 62.5}, 0},
	}
}

// TestGoals replays the whole traces. With -v it prints the table, beside the policies to
// compare with.
func TestGoals(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"conversation", "synthetic"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trace := readTrace(t, name)
			var rows []row
			for _, g := range goals() {
				r := run(t, trace, g.options)
				rows = append(rows, row{Name: g.name, Result: r})
				if got := 100 * r.HitRate(); got < g.hit[i] {
					t.Errorf("%s: got %.2f %% of blocks, want at least %.1f", g.name, got, g.hit[i])
				}
				if got := r.Imbalance(); g.imbalance > 0 && got > g.imbalance {
					t.Errorf("%s: got the imbalance %.2f, want at most %.2f", g.name, got, g.imbalance)
				}
				if want := 10_000; r.Entries > want {
					t.Errorf("%s: got %d entries, want at most %d", g.name, r.Entries, want)
				}
			}
			for _, p := range simulate.Policies()[:3] {
				rows = append(rows, row{Name: "to compare", Result: run(t, trace, simulate.Options{Policy: p})},
					row{Name: "to compare, shared prompt", Result: run(t, trace, simulate.Options{Policy: p, Shared: 4096})})
			}
			var b strings.Builder
			if err := writeTable(&b, rows); err != nil {
				t.Fatal(err)
			}
			t.Logf("\n%s", b.String())
		})
	}
}

// TestModel holds the model of upstreams against figures that do not depend on routing:
// one cache for all, and one that forgets after five minutes.
func TestModel(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"conversation", "synthetic"} {
		trace := readTrace(t, name)
		for _, tt := range []struct {
			name    string
			options simulate.Options
			want    [2]float64
		}{
			{"one cache", simulate.Options{Targets: 1}, [2]float64{36.6, 64.0}},
			{"one cache, idle 5 min", simulate.Options{Targets: 1, Idle: 5 * time.Minute}, [2]float64{28.8, 58.4}},
			{"one cache, shared prompt", simulate.Options{Targets: 1, Shared: 4096}, [2]float64{52.5, 71.4}},
		} {
			got := 100 * run(t, trace, tt.options).HitRate()
			if want := tt.want[i]; got < want-0.05 || got > want+0.05 {
				t.Errorf("%s, %s: got %.2f %% of blocks, want %.1f", name, tt.name, got, want)
			}
		}
		// Random routing is the floor, and plain affinity sends all to one.
		if got := run(t, trace, simulate.Options{Policy: simulate.Random}).HitRate(); got > 0.24 {
			t.Errorf("%s: got %.3f by chance, want at most 0.24", name, got)
		}
		if got := run(t, trace, simulate.Options{Policy: simulate.Longest, Shared: 4096}).Imbalance(); got != 8 {
			t.Errorf("%s: got the imbalance %.2f of plain affinity, want 8", name, got)
		}
	}
}

// TestDeath: while a target is dead nothing is lost and nothing goes there.
func TestDeath(t *testing.T) {
	t.Parallel()
	trace := readTrace(t, "conversation")
	r := run(t, trace, simulate.Options{Failure: &simulate.Failure{Dies: 0, Returns: 1}})
	if r.Served[0] != 0 {
		t.Errorf("got %d requests at a target that is dead all the time, want 0", r.Served[0])
	}
	r = run(t, trace, simulate.Options{Failure: &simulate.Failure{Dies: 0.5, Returns: 0.5}})
	if r.Resent == 0 || r.Resent > 100 {
		t.Errorf("got %d requests sent again, want those that ran", r.Resent)
	}
}

// TestLongPause: a trace may pause for years, and exchanges each second cost nothing.
func TestLongPause(t *testing.T) {
	t.Parallel()
	trace := simulate.Trace{
		{Input: 5120, Output: 10, Blocks: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{Timestamp: 300_000_000_000, Input: 5120, Output: 10, Blocks: []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
	}
	r := run(t, trace, simulate.Options{Gateways: 5, Sync: time.Second, Entries: 1 << 40})
	if got, want := r.Hits, 10; got != want {
		t.Errorf("got %d blocks, want %d", got, want)
	}
}

// TestRunProperties draws small traces and options.
func TestRunProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		trace := drawTrace(t)
		o := simulate.Options{
			Policy:  rapid.SampledFrom(simulate.Policies()).Draw(t, "policy"),
			Targets: rapid.IntRange(2, 5).Draw(t, "targets"), Gateways: rapid.IntRange(1, 4).Draw(t, "gateways"),
			Sync: time.Duration(rapid.IntRange(0, 3).Draw(t, "sync")) * time.Second, Entries: rapid.IntRange(1, 50).Draw(t, "entries"),
			Shared: 512 * rapid.IntRange(0, 3).Draw(t, "shared"),
			Seed:   rapid.Uint64().Draw(t, "seed"),
		}
		if rapid.Bool().Draw(t, "fails") {
			dies := rapid.Float64Range(0, 1).Draw(t, "dies")
			o.Failure = &simulate.Failure{Dies: dies, Returns: rapid.Float64Range(dies, 1).Draw(t, "returns"), Unnoticed: rapid.Bool().Draw(t, "unnoticed")}
		}
		r, err := simulate.Run(trace, o)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := simulate.Run(trace, o)
		if !reflect.DeepEqual(r, again) {
			t.Fatalf("got %+v and then %+v, want the same", r, again)
		}
		served, blocks := 0, 0
		for _, n := range r.Served {
			served += n
		}
		for _, q := range trace {
			blocks += len(q.Blocks) + o.Shared/512
		}
		if r.Requests != len(trace) || served != len(trace) || r.Blocks != blocks {
			t.Fatalf("got %d requests, %d served, %d blocks, want %d, %d, %d", r.Requests, served, r.Blocks, len(trace), len(trace), blocks)
		}
		if r.Hits > r.Blocks || r.Expected > r.Blocks || r.Entries > o.Entries {
			t.Fatalf("got %+v, want no more hits than blocks and at most %d entries", r, o.Entries)
		}
	})
}

func drawTrace(t *rapid.T) (trace simulate.Trace) {
	at := int64(0)
	for range rapid.IntRange(0, 40).Draw(t, "requests") {
		at += int64(rapid.IntRange(0, 3000).Draw(t, "pause"))
		blocks := make([]int64, rapid.IntRange(0, 8).Draw(t, "blocks"))
		for i := range blocks {
			blocks[i] = int64(10*rapid.IntRange(0, 2).Draw(t, "kind") + i)
		}
		trace = append(trace, simulate.Request{
			Timestamp: at, Input: 512 * len(blocks), Output: rapid.IntRange(0, 200).Draw(t, "output"), Blocks: blocks,
		})
	}
	return trace
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options simulate.Options
		want    string
	}{
		{"targets", simulate.Options{Targets: -1}, "targets: -1 is not between 1 and 1024"},
		{"gateways", simulate.Options{Gateways: 2000}, "gateways: 2000 is not between 1 and 1024"},
		{"block", simulate.Options{BlockTokens: -1}, "block tokens: -1 is not above 0"},
		{"shared", simulate.Options{Shared: 1000}, "shared: 1000 tokens are not a whole number of blocks of 512"},
		{"shared too long", simulate.Options{Shared: 512 << 20}, "shared: 536870912 tokens are more than 2048 blocks of 512"},
		{"no number", simulate.Options{Failure: &simulate.Failure{Dies: math.NaN()}}, "failure: 0 ≤ dies NaN ≤ returns 0 ≤ 1 does not hold"},
		{"negative", simulate.Options{Entries: -1}, "entries and shared tokens must not be negative"},
		{"times", simulate.Options{Sync: -1}, "sync and idle must not be negative"},
		{"policy", simulate.Options{Policy: "best"}, `policy: "best" is unknown`},
		{"order", simulate.Options{Failure: &simulate.Failure{Dies: 0.5, Returns: 0.4}}, "failure: 0 ≤ dies 0.5 ≤ returns 0.4 ≤ 1 does not hold"},
		{"only one", simulate.Options{Targets: 1, Failure: &simulate.Failure{}}, "failure: the only target cannot die"},
	} {
		if _, err := simulate.Run(nil, tt.options); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	r, err := simulate.Run(nil, simulate.Options{})
	if err != nil || r.HitRate() != 0 || r.Imbalance() != 0 {
		t.Errorf("got %+v, %v of an empty trace, want zeros", r, err)
	}
	var b bytes.Buffer
	if err := writeTable(&b, []row{{Name: "nothing", Result: r}}); err != nil || !strings.Contains(b.String(), "nothing    cost    0.0") {
		t.Errorf("got %q, %v, want a row", b.String(), err)
	}
}
