package openai

import (
	"context"
	"net/url"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// modelInPath stands for the name of the model in Config.ChatPath.
const modelInPath = "{model}"

// Chat implements [gateway.Provider]. It returns when the upstream has answered
// with a header, if the answer is a stream, and else with the whole answer, which
// it has read and found to be JSON.
func (p *Provider) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	if n, err := p.native(model, req); err != nil || n != nil {
		if err != nil {
			return nil, err
		}
		return p.respond(ctx, req, n)
	}
	u, err := p.url(model)
	if err != nil {
		return nil, err
	}
	if e := req.Foreign(); e != nil {
		return nil, e
	}
	a := p.ask(model, req)
	if err := req.Announce(a.body); err != nil {
		return nil, err
	}
	resp, err := p.client.Do(ctx, upstream.Request{URL: u, Body: a.body, Header: req.From.Header, Room: req.Room, Stream: a.stream})
	if err != nil {
		return nil, err
	}
	if resp.Stream != nil {
		return &stream{header: resp.Header, withheld: resp.Withheld, upstream: resp.Stream, warnings: a.warnings, choices: choices{asked: req.Reading.Choices()}}, nil
	}
	return &upstream.Whole{Head: resp.Header, Data: resp.Data, Warn: a.warnings, Held: resp.Withheld}, nil
}

// url is the address for a model.
func (p *Provider) url(model string) (*url.URL, error) {
	if p.chatURL != nil {
		return p.chatURL, nil
	}
	return p.address(p.chatPath, model)
}

// address is that of a path below the base URL, which may have the model in it.
func (p *Provider) address(below, model string) (*url.URL, error) {
	if !strings.Contains(below, modelInPath) {
		return p.client.URL(below), nil
	}
	if model == "" || model == "." || model == ".." {
		// Escaping leaves these as they are, and they would lead to another path.
		e := p.client.Errorf(gateway.NotFound, "model_not_found", "%q cannot be a model's name in the upstream's address.", model)
		e.Param = "model"
		return nil, e
	}
	return p.client.URL(strings.ReplaceAll(below, modelInPath, url.PathEscape(model))), nil
}
