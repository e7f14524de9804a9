package config

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/rollout"
)

const rolloutsPath path = "rollouts"

func (c *Config) checkRollouts(r *report) {
	names := map[string]path{}
	for i, ro := range c.Rollouts {
		p := rolloutsPath.At(i)
		checkRolloutName(r, p.Key("name"), ro.Name)
		if first, repeated := names[ro.Name]; repeated && ro.Name != "" {
			r.add(p.Key("name"), "the name is that of %s too; every rollout needs its own", first)
		}
		names[ro.Name] = cmp.Or(names[ro.Name], p)
		c.checkRolloutMatch(r, p.Key("match"), ro.Match)
		c.checkArms(r, p.Key("arms"), ro)
		checkMirror(r, p.Key("mirror"), ro)
		checkParsers(r, p.Key("shadow").Key("parser"), ro.Shadow.Parser)
		if r.written(p.Key("shadow")) && ro.Shadow.Parser.IsNone() {
			r.add(p.Key("shadow").Key("parser"), "there is no parser to read with; write for example parser: hermes, or leave shadow out")
		}
	}
}

// checkRolloutName refuses what could not stand in a header as rollout/arm, or in a path.
func checkRolloutName(r *report, p path, name string) {
	const known = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
	if name != "" && (len(name) > 64 || strings.Trim(name, known) != "" || strings.Trim(name, ".") == "") {
		r.add(p, "%s is not a name: it has 1 to 64 of a-z, A-Z, 0-9, -, _ and .", r.src.show(p, name))
	}
}

func (c *Config) checkRolloutMatch(r *report, p path, m RolloutMatch) {
	checkNameList(r, p.Key("models"), m.Models)
	for i, name := range m.Models {
		at := p.Key("models").At(i)
		switch entry, ok := c.Models[name]; {
		case name == "" || r.bad["models"]:
		case !ok:
			r.add(at, "there is no model %s%s", r.src.show(at, name), r.suggest(at, name, "models", sortedKeys(c.Models)))
		case entry.Alias != "":
			r.add(at, "%s is another name for %s, which has the rollout; write that", r.src.show(at, name), entry.Alias)
		}
	}
	checkNameList(r, p.Key("keys"), m.Keys)
	checkWordTable(r, p.Key("headers"), m.Headers)
	checkHeaderNames(r, p.Key("headers"), m.Headers)
}

// checkNameList refuses a list that nothing could meet, and a name that is in it twice.
func checkNameList(r *report, p path, names []string) {
	if names != nil && len(names) == 0 {
		r.add(p, "the list is empty, so that no request is meant; leave the key out")
	}
	seen := map[string]bool{}
	for i, name := range names {
		switch {
		case name == "":
			r.add(p.At(i), "the name is empty; leave it out")
		case seen[name]:
			r.add(p.At(i), "%s is in the list twice", r.src.show(p.At(i), name))
		}
		seen[name] = true
	}
}

func (c *Config) checkArms(r *report, p path, ro Rollout) {
	if n := len(ro.Arms); n == 1 || n > rollout.MaxArms {
		r.add(p, "a rollout has 2 to %d arms, the first of which is the control; here are %d", rollout.MaxArms, n)
	}
	names, sum, whole := map[string]path{}, 0, true
	for i, a := range ro.Arms {
		at := p.At(i)
		checkRolloutName(r, at.Key("name"), a.Name)
		if first, repeated := names[a.Name]; repeated && a.Name != "" {
			r.add(at.Key("name"), "the name is that of %s too; every arm needs its own", first)
		}
		names[a.Name] = cmp.Or(names[a.Name], at)
		parts, ok := Hundredths(a.Weight)
		if !ok {
			r.add(at.Key("weight"), "a weight has two decimals at most, since units are divided into %d parts", rollout.Buckets)
		}
		whole = whole && ok && !r.isBad(at.Key("weight"))
		sum += parts
		c.checkOverride(r, at.Key("override"), ro, a.Override)
	}
	if whole && len(ro.Arms) > 1 && sum != rollout.Buckets {
		r.add(p, "the weights add up to %g, not 100%s", float64(sum)/100, missingWeight(ro.Arms, sum))
	}
}

// missingWeight says which weight the control has to have.
func missingWeight(arms []Arm, sum int) string {
	control, _ := Hundredths(arms[0].Weight)
	if rest := control + rollout.Buckets - sum; rest >= 0 && arms[0].Name != "" {
		return "; write for example weight: " + strconv.FormatFloat(float64(rest)/100, 'f', -1, 64) + " for the control, " + arms[0].Name
	}
	return ""
}

// Hundredths is a share in percent as hundredths of one; ok is false if it has more decimals.
func Hundredths(percent float64) (n int, ok bool) {
	x := math.Round(percent * 100)
	return int(x), math.Abs(percent*100-x) < 1e-6
}

// checkOverride checks what an arm says, and what comes of it for the models that it is about.
func (c *Config) checkOverride(r *report, p path, ro Rollout, o Override) {
	providers := sortedKeys(c.Providers)
	if len(o.Targets) > 0 && (o.Provider != "" || o.Model != "") {
		r.add(p.Key("targets"), "targets stand instead of provider and model; leave either out")
		return
	}
	c.checkTargets(r, p.Key("targets"), o.Targets, providers)
	if o.Provider != "" {
		checkTarget(r, p, Target{Provider: o.Provider}, providers)
	}
	if o.Fallback != "" && len(o.Targets) == 0 && o.Provider == "" {
		r.add(p.Key("fallback"), "without targets or a provider of the arm's own this has no effect; leave it out")
	}
	checkParsers(r, p.Key("parser"), o.Parser)
	checkDateContext(r, p.Key("date_context"), o.DateContext)
	checkFallbackOn(r, p.Key("fallback_on"), o.FallbackOn)
	if r.isBad(p) || r.hasBad(p) {
		return
	}
	for _, name := range c.RolloutModels(ro) {
		c.checkArm(r, p, o, name)
	}
}

// checkArm checks what an arm makes of a model.
func (c *Config) checkArm(r *report, p path, o Override, model string) {
	route := c.ArmRoute(o, model)
	if o.GuardThreshold != 0 && route.Guard == Off {
		r.add(p.Key("guard_threshold"), "with guard: off this has no effect for the model %s; write guard: report here, or leave this out", model)
	}
	for _, t := range c.ResolveArm(o, model) {
		if route.Guard == enforce && t.ToolCalls != "repair" && (o.Guard != "" || o.ToolCalls != "" || len(o.Targets) > 0 || o.Provider != "") {
			r.add(p.Key(cmp.Or(map[bool]string{true: "guard"}[o.Guard != ""], "tool_calls")),
				"with tool_calls: %s no answer is changed, and the guard of the model %s is to enforce in this arm; use tool_calls: repair, or guard: report", t.ToolCalls, model)
		}
	}
	targets, _ := c.ArmTargets(o, model)
	for _, t := range targets {
		all := c.resolve(t)
		checkInvalidCall(r, p.Key("on_invalid_call"), o.OnInvalidCall, all.ToolCalls)
		checkDoubtfulCall(r, p.Key("doubtful_call"), o.DoubtfulCall, all.OnInvalidCall)
		checkInvalidOutput(r, p.Key("on_invalid_output"), o.OnInvalidOutput, all.StructuredOutput, all.ToolCalls)
	}
}

// armTargets calls visit with the targets of arms that say something of how they are asked or read,
// each with the place where that is written, and with the parsers of shadows.
func (c *Config) armTargets(visit func(p path, own Target)) {
	for i, ro := range c.Rollouts {
		for j, a := range ro.Arms {
			o, at := a.Override, rolloutsPath.At(i).Key("arms").At(j).Key("override")
			for n, t := range o.Targets {
				if _, ok := c.Providers[t.Provider]; ok {
					visit(at.Key("targets").At(n), t)
				}
			}
			if len(o.Targets) > 0 || len(o.Parser) == 0 && o.Tools == "" && o.ToolCalls == "" {
				if len(o.Parser) > 0 {
					visit(at, Target{Parser: o.Parser})
				}
				continue
			}
			for _, name := range c.RolloutModels(ro) {
				targets, _ := c.ArmTargets(o, name)
				for _, t := range targets {
					visit(at, t)
				}
			}
		}
		if shadow := ro.Shadow.Parser; len(shadow) > 0 {
			visit(rolloutsPath.At(i).Key("shadow"), Target{Parser: shadow})
		}
	}
}

func checkMirror(r *report, p path, ro Rollout) {
	m := ro.Mirror
	if _, ok := Hundredths(m.Percent); !ok {
		r.add(p.Key("percent"), "%v has too many decimals: a share has two at most, as 2.25", m.Percent)
	}
	var names []string
	for _, a := range ro.Arms {
		names = append(names, a.Name)
	}
	switch at := p.Key("arm"); {
	case m.Arm == "" && m.Percent > 0:
		r.add(at, "a value is required with percent; write for example arm: new")
	case m.Arm != "" && !slices.Contains(names, m.Arm):
		r.add(at, "there is no arm %s in this rollout%s", r.src.show(at, m.Arm), r.suggest(at, m.Arm, "arms", names))
	}
}
