package consoletest

import (
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/playground"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/catalogue"
)

// Options are a console behind a day: what the history says of it, and the state at its end.
func Options(sort Sort, source playground.Source) console.Options {
	h := History(sort, Noon)
	return console.Options{
		History: h, Source: source, Version: "v1.0.0", Now: func() time.Time { return Noon },
		Breakers: func() []breaker.Snapshot { return breakers(sort) },
		Targets:  func() []gateway.TargetState { return targets(sort) },
		Reset:    func(string) bool { return true }, ResetParser: func(string) bool { return true }, Ready: func() error { return nil },
		Caches:   func() any { return map[string]any{} },
		Plugins:  func() console.Plugins { return plugins(sort) },
		Tools:    func() []catalogue.Status { return tools(sort) },
		Budgets:  func() []console.Budget { return budgets(sort) },
		Concerns: func() []console.Concern { return concerns(sort) },
	}
}

func breakers(sort Sort) (out []breaker.Snapshot) {
	for _, name := range []string{"anthropic", "local-vllm", "openai", "sglang"} {
		b := breaker.Snapshot{Name: name, State: breaker.Closed, Since: Noon.Add(-24 * time.Hour), OpensAfter: 5, History: []breaker.Change{}}
		if name == "sglang" && sort == Troubled {
			b.State, b.Since, b.ConsecutiveFailures, b.ReopensIn = breaker.Open, Noon.Add(-6*time.Minute), 7, 24
			b.History = []breaker.Change{{At: b.Since, From: breaker.Closed, To: breaker.Open, Reason: "upstream_timeout"}}
		}
		out = append(out, b)
	}
	return out
}

func targets(sort Sort) (out []gateway.TargetState) {
	for _, m := range models {
		t := gateway.TargetState{Provider: m.provider, Model: m.model, Breaker: breaker.Closed}
		if sort != Empty {
			t.FirstToken, t.Answer, t.LastOutcome, t.LastAt = m.first.Seconds(), m.each.Seconds(), "ok", Noon.Add(-3*time.Second)
		}
		if m.provider == "sglang" && sort == Troubled {
			t.Breaker, t.LastOutcome = breaker.Open, "upstream_timeout"
		}
		out = append(out, t)
	}
	return out
}

func plugins(sort Sort) console.Plugins {
	p := console.Plugins{Parsers: []console.Parser{{Name: "hermes", Plugin: "builtin", State: console.State{Word: "ok"}, Opened: 2041, P50: 90 * time.Microsecond}}}
	if sort == Troubled {
		p.Dir = "plugins.d"
		p.Files = []console.File{{Name: "house-style.wasm", State: console.State{Level: console.Fair, Word: "stale"}, Since: Noon.Add(-3 * time.Hour), Reason: "its newer version was refused, and the one before is still used"}}
	}
	return p
}

func tools(sort Sort) []catalogue.Status {
	if sort != Troubled {
		return nil
	}
	return []catalogue.Status{
		{Name: "calendar", Up: true, Version: "2025-06-18", Tools: []catalogue.ToolStatus{{Alias: "calendar__list", Name: "list"}}},
		{Name: "tickets", Up: false, Problem: "connection refused", Missing: []toolserver.Missing{{Server: "tickets", Why: "its server is away"}}},
	}
}

func budgets(sort Sort) []console.Budget {
	switch sort {
	case Troubled:
		return []console.Budget{{Name: "team ad-studio", Spent: 46.2, Limit: 50, Unit: "USD", Period: "day"}, {Name: "key support", Spent: 12.1, Limit: 40, Unit: "USD", Period: "day"}}
	case Calm:
		return []console.Budget{{Name: "team ad-studio", Spent: 20.5, Limit: 50, Unit: "USD", Period: "day"}}
	}
	return nil
}

func concerns(sort Sort) []console.Concern {
	if sort != Troubled {
		return nil
	}
	return []console.Concern{{Level: console.Bad, What: "The changed configuration was refused, and the one before is still used: models.assistant.targets[1].provider: there is no provider sglnag."}}
}
