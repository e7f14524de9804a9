package route_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/route"
)

// facts are those of a request that does not exist.
type facts struct {
	shape    route.Shape
	headers  map[string][]string
	metadata map[string]string
	language string
	asked    int // for the language
}

func (f *facts) Shape() route.Shape          { return f.shape }
func (f *facts) Header(name string) []string { return f.headers[name] }
func (f *facts) Metadata(key string) (string, bool) {
	v, ok := f.metadata[key]
	return v, ok
}
func (f *facts) Language() string { f.asked++; return f.language }

func TestRules(t *testing.T) {
	t.Parallel()
	full := route.Condition{
		Metadata: map[string][]string{"budget": {"premium", "gold*"}, "task": {"complex"}}, Headers: map[string][]string{"x-tier": {"gold"}},
		Languages: []string{"th", "id"}, Tools: route.Yes, Stream: route.No, MinSize: 10, MaxSize: 20,
	}
	fits := func(change func(*facts)) *facts {
		f := &facts{
			shape: route.Shape{Tools: true, Size: 10}, headers: map[string][]string{"X-Tier": {"silver", "gold"}},
			metadata: map[string]string{"budget": "golden", "task": "complex"}, language: "id",
		}
		change(f)
		return f
	}
	rules := route.NewRules([]route.Condition{full, {}})
	for _, test := range []struct {
		name   string
		change func(*facts)
		want   int
	}{
		{"all", func(*facts) {}, 0},
		{"size at the end", func(f *facts) { f.shape.Size = 20 }, 0},
		{"too small", func(f *facts) { f.shape.Size = 9 }, 1},
		{"too large", func(f *facts) { f.shape.Size = 21 }, 1},
		{"no tools", func(f *facts) { f.shape.Tools = false }, 1},
		{"stream", func(f *facts) { f.shape.Stream = true }, 1},
		{"no header", func(f *facts) { f.headers = nil }, 1},
		{"other header", func(f *facts) { f.headers["X-Tier"] = []string{"Gold", "gold "} }, 1},
		{"no metadata", func(f *facts) { f.metadata = nil }, 1},
		{"half of the metadata", func(f *facts) { delete(f.metadata, "task") }, 1},
		{"empty metadata", func(f *facts) { f.metadata["task"] = "" }, 1},
		{"other language", func(f *facts) { f.language = "ms" }, 1},
		{"no language", func(f *facts) { f.language = "" }, 1},
	} {
		if got := rules.First(fits(test.change)); got != test.want {
			t.Errorf("%s: got rule %d, want %d", test.name, got, test.want)
		}
	}
	if got := rules.Keys(); !slices.Equal(got, []string{"budget", "task"}) || !rules.Languages() {
		t.Errorf("got keys %v, languages %v, want budget and task, true", got, rules.Languages())
	}
	if got := route.NewRules(nil).First(fits(func(*facts) {})); got != -1 {
		t.Errorf("got rule %d of none, want -1", got)
	}
}

// TestLanguageLast holds that the language is asked for only where all else holds.
func TestLanguageLast(t *testing.T) {
	t.Parallel()
	rules := route.NewRules([]route.Condition{{Languages: []string{"th"}, Metadata: map[string][]string{"budget": {"premium"}}}, {Stream: route.Yes}})
	f := &facts{shape: route.Shape{Stream: true}, language: "th"}
	if got := rules.First(f); got != 1 || f.asked != 0 {
		t.Errorf("got rule %d and %d questions for the language, want 1 and 0", got, f.asked)
	}
}

// TestRulesProperty compares the rules with conditions written out.
func TestRulesProperty(t *testing.T) {
	t.Parallel()
	values := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a*", "*b", "*"}), 1, 2)
	rapid.Check(t, func(t *rapid.T) {
		var conditions []route.Condition
		for range rapid.IntRange(0, 4).Draw(t, "rules") {
			conditions = append(conditions, route.Condition{
				Metadata:  rapid.MapOfN(rapid.SampledFrom([]string{"k", "l"}), values, 0, 2).Draw(t, "metadata"),
				Headers:   rapid.MapOfN(rapid.SampledFrom([]string{"x-a", "X-B"}), values, 0, 2).Draw(t, "headers"),
				Languages: rapid.SliceOfN(rapid.SampledFrom([]string{"th", "id"}), 0, 2).Draw(t, "languages"),
				Tools:     route.Answer(rapid.IntRange(0, 2).Draw(t, "tools")), Stream: route.Answer(rapid.IntRange(0, 2).Draw(t, "stream")),
				MinSize: rapid.IntRange(0, 3).Draw(t, "min"), MaxSize: rapid.IntRange(0, 3).Draw(t, "max"),
			})
		}
		word := rapid.SampledFrom([]string{"a", "b", "ab", "ba", ""})
		f := &facts{
			shape:    route.Shape{Tools: rapid.Bool().Draw(t, "has tools"), Stream: rapid.Bool().Draw(t, "is stream"), Size: rapid.IntRange(0, 4).Draw(t, "size")},
			headers:  rapid.MapOfN(rapid.SampledFrom([]string{"X-A", "X-B"}), rapid.SliceOfN(word, 0, 2), 0, 2).Draw(t, "has headers"),
			metadata: rapid.MapOfN(rapid.SampledFrom([]string{"k", "l"}), word, 0, 2).Draw(t, "has metadata"),
			language: rapid.SampledFrom([]string{"", "th", "de"}).Draw(t, "language"),
		}
		want := slices.IndexFunc(conditions, func(c route.Condition) bool { return plainly(c, f) })
		if got := route.NewRules(conditions).First(f); got != want {
			t.Errorf("got rule %d, want %d: %+v for %+v", got, want, conditions, f)
		}
	})
}

// plainly is whether a condition holds, word for word.
func plainly(c route.Condition, f *facts) bool {
	fits := func(patterns []string, value string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return naive(p).MatchString(value) })
	}
	ok := f.shape.Size >= c.MinSize && (c.MaxSize == 0 || f.shape.Size <= c.MaxSize)
	ok = ok && (c.Tools == route.Either || f.shape.Tools == (c.Tools == route.Yes))
	ok = ok && (c.Stream == route.Either || f.shape.Stream == (c.Stream == route.Yes))
	for name, patterns := range c.Headers {
		found := false
		for has, values := range f.headers {
			for _, v := range values {
				found = found || strings.EqualFold(name, has) && fits(patterns, v)
			}
		}
		ok = ok && found
	}
	for key, patterns := range c.Metadata {
		value, has := f.metadata[key]
		ok = ok && has && fits(patterns, value)
	}
	return ok && (len(c.Languages) == 0 || slices.Contains(c.Languages, f.language))
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"x-tier": true, "User-Agent": true, "accept-language": true, "x-max-tokens": true, "x-key-name": true, "origin": true,
		"authorization": false, "COOKIE": false, "x-api-key": false, "api-key": false, "x-auth-token": false, "x-goog-api-key": false,
		"x-amz-security-token": false, "proxy-authorization": false, "x-callgate-max-retries": false, "x-forwarded-for": false,
		"apikey": false, "token": false, "host": false, "": false, "x tier": false, "x-tïer": false, "x:tier": false, "x-tier\n": false,
	} {
		if got := route.Visible(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func BenchmarkFirst(b *testing.B) {
	var conditions []route.Condition
	for _, budget := range []string{"free", "small", "medium", "premium"} {
		conditions = append(conditions, route.Condition{
			Metadata: map[string][]string{"budget": {budget}}, Headers: map[string][]string{"x-tier": {"gold", "silver*"}}, Tools: route.Yes,
		})
	}
	rules := route.NewRules(conditions)
	f := &facts{shape: route.Shape{Tools: true}, headers: map[string][]string{"X-Tier": {"gold"}}, metadata: map[string]string{"budget": "premium"}}
	b.ReportAllocs()
	for b.Loop() {
		if rules.First(f) != 3 {
			b.Fatal("got another rule than the last")
		}
	}
}
