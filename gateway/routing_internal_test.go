package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// TestAverage holds that the mean is one of recent values: a burst counts as a whole, old
// values fade, and in the end nothing is known.
func TestAverage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &load{}
		value := func() float64 { return l.whole.value(time.Now()) }
		add := func(seconds float64, outcome string) {
			l.begins()
			l.ends(outcome, time.Duration(seconds*float64(time.Second))/2, time.Duration(seconds*float64(time.Second)))
		}
		add(10, "timeout")
		if got := value(); got != 0 || l.outcome != "timeout" {
			t.Errorf("got %g behind a failure, want 0", got)
		}
		add(10, "ok") // an outlier at the beginning of a burst
		for range 9 {
			add(1, "ok")
		}
		if got := value(); got < 1.8 || got > 2 {
			t.Errorf("got %g for a burst, want its mean of 1.9", got)
		}
		time.Sleep(memory)
		for range 10 {
			add(3, "ok")
		}
		if got := value(); got < 2.6 || got > 2.8 {
			t.Errorf("got %g, want 2.7: what is two minutes old counts for a third", got)
		}
		if got := l.first.value(time.Now()); got < 1.3 || got > 1.4 {
			t.Errorf("got %g to the first byte, want half of it", got)
		}
		time.Sleep(forgotten + time.Second)
		if got := value(); got != 0 {
			t.Errorf("got %g behind ten quiet minutes, want 0", got)
		}
		add(5, "ok")
		if got := value(); got != 5 {
			t.Errorf("got %g, want the new value alone", got)
		}
		if got := l.running.Load(); got != 0 {
			t.Errorf("got %d running, want 0", got)
		}
	})
}

// TestLoads holds that every target of a configuration has its own load, and all other
// models of a provider one together.
func TestLoads(t *testing.T) {
	t.Parallel()
	o := Options{
		Providers: map[string]Provider{"p": nil, "q": nil},
		Routes:    map[string][]Target{"m": {{Provider: "p"}, {Provider: "q", Model: "x"}}, "g*": {{Provider: "p"}}},
		Rules:     map[string][]Rule{"m": {{Targets: []Target{{Provider: "q", Model: "y"}}}}},
	}
	g := &Gateway{loads: o.newLoads()}
	if len(g.loads) != 5 {
		t.Errorf("got %d loads, want p/m, q/x, q/y, p and q", len(g.loads))
	}
	if g.loadOf("p", "m") == g.loadOf("p", "g-1") || g.loadOf("p", "g-1") != g.loadOf("p", "else") || g.loadOf("q", "y") == g.loadOf("q", "x") {
		t.Error("got loads that are not apart, or not together")
	}
}

// TestFactsProperty compares what rules see of the metadata with what was put into it.
func TestFactsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.MapOfN(rapid.String(), rapid.String(), 0, 5).Draw(t, "texts")
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "budget", "é", "\""}), 0, 4, rapid.ID).Draw(t, "keys")
		var members []string
		for k, v := range texts {
			members = append(members, string(conversation.Quote(nil, k))+":"+string(conversation.Quote(nil, v)))
		}
		req, err := ParseRequest([]byte(`{"model":"m","metadata":{` + strings.Join(members, ",") + `}}`))
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
	g := &Gateway{rules: map[string]*ruleSet{}, routes: map[string][]Target{"m": {{}}}}
	o := Options{Routes: g.routes, Rules: map[string][]Rule{"m": {{When: Condition{Metadata: map[string][]string{"budget": {"*"}}, Languages: []string{"th"}}}}}}
	if err := g.newRouting(o); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := ParseRequest(body)
		if err != nil || req.Model != "m" {
			return
		}
		c, err := g.choose(req)
		if err != nil || c.Rule > 0 && c.Language != "th" {
			t.Errorf("got %+v, %v, want rule 1 for Thai alone", c, err)
		}
	})
}

// BenchmarkChoose is what it costs to find the targets of a request of 4 KB.
func BenchmarkChoose(b *testing.B) {
	g := &Gateway{rules: map[string]*ruleSet{}, routes: map[string][]Target{"plain": {{}}, "ruled": {{}}, "language": {{}}}}
	o := Options{Routes: g.routes, Rules: map[string][]Rule{}}
	for _, budget := range []string{"free", "small", "medium", "premium"} {
		when := Condition{Metadata: map[string][]string{"budget": {budget}}, Headers: map[string][]string{"x-tier": {"gold", "silver*"}}}
		o.Rules["ruled"] = append(o.Rules["ruled"], Rule{When: when})
	}
	o.Rules["language"] = []Rule{{When: Condition{Languages: []string{"es"}}}}
	if err := g.newRouting(o); err != nil {
		b.Fatal(err)
	}
	for _, model := range []string{"plain", "ruled", "language"} {
		b.Run(model, func(b *testing.B) {
			const question = "por qué me da error este código"
			body := fmt.Sprintf(`{"model":%q,"metadata":{"user":"u1","budget":"premium"},"messages":[{"role":"system","content":%q},{"role":"user","content":%q}]}`,
				model, strings.Repeat("You are kind. ", 290), question)
			req, err := ParseRequest([]byte(body))
			if err != nil {
				b.Fatal(err)
			}
			req.Header = map[string][]string{"X-Tier": {"gold"}}
			b.ReportAllocs()
			for b.Loop() {
				req.locate() // or the messages would be read once for all
				if _, err := g.choose(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLocate is the part of BenchmarkChoose that every request costs.
func BenchmarkLocate(b *testing.B) {
	req, err := ParseRequest([]byte(fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q}]}`, strings.Repeat("You are kind. ", 290))))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		req.locate()
	}
}
