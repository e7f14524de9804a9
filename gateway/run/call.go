package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/toolresult"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/sdk/abi"
)

// caller makes calls, for all requests.
type caller struct {
	catalogue Catalogue
	schemas   *repair.Schemas
	cleaner   *cleaner
	trace     Tracer
}

// maxArgsDepth is how deep arguments may nest.
const maxArgsDepth = 128

// ready is a call whose tool and arguments are known to be good, or why they are not.
type ready struct {
	call *call
	tool *toolserver.Tool
	args []byte
	err  *toolserver.Error
	near []string
}

// prepare finds the tool that is meant and checks the arguments, before anything is sent. What is
// repaired is counted in f.
func (h *caller) prepare(c *call, o *offer, f *gateway.Findings) ready {
	r := ready{call: c, tool: o.find(c.name)}
	if r.tool == nil {
		if name, _ := repair.Name(c.name, o.all); name != "" && o.find(name) != nil {
			c.name, r.tool = name, o.find(name)
			f.Repaired("name")
		}
	}
	if r.tool == nil {
		f.Fault(repair.UnknownTool)
		r.near = gateway.Near(c.name, o.names())
		hint := "Call one of the tools that are offered."
		if len(r.near) > 0 {
			hint = "Did you mean " + strings.Join(r.near, " or ") + "?"
		}
		r.err = &toolserver.Error{Kind: toolserver.UnknownTool, Message: "There is no tool of this name.", Hint: hint}
		c.args = object(c.args)
		return r
	}
	args, problem := h.arguments(c, r.tool, o, f)
	if problem != nil {
		f.Fault(problem.Class)
		r.err = &toolserver.Error{Kind: toolserver.InvalidArguments, Message: problem.Message, Hint: problem.Hint}
		if problem.Path != "" {
			r.err.Message = problem.Path + ": " + r.err.Message
		}
		c.args = object(c.args)
		return r
	}
	r.args, c.args = args, args
	return r
}

// object is arguments as the conversation can have them: servers refuse what is no object.
func object(args []byte) []byte {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return []byte("{}")
	}
	return args
}

// arguments are those of a call, repaired and checked.
func (h *caller) arguments(c *call, tool *toolserver.Tool, o *offer, f *gateway.Findings) ([]byte, *repair.Problem) {
	var known *abi.Tool
	if i := slices.IndexFunc(o.all, func(t abi.Tool) bool { return t.Name == tool.Alias }); i >= 0 {
		known = &o.all[i]
	}
	var in repair.Args
	in.Begin(known, tools.Shape(tool.Parameters), maxArgsDepth)
	args := bytes.Clone(in.Feed(c.args))
	rest, extra, problem := in.End()
	args = append(args, rest...)
	for _, kind := range in.Repairs() {
		f.Repaired(kind)
	}
	switch {
	case problem != nil:
		return nil, problem
	case len(extra) > 0:
		return nil, &repair.Problem{Class: repair.InvalidJSON, Message: "The arguments are several objects.", Hint: "Give one object, and make several calls if several are meant."}
	}
	if problem, _ := h.schemas.Check(tool.Parameters, args); problem != nil {
		return nil, problem
	}
	return args, nil
}

// make makes a call, as often as it may.
func (h *caller) make(ctx context.Context, r ready, p *Policy) *done {
	d := &done{call: r.call, tool: r.tool, err: r.err, near: r.near, args: canonical(r.call.args)}
	if d.err != nil {
		return d
	}
	began := time.Now()
	ctx, end := h.trace.Tool(ctx, r.tool, r.call.id)
	defer func() {
		d.took = time.Since(began)
		end(d.kind())
	}()
	attempts := 1
	if r.tool.Idempotent {
		attempts = p.Attempts
	}
	for {
		d.attempts++
		result, err := h.attempt(ctx, r, p)
		if err == nil {
			d.take(result)
			d.limit(p.Size.Result)
			return d
		}
		if d.err = err; d.attempts >= attempts || !err.Again || ctx.Err() != nil {
			return d
		}
	}
}

// attempt makes one attempt.
func (h *caller) attempt(ctx context.Context, r ready, p *Policy) (*toolserver.Result, *toolserver.Error) {
	limit := p.Time.Tool
	if r.tool.Timeout > 0 {
		limit = r.tool.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		result *toolserver.Result
		err    error
	}
	got := make(chan answer, 1)
	go func() { // it ends with ctx; who does not heed that is not waited for
		defer func() {
			if p := recover(); p != nil {
				got <- answer{nil, fmt.Errorf("panic: %v", p)}
			}
		}()
		result, err := h.catalogue.Call(ctx, r.tool.Alias, json.RawMessage(r.args))
		got <- answer{result, err}
	}()
	var a answer
	select {
	case a = <-got:
	case <-ctx.Done():
		select {
		case a = <-got:
		case <-time.After(time.Second):
			a.err = &toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true, Message: "The tool did not answer in time.", Err: ctx.Err()}
		}
	}
	if a.err == nil && a.result != nil {
		return a.result, nil
	}
	e := &toolserver.Error{}
	switch {
	case errors.As(a.err, &e):
	case errors.Is(a.err, context.DeadlineExceeded):
		e = &toolserver.Error{Kind: toolserver.Timeout, Sent: true, Again: true, Message: "The tool did not answer in time.", Err: a.err}
	default:
		e = &toolserver.Error{Kind: toolserver.Failed, Sent: true, Message: "The tool failed.", Err: a.err}
	}
	return nil, e
}

// take notes what a call has given.
func (d *done) take(r *toolserver.Result) {
	d.text, d.own, d.cut, d.dropped, d.err = r.Text, r.Failed, r.Cut, r.Dropped, nil
	if strings.TrimSpace(d.text) == "" && len(r.Structured) > 0 {
		d.text = string(r.Structured)
	}
	d.failed = d.own || toolresult.Failed([]byte(d.text), toolresult.Likely)
}

// canonical is JSON in one form, whatever it came as.
func canonical(args []byte) string {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(args)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(out)
}

// alternatives are the tools that may do what one has not done: those that the operator names,
// else those that take the same arguments.
func (o *offer) alternatives(t *toolserver.Tool) (list []string) {
	if t == nil {
		return nil
	}
	for _, alias := range t.Fallback {
		if o.byAlias[alias] != nil {
			list = append(list, alias)
		}
	}
	if len(list) > 0 || len(t.Parameters) == 0 {
		return list
	}
	same := canonical(t.Parameters)
	for _, alias := range slices.Sorted(maps.Keys(o.byAlias)) {
		if other := o.byAlias[alias]; other.Server != t.Server && len(other.Parameters) > 2 && canonical(other.Parameters) == same {
			list = append(list, alias)
		}
	}
	return list
}
