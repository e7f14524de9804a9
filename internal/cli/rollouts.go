package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/console"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/rollout"
)

// newRolloutBook keeps what outlives an edition: figures, and which arms are stopped.
func newRolloutBook(log *slog.Logger) *rollout.Book {
	return rollout.NewBook(nil, func(e rollout.Event) {
		log.Warn("rollout", "rollout", e.Rollout, "arm", e.Arm, "action", e.Action, "by", e.By,
			"arm_failed_low", e.Failure.Low, "control_failed_high", e.Control.High)
	})
}

// rollouts are those of an edition, in the order of its configuration.
type rollouts []running

// running is a rollout with what works beside the requests.
type running struct {
	*rollout.Rollout
	mirror, shadow *rollout.Pool // nil: none
}

var units = map[string]flow.Unit{"conversation": flow.UnitConversation, "user": flow.UnitUser, "key": flow.UnitKey, "request": flow.UnitRequest}

// The defaults of mirrors and shadows.
const (
	mirrorsAtOnce, mirrorsWaiting, textsWaiting = 2, 100, 200
	besideMemory                                = 32 << 20
)

// add puts the configuration's rollouts into the options of a gateway, which has its policies already.
func (all *rollouts) add(p *process, cfg *config.Config, o *flow.Options) error {
	prints := cfg.Fingerprints()
	for _, ro := range cfg.Rollouts {
		r, err := all.open(p, cfg, ro, prints)
		if err != nil {
			return err
		}
		out := flow.Rollout{Policies: map[string][]flow.RoutePolicy{}}
		out.Rollout.Rollout, out.Unit, out.Keys, out.Headers = r.Rollout, units[ro.Unit], ro.Match.Keys, wordLists(ro.Match.Headers)
		out.Targets = map[string][][]gateway.Target{}
		for _, model := range cfg.RolloutModels(ro) {
			for _, a := range ro.Arms {
				out.Targets[model] = append(out.Targets[model], armTargets(cfg, a.Override, model))
				policy := routePolicy(cfg.ArmRoute(a.Override, model))
				policy.Answers = o.RoutePolicies[model].Answers
				policy.Answers.Fingerprint += fmt.Sprintf(" %q %q %+v", ro.Name, a.Name, a.Override)
				out.Policies[model] = append(out.Policies[model], policy)
			}
		}
		if m := ro.Mirror; m.Percent > 0 {
			parts, _ := config.Hundredths(m.Percent)
			out.Mirror = &flow.Mirror{Place: slices.Index(r.Arms(), m.Arm), Parts: parts, Pool: r.mirror,
				Memory: inflight.New(cmp.Or(int64(m.Memory), besideMemory)), Done: mirrorLog(p.log, ro.Name+"/"+m.Arm)}
		}
		if s := ro.Shadow; !s.Parser.IsNone() {
			start := cmp.Or(s.Reasoning, "auto")
			out.Shadow = &flow.Shadow{Spec: parserSpec(s.Parser, start), Reasoning: reasonings[start], Pool: r.shadow}
		}
		o.Rollouts = append(o.Rollouts, out)
	}
	return nil
}

// open opens a rollout, and begins what works beside its requests.
func (all *rollouts) open(p *process, cfg *config.Config, ro config.Rollout, prints *config.Fingerprints) (r running, err error) {
	o := rollout.Options{Name: ro.Name, Salt: ro.Salt, Fingerprint: fmt.Sprintf("%+v %s", ro.Match, ro.Unit),
		Stop: rollout.StopPolicy{Off: ro.Stop.Mode == "off", Requests: ro.Stop.Requests, Margin: ro.Stop.Margin / 100}}
	for _, a := range ro.Arms {
		weight, _ := config.Hundredths(a.Weight)
		o.Arms = append(o.Arms, rollout.Arm{Name: a.Name, Weight: weight})
		o.Fingerprint += fmt.Sprintf(" %+v", a.Override)
	}
	for _, model := range cfg.RolloutModels(ro) {
		o.Fingerprint += " " + prints.Of(model)
	}
	if r.Rollout, err = p.rollouts.Open(o); err != nil {
		return r, err
	}
	pool := rollout.PoolOptions{Workers: 1, Waiting: cmp.Or(ro.Shadow.Queue, textsWaiting), Bytes: cmp.Or(int64(ro.Shadow.Memory), besideMemory),
		Panicked: func(value any) {
			p.log.Error("panic beside requests", "rollout", ro.Name, "panic", fmt.Sprint(value), "stack", string(debug.Stack()))
		}}
	if !ro.Shadow.Parser.IsNone() {
		r.shadow = rollout.NewPool(pool)
	}
	if ro.Mirror.Percent > 0 { // what its jobs hold is claimed of a budget of their own
		pool.Workers, pool.Waiting, pool.Bytes = cmp.Or(ro.Mirror.Concurrency, mirrorsAtOnce), cmp.Or(ro.Mirror.Queue, mirrorsWaiting), 0
		r.mirror = rollout.NewPool(pool)
	}
	*all = append(*all, r)
	return r, nil
}

// armTargets are where an arm's requests for a model go: behind targets of the arm's own those of the
// control, unless the configuration says otherwise.
func armTargets(cfg *config.Config, o config.Override, model string) []gateway.Target {
	written, own := cfg.ArmTargets(o, model)
	out := targets(cfg.ResolveArm(o, model), written)
	if !own || o.Fallback == "none" {
		return out
	}
	for _, t := range targets(cfg.Targets(model), cfg.Models[model].Targets) {
		t.OfControl, t.Weight = true, 0
		out = append(out, t)
	}
	return out
}

// mirrorLog tells the log of each copy of a request: nothing is mirrored silently.
func mirrorLog(log *slog.Logger, arm string) func(*gateway.Request, *gateway.Summary, string) {
	return func(r *gateway.Request, s *gateway.Summary, code string) {
		attrs := []any{"id", r.ID, "arm", arm, "model", r.Model}
		if r.From.Tenant != "" {
			attrs = append(attrs, "key", r.From.Tenant)
		}
		if s != nil {
			attrs = append(attrs, "provider", s.Provider, "upstream_model", s.Model)
		}
		if code != "" {
			attrs = append(attrs, "code", code)
		}
		log.Info("mirrored request", attrs...)
	}
}

// close ends what works beside the requests.
func (all rollouts) close() {
	for _, r := range all {
		r.mirror.Close()
		r.shadow.Close()
	}
}

// snapshots are the states of all, for operators and metrics.
func (all rollouts) snapshots() []rollout.Snapshot {
	out := []rollout.Snapshot{}
	for _, r := range all {
		s := r.Snapshot()
		s.MirrorQueue, s.ShadowQueue = r.mirror.Stats(), r.shadow.Stats()
		out = append(out, s)
	}
	return out
}

// concerns are the arms that their figures have stopped, for the operator's first page.
func (all rollouts) concerns() (out []console.Concern) {
	for _, r := range all {
		for _, a := range r.Snapshot().Arms {
			if a.Stopped != nil && a.Stopped.By == "figures" {
				out = append(out, console.Concern{Level: console.Bad, What: fmt.Sprintf("The arm %s of the rollout %s did worse than the control, and is stopped.", a.Name, r.Name()), Link: console.Path + "/rollouts", See: "Rollouts"})
			}
		}
	}
	return out
}

// set stops an arm, "" for all but the control, or lets it go on. state is the rollout's then; it is nil
// if there is none of the name, or no such arm, and names are those that there are.
func (all rollouts) set(name, arm string, stop bool) (state *rollout.Snapshot, what string, names []string) {
	for i, r := range all {
		if r.Name() != name {
			names = append(names, r.Name())
			continue
		}
		set := r.Resume
		if stop {
			set = r.Stop
		}
		if arm == r.Arms()[0] {
			return nil, "control", nil
		}
		if !set(arm) {
			return nil, "arm", r.Arms()[1:]
		}
		return &all[i : i+1].snapshots()[0], "", nil
	}
	return nil, "rollout", names
}

// arm counts a request among the figures of its arm.
func (u *usageAccounts) arm(r *gateway.Record) {
	a := r.Summary.Arm()
	if a == nil {
		return
	}
	t := r.Turn()
	t.Nano, t.Priced = u.cost(r.Summary)
	if r.Summary.Mixed {
		a.Rollout.Spoil(a.Episode)
	}
	a.Rollout.Record(a.Place, t)
}

// cost is what the answers of a request have cost, as far as their prices are known.
func (u *usageAccounts) cost(s *gateway.Summary) (nano int64, priced bool) {
	rounds := []gateway.RoundCost{{Provider: s.Provider, Model: s.Model, Usage: s.Usage}}
	if s.ToolRun != nil && len(s.ToolRun.Costs) > 1 {
		rounds = s.ToolRun.Costs
	}
	for _, c := range rounds {
		if c.Replayed {
			continue
		}
		n, known, _ := u.book.Price(c.Provider, c.Model, c.Usage)
		if !known || !c.Usage.Reported {
			return 0, false
		}
		nano, priced = nano+n, true
	}
	return nano, priced
}
