package flow

import (
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/internal/routing"
	"github.com/callgate/callgate/gateway/quality"
)

// sharing are the groups of targets that share the requests of a route, or of a rule of it.
type sharing struct {
	groups map[listKey]*quality.Group
	begin  func() // nil: there are none
}

// listKey is a list of targets: a route's own, or that of its rule of a number from 1 on.
type listKey struct {
	route string
	rule  int
}

func (k listKey) String() string {
	if k.rule == 0 {
		return k.route
	}
	return fmt.Sprintf("%s rule %d", k.route, k.rule)
}

// newSharing makes the groups of all routes that want to know how their targets call.
func newSharing(o *Options) sharing {
	if o.Quality == nil {
		return sharing{}
	}
	settings, arms, keys := map[string]quality.Settings{}, map[string][]quality.Arm{}, map[listKey]string{}
	add := func(key listKey, targets []gateway.Target) {
		p := o.policy(key.route)
		list, taking := armsOf(key.route, targets, p.Affinity)
		if p.Quality == gateway.Off || taking < 2 {
			return
		}
		s := p.QualitySettings
		s.Apply = p.Quality == gateway.Repair
		keys[key], settings[key.String()], arms[key.String()] = key.String(), s, list
	}
	for name, targets := range o.Routes {
		add(listKey{route: name}, targets)
		for i, r := range o.Rules[name] {
			add(listKey{name, i + 1}, r.Targets)
		}
	}
	groups, begin := o.Quality.Configure(settings, arms)
	s := sharing{groups: map[listKey]*quality.Group{}, begin: begin}
	for key, name := range keys {
		s.groups[key] = groups[name]
	}
	return s
}

// armsOf are the targets of a list, each an arm, and how many of them share its requests. Where
// caches choose, and nobody has a weight, all do.
func armsOf(name string, targets []gateway.Target, affinity bool) (arms []quality.Arm, taking int) {
	weights := 0
	for i := range targets {
		weights += targets[i].Weight
	}
	for _, t := range targets {
		model := t.Model
		if model == "" && !route.IsPattern(name) {
			model = name
		}
		weight := t.Weight
		if weights == 0 && affinity {
			weight = 1
		}
		if weight > 0 {
			taking++
		}
		arms = append(arms, quality.Arm{Target: attempt.Scored(t, model), Weight: weight})
	}
	return arms, taking
}

// countCalls says in the plan of a request whether its calls are counted, and which group and conversation it is of.
func (g *Gateway) countCalls(p *attempt.Plan, c *compiled, choice *routing.Choice) {
	if c.Quality == gateway.Off || g.options.Quality == nil {
		return
	}
	p.Calls.Counted = true
	if choice.Arm != nil { // a trial says where its requests go, and nothing else is to have a say
		return
	}
	group := g.sharing.groups[listKey{choice.Route, choice.Rule}]
	if !group.Applies() || !p.Base.Reading.OffersTools() {
		return
	}
	p.Calls.Group, p.Calls.Conversation = group, conversationOf(g.options.Quality, p.Asked)
}

// conversationOf is the conversation of a request: whose it is, and what the user has said first. What
// stands before that changes with the time of day in many a client.
func conversationOf(b *quality.Book, r *gateway.Request) (c quality.Conversation) {
	if !r.Reading.HasMessages() {
		return c
	}
	talk := r.Reading.Conversation()
	var first []byte
	for _, m := range talk.Messages {
		switch m.Role {
		case conversation.User:
			if first == nil {
				first = m.Content.Of(talk.Text)
			}
		case conversation.Assistant, conversation.Tool:
			c.Running = true
		}
	}
	c.Key = b.Key([]byte(r.From.Tenant), first)
	return c
}
