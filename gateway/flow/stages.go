package flow

import (
	"cmp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/amend"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/guard"
	"github.com/callgate/callgate/gateway/internal/hint"
	"github.com/callgate/callgate/gateway/internal/prompted"
	"github.com/callgate/callgate/gateway/internal/stage/binding"
	"github.com/callgate/callgate/gateway/internal/stage/ghost"
	"github.com/callgate/callgate/gateway/internal/stage/intake"
	"github.com/callgate/callgate/gateway/internal/stage/meter"
	"github.com/callgate/callgate/gateway/internal/stage/recording"
	"github.com/callgate/callgate/gateway/internal/stage/structured"
	"github.com/callgate/callgate/gateway/internal/stage/textcall"
	"github.com/callgate/callgate/gateway/internal/stage/toolcall"
	"github.com/callgate/callgate/gateway/internal/turns"
)

// compiled is a RoutePolicy made ready: what a request of the route, and its answer, pass.
type compiled struct {
	RoutePolicy
	before    []gateway.RequestPolicy // any target is asked
	forTarget func(gateway.Target) []gateway.RequestPolicy
	stages    []gateway.Maker
}

// shared is what the policies and stages of all routes share.
type shared struct {
	options   *Options
	text      *textcall.Maker
	calls     *toolcall.Maker
	answers   *structured.Maker
	held      *atomic.Int64 // bytes of answers that wait for the guard
	keys      *hint.Keys
	histories *hint.Histories
	refusals  *amend.Refusals
	turns     *turns.Book
	forms     map[string]*prompted.Format // of targets whose tools go into the prompt
}

// newShared makes it, or takes over what outlives a configuration from the gateway before.
func newShared(o *Options) *shared {
	s := &shared{
		options:   o,
		held:      &atomic.Int64{},
		text:      &textcall.Maker{Parsers: o.Parsers, ReasoningName: cmp.Or(o.ReasoningField, "reasoning_content"), Rename: o.ReasoningField != ""},
		calls:     toolcall.New(),
		answers:   structured.New(),
		keys:      hint.NewKeys(o.CacheSalt, o.Now),
		histories: hint.NewHistories(),
		refusals:  &amend.Refusals{},
		turns:     turns.New(o.Now),
		forms:     map[string]*prompted.Format{},
	}
	if p := o.Previous; p != nil {
		s.calls, s.answers, s.held, s.keys, s.histories, s.turns = p.shared.calls, p.shared.answers, p.shared.held, p.shared.keys, p.shared.histories, p.shared.turns
		s.refusals = p.shared.refusals.Of(func(provider string) bool { return p.engine.Has(provider, o.Providers[provider]) })
	}
	s.text.Answers = s.answers.Answers
	for _, t := range o.targets() {
		if form, ok := prompted.Find(t.Prompted); ok {
			s.forms[t.Prompted] = form
		}
		if t.Adapts {
			for _, name := range prompted.Names() {
				s.forms[name], _ = prompted.Find(name)
			}
		}
	}
	return s
}

// compile says what the requests of a route and their answers pass.
func (s *shared) compile(p RoutePolicy, engine *attempt.Engine) *compiled {
	return &compiled{RoutePolicy: p, before: s.before(&p), forTarget: s.forTarget(p, engine), stages: s.stages(&p)}
}

// stages are those that answers pass, in their order. What is read from the text comes before
// what an upstream calls itself, so that both are brought into order in one place; what is to be
// JSON comes behind them, since a call may stand in its place; the guard sees what the client would.
func (s *shared) stages(p *RoutePolicy) []gateway.Maker {
	o := s.options
	list := []gateway.Maker{recording.Maker{}, intake.Maker{}}
	if o.Meters || p.Loop != gateway.LoopOff && p.LoopLimits.Nano > 0 {
		list = append(list, meter.Maker{})
	}
	list = append(list, s.text, s.calls, s.answers)
	if p.Binding != gateway.BindingOff {
		list = append(list, binding.Seen{Action: p.Binding})
	}
	if p.Guard != gateway.Off {
		m := &ghost.Maker{Mode: p.Guard, Guard: guard.New(p.GuardSettings), Held: s.held, Log: o.Log}
		if provider, model, found := strings.Cut(p.Judge, "/"); found && o.Providers[provider] != nil {
			m.Judge = judge(o.Providers[provider], provider, model, p.JudgeTime)
		}
		list = append(list, m)
	}
	if p.Binding != gateway.BindingOff {
		list = append(list, binding.Heeded{Action: p.Binding})
	}
	if o.Saved != nil {
		list = append(list, o.Saved)
	}
	return append(list, o.Stages...)
}

// before are the policies that look at a request before any target is chosen, in their order:
// what refuses it comes first.
func (s *shared) before(p *RoutePolicy) (list []gateway.RequestPolicy) {
	if p.Binding != gateway.BindingOff {
		list = append(list, binding.Policy{Action: p.Binding})
	}
	if p.Affinity || p.CacheHints != gateway.Off { // it matters that prompts begin as those before
		list = append(list, amend.Prefix{Histories: s.histories})
	}
	if p.Loop != gateway.LoopOff {
		list = append(list, amend.Rounds{Action: p.Loop, Limits: p.LoopLimits, Turns: s.turns})
	}
	if p.Date != nil {
		list = append(list, amend.Date{Zone: p.Date, Now: s.options.Now})
	}
	if p.References != gateway.Off {
		list = append(list, amend.References{Mode: p.References, Rules: p.ReferenceRules})
	}
	return list
}

// forTarget are the policies that make a request fit for a target, in their order: what
// depends on all that goes out comes last.
func (s *shared) forTarget(p RoutePolicy, engine *attempt.Engine) func(gateway.Target) []gateway.RequestPolicy {
	return func(t gateway.Target) (list []gateway.RequestPolicy) {
		provider := s.options.Policies[t.Provider]
		if p.Loop == gateway.LoopAnswer {
			list = append(list, amend.LastRound{})
		}
		if form := s.forms[t.Prompted]; form != nil {
			// Results are told apart by their order alone.
			list = append(list, amend.History{Mode: gateway.Repair, Needs: gateway.Needs{Pairs: true}}, amend.Prompted{Form: form})
		} else if needs := engine.Needs(t.Provider); needs != (gateway.Needs{}) && provider.History != gateway.Off {
			list = append(list, amend.History{Mode: provider.History, Needs: needs})
		}
		if t.PromptedFormat {
			list = append(list, amend.Format{})
		}
		if s.options.AsksUsage || p.Loop != gateway.LoopOff && p.LoopLimits.Nano > 0 {
			list = append(list, amend.Usage{})
		}
		if p.CacheHints != gateway.Off && provider.Hints != gateway.NoHints {
			list = append(list, amend.Hint{Mode: p.CacheHints, Kind: provider.Hints, Keys: s.keys, Now: s.options.Now, Refusals: s.refusals})
		}
		return list
	}
}

// day is the day that prompts tell, "" if they tell none.
func (c *compiled) day(now time.Time) string {
	if c.Date == nil {
		return ""
	}
	return now.In(c.Date).Format(time.DateOnly)
}
