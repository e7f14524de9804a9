package structured

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
)

// checker says whether the choices of an answer are what was asked for, and keeps account of it.
type checker struct {
	schemas *repair.Schemas
	schema  []byte // nil: any object
	outcome *gateway.Outcome
	policy  gateway.InvalidPolicy
	report  bool
	bad     *choice // the first that is refused
}

// strict reports whether nothing goes out until it is known to be good.
func (k *checker) strict() bool { return k.policy != gateway.PassInvalid && !k.report }

// finish ends a choice, with its finish reason or "".
func (k *checker) finish(c *choice, reason string) {
	switch {
	case c.done:
		return
	case gateway.IsCut(reason):
		c.release(gateway.StructuredCut)
		return
	}
	_, c.problem = c.answer.End()
	c.done = true
	if len(bytes.TrimSpace(c.answer.Raw())) == 0 {
		return // whether an answer may be empty others say
	}
	repairs := c.answer.Repairs()
	if c.object {
		repairs = append(repairs, repair.AnswerObject)
	}
	c.result = gateway.StructuredOK
	if len(repairs) > 0 {
		c.result = gateway.StructuredRepaired
		class := gateway.AnswerJSON
		if len(repairs) == 1 && repairs[0] == repair.AnswerTypes {
			class = gateway.AnswerSchema
		}
		k.outcome.Fault(class)
	}
	if c.problem == nil && k.schema != nil {
		var checked bool
		if c.problem, checked = k.schemas.CheckAnswer(k.schema, c.answer.Text()); !checked {
			c.result = gateway.StructuredUnchecked
			k.outcome.Warn("schema_unchecked")
		}
	}
	if c.problem != nil {
		k.invalid(c)
	}
	k.name(append(repairs, c.answer.Begun()...))
}

// name says what was repaired.
func (k *checker) name(repairs []string) {
	for _, kind := range repairs {
		k.outcome.Repaired(kind)
	}
}

// invalid notes a choice with a problem that nothing repairs.
func (k *checker) invalid(c *choice) {
	c.result = gateway.StructuredInvalid
	class := classOf(c.problem)
	k.outcome.Fault(class)
	if k.bad == nil {
		k.bad = c
	}
	if !k.strict() {
		k.outcome.Warn(class)
	}
}

// classOf is the class of a problem of an answer.
func classOf(p *repair.Problem) string {
	if p.Class == repair.SchemaMismatch {
		return gateway.AnswerSchema
	}
	return gateway.AnswerJSON
}

// gravity is the order of results: what is said of an answer is the gravest of its choices.
var gravity = []gateway.StructuredResult{"", gateway.StructuredOK, gateway.StructuredRepaired, gateway.StructuredCalled, gateway.StructuredRefused,
	gateway.StructuredUnchecked, gateway.StructuredCut, gateway.StructuredInvalid}

// sum says what became of the answer.
func (k *checker) sum(all choices) {
	out := &gateway.Structured{}
	for _, c := range all {
		if c.released {
			k.name(c.answer.Begun())
		}
		if slices.Index(gravity, c.result) > slices.Index(gravity, out.Result) {
			out.Result = c.result
		}
	}
	if out.Result == "" {
		return
	}
	if k.bad != nil {
		p := k.bad.problem
		out.Class, out.Path, out.Message = classOf(p), p.Path, p.Message
	}
	k.outcome.Structured = out
}

// maxQuoted is how much of a bad answer the model is shown again.
const maxQuoted = 4 << 10

// err is the error of an answer that the policy refuses, or nil.
func (k *checker) err() error {
	if k.bad == nil || !k.strict() {
		return nil
	}
	p := k.bad.problem
	e := &gateway.Error{Kind: gateway.BadAnswer, Param: fmt.Sprintf("choices[%d].message.content", k.bad.index),
		Message: fmt.Sprintf("The model's answer is refused (%s): %s", classOf(p), p.Message)}
	if p.Path != "" {
		e.Param += ": " + gateway.Excerpt([]byte(p.Path))
	}
	if k.policy == gateway.ReaskInvalid {
		e.Redo = &gateway.Redo{Reason: gateway.Reask, Notes: []gateway.Correction{{Reason: classOf(p)}},
			Remark: fmt.Sprintf("Your answer was not accepted: %s\n%s\nYou wrote: %s\nAnswer again with the corrected JSON and nothing else.",
				p.Message, p.Hint, gateway.ExcerptOf(string(k.bad.answer.Raw()), maxQuoted))}
	}
	return e
}
