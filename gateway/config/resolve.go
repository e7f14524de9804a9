package config

import (
	"cmp"
	"strings"
)

// Resolved is a target with every default filled in.
type Resolved struct {
	// Provider is the name of the provider, and Model the upstream's name of the
	// model.
	Provider, Model string
	// Weight is the target's share of the requests that ask it first.
	Weight int
	// Parser is never empty.
	Parser Parsers
	// Reasoning is "auto", "open", "closed" or "none".
	Reasoning string
	// Tools is "native" or "prompted".
	Tools string
	// ToolCalls is "off", "report" or "repair".
	ToolCalls string
	// OnInvalidCall is "pass", "reject" or "reask"; with ToolCalls "off" it is "pass".
	OnInvalidCall string
	// EmptyCompletion is "pass" or "fail".
	EmptyCompletion string
	// History is the provider's: "off", "report" or "repair".
	History string
	// ToolInReasoning is "buffer", "end" or "ignore".
	ToolInReasoning string
	// RawToolText asks the upstream for the model's own text.
	RawToolText bool
}

// Targets returns where requests for a model go, in order of preference, nil if
// no model of the configuration has that name. The parser of a target is its
// own, else the provider's, else "auto" for the demo provider and "none" for
// others. Reasoning is its own, else the provider's, else "auto" with a parser and
// "none" without; a target with parser "none" of its own does not take the
// provider's. All else is its own, else the provider's, else the default of all.
func (c *Config) Targets(model string) []Resolved {
	m, ok := c.match(model)
	if !ok {
		return nil
	}
	targets := make([]Resolved, len(m.Targets))
	for i, t := range m.Targets {
		targets[i] = c.resolve(t)
		targets[i].Model = cmp.Or(t.Model, model)
	}
	return targets
}

// match finds a model by its name, else by the longest pattern.
func (c *Config) match(name string) (Model, bool) {
	if m, ok := c.Models[name]; ok && !strings.HasSuffix(name, "*") {
		return m, true
	}
	best, longest := Model{}, -1
	for pattern, m := range c.Models {
		prefix, ok := strings.CutSuffix(pattern, "*")
		if ok && len(prefix) > longest && strings.HasPrefix(name, prefix) {
			best, longest = m, len(prefix)
		}
	}
	return best, longest >= 0
}

// resolve fills in the defaults of a target but for the model's name.
func (c *Config) resolve(t Target) Resolved {
	p := c.Providers[t.Provider]
	r := Resolved{
		Provider: t.Provider, Model: t.Model, Weight: t.Weight,
		Parser:          c.resolveParser(t),
		Tools:           cmp.Or(t.Tools, p.Tools, "native"),
		ToolCalls:       cmp.Or(t.ToolCalls, p.ToolCalls, "repair"),
		OnInvalidCall:   cmp.Or(t.OnInvalidCall, p.OnInvalidCall, "pass"),
		EmptyCompletion: cmp.Or(t.EmptyCompletion, p.EmptyCompletion, "fail"),
		History:         cmp.Or(p.History, adapters[p.Type].history),
		ToolInReasoning: cmp.Or(t.ToolInReasoning, p.ToolInReasoning, "buffer"),
		RawToolText:     t.RawToolText || p.RawToolText,
	}
	if r.ToolCalls == "off" { // nobody looks for a call that is broken
		r.OnInvalidCall = "pass"
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
