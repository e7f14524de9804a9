package gateway

import (
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/span"
	"github.com/callgate/callgate/gateway/repair"
)

// readReferences finds the arguments that are declared references, and keeps the
// declarations of tools, which are ours, from the upstream.
func (a *attempts) readReferences() {
	c := a.conduct
	if c.References == Off || !a.req.OffersTools() {
		return
	}
	own := a.req.read().references
	if len(own) == 0 && len(c.ReferenceRules) == 0 {
		return
	}
	for _, problem := range a.req.read().problems {
		a.warn(problem)
	}
	rules := own[:len(own):len(own)]
	for _, rule := range c.ReferenceRules {
		rules = append(rules, rule.Typed(a.req.read().schemas[rule.Tool]))
	}
	a.references = reference.New(rules, a.req.talk())
	if strip := a.req.read().stripped; len(strip) > 0 {
		edits := make([]edit, len(strip))
		for i, e := range strip {
			edits[i] = edit{span.Span{Start: a.req.tools.Start + e.At.Start, End: a.req.tools.Start + e.At.End}, e.With}
		}
		a.req = a.req.with(edits...)
	}
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
		switch {
		case problem != nil:
			return args, problem
		case !checked:
			j.warn("reference_unchecked")
		case j.mode == Repair && !j.report:
			args = resolved
		}
		for _, d := range done {
			j.resolved = append(j.resolved, d)
		}
	}
	return args, j.arguments(name, args)
}
