package gateway

import (
	"fmt"
	"slices"
	"strings"

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

func (g *Gateway) newJudge(req *Request, t Target) *judge {
	return &judge{req: req, schemas: g.schemas, policy: t.OnInvalid, report: t.Mode == Report}
}

// strict reports whether a call waits until it is complete and known to be good.
func (j *judge) strict() bool { return j.policy != PassInvalid && !j.report }

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

// name finds the offered tool that the model means. Where tools are not known as
// OpenAI's, every name is left as it is.
func (j *judge) name(name string) (resolved string, problem *repair.Problem) {
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
	if j.strict() {
		j.refused = append(j.refused, refusal{name, args, p})
		return true
	}
	j.warn(p.Class)
	return false
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
