package flow_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/observe"
)

// ways is a gateway with a route, a pattern and aliases.
func ways(tb testing.TB, change func(*flow.Options)) (*flow.Gateway, error) {
	tb.Helper()
	to := func(model string) []gateway.Target { return []gateway.Target{{Provider: "p", Model: model}} }
	o := flow.Options{
		Providers: map[string]gateway.Provider{"p": acts(turn{})},
		Routes:    map[string][]gateway.Target{"plain": to("plain"), "ruled": to("default"), "glob-*": to("")},
		Rules: map[string][]flow.Rule{"ruled": {
			{When: flow.Condition{Metadata: map[string][]string{"budget": {"small"}}}, Targets: to("small")},
			{When: flow.Condition{Headers: map[string][]string{"x-tier": {"gold"}}, Tools: flow.Yes}, Targets: to("tier")},
			{When: flow.Condition{Metadata: map[string][]string{"budget": {"premium"}}}, Targets: to("premium")},
		}},
		Aliases: map[string]string{"other": "ruled"},
	}
	change(&o)
	return flow.New(o)
}

// TestRoutingOptions holds that mistakes of the wiring are found.
func TestRoutingOptions(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*flow.Options){
		"":                         func(*flow.Options) {},
		"leads nowhere: a → b":     func(o *flow.Options) { o.Aliases["a"] = "b" },
		"nowhere: c → c":           func(o *flow.Options) { o.Aliases["c"] = "c" },
		"an alias and has":         func(o *flow.Options) { o.Aliases["plain"] = "ruled" },
		"rules and no route":       func(o *flow.Options) { o.Rules["none"] = o.Rules["ruled"] },
		"there is no target":       func(o *flow.Options) { o.Rules["ruled"][0].Targets = nil },
		`there is no provider "q"`: func(o *flow.Options) { o.Rules["ruled"][1].Targets = []gateway.Target{{Provider: "q"}} },
		"has no form for prompts":  func(o *flow.Options) { o.Rules["ruled"][1].Targets[0].Prompted = "no such" },
	} {
		if _, err := ways(t, change); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %q", err, want)
		}
	}
}

// ask sends a body and returns the summary.
func askOnce(tb testing.TB, g *flow.Gateway, body string) gateway.Summary {
	tb.Helper()
	req, err := gateway.ParseRequest([]byte(body))
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := g.Chat(tb.Context(), req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Close()
	for err == nil {
		_, err = resp.Next()
	}
	return *resp.Summary
}

// TestRoutingSummary holds that the summary says how the targets were found.
func TestRoutingSummary(t *testing.T) {
	t.Parallel()
	g, err := ways(t, func(*flow.Options) {})
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`"model":"plain","metadata":{"budget":"premium"}`: "plain plain",
		`"model":"ruled"`: "ruled default",
		`"model":"ruled","metadata":{"budget":"premium"}`: "ruled;rule=3 premium",
		`"model":"other","metadata":{"budget":"small"}`:   "ruled;alias=other;rule=1 small",
		`"model":"glob-x"`: "glob-* glob-x",
	} {
		s := askOnce(t, g, "{"+body+`,"messages":[]}`)
		if got := observe.RouteText(&s) + " " + s.Model; got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	if names := fmt.Sprint(g.Models(t.Context())); names != "[other plain ruled]" {
		t.Errorf("got models %s, want those without a pattern", names)
	}
}

// TestRoutingLanguageAbsent holds that a route whose rules do not ask for a language is
// decided without one, whatever the metadata say.
func TestRoutingLanguageAbsent(t *testing.T) {
	t.Parallel()
	g, err := ways(t, func(*flow.Options) {})
	if err != nil {
		t.Fatal(err)
	}
	s := askOnce(t, g, `{"model":"ruled","metadata":{"language":"th"},"messages":[{"role":"user","content":"por qué me da error este código"}]}`)
	if s.Route.Language != "" || !s.Route.HasRules {
		t.Errorf("got %+v, want no language", s.Route)
	}
}
