package openai

import (
	"context"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// chatEnd is the end of every path for chat completions; other endpoints stand in its place.
const chatEnd = "chat/completions"

// Relay implements [gateway.Relayer].
func (p *Provider) Relay(ctx context.Context, model string, r *gateway.Relay) (gateway.Relayed, error) {
	front, ok := strings.CutSuffix(p.chatPath, chatEnd)
	if !ok {
		return nil, p.client.Errorf(gateway.NotFound, "not_found", "the upstream has chat completions alone, and no %q.", r.Path)
	}
	u, err := p.address(front+r.Path, model)
	if err != nil {
		return nil, err
	}
	return p.client.Relay(ctx, u, model, r)
}
