package openai

import "context"

// Models implements [gateway.ModelLister] with GET {BaseURL}/models. It takes no
// longer than five seconds and reads no more than 4 MiB.
func (p *Provider) Models(ctx context.Context) ([]string, error) {
	return p.client.Models(ctx, p.listURL)
}
