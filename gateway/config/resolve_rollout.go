package config

import (
	"cmp"
	"slices"
)

// RolloutModels are the entries of the configuration that a rollout is about, sorted.
func (c *Config) RolloutModels(r Rollout) (names []string) {
	for _, name := range sortedKeys(c.Models) {
		if c.Models[name].Alias == "" && (len(r.Match.Models) == 0 || slices.Contains(r.Match.Models, name)) {
			names = append(names, name)
		}
	}
	return names
}

// ArmTargets are where an arm's requests for an entry go, as they could be written. own says that
// they are not those of the entry itself.
func (c *Config) ArmTargets(o Override, entry string) (targets []Target, own bool) {
	switch {
	case len(o.Targets) > 0:
		for _, t := range o.Targets {
			targets = append(targets, o.under(t))
		}
		return targets, true
	case o.Provider != "":
		return []Target{o.over(Target{Provider: o.Provider, Model: o.Model})}, true
	}
	for _, t := range c.Models[entry].Targets {
		if o.Model != "" { // whose context is not known
			t.Model, t.ContextTokens = o.Model, 0
		}
		targets = append(targets, o.over(t))
	}
	return targets, o.Model != ""
}

// ResolveArm is ArmTargets with every default filled in.
func (c *Config) ResolveArm(o Override, entry string) []Resolved {
	targets, _ := c.ArmTargets(o, entry)
	return c.resolveAll(targets, entry)
}

// over is a target with what the override says in the place of its own.
func (o Override) over(t Target) Target {
	if len(o.Parser) > 0 {
		t.Parser = o.Parser
	}
	t.Reasoning, t.Tools, t.ToolCalls = cmp.Or(o.Reasoning, t.Reasoning), cmp.Or(o.Tools, t.Tools), cmp.Or(o.ToolCalls, t.ToolCalls)
	t.OnInvalidCall, t.DoubtfulCall = cmp.Or(o.OnInvalidCall, t.OnInvalidCall), cmp.Or(o.DoubtfulCall, t.DoubtfulCall)
	t.ResponseFormat, t.StructuredOutput = cmp.Or(o.ResponseFormat, t.ResponseFormat), cmp.Or(o.StructuredOutput, t.StructuredOutput)
	t.OnInvalidOutput, t.ToolInReasoning = cmp.Or(o.OnInvalidOutput, t.OnInvalidOutput), cmp.Or(o.ToolInReasoning, t.ToolInReasoning)
	return t
}

// under is a target with what the override says where it says nothing itself.
func (o Override) under(t Target) Target {
	own := Override{Parser: t.Parser, Reasoning: t.Reasoning, Tools: t.Tools, ToolCalls: t.ToolCalls, OnInvalidCall: t.OnInvalidCall, DoubtfulCall: t.DoubtfulCall,
		ResponseFormat: t.ResponseFormat, StructuredOutput: t.StructuredOutput, OnInvalidOutput: t.OnInvalidOutput, ToolInReasoning: t.ToolInReasoning}
	return own.over(o.over(t))
}

// ArmRoute is the behaviour of an arm's requests for an entry, as [Config.Route] has that of the entry.
func (c *Config) ArmRoute(o Override, entry string) ResolvedRoute {
	return c.fill(o.route(c.Models[entry].Route)).resolved()
}

// route is an entry's behaviour with what the override says in its place.
func (o Override) route(own Route) Route {
	own.Guard, own.GuardThreshold = cmp.Or(o.Guard, own.Guard), cmp.Or(o.GuardThreshold, own.GuardThreshold)
	own.LoopGuard, own.ToolBinding = cmp.Or(o.LoopGuard, own.LoopGuard), cmp.Or(o.ToolBinding, own.ToolBinding)
	own.ResolveReferences, own.CacheHints = cmp.Or(o.ResolveReferences, own.ResolveReferences), cmp.Or(o.CacheHints, own.CacheHints)
	own.DateContext, own.FallbackOn = cmp.Or(o.DateContext, own.DateContext), ownList(o.FallbackOn, own.FallbackOn)
	return own
}

// effectiveRollouts are those that are written, with the targets of their arms resolved.
func (c *Config) effectiveRollouts() []Rollout {
	out := slices.Clone(c.Rollouts)
	for i := range out {
		out[i].Arms = slices.Clone(out[i].Arms)
		for j := range out[i].Arms {
			if o := &out[i].Arms[j].Override; len(o.Targets) > 0 {
				targets, _ := c.ArmTargets(*o, "")
				o.Targets = c.effectiveTargets(targets)
			}
		}
	}
	return out
}
