// Package billingtest holds every [billing.Ledger] to one contract.
package billingtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/billing"
)

// Opener opens an empty ledger with room for everything, which ends with the test.
type Opener func(t testing.TB) billing.Ledger

// Run runs the contract's tests.
func Run(t *testing.T, open Opener) {
	for name, test := range map[string]func(*testing.T, billing.Ledger){
		"once": testOnce, "whole": testWhole, "pages": testPages, "sums": testSums, "sum pages": testSumPages, "filters": testFilters,
		"sweep": testSweep, "late": testLate, "odd": testOdd, "empty": testEmpty, "cursors": testCursors, "together": testTogether, "large": testLarge,
		"borders": testBorders, "long": testLong, "names": testNames, "most": testMost, "written meanwhile": testWrittenMeanwhile,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// Start is when the rows of tests begin.
var Start = time.Date(2026, 10, 31, 21, 30, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// Rows makes rows over some days, the same for the same seed.
func Rows(seed uint64, n int) []billing.Row {
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	out := make([]billing.Row, n)
	for i := range out {
		row := billing.Row{ID: fmt.Sprintf("%d-%d", seed, i), Request: fmt.Sprintf("req-%d-%d", seed, i/3), Time: Start.Add(time.Duration(r.IntN(72*3600*1000)) * time.Millisecond),
			Key: pick("ci", "app", "Zoë", ""), Team: pick("red", "blue", ""), Session: pick("", "s-1", "s-2"), Model: pick("fast", "big"), Provider: pick("main", "azure"),
			Served: pick("gpt-4o", "org/model"), Arm: pick("", "try/b"), Purpose: pick("answer", "reask"), Input: int64(r.IntN(100_000)), Output: int64(r.IntN(4000)),
			Priced: r.IntN(5) > 0, Estimated: r.IntN(7) == 0, Tools: r.IntN(4), Status: pick("ok", "ok", "canceled"), Took: time.Duration(r.IntN(9000)) * time.Millisecond}
		row.Cached, row.CacheWrite, row.Reasoning = row.Input/2, row.Input/4, row.Output/3
		if row.Priced {
			row.Nano, row.PriceVersion = r.Int64N(1<<40), pick("v1", "v2")
		}
		if r.IntN(3) > 0 {
			row.Labels = map[string]string{"cost.center": pick("a", "b"), `quo"te`: "x"}
		}
		out[i] = row
	}
	return out
}

func put(t testing.TB, l billing.Ledger, rows []billing.Row) (all billing.Result) {
	t.Helper()
	for some := range slices.Chunk(rows, billing.PutMost) {
		res, err := l.Put(t.Context(), some)
		if err != nil {
			t.Fatal(err)
		}
		all.Added, all.Known, all.Late = all.Added+res.Added, all.Known+res.Known, all.Late+res.Late
	}
	return all
}

// sorted are rows in the order of ledgers.
func sorted(rows []billing.Row) []billing.Row {
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b billing.Row) int {
		if c := a.Time.Compare(b.Time); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return rows
}

// all reads all rows, a few at a time.
func all(t testing.TB, l billing.Ledger, f billing.Filter, limit int) (out []billing.Row) {
	t.Helper()
	p := billing.Page{Limit: limit}
	for {
		page, err := l.Rows(t.Context(), f, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Rows...)
		if page.Next == nil {
			return out
		}
		if len(page.Rows) != limit {
			t.Fatalf("got %d rows in a page that is not the last, want %d", len(page.Rows), limit)
		}
		p.After = page.Next
	}
}

func allSums(t testing.TB, l billing.Ledger, f billing.Filter, by []billing.Dimension, limit int) (out []billing.Sum) {
	t.Helper()
	p := billing.Page{Limit: limit}
	for {
		page, err := l.Sums(t.Context(), f, by, p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page.Sums...)
		if page.Next == nil {
			return out
		}
		p.After = page.Next
	}
}

func same(t testing.TB, what string, got, want any) {
	t.Helper()
	if g, w := reflect.ValueOf(got), reflect.ValueOf(want); g.Kind() == reflect.Slice && g.Len() == 0 && w.Len() == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %.1500s, want %.1500s", what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
}

// added sums rows up as the contract says.
func added(rows []billing.Row, f func(*billing.Row) bool, by []billing.Dimension) (out []billing.Sum) {
	groups := map[string]*billing.Sum{}
	for i := range rows {
		r := &rows[i]
		if f != nil && !f(r) {
			continue
		}
		var group []string
		for _, d := range by {
			group = append(group, r.Value(d))
		}
		name := strings.Join(group, "\x00")
		if groups[name] == nil {
			groups[name] = &billing.Sum{Group: group}
			if len(by) == 0 {
				groups[name].Group = []string{}
			}
		}
		groups[name].Add(r)
	}
	for _, s := range groups {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b billing.Sum) int { return slices.Compare(a.Group, b.Group) })
	return out
}

// testOnce holds that a row counts once, however often it comes.
func testOnce(t *testing.T, l billing.Ledger) {
	rows := Rows(1, 40)
	same(t, "first", put(t, l, rows), billing.Result{Added: 40})
	same(t, "again", put(t, l, rows), billing.Result{Known: 40})
	other := rows[0]
	other.Nano += 5
	same(t, "changed", put(t, l, []billing.Row{other}), billing.Result{Known: 1})
	more := Rows(2, 3)
	same(t, "twice in one", put(t, l, []billing.Row{more[0], rows[3], more[0], more[1]}), billing.Result{Added: 2, Known: 2})
	same(t, "rows", all(t, l, billing.Filter{}, 7), sorted(append(rows, more[0], more[1])))
	same(t, "sum", allSums(t, l, billing.Filter{}, nil, 1), added(append(rows, more[0], more[1]), nil, nil))
	if _, err := l.Put(t.Context(), Rows(3, billing.PutMost+1)); err == nil {
		t.Error("a ledger takes more rows at once than it says")
	}
}

// testWhole holds that rows come back as they were put.
func testWhole(t *testing.T, l billing.Ledger) {
	rows := Rows(4, 300)
	put(t, l, rows)
	same(t, "rows", all(t, l, billing.Filter{}, 1000), sorted(rows))
}

// testPages holds that pages of any size have all rows, each once, though others come meanwhile.
func testPages(t *testing.T, l billing.Ledger) {
	rows := Rows(5, 60)
	for i := range rows {
		rows[i].Time = Start.Add(time.Duration(i/7) * time.Millisecond)
	}
	put(t, l, rows)
	for _, limit := range []int{1, 2, 7, 13, 59, 60, 61} {
		same(t, fmt.Sprint("pages of ", limit), all(t, l, billing.Filter{}, limit), sorted(rows))
	}
}

// groupings are dimensions that hours know, and others.
var groupings = [][]billing.Dimension{ //nolint:gochecknoglobals // a table
	{}, {billing.ByKey}, {billing.ByTeam, billing.ByModel}, {billing.ByHour}, {billing.ByDay, billing.ByTeam}, {billing.ByMonth},
	{billing.LabelDimension("cost.center")}, {billing.LabelDimension(`quo"te`), billing.ByArm}, {billing.LabelDimension("nobody's")},
	{billing.ByProvider, billing.ByServed, billing.ByArm, billing.ByPurpose, billing.ByKey, billing.ByTeam, billing.ByModel},
	{billing.BySession}, {billing.BySession, billing.ByDay, billing.LabelDimension("cost.center")}, {billing.ByRequest}, {billing.ByStatus, billing.ByVersion},
}

// testSums holds that sums are those of the rows, from hours and from rows.
func testSums(t *testing.T, l billing.Ledger) {
	rows := Rows(6, 900)
	put(t, l, rows)
	for _, by := range groupings {
		for _, f := range []billing.Filter{{}, {From: Start.Add(29*time.Hour + 30*time.Minute), To: Start.Add(60*time.Hour + 30*time.Minute)}, {From: Start.Add(29 * time.Hour), To: Start.Add(50*time.Hour + 7*time.Millisecond)}} {
			in := func(r *billing.Row) bool {
				return (f.From.IsZero() || !r.Time.Before(f.From)) && (f.To.IsZero() || r.Time.Before(f.To))
			}
			same(t, fmt.Sprintf("by %v from %v", by, f.From), allSums(t, l, f, by, 1000), added(rows, in, by))
		}
	}
}

func testSumPages(t *testing.T, l billing.Ledger) {
	rows := Rows(7, 200)
	put(t, l, rows)
	for _, by := range groupings {
		for _, limit := range []int{1, 3, 50} {
			same(t, fmt.Sprintf("by %v, pages of %d", by, limit), allSums(t, l, billing.Filter{}, by, limit), added(rows, nil, by))
		}
	}
}

// testFilters holds what conditions mean, for rows and for sums.
func testFilters(t *testing.T, l billing.Ledger) {
	rows := Rows(8, 400)
	put(t, l, rows)
	for _, where := range [][]billing.Condition{
		{{Dimension: billing.ByKey, Values: []string{"ci"}}}, {{Dimension: billing.ByKey, Values: []string{"ci", "Zoë"}}, {Dimension: billing.ByTeam, Values: []string{""}}}, {{Dimension: billing.BySession, Values: []string{"s-1"}}},
		{{Dimension: billing.ByModel, Values: []string{"fast"}}, {Dimension: billing.ByProvider, Values: []string{"main"}}, {Dimension: billing.LabelDimension("cost.center"), Values: []string{"a", ""}}},
		{{Dimension: billing.LabelDimension(`quo"te`), Values: []string{"x"}}}, {{Dimension: billing.ByStatus, Values: []string{"canceled"}}}, {{Dimension: billing.ByRequest, Values: []string{"req-8-3"}}},
		{{Dimension: billing.ByTeam, Values: []string{"nobody's"}}}, {{Dimension: billing.ByTeam, Values: nil}}, {{Dimension: billing.ByTeam, Values: []string{"' OR 1=1 --"}}}, {{Dimension: billing.LabelDimension("' OR '1'='1"), Values: []string{"a"}}},
	} {
		f := billing.Filter{Where: where}
		holds := func(r *billing.Row) bool {
			for _, c := range where {
				if !slices.Contains(c.Values, r.Value(c.Dimension)) {
					return false
				}
			}
			return true
		}
		var want []billing.Row
		for _, r := range sorted(rows) {
			if holds(&r) {
				want = append(want, r)
			}
		}
		same(t, fmt.Sprintf("rows with %v", where), all(t, l, f, 33), want)
		for _, by := range groupings[:6] {
			same(t, fmt.Sprintf("sums with %v by %v", where, by), allSums(t, l, f, by, 40), added(rows, holds, by))
		}
	}
}

// testSweep holds that a sweep takes rows, and no sum of hours.
func testSweep(t *testing.T, l billing.Ledger) {
	rows := Rows(9, 3000)
	put(t, l, rows)
	limit := Start.Add(30*time.Hour + 123*time.Millisecond)
	kept := slices.DeleteFunc(sorted(rows), func(r billing.Row) bool { return r.Time.Before(limit) })
	if n, err := l.Sweep(t.Context(), limit); err != nil || n != len(rows)-len(kept) {
		t.Errorf("got %d swept, error %v, want %d", n, err, len(rows)-len(kept))
	}
	same(t, "rows", all(t, l, billing.Filter{}, 1000), kept)
	by := []billing.Dimension{billing.ByTeam, billing.ByDay}
	same(t, "hours", allSums(t, l, billing.Filter{}, by, 1000), added(rows, nil, by))
	bySession := []billing.Dimension{billing.BySession}
	same(t, "sessions", allSums(t, l, billing.Filter{}, bySession, 1000), added(kept, nil, bySession))
	page, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{Limit: 1})
	if err != nil || !page.Since.Equal(limit) {
		t.Errorf("got rows since %v, error %v, want %v", page.Since, err, limit)
	}
	sums, err := l.Sums(t.Context(), billing.Filter{}, bySession, billing.Page{Limit: 1})
	if err != nil || sums.Hours || !sums.Since.Equal(limit) {
		t.Errorf("got %+v, error %v, want sums of rows since %v", sums, err, limit)
	}
	if n, err := l.Sweep(t.Context(), limit.Add(-time.Hour)); err != nil || n != 0 {
		t.Errorf("again: got %d swept, error %v", n, err)
	}
}

// testLate holds that what was swept does not count again.
func testLate(t *testing.T, l billing.Ledger) {
	rows := Rows(10, 50)
	put(t, l, rows)
	if _, err := l.Sweep(t.Context(), Start.Add(100*time.Hour)); err != nil {
		t.Fatal(err)
	}
	fresh := Rows(11, 2)
	fresh[0].Time, fresh[1].Time = Start.Add(100*time.Hour), Start
	same(t, "again", put(t, l, append(rows, fresh...)), billing.Result{Added: 1, Late: 51})
	same(t, "sum", allSums(t, l, billing.Filter{}, nil, 1), added(append(rows, fresh[0]), nil, nil))
}

// testOdd holds that odd texts are texts.
func testOdd(t *testing.T, l billing.Ledger) {
	rows := Rows(12, 4)
	rows[0].Key, rows[1].Key, rows[2].Team = `a'b"c\d`, "日本語 %_", strings.Repeat("ü", 128)
	rows[3].Session, rows[3].Labels = strings.Repeat("s", 512), map[string]string{"a": `{"b": [1]}`, "$.x": "'", "0": "zero"}
	rows[0].Nano, rows[0].Priced = 1<<57, true
	put(t, l, rows)
	same(t, "rows", all(t, l, billing.Filter{}, 10), sorted(rows))
	for _, d := range []billing.Dimension{billing.ByKey, billing.ByTeam, billing.LabelDimension("a"), billing.LabelDimension("$.x"), billing.LabelDimension("0"), billing.LabelDimension("")} {
		same(t, string(d), allSums(t, l, billing.Filter{}, []billing.Dimension{d}, 10), added(rows, nil, []billing.Dimension{d}))
	}
	for _, text := range []string{"\x00", "a\xff"} {
		f := billing.Filter{Where: []billing.Condition{{Dimension: billing.ByKey, Values: []string{text}}}}
		if page, err := l.Rows(t.Context(), f, billing.Page{Limit: 1}); err != nil || len(page.Rows) > 0 {
			t.Errorf("%q: got %v, error %v, want none", text, page, err)
		}
	}
}

// testBorders holds that bounds within a millisecond are the next one, for rows, for sums and for sweeps.
func testBorders(t *testing.T, l billing.Ledger) {
	at := Start.Add(40 * time.Minute) // before the border of an hour and of a month
	border := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	rows := Rows(16, 6)
	for i, when := range []time.Time{at, at.Add(time.Millisecond), border.Add(-time.Millisecond), border, border.Add(time.Millisecond), border.Add(time.Hour)} {
		rows[i].Time = when
	}
	put(t, l, rows)
	var bounds []time.Time
	for _, b := range []time.Time{at, border} {
		for _, off := range []time.Duration{-time.Millisecond, -1, 0, 1, time.Millisecond - 1, time.Millisecond} {
			bounds = append(bounds, b.Add(off))
		}
	}
	for i, from := range bounds {
		for _, to := range bounds[i+1:] {
			var want []billing.Row
			for _, r := range rows {
				if !r.Time.Before(from) && r.Time.Before(to) {
					want = append(want, r)
				}
			}
			f := billing.Filter{From: from, To: to}
			same(t, fmt.Sprintf("rows of %v", f), all(t, l, f, 10), want)
			same(t, fmt.Sprintf("sums of %v", f), allSums(t, l, f, []billing.Dimension{billing.ByMonth}, 10), added(want, nil, []billing.Dimension{billing.ByMonth}))
		}
	}
	limit := at.Add(1)
	if n, err := l.Sweep(t.Context(), limit); err != nil || n != 1 {
		t.Errorf("got %d swept, error %v, want 1", n, err)
	}
	page, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{Limit: 10})
	if want := at.Add(time.Millisecond); err != nil || !page.Since.Equal(want) {
		t.Errorf("got rows since %v, error %v, want %v", page.Since, err, want)
	}
}

// testLong holds that times that no Duration has are summed up.
func testLong(t *testing.T, l billing.Ledger) {
	rows := Rows(17, 3000)
	for i := range rows {
		rows[i].Took = 1000 * time.Hour
	}
	put(t, l, rows)
	for _, by := range []billing.Dimension{billing.ByModel, billing.ByStatus} {
		var ms int64
		for _, s := range allSums(t, l, billing.Filter{}, []billing.Dimension{by}, 10) {
			ms += s.TookMS
		}
		same(t, "by "+string(by), ms, 3000*(1000*time.Hour).Milliseconds())
	}
}

// testNames holds that signs which JSON, SQL and HTML write in another way are what they are, in names of labels too.
func testNames(t *testing.T, l billing.Ledger) {
	names := []string{`<&>`, `a"b`, `a\b`, "a\tb", "a\nb", "\u2028", "é", "日本", "a/b", "a.b", "a'b", "\x01", "\x7f", `\u0041`, "x:y", "😀"}
	rows := Rows(18, len(names))
	for i, name := range names {
		rows[i].Key, rows[i].Labels = name, map[string]string{name: name, "other": "=1"}
	}
	put(t, l, rows)
	same(t, "rows", all(t, l, billing.Filter{}, 100), sorted(rows))
	for _, name := range names {
		d := billing.LabelDimension(name)
		same(t, string(d), allSums(t, l, billing.Filter{}, []billing.Dimension{d}, 100), added(rows, nil, []billing.Dimension{d}))
		holds := func(r *billing.Row) bool { return r.Labels[name] == name }
		f := billing.Filter{Where: []billing.Condition{{Dimension: d, Values: []string{name}}}}
		same(t, "only "+string(d), allSums(t, l, f, []billing.Dimension{billing.ByKey}, 100), added(rows, holds, []billing.Dimension{billing.ByKey}))
	}
	same(t, "keys", allSums(t, l, billing.Filter{}, []billing.Dimension{billing.ByKey}, 5), added(rows, nil, []billing.Dimension{billing.ByKey}))
}

// testMost holds that the dearest rows keep no others from the ledger: a sum ends at what 64 bits hold.
func testMost(t *testing.T, l billing.Ledger) {
	rows := Rows(19, 200)
	for i := range rows {
		r := &rows[i]
		r.Time, r.Key, r.Team, r.Session, r.Labels, r.Nano, r.Priced, r.PriceVersion = Start.Add(time.Duration(i)), "k", "t", "s", nil, 1<<57, true, "v"
		r.Model, r.Provider, r.Served, r.Arm, r.Purpose, r.Time = "m", "p", "s", "", "answer", Start
	}
	put(t, l, rows[:100])
	put(t, l, rows[100:])
	for _, by := range []billing.Dimension{billing.ByKey, billing.BySession} {
		sums := allSums(t, l, billing.Filter{}, []billing.Dimension{by}, 10)
		if len(sums) != 1 || sums[0].Nano != math.MaxInt64 || sums[0].Answers != 200 {
			t.Errorf("by %s: got %+v, want 200 answers for the most that there is", by, sums)
		}
	}
}

func testEmpty(t *testing.T, l billing.Ledger) {
	same(t, "none", put(t, l, []billing.Row{}), billing.Result{})
	if res, err := l.Put(t.Context(), nil); err != nil || res != (billing.Result{}) {
		t.Errorf("got %+v, error %v", res, err)
	}
	same(t, "rows", all(t, l, billing.Filter{}, 1), []billing.Row{})
	for _, by := range groupings {
		same(t, fmt.Sprint("by ", by), allSums(t, l, billing.Filter{}, by, 1), []billing.Sum{})
	}
	if n, err := l.Sweep(t.Context(), time.Now()); n != 0 || err != nil {
		t.Errorf("got %d, error %v", n, err)
	}
}

func testCursors(t *testing.T, l billing.Ledger) {
	put(t, l, Rows(13, 3))
	for _, after := range [][]string{{}, {"x", "y"}, {"1"}, {"1", "2", "3"}} {
		if _, err := l.Rows(t.Context(), billing.Filter{}, billing.Page{After: after, Limit: 1}); !errors.Is(err, billing.ErrCursor) {
			t.Errorf("%q: got error %v, want ErrCursor", after, err)
		}
	}
	if _, err := l.Sums(t.Context(), billing.Filter{}, groupings[1], billing.Page{After: []string{"a", "b"}, Limit: 1}); !errors.Is(err, billing.ErrCursor) {
		t.Errorf("got error %v, want ErrCursor", err)
	}
}

// testTogether has many who write the same rows and their own at once.
func testTogether(t *testing.T, l billing.Ledger) {
	shared, want := Rows(14, 120), Rows(14, 120)
	var wait sync.WaitGroup
	for i := range 6 {
		own := Rows(uint64(20+i), 60)
		want = append(want, own...)
		mine := append(slices.Clone(shared), own...)
		wait.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			r.Shuffle(len(mine), func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
			for some := range slices.Chunk(mine, 17) {
				if _, err := l.Put(t.Context(), some); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	same(t, "rows", all(t, l, billing.Filter{}, 500), sorted(want))
	same(t, "hours", allSums(t, l, billing.Filter{}, groupings[2], 500), added(want, nil, groupings[2]))
}

// testLarge holds that the largest rows can be put, as many as may be at once.
func testLarge(t *testing.T, l billing.Ledger) {
	rows := Rows(15, billing.PutMost)
	for i := range rows {
		r := &rows[i]
		r.Key, r.Team, r.Model, r.Provider, r.Served, r.Arm, r.Request = long(i, "k"), long(i, "t"), long(i, "m"), long(i, "p"), long(i, "s"), long(i, "a"), long(i, "r")
		r.ID, r.Session, r.Labels = long(i, "i"), long(i, "x")+long(i, "y"), map[string]string{}
		for j := range 16 {
			r.Labels[strings.Repeat("n", 60)+fmt.Sprintf("%04d", j)] = long(i, "v")
		}
	}
	same(t, "put", put(t, l, rows), billing.Result{Added: len(rows)})
	same(t, "rows", len(all(t, l, billing.Filter{}, 100)), len(rows))
	same(t, "sums", allSums(t, l, billing.Filter{}, groupings[9], 100), added(rows, nil, groupings[9]))
}

// long is a name of 256 bytes that cannot be compressed much.
func long(i int, kind string) string {
	r := rand.New(rand.NewPCG(uint64(i), uint64(kind[0])))
	b := make([]byte, 256)
	for j := range b {
		b[j] = byte('!' + r.IntN(90))
	}
	return string(b)
}
