// Package routing finds the targets of a request: by its model's name and the rules of the
// configuration, and by what targets have in their caches.
package routing

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/gateway/internal/route"
)

// Config is what a table is made of, as flow.Options has it.
type Config struct {
	Routes  map[string][]gateway.Target
	Rules   map[string][]Rule
	Aliases map[string]string
	Direct  map[string]gateway.Target
	// Rollouts are in the order in which they are tried.
	Rollouts []Rollout
	// Previous is the table whose place this one takes; nil for none. It has the detector of
	// languages, which is dear to make.
	Previous *Table
}

// Rule sends the requests of a route that meet a condition to targets of its own. The
// route's policies are the rule's too. If all targets of the rule fail the request has
// failed: those of the route are not asked, since the rule may be there to keep requests
// away from them. Who wants them lists them in the rule.
type Rule struct {
	When    route.Condition
	Targets []gateway.Target
}

// Lists are the target lists of all routes, of their rules and of arms, by the route's name.
func (c *Config) Lists() iter.Seq2[string, []gateway.Target] {
	return func(yield func(string, []gateway.Target) bool) {
		for name, targets := range c.Routes {
			if !yield(name, targets) {
				return
			}
			for _, r := range c.Rules[name] {
				if !yield(name, r.Targets) {
					return
				}
			}
			for _, r := range c.Rollouts {
				for _, targets := range r.Targets[name] {
					if !yield(name, targets) {
						return
					}
				}
			}
		}
	}
}

// Table finds targets. It is safe for concurrent use.
type Table struct {
	config    Config
	names     *route.Table
	rules     map[string]*ruleSet // by route
	arms      arms
	languages *language.Detector // nil: no rule asks
}

// ruleSet is the rules of a route, made ready.
type ruleSet struct {
	rules   *route.Rules
	targets [][]gateway.Target
}

// New makes a table. An alias that leads nowhere, and rules without a route, are mistakes of
// the wiring.
func New(c Config) (*Table, error) {
	previous := c.Previous
	c.Previous = nil
	t := &Table{config: c, rules: map[string]*ruleSet{}, arms: newArms(c.Rollouts)}
	entries := maps.Clone(c.Aliases)
	if entries == nil {
		entries = map[string]string{}
	}
	for name := range c.Routes {
		if entries[name] != "" {
			return nil, gateway.Errorf(gateway.Internal, "", "model %q: it is an alias and has targets", name)
		}
		entries[name] = ""
	}
	t.names = route.NewTable(entries, slices.Collect(maps.Keys(c.Direct)))
	for name := range c.Aliases {
		if names, end := t.names.Chain(name); end != route.Reached {
			return nil, gateway.Errorf(gateway.Internal, "", "model %q: its alias leads nowhere: %s", name, strings.Join(names, " → "))
		}
	}
	asked := false
	for name, rules := range c.Rules {
		if c.Routes[name] == nil {
			return nil, gateway.Errorf(gateway.Internal, "", "model %q: there are rules and no route", name)
		}
		if len(rules) == 0 {
			continue
		}
		set := &ruleSet{}
		var conditions []route.Condition
		for _, r := range rules {
			conditions, set.targets = append(conditions, r.When), append(set.targets, r.Targets)
		}
		set.rules = route.NewRules(conditions)
		t.rules[name], asked = set, asked || set.rules.Languages()
	}
	if !asked {
		return t, nil
	}
	if previous != nil && previous.languages != nil {
		t.languages = previous.languages
		return t, nil
	}
	var err error
	t.languages, err = language.New()
	return t, err
}

// Names are those of routes and aliases.
func (t *Table) Names() iter.Seq[string] { return t.names.Names() }

// Choice is where a request goes.
type Choice struct {
	gateway.RouteChoice
	Targets []gateway.Target
	Model   string        // what a target without a name of its own asks for
	Took    time.Duration // to look at the rules
}

// Route is the entry that a model's name leads to, "" for none.
func (t *Table) Route(model string) string {
	f, ok := t.names.Find(model)
	switch {
	case !ok:
		return ""
	case f.Provider != "":
		return f.Provider + "/" + gateway.AnyModel
	}
	return f.Entry
}

// Targets are what a model's name leads to where no rule says otherwise, and the model that those
// without a name of their own are asked for. pattern says that the name is not in the configuration as
// it is, but fits one that has * in it, other than * alone.
func (t *Table) Targets(name string) (targets []gateway.Target, model string, pattern bool) {
	f, ok := t.names.Find(name)
	switch {
	case !ok:
		return nil, "", false
	case f.Provider != "":
		target := t.config.Direct[f.Provider]
		target.Model = ""
		return []gateway.Target{target}, f.Model, false
	}
	return t.config.Routes[f.Entry], f.Model, f.Entry != gateway.AnyModel && route.IsPattern(f.Entry)
}

// Arm finds the arm of a rollout that a request is in, if in any, and puts the arm's targets in the
// place of those that were chosen. The error says why a client cannot have the arm that it names.
func (t *Table) Arm(r *gateway.Request, c *Choice) error {
	if len(t.arms) == 0 && r.Wishes.Arm == "" {
		return nil
	}
	return t.arms.choose(r, c)
}

// Choose finds where a request goes. ok is false if its model's name leads nowhere.
func (t *Table) Choose(r *gateway.Request) (c *Choice, ok bool) {
	f, ok := t.names.Find(r.Model)
	if !ok {
		return nil, false
	}
	c = &Choice{RouteChoice: gateway.RouteChoice{Route: f.Entry, Alias: f.Alias}, Model: f.Model}
	if f.Provider != "" {
		target := t.config.Direct[f.Provider]
		target.Model = ""
		c.Route, c.Targets = f.Provider+"/"+gateway.AnyModel, []gateway.Target{target}
		return c, true
	}
	c.Targets = t.config.Routes[f.Entry]
	set := t.rules[f.Entry]
	if set == nil {
		return c, true
	}
	began := time.Now()
	facts := &facts{req: r, keys: set.rules.Keys(), languages: t.languages}
	if i := set.rules.First(facts); i >= 0 {
		c.Rule, c.Targets = i+1, set.targets[i]
	}
	c.HasRules, c.Language, c.Took = true, facts.language, time.Since(began)
	return c, true
}

// NoModel is the error for a name that leads nowhere. names are those that lead somewhere. hint is said
// where none of them is like it; without one it is said where they are listed.
func NoModel(model string, names []string, hint string) *gateway.Error {
	if near := gateway.Near(model, names); len(near) > 0 {
		return noModel(model, "Similar names: "+strings.Join(near, ", ")+".")
	}
	return noModel(model, cmp.Or(hint, listed))
}

// OnlyProvider is the error for the name of a provider in the place of a model's. prefix is what its models have in
// front, and examples are some of them.
func OnlyProvider(model, prefix string, examples []string) *gateway.Error {
	hint := fmt.Sprintf("Models of the provider %q are named %s/MODEL", prefix, prefix)
	if len(examples) == 0 {
		return noModel(model, hint+".")
	}
	for i, example := range examples {
		hint += []string{": ", ", "}[min(i, 1)] + prefix + "/" + example
	}
	return noModel(model, hint+". GET /v1/models lists all names.")
}

const listed = "GET /v1/models lists the names that do."

func noModel(model, hint string) *gateway.Error {
	return &gateway.Error{Kind: gateway.NotFound, Code: "model_not_found", Param: "model",
		Message: fmt.Sprintf("The model %q does not exist. %s", gateway.Excerpt([]byte(model)), hint)}
}
