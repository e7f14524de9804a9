package gateway

import (
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/repair"
)

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
