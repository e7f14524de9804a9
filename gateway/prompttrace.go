package gateway

import "github.com/callgate/callgate/gateway/prefix"

// Prompt is what a trace of requests needs to know of a prompt, and nothing of what it
// says. Traces can be replayed to see what routing by prefix would bring.
type Prompt struct {
	// Blocks are the keyed hashes of its blocks. Prompts of one tenant and model that begin
	// alike have their first blocks in common, others have none.
	Blocks prefix.Chain
	// Bytes is the size of its tools and messages.
	Bytes int
}

// prompt returns what a trace needs of the request's prompt, nil if there is none.
func (a *attempts) prompt() *Prompt {
	if !a.g.prompts {
		return nil
	}
	p := &Prompt{Blocks: a.chain, Bytes: len(a.req.Tools())}
	if p.Blocks == nil {
		f := affinity{salt: a.g.salt}
		p.Blocks = f.chain(a.req, a.way.model)
	}
	if a.req.hasMessages() {
		p.Bytes += len(a.req.messages.Of(a.req.body))
	}
	return p
}
