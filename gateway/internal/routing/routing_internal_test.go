package routing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/wire"
)

// TestFactsProperty compares what rules see of the metadata with what was put into it.
func TestFactsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.MapOfN(rapid.String(), rapid.String(), 0, 5).Draw(t, "texts")
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "budget", "é", "\""}), 0, 4, rapid.ID).Draw(t, "keys")
		var members []string
		for k, v := range texts {
			members = append(members, string(wire.AppendQuoted(nil, k))+":"+string(wire.AppendQuoted(nil, v)))
		}
		req, err := gateway.ParseRequest([]byte(`{"model":"m","metadata":{` + strings.Join(members, ",") + `}}`))
		if err != nil {
			t.Skip(err) // text that is not UTF-8, or two keys that are one
		}
		for k := range texts {
			keys = append(keys, k)
		}
		f := &facts{req: req, keys: slices.Sorted(slices.Values(keys))}
		for _, k := range keys {
			want, has := texts[k]
			if got, ok := f.Metadata(k); got != want || ok != has {
				t.Errorf("%q: got %q, %v, want %q, %v", k, got, ok, want, has)
			}
		}
	})
}

// FuzzFacts holds that no request makes the facts fail, and that they are of the request.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"model":"m","metadata":{"budget":"premium","language":"th"},"messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"m","metadata":{"bu\u0064get":"a\ud83d\ude00","language":null},"messages":[{"role":"user","content":[{"text":"y"}]}]}`))
	g, err := New(Config{Routes: map[string][]gateway.Target{"m": {{}}},
		Rules: map[string][]Rule{"m": {{When: route.Condition{Metadata: map[string][]string{"budget": {"*"}}, Languages: []string{"th"}}}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := gateway.ParseRequest(body)
		if err != nil || req.Model != "m" {
			return
		}
		c, ok := g.Choose(req)
		if !ok || c.Rule > 0 && c.Language != "th" {
			t.Errorf("got %+v, %t, want rule 1 for Thai alone", c, ok)
		}
	})
}

// BenchmarkChoose is what it costs to read a request of 4 KB and to find its targets.
func BenchmarkChoose(b *testing.B) {
	o := Config{Routes: map[string][]gateway.Target{"plain": {{}}, "ruled": {{}}, "language": {{}}}, Rules: map[string][]Rule{}}
	for _, budget := range []string{"free", "small", "medium", "premium"} {
		when := route.Condition{Metadata: map[string][]string{"budget": {budget}}, Headers: map[string][]string{"x-tier": {"gold", "silver*"}}}
		o.Rules["ruled"] = append(o.Rules["ruled"], Rule{When: when})
	}
	o.Rules["language"] = []Rule{{When: route.Condition{Languages: []string{"es"}}}}
	g, err := New(o)
	if err != nil {
		b.Fatal(err)
	}
	for _, model := range []string{"plain", "ruled", "language"} {
		b.Run(model, func(b *testing.B) {
			const question = "por qué me da error este código"
			body := fmt.Sprintf(`{"model":%q,"metadata":{"user":"u1","budget":"premium"},"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`,
				model, strings.Repeat("You are kind. ", 290), question)
			b.ReportAllocs()
			for b.Loop() {
				req, err := gateway.ParseRequest([]byte(body)) // or the messages would be read once for all
				if err != nil {
					b.Fatal(err)
				}
				req.From.Header = map[string][]string{"X-Tier": {"gold"}}
				if _, ok := g.Choose(req); !ok {
					b.Fatal("no targets")
				}
			}
		})
	}
}
