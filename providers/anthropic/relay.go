package anthropic

import (
	"context"

	"github.com/callgate/callgate/gateway"
)

// Relay implements [gateway.Relayer] for the count of a request's tokens, the one endpoint beside
// messages that goes by a model's name.
func (p *Provider) Relay(ctx context.Context, model string, r *gateway.Relay) (gateway.Relayed, error) {
	if r.Path != gateway.CountPath {
		return nil, p.client.Errorf(gateway.NotFound, "not_found", "the upstream has Anthropic's Messages API alone, and no %q.", r.Path)
	}
	return p.client.Relay(ctx, p.countURL, model, r)
}
