package config_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/callgate/callgate/gateway/config"
)

// TestTargetsOfAliases holds that a name leads where the gateway leads it: through aliases,
// to the most specific pattern, or to a provider.
func TestTargetsOfAliases(t *testing.T) {
	t.Parallel()
	c := mustParse(t, `
providers: {p: {type: demo}, q: {type: demo, parser: hermes}}
models:
  m: {targets: [{provider: p, model: own}], rules: [{when: {tools: true}, targets: [{provider: q}, {provider: p, model: x, tool_calls: report}]}]}
  fast: {alias: m}
  g-*-mini: {targets: [{provider: q}]}
  g-*: {targets: [{provider: p}]}
  vendor-*: {alias: q/deep/model}
`)
	for model, want := range map[string]string{
		"m": "p own auto", "fast": "p own auto", "g-1-mini": "q g-1-mini hermes", "g-1": "p g-1 auto", "vendor-x": "q deep/model hermes", "p/y": "p y auto",
	} {
		got := c.Targets(model)
		if len(got) != 1 || fmt.Sprint(got[0].Provider, " ", got[0].Model, " ", got[0].Parser) != want {
			t.Errorf("%s: got %+v, want %s", model, got, want)
		}
	}
	if got := c.Targets("none"); got != nil {
		t.Errorf("got %+v for a name that leads nowhere, want nil", got)
	}
	rules := c.RuleTargets("m")
	if len(rules) != 1 || len(rules[0]) != 2 || rules[0][0].Model != "m" || rules[0][0].Parser.String() != "hermes" || rules[0][1].ToolCalls != "report" {
		t.Errorf("got %+v, want the targets of the rule with the defaults of their providers", rules)
	}
}

// TestCheckParsersOfRules holds that the parsers of rules' targets are looked for too.
func TestCheckParsersOfRules(t *testing.T) {
	t.Parallel()
	c := mustParse(t, "providers: {p: {type: demo}}\nmodels:\n  m: {targets: [{provider: p}], rules: [{when: {tools: true}, targets: [{provider: p, parser: hermse}]}]}\n")
	err := c.CheckParsers([]string{"hermes"})
	if want := `3:95: models.m.rules[0].targets[0].parser: there is no parser "hermse"; did you mean "hermes"?`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
	prompts := mustParse(t, "providers: {p: {type: demo}}\nmodels:\n  m: {targets: [{provider: p}], rules: [{when: {tools: true}, targets: [{provider: p, parser: hermes, tools: prompted}]}]}\n")
	if err := prompts.CheckPrompted([]string{"glm45"}); err == nil || !strings.Contains(err.Error(), "models.m.rules[0].targets[0].parser") {
		t.Errorf("got error %v, want one about the rule's target", err)
	}
}

// TestRulesProperty checks that the printed configuration has the rules of the file.
func TestRulesProperty(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{`a`, `"a*"`, `"true"`, `"5"`, `"$${x}"`, `"é\n\""`, `[a, b]`, `["no", "*"]`})
	conditions := map[string]*rapid.Generator[string]{
		"metadata": rapid.Map(word, func(w string) string { return `{budget: ` + w + `, "a b": ` + w + `}` }),
		"headers":  rapid.Map(word, func(w string) string { return `{X-Tier: ` + w + `}` }),
		"language": rapid.SampledFrom([]string{"th", "[th]", `[zh, "no"]`}),
		"tools":    rapid.SampledFrom([]string{"true", "false", `"true"`}),
		"stream":   rapid.SampledFrom([]string{"true", "false"}),
		"size":     rapid.SampledFrom([]string{"{min: 5}", "{max: 1MiB}", "{min: 1KB, max: 2KB}"}),
	}
	rapid.Check(t, func(t *rapid.T) {
		var rules []string
		for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
			when := []string{fmt.Sprintf("metadata: {n: %q}", fmt.Sprint(i))} // or two may be the same
			for key, values := range conditions {
				if key != "metadata" && rapid.Bool().Draw(t, key) {
					when = append(when, key+": "+values.Draw(t, key+" value"))
				} else if key == "metadata" && rapid.Bool().Draw(t, key) {
					when[0] = "metadata: " + strings.Replace(values.Draw(t, "words"), "{", fmt.Sprintf("{n: %q, ", fmt.Sprint(i)), 1)
				}
			}
			rules = append(rules, "{when: {"+strings.Join(when, ", ")+"}, targets: [{provider: p}]}")
		}
		text := "providers: {p: {type: demo}}\nmodels:\n  m: {targets: [{provider: p}], rules: [" + strings.Join(rules, ", ") + "]}\n"
		c, err := config.Parse("f", []byte(text), nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		again, err := config.Parse("f", c.YAML(), nil)
		if err != nil {
			t.Fatalf("the printed configuration has a problem: %v\n%s", err, c.YAML())
		}
		got, want := again.Models["m"].Rules, c.Models["m"].Rules
		for i := range want {
			if fmt.Sprintf("%q", got[i].When) != fmt.Sprintf("%q", want[i].When) {
				t.Errorf("got %q, want %q", got[i].When, want[i].When)
			}
		}
	})
}
