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
	// Parser is never empty.
	Parser Parsers
	// Reasoning is "auto", "open", "closed" or "none".
	Reasoning string
	// ToolCalls is "off", "report" or "repair".
	ToolCalls string
	// ToolInReasoning is "buffer", "end" or "ignore".
	ToolInReasoning string
	// RawToolText asks the upstream for the model's own text.
	RawToolText bool
}

// Targets returns where requests for a model go, in order of preference, nil if
// no model of the configuration has that name. The parser of a target is its
// own, else the provider's, else "auto" for the demo provider and "none" for
// others; reasoning and tool calls are its own, else the provider's, else "auto"
// and "repair" with a parser, "none" and "off" without. A target with parser
// "none" of its own takes neither from its provider: it opts out.
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
	r := Resolved{Provider: t.Provider, Model: t.Model, Parser: t.Parser}
	if len(r.Parser) == 0 {
		r.Parser = p.Parser
	}
	if len(r.Parser) == 0 {
		r.Parser = Parsers{None}
		if p.Type == "demo" {
			r.Parser = Parsers{Auto}
		}
	}
	r.ToolInReasoning = cmp.Or(t.ToolInReasoning, p.ToolInReasoning, "buffer")
	r.RawToolText = t.RawToolText || p.RawToolText
	reasoning, toolCalls := "auto", "repair"
	if r.Parser.IsNone() {
		reasoning, toolCalls = "none", "off"
	}
	if len(t.Parser) == 0 || !t.Parser.IsNone() {
		reasoning, toolCalls = cmp.Or(p.Reasoning, reasoning), cmp.Or(p.ToolCalls, toolCalls)
	}
	r.Reasoning, r.ToolCalls = cmp.Or(t.Reasoning, reasoning), cmp.Or(t.ToolCalls, toolCalls)
	return r
}
