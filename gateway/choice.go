package gateway

import (
	"fmt"
	"slices"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// chosen is the function that tool_choice names, or "".
func (r *Request) chosen() string {
	if r.toolChoice.IsNull(r.body) || r.body[r.toolChoice.Start] != '{' {
		return ""
	}
	function := wire.Find(r.body, r.toolChoice, "function")
	if function.IsNull(r.body) || r.body[function.Start] != '{' {
		return ""
	}
	return wire.Unquote(wire.Find(r.body, function, "name").Of(r.body))
}

// checkChoice refuses a tool_choice that names a function which is not offered. Upstreams
// answer it with an error of their own, with another tool, or with a call that nobody
// can run; the client has made a slip in every case. Nothing is looked at where the
// binding is off, or all targets are.
func (r *Request) checkChoice(action BindingAction, targets []Target) error {
	name := r.chosen()
	if name == "" || action == BindingOff || !slices.ContainsFunc(targets, func(t Target) bool { return t.Mode != Off }) {
		return nil
	}
	tools := r.offered()
	if slices.ContainsFunc(tools, func(t abi.Tool) bool { return t.Name == name }) || len(tools) == 0 && !r.tools.IsNull(r.body) {
		return nil // it is there, or the tools are made in another way than OpenAI's
	}
	e := &Error{Kind: Invalid, Code: repair.UnknownTool, Param: "tool_choice.function.name",
		Message: fmt.Sprintf("tool_choice names the function %q, which is not among the tools.", excerpt([]byte(name)))}
	resolved, near := repair.Name(name, tools)
	if resolved != "" {
		near = []string{resolved}
	}
	if len(near) > 0 {
		e.Message += fmt.Sprintf(" Did you mean %q?", near)
	}
	return e
}
