package flow

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/attempt"
	"github.com/callgate/callgate/gateway/internal/routing"
	"github.com/callgate/callgate/gateway/prefix"
)

// caches are what is known of the caches of targets.
type caches struct {
	index        *prefix.Index
	affinity     *routing.Affinity // nil: no route wants it
	salt         []byte            // keeps apart what tenants have sent
	notesPrompts bool              // in the summary of every request
}

// begin takes the place of what was known before, without what there was of providers that are gone.
func (c *caches) begin(gone []string) {
	for _, provider := range gone {
		c.affinity.Forget(provider)
	}
	if c.affinity == nil {
		c.index.Keep(nil)
		return
	}
	c.affinity.Begin()
}

// prompt looks at the request's prompt, for whoever wants to know which target has it, or what
// there was. wanted says that its route sends requests to where their prompts are.
func (c *caches) prompt(p *attempt.Plan, wanted bool) {
	near := c.affinity != nil && wanted && len(p.Targets) > 1
	if !near && !c.notesPrompts {
		return
	}
	chain := routing.Chain(c.salt, p.Base, p.Model)
	if near {
		p.Affinity = c.affinity.Prompt(chain)
	}
	if c.notesPrompts {
		p.Prompt = &gateway.Prompt{Blocks: chain, Bytes: len(p.Base.Reading.ToolsJSON())}
		if p.Base.Reading.HasMessages() {
			p.Prompt.Bytes += len(p.Base.Body.Places().Messages.Of(p.Base.Body.Bytes()))
		}
	}
}

// snapshot is what the gateway believes to be in the caches of targets, for the operator.
func (c *caches) snapshot() gateway.CacheSnapshot {
	if c.affinity != nil {
		return c.index.Snapshot()
	}
	return gateway.CacheSnapshot{Targets: []prefix.TargetSnapshot{}}
}
