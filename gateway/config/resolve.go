package config

import (
	"cmp"

	"github.com/callgate/callgate/gateway/internal/route"
)

// Resolved is a target with every default filled in, and what its provider adds. Parser is
// never empty; with ToolCalls "off", OnInvalidCall is "pass", and with StructuredOutput "off"
// OnInvalidOutput is.
type Resolved struct {
	Target
	// History is the provider's: "off", "report" or "repair".
	History string
}

// Targets returns where requests for a model go that meet none of its rules, in order of
// preference, nil if no model or provider of the configuration has that name. The parser of
// a target is its own, else the provider's, else "auto" for the demo provider and "none"
// for others. Reasoning is its own, else the provider's, else "auto" with a parser and
// "none" without; a target with parser "none" of its own does not take the
// provider's. All else is its own, else the provider's, else the default of all.
func (c *Config) Targets(model string) []Resolved {
	f, ok := c.table().Find(model)
	if !ok {
		return nil
	}
	if f.Provider != "" {
		return c.resolveAll([]Target{{Provider: f.Provider}}, f.Model)
	}
	return c.resolveAll(c.Models[f.Entry].Targets, f.Model)
}

// RuleTargets returns the targets of each rule of an entry, by the entry's name as it is
// written, as Targets does those of the entry itself.
func (c *Config) RuleTargets(entry string) [][]Resolved {
	var out [][]Resolved
	for _, rule := range c.Models[entry].Rules {
		out = append(out, c.resolveAll(rule.Targets, entry))
	}
	return out
}

// ContextTokens returns what says, for the name of a model, the smallest context, in tokens, that is known of the
// targets that requests for it may go to, those of rules and of the arms of rollouts among them; 0 if none is. It is
// asked with each request, so all is looked up beforehand; nil if no target has a context.
func (c *Config) ContextTokens() func(model string) int {
	least := map[string]int{} // by entry
	look := func(entry string, list []Resolved) {
		for _, t := range list {
			if n := t.ContextTokens; n > 0 && (least[entry] == 0 || n < least[entry]) {
				least[entry] = n
			}
		}
	}
	for entry, m := range c.Models {
		look(entry, c.resolveAll(m.Targets, entry))
		for _, list := range c.RuleTargets(entry) {
			look(entry, list)
		}
	}
	for _, r := range c.Rollouts {
		for _, entry := range c.RolloutModels(r) {
			for _, a := range r.Arms {
				look(entry, c.ResolveArm(a.Override, entry))
			}
		}
	}
	if len(least) == 0 {
		return nil
	}
	table := c.table()
	return func(model string) int {
		f, _ := table.Find(model)
		return least[f.Entry] // a provider's own names have no entry
	}
}

func (c *Config) resolveAll(own []Target, model string) []Resolved {
	targets := make([]Resolved, len(own))
	for i, t := range own {
		targets[i] = c.resolve(t)
		targets[i].Model = cmp.Or(t.Model, model)
	}
	return targets
}

// table finds models as the gateway does.
func (c *Config) table() *route.Table {
	entries := map[string]string{}
	for name, m := range c.Models {
		entries[name] = m.Alias
	}
	return route.NewTable(entries, sortedKeys(c.Providers))
}

// resolve fills in the defaults of a target but for the model's name.
func (c *Config) resolve(t Target) Resolved {
	p := c.Providers[t.Provider]
	r := Resolved{History: cmp.Or(p.History, adapters[p.Type].history), Target: Target{
		Provider: t.Provider, Model: t.Model, Weight: t.Weight, ContextTokens: t.ContextTokens,
		Parser:          c.resolveParser(t),
		Tools:           cmp.Or(t.Tools, p.Tools, adapters[p.Type].tools, "native"),
		ToolCalls:       cmp.Or(t.ToolCalls, p.ToolCalls, "repair"),
		OnInvalidCall:   cmp.Or(t.OnInvalidCall, p.OnInvalidCall, "pass"),
		DoubtfulCall:    cmp.Or(t.DoubtfulCall, p.DoubtfulCall, "report"),
		ResponseFormat:  cmp.Or(t.ResponseFormat, p.ResponseFormat, "native"),
		OnInvalidOutput: cmp.Or(t.OnInvalidOutput, p.OnInvalidOutput, "pass"),
		EmptyCompletion: cmp.Or(t.EmptyCompletion, p.EmptyCompletion, "fail"),
		ToolInReasoning: cmp.Or(t.ToolInReasoning, p.ToolInReasoning, "buffer"),
		RawToolText:     t.RawToolText || p.RawToolText,
	}}
	if r.ToolCalls == "off" { // nobody looks for a call that is broken
		r.OnInvalidCall = "pass"
	}
	if r.StructuredOutput = cmp.Or(t.StructuredOutput, p.StructuredOutput, r.ToolCalls); r.StructuredOutput == "off" {
		r.OnInvalidOutput = "pass"
	}
	reasoning := "auto"
	if r.Parser.IsNone() {
		reasoning = "none"
	}
	if len(t.Parser) == 0 || !t.Parser.IsNone() {
		reasoning = cmp.Or(p.Reasoning, reasoning)
	}
	r.Reasoning = cmp.Or(t.Reasoning, reasoning)
	return r
}

func (c *Config) resolveParser(t Target) Parsers {
	p := c.Providers[t.Provider]
	switch {
	case len(t.Parser) > 0:
		return t.Parser
	case len(p.Parser) > 0:
		return p.Parser
	case p.Type == "demo":
		return Parsers{Auto}
	}
	return Parsers{None}
}
