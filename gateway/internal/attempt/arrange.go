package attempt

import (
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
	if !p.Quality.Applies() || !p.Base.Reading.OffersTools() {
		return toFront(order, weighted(p.Targets))
	}
	choice, ok := p.Quality.Choose(p.Conversation, func(i int) bool { return e.upstreams[p.Targets[i].Provider].ready() })
	if !ok {
		return order
	}
	if choice.From >= 0 {
		p.passedOver(p.Targets[choice.From])
	}
	order = toFront(order, choice.Arm)
	if p.Conversation.Running {
		return order
	}
	// Of the others with a weight those that were left come last, in the places that they all have.
	var places, sound, left []int
	for place, i := range order[1:] {
		if p.Targets[i].Weight == 0 {
			continue
		}
		places = append(places, place+1)
		if p.Quality.Demoted(i) {
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

// pass keeps a new conversation from targets that call tools worse than others, as far as their
// shares say, if there is another one that can be asked.
func (r *run) pass(list []gateway.Candidate) {
	p := r.plan
	if !p.Quality.Applies() || p.Conversation.Running || !p.Base.Reading.OffersTools() {
		return
	}
	ready := 0
	for i := range list {
		if list[i].Ready {
			ready++
		}
	}
	for i, c := range r.targets {
		if ready > 1 && list[i].Ready && p.Quality.Denies(c.arm, p.Conversation) {
			list[i].Ready = false // it comes last
			ready--
			p.passedOver(c.Target)
		}
	}
}
