package config

import "slices"

const prompted = "prompted"

// visitTargets calls visit with every target as it was written, and with every
// provider as the target that writes what the provider does.
func (c *Config) visitTargets(visit func(p path, own Target)) {
	for _, name := range sortedKeys(c.Providers) {
		pr := c.Providers[name]
		visit(path("providers").Key(name), Target{
			Provider: name, Parser: pr.Parser, Tools: pr.Tools, ToolCalls: pr.ToolCalls, RawToolText: pr.RawToolText,
		})
	}
	for _, name := range sortedKeys(c.Models) {
		for list, targets := range c.Models[name].lists(path("models").Key(name)) {
			for i, t := range targets {
				if _, ok := c.Providers[t.Provider]; ok {
					visit(list.At(i), t)
				}
			}
		}
	}
	c.armTargets(visit)
}

// origin leads to where a target at p has a key from: its own, else its provider's.
func (t Target) origin(p path, key string, own bool) path {
	if own {
		return p.Key(key)
	}
	return path("providers").Key(t.Provider).Key(key)
}

// checkPrompted refuses tools in the prompt where no calls would come back. What a
// target only takes from its provider is a problem of the provider already.
func (c *Config) checkPrompted(r *report, p path, own Target) {
	all := c.resolve(own)
	if all.Tools != prompted {
		return
	}
	hasTools := own.Tools != ""
	tools := r.where(own.origin(p, "tools", hasTools))
	if hasParser := len(own.Parser) > 0; len(all.Parser.Names()) != 1 && (hasTools || hasParser) {
		r.add(p.Key("parser"), "tools: prompted (%s) needs one parser by its name, not auto, none or a list, since its form stands in the prompt; write for example parser: hermes", tools)
	}
	if hasMode := own.ToolCalls != ""; (all.ToolCalls == Off || all.ToolCalls == "report") && (hasTools || hasMode) {
		r.add(p.Key("tool_calls"), "with tools: prompted (%s) calls come as text, and tool_calls: %s (%s) leaves it text; use tool_calls: repair, or tools: native",
			tools, all.ToolCalls, r.where(own.origin(p, "tool_calls", hasMode)))
	}
	if all.RawToolText && (hasTools || own.RawToolText) {
		r.add(p.Key("raw_tool_text"), "with tools: prompted (%s) there are no calls that the upstream could parse, so that raw_tool_text (%s) asks for nothing; leave one of them out",
			tools, r.where(own.origin(p, "raw_tool_text", own.RawToolText)))
	}
}

// CheckPrompted checks that the parser of every target and provider with tools:
// prompted is in known, the parsers that have a form for the prompt, in any order.
// The wiring, which alone knows them, calls it first. The error is an [*Error].
func (c *Config) CheckPrompted(known []string) error {
	r := newReport(c.src)
	known = slices.Sorted(slices.Values(known))
	c.visitTargets(func(p path, own Target) {
		all, hasParser := c.resolve(own), len(own.Parser) > 0
		names := all.Parser.Names()
		if all.Tools != prompted || own.Tools == "" && !hasParser || len(names) != 1 || slices.Contains(known, names[0]) {
			return
		}
		from := own.origin(p, "parser", hasParser)
		r.add(p.Key("parser"), "parser %s (%s) has no form for the prompt, which tools: prompted (%s) needs%s",
			r.src.show(from, names[0]), r.where(from), r.where(own.origin(p, "tools", own.Tools != "")),
			r.suggest(from, names[0], "parsers with one", known))
	})
	return r.err()
}
