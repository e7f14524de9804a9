package accounts_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/usage"
)

// someUsage is a usage as OpenAI writes it.
func someUsage(prompt, cached, completion int) usage.Usage {
	return usage.Read(fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, prompt, completion, cached))
}

// TestThreeTurns is the example that is told of prompt caches: a conversation of three
// turns, whose prompts have 3,000, 3,600 and 3,900 tokens, saves 36 % of the input bill
// where cached tokens are read at half price. It does under two readings, which the data
// names. A provider's bill is neither of them: it saves 31 %.
func TestThreeTurns(t *testing.T) {
	t.Parallel()
	half := prices(t, "prices: [{model: m, input: 2, cache_read: 1}]")
	type reading struct {
		Name        string
		Turns       [][2]int // tokens of the prompt, and those of them that were cached
		SavedTokens int      `json:"saved_tokens"` // in tokens at the price of input
		Percent     int
	}
	for _, r := range readJSON[[]reading](t, "testdata/turns.json") {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			book, input := accounts.NewBook(half), 0
			for _, turn := range r.Turns {
				input += turn[0]
				book.Record(accounts.Request{Provider: "p", Model: "m", Usage: someUsage(turn[0], turn[1], 100)})
			}
			total := book.Snapshot().Total
			if got, want := total.SavedShare, float64(r.SavedTokens)/float64(input); diff(got, want) {
				t.Errorf("got %v of the input bill saved, want %v", got, want)
			}
			if got := int(math.Round(100 * total.SavedShare)); got != r.Percent {
				t.Errorf("got %d %% saved, want %d %%", got, r.Percent)
			}
			if got, want := total.Money[0].Saved, float64(r.SavedTokens)*2/1e6; diff(got, want) {
				t.Errorf("got %v USD saved, want %v", got, want)
			}
		})
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	p := prices(t, `
prices:
  - {model: sonnet, input: 3, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15}
  - {model: share, factors: {cache_read: 0.1, cache_write: 1.25}}
  - {model: free, input: 0}
`)
	warm := usage.Usage{Reported: true, CacheReported: true, Input: 10_000, CacheRead: 6_000, WriteShort: 2_000, WriteLong: 1_000, Output: 100}
	cold := usage.Usage{Reported: true, CacheReported: true, Input: 1_000, WriteShort: 1_000}
	silent := usage.Usage{Reported: true, Input: 1_000, Output: 10}
	for _, c := range []struct {
		name, model string
		expected    int
		usage       usage.Usage
		want        accounts.Account
	}{
		{"all kinds of tokens", "sonnet", 7_000, warm, accounts.Account{Expected: 7_000, Missed: 1_000, Rated: true, SavedShare: 0.39,
			Money: accounts.Money{Currency: "USD", Requests: 1, List: 0.03, Cost: 0.0183, Saved: 0.0117, Output: 0.0015}}},
		{"the share alone is known", "share", 0, warm, accounts.Account{Rated: true, SavedShare: (10_000 - (1_000 + 600 + 2_500 + 1_250)) / 10_000.}},
		{"writing costs more than nothing read", "share", 0, cold, accounts.Account{Rated: true, SavedShare: -0.25}},
		{"no price", "unknown", 10, warm, accounts.Account{Expected: 10}},
		{"a free model", "free", 0, warm, accounts.Account{Money: accounts.Money{Currency: "USD", Requests: 1}}},
		{"more came than was expected", "unknown", 1_000, warm, accounts.Account{Expected: 1_000}},
		{"more was expected than the prompt has", "unknown", 20_000, warm, accounts.Account{Expected: 10_000, Missed: 4_000}},
		{"expected below nothing", "unknown", -1, warm, accounts.Account{}},
		{"a server that does not count its cache", "sonnet", 900, silent, accounts.Account{Rated: true,
			Money: accounts.Money{Currency: "USD", Requests: 1, List: 0.003, Cost: 0.003, Output: 0.00015}}},
		{"no usage", "sonnet", 900, usage.Usage{}, accounts.Account{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := accounts.NewBook(p).Record(accounts.Request{Provider: "p", Model: c.model, Expected: c.expected, Usage: c.usage})
			c.want.Usage = c.usage
			if same(&got, &c.want); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// same gives got the fractions of want that it differs from by less than a billionth.
func same(got, want *accounts.Account) {
	for _, x := range [][2]*float64{{&got.SavedShare, &want.SavedShare}, {&got.Money.List, &want.Money.List}, {&got.Money.Cost, &want.Money.Cost},
		{&got.Money.Saved, &want.Money.Saved}, {&got.Money.Output, &want.Money.Output}} {
		if !diff(*x[0], *x[1]) {
			*x[0] = *x[1]
		}
	}
}

// TestSnapshotJSON compares what the operator sees with a file.
func TestSnapshotJSON(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("testdata/snapshot.json")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) { // whose clock stands still
		book := accounts.NewBook(prices(t, `
date: 2026-11-21
prices:
  - {model: dollars, input: 3, cache_read: 0.3, output: 15}
  - {model: euros, input: 1, cache_read: 0.5, currency: EUR}
  - {model: share, factors: {cache_read: 0.1}}
`))
		empty := book.Snapshot()
		if text, err := json.Marshal(empty); err != nil || strings.Contains(string(text), "null") {
			t.Errorf("got %s and %v, want an empty book without null", text, err)
		}
		for _, r := range []accounts.Request{
			{Provider: "b", Model: "share", Tenant: "t1", Expected: 500, Usage: someUsage(1_000, 400, 10)},
			{Provider: "a", Model: "dollars", Tenant: "t2", Expected: 900, Usage: someUsage(1_000, 900, 10)},
			{Provider: "a", Model: "dollars", Tenant: "t2", Usage: usage.Read([]byte(`{"prompt_tokens":7,"completion_tokens":-1}`))},
			{Provider: "a", Model: "dollars", Tenant: "t1"},
			{Provider: "a", Model: "euros", Tenant: "t1", Usage: someUsage(1_000_000, 500_000, 10)},
			{Provider: "a", Model: "none", Usage: someUsage(100, 0, 10)},
		} {
			book.Record(r)
		}
		got, err := json.MarshalIndent(book.Snapshot(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != string(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if len(empty.Rows) != 0 || empty.Total.Requests != 0 {
			t.Errorf("got %+v, want a snapshot that does not change", empty)
		}
		if since := time.Since(empty.Since); since != 0 {
			t.Errorf("got a book that was opened %s ago, want now", since)
		}
	})
}

// TestRowsAreBounded holds that rows beyond the bound go into the sum of the others,
// those first that were not used for longest.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	book := accounts.NewBook(prices(t, `prices: [{model: "*", input: 1, cache_read: 0.5}]`))
	record := func(tenant int) {
		book.Record(accounts.Request{Provider: "p", Model: "m", Tenant: fmt.Sprint(tenant), Usage: someUsage(1_000, 500, 1)})
	}
	for i := range accounts.MaxRows {
		record(i)
	}
	record(0) // is used, and stays
	for i := range 7 {
		record(accounts.MaxRows + i)
	}
	s := book.Snapshot()
	if len(s.Rows) != accounts.MaxRows || s.OtherRows != 7 || s.Other.Requests != 7 || s.Total.Requests != accounts.MaxRows+8 {
		t.Errorf("got %d rows, %d others with %d requests, %d in all; want %d, 7, 7 and %d",
			len(s.Rows), s.OtherRows, s.Other.Requests, s.Total.Requests, accounts.MaxRows, accounts.MaxRows+8)
	}
	if got, want := s.Total.Money[0].Saved, float64(accounts.MaxRows+8)*500*0.5/1e6; diff(got, want) {
		t.Errorf("got %v saved, want %v", got, want)
	}
	for _, r := range s.Rows {
		if r.Tenant == "0" && r.Requests == 2 {
			return
		}
	}
	t.Error("the row that was just used is not there")
}

// TestLongNames holds that a client's long names do not fill the memory, nor the report.
func TestLongNames(t *testing.T) {
	t.Parallel()
	book := accounts.NewBook(nil)
	book.Record(accounts.Request{Provider: strings.Repeat("p", 300), Model: strings.Repeat("m", 255) + "ä", Tenant: strings.Repeat("t", 1<<20)})
	row := book.Snapshot().Rows[0]
	if len(row.Provider) != 256 || len(row.Model) != 255 || len(row.Tenant) != 256 {
		t.Errorf("got names of %d, %d and %d bytes, want 256, 255 and 256", len(row.Provider), len(row.Model), len(row.Tenant))
	}
}

// TestTotals holds for any requests that the totals are the sums of their accounts,
// whatever rows they are in.
func TestTotals(t *testing.T) {
	t.Parallel()
	p := prices(t, `prices: [{model: "m*", input: 3, cache_read: 0.3, cache_write: 3.75, cache_write_1h: 6, output: 15}, {model: f, factors: {cache_read: 0.5}}]`)
	rapid.Check(t, func(rt *rapid.T) {
		book := accounts.NewBook(p)
		var want accounts.Totals
		var saved, cost, share float64
		for range rapid.IntRange(1, 60).Draw(rt, "requests") {
			u := usage.Read(fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d,"cache_write_tokens":%d}}`,
				rapid.IntRange(-10, 1<<25).Draw(rt, "prompt"), rapid.IntRange(0, 1<<20).Draw(rt, "completion"),
				rapid.IntRange(0, 1<<25).Draw(rt, "cached"), rapid.IntRange(0, 1<<20).Draw(rt, "written")))
			a := book.Record(accounts.Request{Provider: "p", Model: rapid.SampledFrom([]string{"m1", "m2", "f", "none"}).Draw(rt, "model"),
				Tenant: fmt.Sprint(rapid.IntRange(0, 2000).Draw(rt, "tenant")), Expected: rapid.IntRange(0, 1<<25).Draw(rt, "expected"), Usage: u})
			if a.Money.Currency != "" && diff(a.Money.List-a.Money.Cost, a.Money.Saved) {
				rt.Errorf("got %+v, want what is saved to be the difference", a.Money)
			}
			want.Requests++
			want.InputTokens += uint64(u.Input)
			want.CacheReadTokens += uint64(u.CacheRead)
			want.MissedTokens += uint64(a.Missed)
			if a.Rated {
				want.RatedTokens += uint64(u.Input)
				share += a.SavedShare * float64(u.Input)
			}
			saved, cost = saved+a.Money.Saved, cost+a.Money.Cost
		}
		got := book.Snapshot().Total
		if got.Requests != want.Requests || got.InputTokens != want.InputTokens || got.CacheReadTokens != want.CacheReadTokens ||
			got.MissedTokens != want.MissedTokens || got.RatedTokens != want.RatedTokens {
			rt.Errorf("got %+v, want %+v", got, want)
		}
		if got.RatedTokens > 0 && diff(got.SavedShare, share/float64(got.RatedTokens)) {
			rt.Errorf("got the share %v, want %v", got.SavedShare, share/float64(got.RatedTokens))
		}
		if len(got.Money) == 1 && (math.Abs(got.Money[0].Saved-saved) > 1e-6 || math.Abs(got.Money[0].Cost-cost) > 1e-6) {
			rt.Errorf("got %+v, want %v saved of %v", got.Money, saved, cost)
		}
	})
}

// TestHammer uses one book from many goroutines, with more rows than it has, and then
// holds that nothing was lost.
func TestHammer(t *testing.T) {
	t.Parallel()
	const workers, rounds = 16, 1000
	book := accounts.NewBook(accounts.DefaultPrices())
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range rounds {
				book.Record(accounts.Request{Provider: "p", Model: "gpt-4o", Tenant: fmt.Sprint(r.IntN(3 * accounts.MaxRows)), Expected: 60, Usage: someUsage(100, 50, 7)})
				if i%100 == 0 {
					s := book.Snapshot()
					if s.Total.CacheReadTokens*2 != s.Total.InputTokens || len(s.Rows) > accounts.MaxRows {
						t.Errorf("got %+v in %d rows, want a whole number of requests", s.Total, len(s.Rows))
					}
				}
			}
		})
	}
	wg.Wait()
	s := book.Snapshot()
	const n = workers * rounds
	if s.Total.Requests != n || s.Total.InputTokens != 100*n || s.Total.CacheReadTokens != 50*n || s.Total.MissedTokens != 10*n || diff(s.Total.SavedShare, 0.25) {
		t.Errorf("got %+v, want %d requests", s.Total, n)
	}
	requests := s.Other.Requests
	for _, row := range s.Rows {
		requests += row.Requests
	}
	if requests != n || s.OtherRows == 0 {
		t.Errorf("got %d requests in the rows and %d other rows, want %d and some", requests, s.OtherRows, n)
	}
}

func BenchmarkRecord(b *testing.B) {
	book := accounts.NewBook(accounts.DefaultPrices())
	r := accounts.Request{Provider: "main", Model: "gpt-4o", Tenant: "t", Expected: 1000, Usage: someUsage(2000, 1000, 10)}
	b.ReportAllocs()
	for b.Loop() {
		book.Record(r)
	}
}

func readJSON[T any](t testing.TB, file string) T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// TestEnter holds that an account that was made before counts as one that Record makes.
func TestEnter(t *testing.T) {
	t.Parallel()
	prices := accounts.DefaultPrices()
	r := accounts.Request{Provider: "p", Model: "gpt-4.1", Tenant: "a", Expected: 700, Usage: someUsage(1000, 600, 10)}
	one, other := accounts.NewBook(prices), accounts.NewBook(prices)
	want := one.Record(r)
	early := r
	early.Expected = 0
	got := other.Bill(early)
	other.Enter(r, &got)
	if want.Missed != 100 || !want.Rated {
		t.Errorf("got %+v, want 100 tokens missed and a rate", want)
	}
	if got != want {
		t.Errorf("got the account %+v, want %+v", got, want)
	}
	if a, b := one.Snapshot().Total, other.Snapshot().Total; !reflect.DeepEqual(a, b) {
		t.Errorf("got %+v, want %+v", b, a)
	}
}
