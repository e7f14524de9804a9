package gateway

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/gateway/internal/route"
)

// Rule sends the requests of a route that meet a condition to targets of its own. The
// route's policies are the rule's too. If all targets of the rule fail the request has
// failed: those of the route are not asked, since the rule may be there to keep requests
// away from them. Who wants them lists them in the rule.
type Rule struct {
	When    Condition
	Targets []Target
}

// The parts of a Rule.
type (
	// Condition is what a rule asks of a request.
	Condition = route.Condition
	// Answer is yes or no, or of no matter.
	Answer = route.Answer
)

// The answers.
const (
	Either = route.Either
	Yes    = route.Yes
	No     = route.No
)

// RouteChoice is how the targets of a request were found.
type RouteChoice struct {
	// Route is the entry that was taken, or "provider/*".
	Route string
	// Alias is the entry that the client's name led to first, if that was an alias.
	Alias string
	// Rule is the number of the rule that was met, from 1 on; 0 is none. HasRules says
	// whether there are any.
	Rule     int
	HasRules bool
	// Language is that of the request, if a rule asked for it and somebody could tell.
	Language string
}

// chosen is a RouteChoice with what it leads to.
type chosen struct {
	RouteChoice
	targets []Target
	model   string        // what a target without a name of its own asks for
	took    time.Duration // to look at the rules
}

// ruleSet is the rules of a route, made ready.
type ruleSet struct {
	rules   *route.Rules
	targets [][]Target
}

// newRouting makes what choose looks at.
func (g *Gateway) newRouting(o Options) error {
	entries := maps.Clone(o.Aliases)
	if entries == nil {
		entries = map[string]string{}
	}
	for name := range o.Routes {
		if entries[name] != "" {
			return Errorf(Internal, "", "model %q: it is an alias and has targets", name)
		}
		entries[name] = ""
	}
	g.table = route.NewTable(entries, slices.Collect(maps.Keys(o.Direct)))
	for name := range o.Aliases {
		if names, end := g.table.Chain(name); end != route.Reached {
			return Errorf(Internal, "", "model %q: its alias leads nowhere: %s", name, strings.Join(names, " → "))
		}
	}
	asked := false
	for name, rules := range o.Rules {
		if o.Routes[name] == nil {
			return Errorf(Internal, "", "model %q: there are rules and no route", name)
		}
		if len(rules) == 0 {
			continue
		}
		set := &ruleSet{}
		var conditions []Condition
		for _, r := range rules {
			conditions, set.targets = append(conditions, r.When), append(set.targets, r.Targets)
		}
		set.rules = route.NewRules(conditions)
		g.rules[name], asked = set, asked || set.rules.Languages()
	}
	if !asked {
		return nil
	}
	var err error
	g.languages, err = language.New()
	return err
}

// lists are the target lists of all routes and of their rules, by the route's name.
func (o *Options) lists() iter.Seq2[string, []Target] {
	return func(yield func(string, []Target) bool) {
		for name, targets := range o.Routes {
			if !yield(name, targets) {
				return
			}
			for _, r := range o.Rules[name] {
				if !yield(name, r.Targets) {
					return
				}
			}
		}
	}
}

// choose finds where a request goes.
func (g *Gateway) choose(req *Request) (*chosen, error) {
	f, ok := g.table.Find(req.Model)
	if !ok {
		return nil, g.noModel(req.Model)
	}
	c := &chosen{RouteChoice: RouteChoice{Route: f.Entry, Alias: f.Alias}, model: f.Model}
	if f.Provider != "" {
		t := g.direct[f.Provider]
		t.Model = ""
		c.Route, c.targets = f.Provider+"/"+AnyModel, []Target{t}
		return c, nil
	}
	c.targets = g.routes[f.Entry]
	set := g.rules[f.Entry]
	if set == nil {
		return c, nil
	}
	began := time.Now()
	facts := &facts{req: req, keys: set.rules.Keys(), languages: g.languages}
	if i := set.rules.First(facts); i >= 0 {
		c.Rule, c.targets = i+1, set.targets[i]
	}
	c.HasRules, c.Language, c.took = true, facts.language, time.Since(began)
	return c, nil
}

// noModel is the error for a name that leads nowhere.
func (g *Gateway) noModel(model string) *Error {
	e := &Error{Kind: NotFound, Code: "model_not_found", Param: "model", Message: fmt.Sprintf("The model %q does not exist.", excerpt([]byte(model)))}
	if near := g.near(model); len(near) > 0 {
		e.Message += " Near names: " + strings.Join(near, ", ") + "."
	} else {
		e.Message += " GET /v1/models lists those that do."
	}
	return e
}

// Text writes the choice as a header does: assistant;rule=2;language=th.
func (c *RouteChoice) Text() string {
	if c == nil {
		return ""
	}
	text := c.Route
	if c.Alias != "" {
		text += ";alias=" + c.Alias
	}
	if c.Rule > 0 {
		text += fmt.Sprintf(";rule=%d", c.Rule)
	}
	if c.Language != "" {
		text += ";language=" + c.Language
	}
	return text
}
