package config

import (
	"cmp"
	"time"
)

// ResolvedRoute is a [Route] with every default filled in. What has no effect is
// empty: with Guard "off" there are no Intents, with LoopGuard "off" no rounds, with
// ResolveReferences "off" no References, with AnswerCache "off" no time. GuardThreshold is 0
// for the guard's own. Lists belong to the configuration and must not be changed.
type ResolvedRoute struct {
	Route
	// Zone is that of the date in the system prompt, nil for none.
	Zone *time.Location
}

// Route returns the behaviour of a model by the name of its entry, patterns as they
// are written, and [Config.DefaultRoute] for a name without one. A key is the
// model's own, else that of [Config.Defaults], else the default of all. It is for the wiring,
// once a model: a time zone is read from the database each time.
func (c *Config) Route(model string) ResolvedRoute {
	return c.fill(c.Models[model].Route).resolved()
}

// DefaultRoute returns the behaviour of requests that name a provider,
// "provider/model", and of all others without an entry in the configuration.
func (c *Config) DefaultRoute() ResolvedRoute { return c.fill(Route{}).resolved() }

// The defaults of numbers.
const (
	defaultMaxRounds      = 15
	defaultCodingRounds   = 100
	defaultJudging        = Duration(3 * time.Second)
	defaultAnswerCacheTTL = Duration(10 * time.Minute)
)

// fill fills in the defaults of a route, and empties what has no effect.
func (c *Config) fill(own Route) Route {
	all := c.Defaults
	out := Route{
		Routing:           cmp.Or(own.Routing, all.Routing, "order"),
		Guard:             cmp.Or(own.Guard, all.Guard, "report"),
		GuardThreshold:    cmp.Or(own.GuardThreshold, all.GuardThreshold),
		Intents:           ownList(own.Intents, all.Intents),
		LoopGuard:         cmp.Or(own.LoopGuard, all.LoopGuard, "report"),
		MaxRounds:         cmp.Or(own.MaxRounds, all.MaxRounds, defaultMaxRounds),
		IdleRounds:        cmp.Or(own.IdleRounds, all.IdleRounds, 3),
		ToolBinding:       cmp.Or(own.ToolBinding, all.ToolBinding, "report"),
		FallbackOn:        ownList(own.FallbackOn, ownList(all.FallbackOn, FallbackOn{"tools_refused", "context_length"})),
		DateContext:       cmp.Or(own.DateContext, all.DateContext, Off),
		References:        ownList(own.References, all.References),
		ResolveReferences: cmp.Or(own.ResolveReferences, all.ResolveReferences, "repair"),
		ExecutionMetadata: cmp.Or(own.ExecutionMetadata, all.ExecutionMetadata, Off),
		AnswerCache:       cmp.Or(own.AnswerCache, all.AnswerCache, Off),
		AnswerCacheTTL:    cmp.Or(own.AnswerCacheTTL, all.AnswerCacheTTL, defaultAnswerCacheTTL),
		Tools:             fillTools(own.Tools, all.Tools),
	}
	out.fillQuality(own, all)
	if out.GuardJudge = cmp.Or(own.GuardJudge, all.GuardJudge); out.GuardJudge != "" {
		out.GuardJudgeTimeout = cmp.Or(own.GuardJudgeTimeout, all.GuardJudgeTimeout, defaultJudging)
	}
	out.CodingRounds = cmp.Or(own.CodingRounds, all.CodingRounds, own.MaxRounds, all.MaxRounds, defaultCodingRounds)
	out.MaxCalls = cmp.Or(own.MaxCalls, all.MaxCalls)
	out.MaxLoopTime, out.MaxLoopUSD = cmp.Or(own.MaxLoopTime, all.MaxLoopTime), cmp.Or(own.MaxLoopUSD, all.MaxLoopUSD)
	hints := Off
	if out.Routing == "prefix" { // what is led to a cache by us shall find it there
		hints = "set"
	}
	out.CacheHints = cmp.Or(own.CacheHints, all.CacheHints, hints)
	if out.Guard == Off {
		out.GuardThreshold, out.Intents, out.GuardJudge, out.GuardJudgeTimeout = 0, nil, "", 0
	}
	// A model that lowers its rounds need not lower those without progress too.
	out.IdleRounds = min(out.IdleRounds, out.MaxRounds)
	if out.LoopGuard == Off {
		out.MaxRounds, out.IdleRounds, out.CodingRounds, out.MaxCalls = 0, 0, 0, 0
		out.MaxLoopTime, out.MaxLoopUSD = 0, 0
	}
	if out.ResolveReferences == Off {
		out.References = nil
	}
	if out.AnswerCache == Off {
		out.AnswerCacheTTL = 0
	}
	return out
}

// ownList is cmp.Or for lists: one that was written counts even if it is empty.
func ownList[L ~[]E, E any](own, all L) L {
	if own != nil {
		return own
	}
	return all
}

// resolved gives a route that is filled in to those who use it.
func (route Route) resolved() ResolvedRoute {
	out := ResolvedRoute{Route: route}
	if route.DateContext != Off {
		out.Zone, _ = loadZone(route.DateContext) // the configuration has been checked
	}
	return out
}

// printable gives a route that is filled in as a file may write it: with one round
// of calls there is no number of idle ones to write.
func (route Route) printable() Route {
	if route.IdleRounds < 2 {
		route.IdleRounds = 0
	}
	return route
}
