package attempt

import (
	"math/rand/v2"
	"slices"

	"github.com/callgate/callgate/gateway"
)

// arrange returns the places of the plan's targets in the order in which they are asked, as far as
// weights say: the one that is drawn comes first. How targets call tools has a say for requests
// with tools, and where an affinity chooses it has it there.
func (e *Engine) arrange(p *Plan) []int {
	order := make([]int, len(p.Targets))
	for i := range order {
		order[i] = i
	}
	if p.Affinity != nil {
		return order
	}
	if !p.Calls.Group.Applies() || !p.Base.Reading.OffersTools() {
		return toFront(order, weighted(p.Targets))
	}
	choice, ok := p.Calls.Group.Choose(p.Calls.Conversation, func(i int) bool { return e.upstreams[p.Targets[i].Provider].ready() })
	if !ok {
		return order
	}
	if choice.From >= 0 {
		p.passedOver(p.Targets[choice.From])
	}
	order = toFront(order, choice.Arm)
	if p.Calls.Conversation.Running {
		return order
	}
	// Of the others with a weight those that were left come last, in the places that they all have.
	var places, sound, left []int
	for place, i := range order[1:] {
		if p.Targets[i].Weight == 0 {
			continue
		}
		places = append(places, place+1)
		if p.Calls.Group.Demoted(i) {
			left = append(left, i)
		} else {
			sound = append(sound, i)
		}
	}
	for k, i := range append(sound, left...) {
		order[places[k]] = i
	}
	return order
}

// toFront puts the place i of an order in front.
func toFront(order []int, i int) []int { return slices.Concat(order[i:i+1], order[:i], order[i+1:]) }

// passedOver notes a target that is not asked first because of how it calls tools.
func (p *Plan) passedOver(t gateway.Target) {
	if p.Route != nil {
		p.Route.PassedOver = t.Name()
	}
}

// weighted draws the target that is asked first by its weight, if any has one; else it is the first.
func weighted(targets []gateway.Target) int {
	total := 0
	for i := range targets {
		total += targets[i].Weight
	}
	if total == 0 || len(targets) == 1 {
		return 0
	}
	n := rand.IntN(total) //nolint:gosec // chance, not a secret
	for i := range targets {
		if n -= targets[i].Weight; n < 0 {
			return i
		}
	}
	return 0
}
