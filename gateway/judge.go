package gateway

import (
	"fmt"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/sdk/abi"
)

// judge says whether the calls of one answer are fit to be run, and keeps account of
// those that are not. Calls that the upstream made itself and calls that were read
// from its text are judged alike.
type judge struct {
	req     *Request
	schemas *repair.Schemas
	policy  InvalidPolicy
	report  bool // nothing is changed or refused, only said
	// references resolves arguments that refer to earlier results; nil if none do. What
	// is done about them is in mode, and correctable reports whether the model can be
	// told of one that nobody knows.
	references  *reference.Resolver
	mode        Mode
	correctable func() bool

	called   []string // the tools that were called so far
	resolved []Resolution
	unknown  []string // names that nobody offered
	faults   map[string]int
	warnings []string
	refused  []refusal // calls that the policy does not let through
}

// refusal is a call that does not go to the client.
type refusal struct {
	name, arguments string
	problem         *repair.Problem
}

func (r *Response) newJudge() *judge {
	a := r.of
	return &judge{
		req: r.req, schemas: r.gateway.schemas, policy: r.target.OnInvalid, report: r.target.Mode == Report,
		references: a.references, mode: a.conduct.References,
		correctable: func() bool { return r.seen != nil && a.mayCorrect() },
	}
}

// strict reports whether every call waits until it is complete and known to be good.
func (j *judge) strict() bool { return j.policy != PassInvalid && !j.report }

// strictFor reports whether a call of a tool does.
func (j *judge) strictFor(tool string) bool {
	return j.strict() || !j.report && j.mode == Repair && j.references.Covers(tool)
}

// waits reports whether there may be calls that do.
func (j *judge) waits() bool {
	return j.strict() || !j.report && j.mode == Repair && j.references != nil
}

// tool is the offered tool of a name, or nil.
func (j *judge) tool(name string) *abi.Tool {
	tools := j.req.offered()
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// continues reports whether a longer name than this is offered, so that a name which
// comes in pieces may not be complete.
func (j *judge) continues(name string) bool {
	for _, t := range j.req.offered() {
		if len(t.Name) > len(name) && strings.HasPrefix(t.Name, name) {
			return true
		}
	}
	return false
}

// name finds the offered tool that the model means by a call that it begins. Where tools
// are not known as OpenAI's, every name is left as it is.
func (j *judge) name(name string) (resolved string, problem *repair.Problem) {
	resolved, problem = j.meant(name)
	if len(j.called) < maxCalls {
		j.called = append(j.called, resolved)
	}
	return resolved, problem
}

// uncall forgets a call of a tool, the last one: it was none, or broke off before anyone
// saw it.
func (j *judge) uncall(tool string) {
	for i := len(j.called) - 1; i >= 0; i-- {
		if j.called[i] == tool {
			j.called = slices.Delete(j.called, i, i+1)
			return
		}
	}
}

func (j *judge) meant(name string) (resolved string, problem *repair.Problem) {
	if len(j.req.offered()) == 0 {
		return name, nil
	}
	if n := len(j.unknown); n == 0 || n < maxUnknown && !slices.Contains(j.unknown, name) {
		resolved, candidates := repair.Name(name, j.req.offered())
		if resolved != "" {
			return resolved, nil
		}
		j.unknown = append(j.unknown, name)
		return name, repair.UnknownName(name, candidates)
	}
	if j.tool(name) != nil {
		return name, nil
	}
	return name, repair.UnknownName(name, nil)
}

// maxUnknown is how many names of an answer are compared with all that were offered.
const maxUnknown = 32

// arguments checks the arguments of a call of an offered tool.
func (j *judge) arguments(name, args string) *repair.Problem {
	parameters := j.req.read().schemas[name]
	if len(parameters) == 0 {
		return nil
	}
	problem, checked := j.schemas.Check(parameters, []byte(args))
	if !checked {
		j.warn("schema_unchecked")
	}
	return problem
}

// fault counts something that was wrong with a call.
func (j *judge) fault(class string) {
	if class != "" {
		j.faults = count(j.faults, class)
	}
}

// refuse takes note of a call with a problem that nothing mends. It reports whether the
// policy keeps it from the client.
func (j *judge) refuse(name, args string, p *repair.Problem) bool {
	j.fault(p.Class)
	return j.turnDown(name, args, p)
}

// turnDown is refuse for a call of which the fault was counted before.
func (j *judge) turnDown(name, args string, p *repair.Problem) bool {
	if j.refuses(p) {
		j.refused = append(j.refused, refusal{name, args, p})
		return true
	}
	j.warn(p.Class)
	return false
}

// refuses reports whether the policy is against a call with a problem. A reference that
// nobody knows is the model's to correct, if it can be told; otherwise it is a call like
// others.
func (j *judge) refuses(p *repair.Problem) bool {
	return j.strict() || isReference(p) && !j.report && j.mode == Repair && j.correctable()
}

func (j *judge) warn(w string) {
	for _, have := range j.warnings {
		if have == w {
			return
		}
	}
	j.warnings = append(j.warnings, w)
}

// err is the error of an answer with a call that is refused, or nil.
func (j *judge) err() error {
	if len(j.refused) == 0 {
		return nil
	}
	r := j.refused[0]
	e := &Error{Kind: BadCall, Param: "choices[0].message.tool_calls", refused: j.refused,
		Message: fmt.Sprintf("The model's call of %q is refused (%s): %s", excerpt([]byte(r.name)), r.problem.Class, r.problem.Error())}
	if r.problem.Path != "" {
		e.Param += ": " + excerpt([]byte(r.problem.Path))
	}
	return e
}
