package cli

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/accounts"
	"github.com/callgate/callgate/gateway/admit"
	"github.com/callgate/callgate/gateway/billing"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/limit"
)

// admitted is the gateway within the limits of its clients.
type admitted struct {
	*flow.Gateway
	gate *admit.Gate
}

// Chat implements httpapi.Chatter.
func (a admitted) Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error) {
	return a.gate.Chat(ctx, req)
}

// Relay implements httpapi.Chatter.
func (a admitted) Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error) {
	return a.gate.Relay(ctx, req, r, one)
}

// Passthrough implements httpapi.Chatter.
func (a admitted) Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error) {
	return a.gate.Passthrough(ctx, provider, req, r)
}

// newLimiter makes what counts: in the Redis, where there is one.
func newLimiter(cfg *config.Config, shared *sharing, log *slog.Logger) *admit.State {
	if shared == nil {
		return admit.NewState(limit.NewMemory(nil), log)
	}
	return admit.NewState(limit.NewAway(limit.NewShared(shared.redis, nil), cfg.Redis.Reserve, log), log)
}

// asksUsage reports whether upstreams are asked for the usage of streams whose clients do not want it: where somebody
// pays by it, by limits, which keys made at run time may have, or by a ledger that was asked for.
func (p *process) asksUsage(cfg *config.Config) bool {
	return hasLimits(cfg) || p.keys.Keeps() || p.records() != nil && cfg.LedgerAsked()
}

// meters reports whether anybody wants to know what requests use: those who pay by it, and a ledger that nobody has
// asked for, which takes what it gets.
func (p *process) meters(cfg *config.Config) bool {
	return p.asksUsage(cfg) || p.records() != nil && cfg.Bills()
}

// records takes the rows of usage; nil where nobody wants them.
func (p *process) records() admit.Recorder {
	if p.usage == nil {
		return nil
	}
	return p.usage.Book
}

// past says what was used before; nil without a ledger.
func (p *process) past() admit.Past {
	if p.usage == nil {
		return nil
	}
	return struct {
		*billing.Book
		billing.Ledger
	}{p.usage.Book, p.usage.ledger}
}

func hasLimits(cfg *config.Config) bool {
	limited := len(cfg.KeyLimits) > 0
	for _, k := range cfg.Keys {
		limited = limited || len(k.Limits) > 0
	}
	for _, t := range cfg.Teams {
		limited = limited || len(t.Limits) > 0
	}
	for _, m := range cfg.Models {
		limited = limited || len(m.Limits) > 0
	}
	return limited
}

// admission is the edition's gateway, within limits where there are any.
func (v *edition) admission(p *process) (chatter, error) {
	if err := checkPrices(v.config, v.prices); err != nil {
		return nil, err
	}
	if !p.meters(v.config) {
		return v.gateway, nil
	}
	rules := limitRules(v.config)
	if p.keys.Keeps() {
		rules.Made = p.keys.Limits
	}
	table, err := admit.NewTable(rules, v.gateway.Route)
	if err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	o := admit.Options{Inner: v.gateway, Limits: table.Of, Targets: v.reachable(), Prices: v.prices, Records: p.records(), State: p.limits, Past: p.past(), Route: v.gateway.Route}
	o.Assumed = v.assumed()
	return admitted{v.gateway, admit.New(o)}, nil
}

// assumed is the price of models without one; nil: none is assumed.
func (v *edition) assumed() *admit.Assumed {
	if a := v.config.AssumePrice; !a.IsZero() {
		return &admit.Assumed{Input: nano(a.Input), Output: nano(a.Output)}
	}
	return nil
}

// price is what an answer costs, for the limits of loops.
func (v *edition) price(provider, model string, u gateway.Usage) (sum int64, priced bool) {
	if sum, priced, _ = v.prices.Price(provider, model, u); priced {
		return sum, true
	}
	return v.assumed().Of(u)
}

// chatter is what a gateway does for clients.
type chatter interface {
	Chat(ctx context.Context, req *gateway.Request) (*gateway.Response, error)
	Models(ctx context.Context) []string
	HasModel(ctx context.Context, name string) bool
	Relay(ctx context.Context, req *gateway.Request, r *gateway.Relay, one bool) (*gateway.Response, error)
	Passthrough(ctx context.Context, provider string, req *gateway.Request, r *gateway.Relay) (*gateway.Response, error)
}

func nano(usd float64) int64 { return int64(math.Round(usd * limit.USD)) }

// limitRules are the configuration's limits.
func limitRules(cfg *config.Config) admit.Rules {
	list := func(own []config.Limit) []admit.Rule {
		out := []admit.Rule{}
		for i := range own {
			out = append(out, admit.Rule{Limit: own[i].Of(limit.Scope{}), Models: own[i].Models})
		}
		return out
	}
	r := admit.Rules{Keys: map[string][]admit.Rule{}, Teams: map[string][]admit.Rule{}, Models: map[string][]admit.Rule{}, Others: list(cfg.KeyLimits), Team: map[string]string{}}
	for i := range cfg.Keys {
		k := &cfg.Keys[i]
		r.Team[k.Name] = k.Team
		if k.Limits != nil {
			r.Keys[k.Name] = list(k.Limits)
		}
	}
	for name := range cfg.Teams {
		r.Teams[name] = list(cfg.Teams[name].Limits)
	}
	for name := range cfg.Models {
		r.Models[name] = list(cfg.Models[name].Limits)
	}
	return r
}

// reachable says where a request may go: all targets of its route, and those of its rules.
func (v *edition) reachable() func(req *gateway.Request, provider string) []admit.Target {
	routes, rules := routes(v.config), rules(v.config)
	return func(req *gateway.Request, provider string) (list []admit.Target) {
		if provider != "" {
			return []admit.Target{{Provider: provider}}
		}
		add := func(targets []gateway.Target) {
			for _, t := range targets {
				model := t.Model
				if model == "" {
					model = req.Model
				}
				list = append(list, admit.Target{Provider: t.Provider, Model: model})
			}
		}
		name := v.gateway.Route(req.Model)
		add(routes[name])
		for _, r := range rules[name] {
			add(r.Targets)
		}
		if provider, model, found := strings.Cut(req.Model, "/"); found && len(list) == 0 {
			list = append(list, admit.Target{Provider: provider, Model: model})
		}
		return list
	}
}

// checkPrices refuses budgets of money that may be spent on models without a price.
func checkPrices(cfg *config.Config, prices *accounts.Prices) error {
	if !cfg.AssumePrice.IsZero() {
		return nil
	}
	places, routes, rules := moneyLimits(cfg), routes(cfg), rules(cfg)
	if len(places) == 0 {
		return nil
	}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range routes {
			if !yield(name) {
				return
			}
		}
	}) {
		lists := [][]gateway.Target{routes[name]}
		for _, r := range rules[name] {
			lists = append(lists, r.Targets)
		}
		for _, place := range places {
			if !place.counts(name) {
				continue
			}
			for _, t := range slices.Concat(lists...) {
				model := t.Model
				if model == "" {
					model = name
				}
				_, priced, _ := prices.Price(t.Provider, model, gateway.Usage{Reported: true, Input: 1})
				if !priced && !strings.Contains(model, gateway.AnyModel) {
					return fmt.Errorf("%s is in usd, and nobody knows what %s/%s costs (models.%s); add it to prices, write assume_price: {input: …, output: …}, or limit models",
						place.name, t.Provider, model, name)
				}
			}
		}
	}
	return nil
}

// moneyLimit is a place in the configuration with a budget of money.
type moneyLimit struct {
	name   string
	model  string   // it is that of a model
	models []string // or counts these alone
}

func (m *moneyLimit) counts(model string) bool {
	if m.model != "" {
		return m.model == model
	}
	return len(m.models) == 0 || admit.Matches(m.models, model)
}

func moneyLimits(cfg *config.Config) (out []moneyLimit) {
	add := func(name, model string, list []config.Limit) {
		for i := range list {
			if list[i].USD > 0 {
				out = append(out, moneyLimit{fmt.Sprintf("%s[%d]", name, i), model, list[i].Models})
			}
		}
	}
	add("key_limits", "", cfg.KeyLimits)
	for i := range cfg.Keys {
		add(fmt.Sprintf("keys[%d].limits", i), "", cfg.Keys[i].Limits)
	}
	for name := range cfg.Teams {
		add("teams."+name+".limits", "", cfg.Teams[name].Limits)
	}
	for name := range cfg.Models {
		add("models."+name+".limits", name, cfg.Models[name].Limits)
		if cfg.Route(name).MaxLoopUSD > 0 {
			out = append(out, moneyLimit{"models." + name + ".max_loop_usd", name, nil})
		}
	}
	slices.SortFunc(out, func(a, b moneyLimit) int { return strings.Compare(a.name, b.name) })
	return out
}
