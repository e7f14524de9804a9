package cli

import (
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
)

// routePolicies say what is watched over in the requests of each model.
func routePolicies(cfg *config.Config) map[string]flow.RoutePolicy {
	out := map[string]flow.RoutePolicy{}
	for name, m := range cfg.Models {
		if m.Alias == "" { // it has those of the model that it stands for
			out[name] = routePolicy(cfg.Route(name))
		}
	}
	return out
}

// hintKind is what a provider can be told about the beginning of a prompt. Only Anthropic's
// adapter takes marks beside the content.
func hintKind(cfg *config.Config, provider string) gateway.HintKind {
	switch cfg.Hints(provider) {
	case "key":
		return gateway.KeyHints
	case "marks":
		if cfg.Providers[provider].Type == "anthropic" {
			return gateway.MemberMarks
		}
		return gateway.PartMarks
	}
	return gateway.NoHints
}

// guardModes, hintModes, loopActions and bindingActions are the configuration's words.
var (
	guardModes  = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "enforce": gateway.Repair}
	hintModes   = map[string]gateway.Mode{"off": gateway.Off, "report": gateway.Report, "set": gateway.Repair}
	loopActions = map[string]gateway.LoopAction{
		"off": gateway.LoopOff, "report": gateway.LoopReport, "answer": gateway.LoopAnswer, "refuse": gateway.LoopRefuse,
	}
	bindingActions = map[string]gateway.BindingAction{
		"off": gateway.BindingOff, "report": gateway.BindingReport, "refuse": gateway.BindingRefuse,
	}
)

func routePolicy(r config.ResolvedRoute) flow.RoutePolicy {
	p := flow.RoutePolicy{
		Guard: guardModes[r.Guard], GuardSettings: gateway.GuardSettings{Threshold: r.GuardThreshold},
		Judge: r.GuardJudge, JudgeTime: time.Duration(r.GuardJudgeTimeout),
		Loop:       loopActions[r.LoopGuard],
		LoopLimits: gateway.LoopLimits{Rounds: r.MaxRounds, Coding: r.CodingRounds, Calls: r.MaxCalls, Idle: r.IdleRounds, Time: time.Duration(r.MaxLoopTime), Nano: nano(r.MaxLoopUSD)},
		Binding:    bindingActions[r.ToolBinding], References: modes[r.ResolveReferences],
		Affinity: r.Routing == "prefix", CacheHints: hintModes[r.CacheHints], Date: r.Zone, Execution: r.ExecutionMetadata == "body",
	}
	judgeQuality(&p, &r)
	for _, word := range r.FallbackOn {
		p.FallbackOn = append(p.FallbackOn, gateway.Cause(word))
	}
	for _, i := range r.Intents {
		p.GuardSettings.Intents = append(p.GuardSettings.Intents, gateway.Intent{Match: slices.Clone(i.Match), Expect: i.Expect})
	}
	for _, ref := range r.References {
		p.ReferenceRules = append(p.ReferenceRules, gateway.ReferenceRule{
			Tool: ref.Tool, Argument: ref.Argument, From: ref.From, Match: ref.Match, Value: ref.Value, MinRatio: ref.MinRatio,
		})
	}
	return p
}
