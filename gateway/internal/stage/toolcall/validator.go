package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/repair"
)

// validator says whether the calls of one answer are fit to be run, and keeps account of
// those that are not. Calls that the upstream made itself and calls that were read from its
// text are judged alike.
type validator struct {
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	offered *tools.List
	schemas *repair.Schemas
	policy  gateway.InvalidPolicy
	doubt   gateway.DoubtPolicy
	report  bool     // nothing is changed or refused, only said
	unknown []string // names that nobody offered
	refused []refusal
	ids     ids
}

// refusal is a call that the policy does not let through.
type refusal struct {
	name, arguments string
	problem         *repair.Problem
}

// strict reports whether every call waits until it is complete and known to be good.
func (v *validator) strict() bool { return v.policy != gateway.PassInvalid && !v.report }

// strictFor reports whether a call of a tool does.
func (v *validator) strictFor(tool string) bool {
	return v.strict() || v.resolves() && v.attempt.Notes.Resolver.Covers(tool)
}

// waits reports whether there may be calls that do.
func (v *validator) waits() bool { return v.strict() || v.resolves() }

// resolves reports whether values are put in the place of references.
func (v *validator) resolves() bool {
	n := v.attempt.Notes
	return !v.report && n.References == gateway.Repair && n.Resolver != nil
}

// name finds the offered tool that the model means by a call that it begins. Where tools are
// not known as OpenAI's, every name is left as it is.
func (v *validator) name(name string) (resolved string, problem *repair.Problem) {
	resolved, problem = v.resolveName(name)
	if len(v.outcome.Called) < maxCalls {
		v.outcome.Called = append(v.outcome.Called, resolved)
	}
	return resolved, problem
}

// id is the id of a call of a choice; ok is false if it is not the upstream's.
func (v *validator) id(choice int, theirs, name string) (id string, ok bool) {
	id, ok = v.ids.claim(choice, theirs, name)
	if v.outcome.FirstID == "" && choice == 0 {
		if v.outcome.FirstID = id; v.report {
			v.outcome.FirstID = theirs
		}
	}
	return id, ok
}

// drop forgets a call of a tool, the last one: it was none, or broke off before anyone
// saw it.
func (v *validator) drop(tool string) {
	called := v.outcome.Called
	for i := len(called) - 1; i >= 0; i-- {
		if called[i] == tool {
			v.outcome.Called = slices.Delete(called, i, i+1)
			return
		}
	}
}

func (v *validator) resolveName(name string) (resolved string, problem *repair.Problem) {
	offered := v.offered.Tools
	if len(offered) == 0 {
		return name, nil
	}
	if n := len(v.unknown); n == 0 || n < maxUnknown && !slices.Contains(v.unknown, name) {
		resolved, candidates := repair.Name(name, offered)
		if resolved != "" {
			return resolved, nil
		}
		v.unknown = append(v.unknown, name)
		return name, repair.UnknownName(name, candidates)
	}
	if v.offered.Find(name) != nil {
		return name, nil
	}
	return name, repair.UnknownName(name, nil)
}

// maxUnknown is how many names of an answer are compared with all that were offered.
const maxUnknown = 32

// arguments checks the arguments of a call of an offered tool.
func (v *validator) arguments(name, args string) *repair.Problem {
	parameters := v.offered.Schemas[name]
	if len(parameters) == 0 {
		return nil
	}
	problem, checked := v.schemas.Check(parameters, []byte(args))
	if !checked {
		v.outcome.Warn("schema_unchecked")
	}
	return problem
}

// fit reports whether all of several arguments are fit for an offered tool.
func (v *validator) fit(name string, several [][]byte) bool {
	return v.offered.Find(name) != nil && !slices.ContainsFunc(several, func(args []byte) bool {
		return v.arguments(name, string(args)) != nil
	})
}

// certain reports whether a name that may go on, in the next pieces of its call, is that of a
// tool already.
func (v *validator) certain(name string) bool {
	return name != "" && (len(v.offered.Tools) == 0 || v.offered.Find(name) != nil && !v.offered.Continues(name))
}

// settle checks the arguments of a complete call, and puts the values in place of
// references. out is what goes on.
func (v *validator) settle(name, args string) (out string, problem *repair.Problem) {
	if v.offered.Find(name) == nil {
		return args, nil
	}
	if r := v.attempt.Notes.Resolver; r != nil && r.Covers(name) {
		resolved, done, problem, checked := r.Resolve(name, args)
		if problem != nil {
			return args, problem
		}
		if !checked {
			v.outcome.Warn("reference_unchecked")
		}
		switch {
		case v.resolves():
			args = resolved
			if len(done) > 0 {
				v.outcome.Repairs = gateway.Count(v.outcome.Repairs, "reference", len(done))
			}
		case len(done) > 0: // what would have been put in
			v.outcome.Warn("reference_found")
		}
		v.outcome.References = append(v.outcome.References, done...)
	}
	if problem = v.arguments(name, args); problem == nil {
		problem = v.doubtful(doubts(v.offered, name, args))
	}
	return args, problem
}

// doubtful takes note of a call that can hardly be meant, if p says so. It returns p where the
// policy is to treat it as one that cannot be repaired.
func (v *validator) doubtful(p *repair.Problem) *repair.Problem {
	switch {
	case p == nil || v.doubt == gateway.PassDoubt:
		return nil
	case v.doubt == gateway.RefuseDoubt && v.strict():
		return p
	}
	v.outcome.Fault(p.Class)
	v.outcome.Warn(p.Class)
	return nil
}

// refuse takes note of a call with a problem that nothing repairs. It reports whether the
// policy keeps it from the client.
func (v *validator) refuse(name, args string, p *repair.Problem) bool {
	if p.Class != "" {
		v.outcome.Fault(p.Class)
	}
	return v.reject(name, args, p)
}

// reject is refuse for a call of which the fault was counted before.
func (v *validator) reject(name, args string, p *repair.Problem) bool {
	v.outcome.Flawed(gateway.Flaw{Tool: name, Class: p.Class})
	if v.refuses(p) {
		v.refused = append(v.refused, refusal{name, args, p})
		return true
	}
	v.outcome.Warn(p.Class)
	return false
}

// refuses reports whether the policy is against a call with a problem. A reference that
// nobody knows is the model's to correct, if it can be told; otherwise it is a call like
// others.
func (v *validator) refuses(p *repair.Problem) bool {
	return v.strict() || isReference(p) && v.resolves() && v.attempt.MayRedo && !v.outcome.Committed
}

// isReference reports whether a problem is a reference that could not be resolved.
func isReference(p *repair.Problem) bool {
	return p.Class == reference.Unresolved || p.Class == reference.Ambiguous
}

// err is the error of an answer with a call that is refused, or nil.
func (v *validator) err() error {
	if len(v.refused) == 0 {
		return nil
	}
	r := v.refused[0]
	e := &gateway.Error{Kind: gateway.BadCall, Param: "choices[0].message.tool_calls", Redo: v.redo(),
		Message: fmt.Sprintf("The model's call of %q is refused (%s): %s", gateway.Excerpt([]byte(r.name)), r.problem.Class, r.problem.Error())}
	if r.problem.Path != "" {
		e.Param += ": " + gateway.Excerpt([]byte(r.problem.Path))
	}
	return e
}

// maxQuotedCall is how much of a refused call the model is shown again.
const maxQuotedCall = 4 << 10

// redo asks for another attempt in which the model is told what was wrong with its calls; nil
// if there is to be none. The policy must be such, or nothing may be wrong but references
// that could not be resolved.
func (v *validator) redo() *gateway.Redo {
	onlyReferences := !slices.ContainsFunc(v.refused, func(r refusal) bool { return !isReference(r.problem) })
	if v.policy != gateway.ReaskInvalid && !onlyReferences {
		return nil
	}
	redo := &gateway.Redo{Reason: gateway.Reask}
	var text strings.Builder
	for _, r := range v.refused {
		redo.Notes = append(redo.Notes, gateway.Correction{Tool: r.name, Reason: r.problem.Class})
		fmt.Fprintf(&text, "Your call of the tool %q was not carried out: %s\n", r.name, r.problem.Message)
		if r.problem.Hint != "" {
			fmt.Fprintf(&text, "%s\n", r.problem.Hint)
		}
		fmt.Fprintf(&text, "You wrote these arguments: %s\n", gateway.ExcerptOf(r.arguments, maxQuotedCall))
	}
	text.WriteString("Call the tool again with correct arguments")
	if redo.Pin = v.pin(); redo.Pin == "" {
		text.WriteString(", or answer without it")
	}
	redo.Remark = text.String() + "."
	return redo
}

// pin is the tool that the next attempt has to call: the one that all calls of the answer are of, of
// which nothing but the arguments was wrong. Where the client says itself what may be called, or
// a reference has to be found, which may take another tool, there is none.
func (v *validator) pin() string {
	name := v.refused[0].name
	if c := v.attempt.Notes.Choice; c.None || c.Other || c.Tool != "" || v.offered.Find(name) == nil {
		return ""
	}
	other := func(called string) bool { return called != name }
	if slices.ContainsFunc(v.outcome.Called, other) || slices.ContainsFunc(v.refused, func(r refusal) bool {
		return r.name != name || r.problem.Class != repair.InvalidJSON && r.problem.Class != repair.SchemaMismatch
	}) {
		return ""
	}
	return name
}
