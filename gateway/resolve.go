package gateway

import (
	"slices"

	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
)

// readReferences finds the arguments that are declared references, and keeps the
// declarations of tools, which are ours, from the upstream.
func (a *attempts) readReferences() {
	c := a.conduct
	if c.References == Off || a.req.tools.IsNull(a.req.body) {
		return
	}
	tools := a.req.read()
	if a.req.OffersTools() {
		rules := slices.Clone(tools.references)
		for _, rule := range c.ReferenceRules {
			rules = append(rules, tools.typed(rule)...)
		}
		a.references = reference.New(rules, a.req.talk())
	}
	if tools.badReference {
		a.warn("bad_reference")
	}
	a.req = a.req.with(wire.Shifted(tools.stripped, a.req.tools.Start)...)
}

// isReference reports whether a problem is a reference that could not be resolved.
func isReference(p *repair.Problem) bool {
	return p.Class == reference.Unresolved || p.Class == reference.Ambiguous
}

// settle checks the arguments of a complete call, and puts the values in place of
// references. out is what goes on.
func (j *judge) settle(name, args string) (out string, problem *repair.Problem) {
	if j.tool(name) == nil {
		return args, nil
	}
	if j.references.Covers(name) {
		resolved, done, problem, checked := j.references.Resolve(name, args)
		if problem != nil {
			return args, problem
		}
		if !checked {
			j.warn("reference_unchecked")
		}
		switch {
		case j.mode == Repair && !j.report:
			args = resolved
		case len(done) > 0: // what would have been put in
			j.warn("reference_found")
		}
		j.resolved = append(j.resolved, done...)
	}
	return args, j.arguments(name, args)
}
