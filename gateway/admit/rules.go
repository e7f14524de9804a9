package admit

import (
	"fmt"
	"slices"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/limit"
)

// Rule is a limit, without its scope. Models are patterns of the models that alone count; none is all.
type Rule struct {
	Limit  limit.Limit
	Models []string
}

// Rules say which limits hold for whom.
type Rules struct {
	// Keys are those of keys, by name; a key that is missing has Others. Teams are those of teams, and Models of
	// the entries of the configuration, by name.
	Keys, Teams, Models map[string][]Rule
	Others              []Rule
	// Team is the team of a key, for requests that do not say it.
	Team map[string]string
	// Made are the limits of a key and a team that were made at run time; nil where nothing is said. It may be nil,
	// and a list does not change. *keys.Book says them.
	Made func(key, team string) (own, teams *[]limit.Spec)
}

// Table finds the limits of requests. It is safe for concurrent use.
type Table struct {
	rules Rules
	route func(model string) string
	sets  *lru.Cache[subjects, *limit.Set]
}

// subjects are whose limits hold, and what was made at run time of them.
type subjects struct {
	key, team, model string
	own, teams       *[]limit.Spec
}

// maxSets is how many sets of limits are kept made.
const maxSets = 4096

// NewTable makes a Table; nil if there is no limit at all. route is the entry of the configuration that a model's
// name leads to. The error says which limits cannot hold together.
func NewTable(r Rules, route func(model string) string) (*Table, error) {
	most := func(lists map[string][]Rule) (n int) {
		for _, list := range lists {
			n = max(n, len(list))
		}
		return n
	}
	keys, teams, models := max(most(r.Keys), len(r.Others)), most(r.Teams), most(r.Models)
	if keys+teams+models == 0 && r.Made == nil {
		return nil, nil
	}
	if n := keys + teams + models; n > limit.MaxLimits {
		return nil, fmt.Errorf("%d limits of a key, %d of its team and %d of a model could hold for one request, and at most %d may together", keys, teams, models, limit.MaxLimits)
	}
	sets, err := lru.New[subjects, *limit.Set](maxSets)
	return &Table{rules: r, route: route, sets: sets}, err
}

// Of is what holds for a request; nil for nothing.
func (t *Table) Of(req *gateway.Request) (*limit.Set, error) {
	if t == nil {
		return nil, nil
	}
	at := subjects{key: req.From.Tenant, model: req.Model}
	if c := req.From.Client; c != nil {
		at.key, at.team = c.Key, c.Team
	} else {
		at.team = t.rules.Team[at.key]
	}
	if t.rules.Made != nil {
		at.own, at.teams = t.rules.Made(at.key, at.team)
	}
	if s, ok := t.sets.Get(at); ok {
		return s, nil
	}
	s, err := t.make(at)
	if err == nil {
		t.sets.Add(at, s)
	}
	return s, err
}

// make makes the set of limits that hold for somebody; nil for none.
func (t *Table) make(at subjects) (*limit.Set, error) {
	var limits []limit.Limit
	add := func(list []Rule, s limit.Scope) {
		for _, r := range list {
			if len(r.Models) > 0 && !Matches(r.Models, at.model) {
				continue
			}
			l := r.Limit
			l.Scope = s
			if len(r.Models) > 0 {
				l.Scope.Of, l.Scope.Models = s.Of+"_model", strings.Join(r.Models, ",")
			}
			limits = append(limits, l)
		}
	}
	own, ok := t.rules.Keys[at.key]
	switch {
	case at.own != nil:
		own = Listed(*at.own)
	case !ok:
		own = t.rules.Others
	}
	key := limit.Scope{Of: "key", Name: at.key}
	if at.key == "" {
		key.Of = "all"
	}
	add(own, key)
	group := at.key
	if at.team != "" {
		group = at.team
		list := t.rules.Teams[at.team]
		if at.teams != nil {
			list = Listed(*at.teams)
		}
		add(list, limit.Scope{Of: "team", Name: at.team})
	}
	if name := t.route(at.model); name != "" {
		add(t.rules.Models[name], limit.Scope{Of: "model", Name: name})
	}
	if len(limits) == 0 {
		return nil, nil
	}
	if len(limits) > limit.MaxLimits { // NewTable knows only those of the configuration
		return nil, &gateway.Error{Kind: gateway.Forbidden, Code: "too_many_limits",
			Message: fmt.Sprintf("%d limits of your key, its team and the model hold together, and at most %d may: ask the operator to take some away.", len(limits), limit.MaxLimits)}
	}
	return limit.NewSet(group, limits)
}

// Listed are limits as rules.
func Listed(list []limit.Spec) []Rule {
	out := make([]Rule, len(list))
	for i := range list {
		out[i] = Rule{Limit: list[i].Limit(limit.Scope{}), Models: list[i].Models}
	}
	return out
}

// Matches reports whether one of some patterns stands for a model's name.
func Matches(patterns []string, model string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return route.NewGlob(p).Match(model) })
}
