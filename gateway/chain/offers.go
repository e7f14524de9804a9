package chain

import (
	"slices"

	"github.com/callgate/callgate/sdk/abi"
)

// offers are the tools that a request offers.
type offers struct {
	get   func() []abi.Tool // nil once it was called
	tools []abi.Tool
	any   bool // where there are none, every name is an offered one
}

// all are the tools, which are asked for once.
func (o *offers) all() []abi.Tool {
	if o.get != nil {
		o.tools, o.get = o.get(), nil
	}
	return o.tools
}

// find is the tool with a name, or nil.
func (o *offers) find(name string) *abi.Tool {
	tools := o.all()
	if i := slices.IndexFunc(tools, func(t abi.Tool) bool { return t.Name == name }); i >= 0 {
		return &tools[i]
	}
	return nil
}

// has reports whether a name is offered. In code only one that is there counts.
func (o *offers) has(name string, fenced bool) bool {
	return o.any && !fenced && len(o.all()) == 0 || o.find(name) != nil
}
