package reference

import "slices"

// state is what came of a reference.
type state uint8

const (
	asIs state = iota // the value is one that a result holds
	resolved
	unchecked
	unresolved
	ambiguous
)

// verdict is what came of a reference, and why.
type verdict struct {
	state state
	// value, how and ratio are of what is resolved.
	value scalar
	how   How
	ratio float64
	// listed are the candidates that a problem names, and more how many others there are.
	listed []candidate
	more   int
}

// decide looks a reference up.
func (r *Resolver) decide(p *place) verdict {
	held := r.held(p, &r.own)
	if held&p.value.kind != 0 {
		return verdict{state: asIs}
	}
	table := &p.rule.source.table
	hits := table.exact(p.value.text)
	partial := r.own.partial
	if !partial && (len(hits) == 0 || p.value.mayBeID()) {
		held |= r.held(p, &r.others)
		partial = r.others.partial
	}
	typed, isHeld := p.value.other(held)
	switch {
	case held&p.value.kind != 0 || isHeld && typed.as(p.rule.Types).equal(p.value):
		return verdict{state: asIs}
	case partial || len(table.list) == 0 && !isHeld:
		return verdict{state: unchecked}
	case isHeld:
		return p.retype(typed, hits)
	case len(hits) > 0:
		return p.choose(hits, Exact, 1)
	case p.value.kind != aString:
		return r.missing(p, table.first())
	}
	return r.compare(p)
}

// retype is the verdict on a reference that is a value but for its type, unless things
// are called so that have other values.
func (p *place) retype(typed scalar, hits []int) verdict {
	table := &p.rule.source.table
	has := func(i int) bool { return table.list[i].value.text == typed.text }
	switch {
	case len(hits) > 0 && !slices.ContainsFunc(hits, has):
		return several(append([]candidate{{text: typed.text, value: typed}}, table.pick(hits)...), len(hits)+1)
	case len(hits) > 1:
		return p.choose(hits, Exact, 1)
	}
	return p.settle(typed, Exact, 1)
}

// held returns the types in which some results hold the value of a reference. Most
// references are values that a late result holds; only for others are all results read,
// and those of other tools only if the text does not name something.
func (r *Resolver) held(p *place, results *queue) kinds {
	values := results.known[p.rule.source.value]
	for values[p.value.text]&p.value.kind == 0 && r.next(results) {
	}
	return values[p.value.text]
}

// compare looks for a text that is not exactly the same.
func (r *Resolver) compare(p *place) verdict {
	table := &p.rule.source.table
	folded := caseless(p.value.text)
	if hits := table.fold(folded); len(hits) > 0 {
		return p.choose(hits, Folded, 1)
	}
	found := table.fuzzy(folded, p.rule.ratio(), &r.work)
	switch {
	case !found.complete:
		return verdict{state: unchecked}
	case len(found.alike) > 0:
		return p.choose(found.alike, Fuzzy, found.ratio)
	}
	return r.missing(p, found.near)
}

// choose is the verdict on a reference that candidates fit, each with another value.
func (p *place) choose(hits []int, how How, ratio float64) verdict {
	table := &p.rule.source.table
	if len(hits) > 1 {
		return several(table.pick(hits), len(hits))
	}
	return p.settle(table.list[hits[0]].value, how, ratio)
}

func several(listed []candidate, all int) verdict {
	listed = listed[:min(len(listed), mostListed)]
	return verdict{state: ambiguous, listed: listed, more: all - len(listed)}
}

// settle is the verdict on a reference that means a value.
func (p *place) settle(value scalar, how How, ratio float64) verdict {
	if value = value.as(p.rule.Types); value.equal(p.value) {
		return verdict{state: asIs}
	}
	return verdict{state: resolved, value: value, how: how, ratio: ratio}
}

// missing is the verdict on a reference that nothing fits. near are candidates that may
// be meant.
func (r *Resolver) missing(p *place, near []int) verdict {
	if r.mentions(p.value) {
		return verdict{state: unchecked}
	}
	table := &p.rule.source.table
	listed := table.pick(near)
	return verdict{state: unresolved, listed: listed, more: len(table.results) - len(listed)}
}
