package amend

import (
	"bytes"
	"context"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/internal/tools"
	"github.com/callgate/callgate/gateway/wire"
)

// References finds the arguments that are declared references, and keeps the declarations of
// tools, which are ours, from the upstream.
type References struct {
	Mode gateway.Mode
	// Rules are those of the configuration; tools may bring their own.
	Rules []gateway.ReferenceRule
}

// Apply implements gateway.RequestPolicy.
func (p References) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	list := r.Reading.ToolsJSON()
	if list == nil {
		return a, nil
	}
	offered := r.Reading.Tools()
	declared := bytes.Contains(list, []byte("x-reference"))
	var rules []gateway.ReferenceRule
	if declared {
		a.Edits = wire.Shifted(reference.Strip(list), r.Body.Places().Tools.Start)
		for _, tool := range offered.Tools { // in their order
			own, problems := reference.FromSchema(tool.Name, offered.Schemas[tool.Name])
			rules = append(rules, own...)
			if len(problems) > 0 {
				a.Warnings = []string{"bad_reference"}
			}
		}
	}
	if !r.Reading.OffersTools() {
		return a, nil
	}
	for _, rule := range p.Rules {
		rules = append(rules, withTypes(offered, rule)...)
	}
	if resolver := reference.New(rules, r.Reading.Conversation()); resolver != nil {
		a.Note = func(n *gateway.Notes) { n.Resolver, n.References = resolver, p.Mode }
	}
	return a, nil
}

// withTypes is a rule of the configuration with the types that its argument may have, or
// nothing if its tool is not offered. Those at the top of a schema are known.
func withTypes(offered *tools.List, rule gateway.ReferenceRule) []gateway.ReferenceRule {
	tool := offered.Find(rule.Tool)
	if tool == nil {
		return nil
	}
	if strings.ContainsAny(rule.Argument, ".[") {
		return []gateway.ReferenceRule{rule.Typed(offered.Schemas[rule.Tool])}
	}
	for _, p := range tool.Params {
		if p.Name == rule.Argument {
			rule.Types = p.Types
		}
	}
	return []gateway.ReferenceRule{rule}
}
