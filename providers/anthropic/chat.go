package anthropic

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// Chat implements [gateway.Provider]. It returns when the upstream has answered
// with a header, if the answer is a stream, and else with the whole answer,
// translated. A request that cannot be translated is an error of Kind Invalid, and
// nothing is sent. Arguments of earlier calls, pairs and ids must already be as Needs
// says.
func (p *Provider) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	ask, err := p.ask(model, req)
	if err != nil {
		return nil, err
	}
	if err := req.Announce(ask.body); err != nil {
		return nil, err
	}
	resp, err := p.client.Do(ctx, upstream.Request{URL: p.chatURL, Body: ask.body, Header: req.From.Header, Room: req.Room, Stream: req.Stream})
	if err != nil {
		translateError(err)
		return nil, err
	}
	renameHeader(resp.Header)
	now := time.Now().Unix()
	if resp.Stream != nil {
		s := &stream{p: p, header: resp.Header, withheld: resp.Withheld, upstream: resp.Stream, warnings: ask.warnings,
			chunks: chunks{created: now, model: ask.model, withUsage: ask.usage, native: ask.native}}
		s.decoder = newDecoder(&s.chunks, &s.warnings)
		return s, nil
	}
	data, err := complete(resp.Data, now, ask)
	if err != nil {
		return nil, p.unusable(err, resp.Header)
	}
	return &upstream.Whole{Head: resp.Header, Data: data, Warn: ask.warnings, Held: resp.Withheld, Spoken: messagesProtocol}, nil
}

// unusable is the error to report for one that an answer itself gave.
func (p *Provider) unusable(err error, h http.Header) *gateway.Error {
	var reported *reportedError
	switch {
	case errors.As(err, &reported):
		return p.Failure(h, reported.data)
	case errors.Is(err, errNoMessage):
		return p.client.Errorf(gateway.Unavailable, upstream.CodeUpstream,
			"the upstream's answer is no message of Anthropic's Messages API; check base_url.")
	}
	return p.client.Errorf(gateway.Unavailable, upstream.CodeUpstream, "the upstream's stream cannot be read: %s.", err)
}
