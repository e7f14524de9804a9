package accounts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/callgate/callgate/gateway/accounts"
)

func sections(t testing.TB, file string) map[string]string {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range archive.Files {
		all[f.Name] = string(f.Data)
	}
	return all
}

func prices(t testing.TB, text string) *accounts.Prices {
	t.Helper()
	p, err := accounts.ParsePrices("p.yaml", []byte(text))
	if err != nil {
		t.Fatalf("got %v, want the prices", err)
	}
	return p
}

func TestBadPrices(t *testing.T) {
	t.Parallel()
	all := sections(t, "testdata/prices/bad.txtar")
	for file, text := range all {
		name, isFile := strings.CutSuffix(file, ".yaml")
		if !isFile {
			continue
		}
		want, ok := all[name+".err"]
		if !ok {
			t.Errorf("%s: there is nothing to compare with", name)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := accounts.ParsePrices("p.yaml", []byte(text))
			if _, ok := errors.AsType[*accounts.FileError](err); !ok {
				t.Fatalf("got %v, want a FileError", err)
			}
			if got := err.Error() + "\n"; got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}

// TestHugePrices holds that a file is refused before it keeps anyone busy.
func TestHugePrices(t *testing.T) {
	t.Parallel()
	entries := func(n int) string {
		var b strings.Builder
		b.WriteString("prices:\n")
		for i := range n {
			fmt.Fprintf(&b, " - {model: m%d, input: 1}\n", i)
		}
		return b.String()
	}
	var staircase strings.Builder
	for i := range 600 {
		staircase.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	for _, c := range []struct{ name, text, want string }{
		{"bytes", "# " + strings.Repeat("x", 256<<10), "the most is 256KiB"},
		{"entries", entries(1001), "the most is 1000"},
		{"words", "sources: [" + strings.Repeat("a,", 30_000) + "]", "more than 50000 words"},
		{"stairs", staircase.String(), "levels deep"},
		{"brackets", "prices: " + strings.Repeat("[", 100_000), "levels deep"},
		{"dashes", strings.Repeat("- ", 100_000), "levels deep"},
		{"keys", strings.Repeat("a: 1\n", 16_000), "the key is here twice"},
		{"a long key", strings.Repeat("ä", 10_000) + ": 1", "a key has 20000 bytes; the most is 256"},
		{"a long name", "prices: [{input: 1, model: " + strings.Repeat("m", 257) + "}]", "257 bytes"},
		{"not UTF-8", "prices: [{input: 1, model: \xff}]", "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := accounts.ParsePrices("p.yaml", []byte(c.text))
			var all *accounts.FileError
			if !errors.As(err, &all) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %.200v, want an error that says %q", err, c.want)
			}
			if len(all.Problems) > 101 || len(err.Error()) > 100*300 {
				t.Errorf("got %d problems in %d bytes, want at most 100 short ones and how many more", len(all.Problems), len(err.Error()))
			}
		})
	}
	if p := prices(t, entries(1000)); p == nil {
		t.Error("1000 entries are refused")
	}
}

// found is the pattern of the entry for a model.
func found(p *accounts.Prices, provider, model string) string {
	price, ok := p.Of(provider, model)
	switch {
	case !ok:
		return "-"
	case price.Provider != "":
		return price.Provider + "/" + price.Model
	}
	return price.Model
}

func TestLookup(t *testing.T) {
	t.Parallel()
	all := sections(t, "testdata/prices/lookup.txtar")
	base := prices(t, all["base.yaml"])
	over := prices(t, all["prices.yaml"]).Over(base)
	if over.Date != "2026-01-31" {
		t.Errorf("got the date %q, want the operator's", over.Date)
	}
	check := func(p *accounts.Prices, lookups string) {
		for line := range strings.Lines(lookups) {
			words := strings.Fields(line)
			if got := found(p, words[0], words[1]); got != words[2] {
				t.Errorf("%s %s: got %s, want %s", words[0], words[1], got, words[2])
			}
		}
	}
	check(over, all["lookups"])
	check(prices(t, all["nothing.yaml"]).Over(base), all["base_lookups"])
	check(prices(t, all["nothing.yaml"]).Over(prices(t, all["nothing.yaml"])).Over(base), all["base_lookups"])
	if got := found(nil, "openai", "gpt-4o"); got != "-" {
		t.Errorf("without prices: got %s, want none", got)
	}
	if got := found(base, "openai", "gpt-4o"); got != "-" {
		t.Errorf("the base: got %s, want none", got)
	}
}

// TestLeftOut holds what the prices are that a file leaves out.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	p := prices(t, `
currency: EUR
prices:
  - {model: plain, input: 2}
  - {model: written, input: 2, cache_write: 3, output: 8, currency: CNY}
  - {model: factors, factors: {cache_write: 1.25}}
`)
	for _, want := range []accounts.Price{
		{Model: "plain", Currency: "EUR", Input: 2, CacheRead: 2, CacheWrite: 2, CacheWriteLong: 2},
		{Model: "written", Currency: "CNY", Input: 2, CacheRead: 2, CacheWrite: 3, CacheWriteLong: 3, Output: 8},
		{Model: "factors", Input: 1, CacheRead: 1, CacheWrite: 1.25, CacheWriteLong: 1.25},
	} {
		if got, ok := p.Of("any", want.Model); !ok || got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestDefaultPrices(t *testing.T) {
	t.Parallel()
	p := accounts.DefaultPrices()
	if _, err := time.Parse(time.DateOnly, p.Date); err != nil {
		t.Errorf("got the date %q, want a day", p.Date)
	}
	type factors struct{ read, write, long float64 }
	for _, c := range []struct {
		model    string
		want     factors
		currency string
	}{
		{"gpt-4o", factors{0.5, 1, 1}, ""},
		{"gpt-4o-mini-2024-07-18", factors{0.5, 1, 1}, ""},
		{"gpt-4.1-nano", factors{0.25, 1, 1}, ""},
		{"o4-mini", factors{0.25, 1, 1}, ""},
		{"gpt-5.5", factors{0.1, 1, 1}, ""},
		{"gpt-5-pro", factors{1, 1, 1}, ""},
		{"gpt-5.6-mini", factors{0.1, 1.25, 1.25}, ""},
		{"claude-sonnet-4-5-20250929", factors{0.1, 1.25, 2}, ""},
		{"deepseek-chat", factors{0.1, 1, 1}, "USD"},
		{"kimi-k2-0905-preview", factors{0.25, 1, 1}, "USD"},
		{"kimi-k2.5", factors{0.1 / 0.6, 1, 1}, "USD"},
		{"kimi-k2.7-code", factors{0.2, 1, 1}, "USD"},
		{"kimi-k3", factors{0.1, 1, 2}, "USD"},
		{"claude-sonnet-5", factors{0.1, 1.25, 2}, ""},
		{"claude-sonnet-5-5", factors{0.05, 1.25, 2}, ""},
		{"claude-fable-5-1-20261101", factors{0.025, 1.25, 2}, ""},
		{"qwen3-max", factors{0.2, 1.25, 1.25}, ""},
		{"gemini-2.0-flash", factors{0.25, 1, 1}, ""},
	} {
		price, ok := p.Of("main", c.model)
		got := factors{price.CacheRead / price.Input, price.CacheWrite / price.Input, price.CacheWriteLong / price.Input}
		if !ok || diff(got.read, c.want.read) || got.write != c.want.write || got.long != c.want.long || price.Currency != c.currency {
			t.Errorf("%s: got %+v in %q, want %+v in %q", c.model, got, price.Currency, c.want, c.currency)
		}
	}
	for _, model := range []string{"Qwen/Qwen3-32B", "deepseek-ai/DeepSeek-V3", "meta-llama/Llama-3.3-70B", "gpt-oss-120b", ""} {
		if got := found(p, "vllm", model); got != "-" {
			t.Errorf("%q: got the price of %s, want none for a model that one runs oneself", model, got)
		}
	}
}

func diff(got, want float64) bool { return got-want > 1e-9 || want-got > 1e-9 }

func FuzzParsePrices(f *testing.F) {
	for _, file := range []string{"testdata/prices/bad.txtar", "testdata/prices/lookup.txtar"} {
		for name, text := range sections(f, file) {
			if strings.HasSuffix(name, ".yaml") {
				f.Add([]byte(text))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := accounts.ParsePrices("p.yaml", data)
		var all *accounts.FileError
		if (p == nil) == (err == nil) || err != nil && !errors.As(err, &all) {
			t.Fatalf("got %v and %v, want prices or a FileError", p, err)
		}
		if price, ok := p.Of("openai", "gpt-4o"); ok && (price.CacheRead > price.Input || price.Input < 0) {
			t.Errorf("got %+v, want no price that it refuses", price)
		}
	})
}

func BenchmarkOf(b *testing.B) {
	p := accounts.DefaultPrices()
	b.ReportAllocs()
	for b.Loop() {
		p.Of("main", "a-model-that-is-not-there")
	}
}
