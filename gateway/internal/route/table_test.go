package route_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/route"
)

// table is one with patterns and aliases of all sorts.
func table() *route.Table {
	return route.NewTable(map[string]string{
		"qwen3": "", "qwen*": "", "qwen/*": "", "gpt-*-mini": "", "gpt-*": "", "*-mini": "", "ab*": "", "a*b": "", "*a*b": "", "*": "",
		"fast": "qwen3", "faster": "fast", "vendor": "openai/gpt-x", "some-*-alias": "qwen3", "lost": "nowhere-at-all", "pattern": "qwen-max",
		"x": "y", "y": "z", "z": "x", "self": "self",
	}, []string{"openai", "qwen"})
}

func TestTable(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]route.Found{
		"qwen3":           {Entry: "qwen3", Model: "qwen3"},
		"qwen-max":        {Entry: "qwen*", Model: "qwen-max"},
		"qwen/max":        {Entry: "qwen/*", Model: "qwen/max"}, // before the provider, for its own /
		"openai/gpt-mini": {Provider: "openai", Model: "gpt-mini"},
		"other/gpt-mini":  {Entry: "*-mini", Model: "other/gpt-mini"}, // a * is a / too
		"gpt-4o-mini":     {Entry: "gpt-*-mini", Model: "gpt-4o-mini"},
		"gpt-mini":        {Entry: "*-mini", Model: "gpt-mini"}, // 5 bytes against 4
		"gpt-4o":          {Entry: "gpt-*", Model: "gpt-4o"},
		"ab":              {Entry: "a*b", Model: "ab"}, // as long and as few stars as ab*, and before it
		"cab":             {Entry: "*a*b", Model: "cab"},
		"gpt-*":           {Entry: "gpt-*", Model: "gpt-*"},
		"anything":        {Entry: "*", Model: "anything"},
		"openai/":         {Entry: "*", Model: "openai/"},
		"fast":            {Entry: "qwen3", Model: "qwen3", Alias: "fast"},
		"faster":          {Entry: "qwen3", Model: "qwen3", Alias: "faster"},
		"vendor":          {Provider: "openai", Model: "gpt-x", Alias: "vendor"},
		"some-old-alias":  {Entry: "qwen3", Model: "qwen3", Alias: "some-*-alias"},
		"pattern":         {Entry: "qwen*", Model: "qwen-max", Alias: "pattern"},
		"lost":            {Entry: "*", Model: "nowhere-at-all", Alias: "lost"},
	} {
		if got, ok := table().Find(model); got != want || !ok {
			t.Errorf("%s: got %+v, %v, want %+v", model, got, ok, want)
		}
	}
	for _, model := range []string{"x", "y", "z", "self"} {
		if got, ok := table().Find(model); ok {
			t.Errorf("%s: got %+v, want nothing, since it leads back to itself", model, got)
		}
	}
}

func TestChain(t *testing.T) {
	t.Parallel()
	for alias, want := range map[string]string{
		"faster": "faster fast qwen3", "vendor": "vendor openai/gpt-x", "x": "x y z x (loops)", "self": "self self (loops)",
		"pattern": "pattern qwen*", "qwen3": "qwen3",
	} {
		names, end := table().Chain(alias)
		got := strings.Join(names, " ")
		if end == route.Looping {
			got += " (loops)"
		}
		if got != want || end != route.Reached && end != route.Looping {
			t.Errorf("%s: got %s, want %s", alias, got, want)
		}
	}
	without := route.NewTable(map[string]string{"a": "b", "b": "nowhere"}, nil)
	if names, end := without.Chain("a"); strings.Join(names, " ") != "a b nowhere" || end != route.Lost {
		t.Errorf("got %v, %v, want a chain that is lost behind b", names, end)
	}
	entries := map[string]string{"end": ""}
	for i := range 40 {
		entries[fmt.Sprint(i)] = fmt.Sprint(i + 1)
	}
	entries["39"] = "end"
	long := route.NewTable(entries, nil)
	for first, want := range map[string]route.End{"24": route.Reached, "23": route.TooLong, "0": route.TooLong} {
		_, ok := long.Find(first)
		if names, end := long.Chain(first); end != want || ok != (want == route.Reached) {
			t.Errorf("%s: got %v, %v, found %v, want %v", first, names, end, ok, want)
		}
	}
}

// oldest is the table as one would explain it: all entries are looked at, and sorted.
func oldest(entries map[string]string, providers []string, model string, steps int) (route.Found, bool) {
	find := func(ok func(string) bool) string {
		var fit []string
		for name := range entries {
			if naive(name).MatchString(model) && strings.Contains(name, "*") && name != "*" && ok(name) {
				fit = append(fit, name)
			}
		}
		slices.SortFunc(fit, func(x, y string) int {
			stars := func(s string) int { return strings.Count(s, "*") }
			if d := (len(y) - stars(y)) - (len(x) - stars(x)); d != 0 {
				return d
			}
			if d := stars(x) - stars(y); d != 0 {
				return d
			}
			return strings.Compare(x, y)
		})
		return append(fit, "")[0]
	}
	provider, rest, _ := strings.Cut(model, "/")
	best := find(func(string) bool { return true })
	_, exact := entries[model]
	_, any := entries["*"]
	f := route.Found{Model: model}
	switch {
	case exact:
		f.Entry = model
	case strings.Contains(best, "/"):
		f.Entry = best
	case rest != "" && slices.Contains(providers, provider):
		f.Provider, f.Model = provider, rest
	case best != "":
		f.Entry = best
	case any:
		f.Entry = "*"
	default:
		return route.Found{}, false
	}
	if to := entries[f.Entry]; to != "" {
		if steps > 20 {
			return route.Found{}, false
		}
		end, ok := oldest(entries, providers, to, steps+1)
		if end.Alias = f.Entry; !ok {
			return route.Found{}, false
		}
		return end, true
	}
	return f, true
}

func TestTableProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[ab]{0,2}[*/]?[ab]{0,2}[*]?`).Filter(func(s string) bool { return s != "" })
		entries := map[string]string{}
		for _, n := range rapid.SliceOfN(name, 0, 8).Draw(t, "names") {
			entries[n] = ""
			if rapid.IntRange(0, 2).Draw(t, "alias") == 0 {
				entries[n] = rapid.StringMatching(`[ab]{1,2}(/[ab]{1,2})?`).Draw(t, "of")
			}
		}
		providers := rapid.SliceOfN(rapid.StringMatching(`[ab]{1,2}`), 0, 2).Draw(t, "providers")
		model := rapid.StringMatching(`[ab]{0,3}/?[ab]{0,3}`).Draw(t, "model")
		table := route.NewTable(maps.Clone(entries), providers)
		got, ok := table.Find(model)
		want, wantOK := oldest(entries, providers, model, 0)
		if got != want || ok != wantOK {
			t.Errorf("%q in %v, %v: got %+v, %v, want %+v, %v", model, entries, providers, got, ok, want, wantOK)
		}
		if _, end := table.Chain(model); entries[model] != "" && ok != (end == route.Reached) {
			t.Errorf("%q in %v: got end %v of a name that is found: %v", model, entries, end, ok)
		}
	})
}

func BenchmarkFind(b *testing.B) {
	t := table()
	for _, model := range []string{"qwen3", "faster", "gpt-4o-mini", "anything"} {
		b.Run(model, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t.Find(model)
			}
		})
	}
}
