package openai

import (
	"bytes"
	"context"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/responses"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// nativeRequest is a client's own request for a response.
type nativeRequest struct {
	model string
	body  wire.Pieces
	// plain is the same without what the gateway includes, which models that do not reason refuse; nil if the client
	// included it.
	plain func() wire.Pieces
}

// maxPlain is how many models are known that have no encrypted reasoning.
const maxPlain = 1024

// notAsked warns that the gateway did not ask for reasoning that it could keep.
const notAsked = "encrypted_reasoning_not_asked"

// native is a client's own request for a response, for an upstream that has them too; nil if it is to
// be asked for a chat completion.
func (p *Provider) native(model string, req *gateway.Request) (*nativeRequest, error) {
	if p.responsesURL == nil || req.Raw.Wanted || p.asksWhole(model, req) {
		return nil, nil
	}
	body, changes := req.Native(responses.Protocol)
	if body == nil {
		return nil, nil
	}
	if err := req.Room.Grow(inflight.Anew * int64(len(body))); err != nil {
		return nil, gateway.NoRoom(err, "The request, written anew for the provider's API, needs more memory than one may have (limits.memory).")
	}
	out, ok := responses.Request(body, model, changes, true)
	if !ok {
		return nil, nil
	}
	n := &nativeRequest{model: model, body: out}
	if !responses.Keeps(body) {
		n.plain = func() wire.Pieces {
			out, _ := responses.Request(body, model, changes, false) // it was one already
			return out
		}
	}
	return n, nil
}

// respond asks for a response. A model that has no reasoning to keep is to be asked again without that, and from
// then on at once.
func (p *Provider) respond(ctx context.Context, req *gateway.Request, n *nativeRequest) (gateway.Reply, error) {
	var warnings []string
	body := n.body
	sure, plain := false, false
	if n.plain != nil {
		sure, plain = p.plain.Get(n.model)
	}
	if plain {
		body, warnings = n.plain(), []string{notAsked}
	}
	resp, err := p.post(ctx, req, body)
	if n.plain != nil {
		err = p.learn(n.model, plain, sure, err)
	}
	if err != nil {
		return nil, err
	}
	if resp.Stream != nil {
		return &nativeStream{p: p, header: resp.Header, withheld: resp.Withheld, upstream: resp.Stream, decoder: responses.Decoder{Model: n.model}, warnings: warnings}, nil
	}
	data, err := responses.Whole(resp.Data, n.model)
	if err != nil {
		return nil, p.client.Errorf(gateway.Unavailable, upstream.CodeUpstream, "the upstream's answer is no response of OpenAI's Responses API; set responses: chat for the provider.")
	}
	return &upstream.Whole{Head: resp.Header, Data: data, Warn: warnings, Held: resp.Withheld, Spoken: responses.Protocol}, nil
}

// learn notes whether a model takes a request for reasoning that can be sent back. plain says that it was asked without, and
// sure that it has answered so before. It returns the error, which says that there is another way.
func (p *Provider) learn(model string, plain, sure bool, err error) error {
	switch refused := err != nil && refusesEncrypted(err); {
	case plain && !sure && err == nil:
		p.plain.Add(model, true)
	case plain && !sure && refused: // that was not what it meant
		p.plain.Remove(model)
	case !plain && refused:
		p.plain.Add(model, false)
		e := *gateway.AsError(err)
		e.Withdrawn = true
		return &e
	}
	return err
}

// post sends a request for a response.
func (p *Provider) post(ctx context.Context, req *gateway.Request, body wire.Pieces) (*upstream.Response, error) {
	if err := req.Announce(body); err != nil {
		return nil, err
	}
	return p.client.Do(ctx, upstream.Request{URL: p.responsesURL, Body: body, Header: req.From.Header, Room: req.Room, Stream: req.Stream})
}

// refusesEncrypted reports whether a model has refused to give reasoning that can be sent back: "Encrypted
// content is not supported with this model."
func refusesEncrypted(err error) bool {
	said := gateway.AsError(err).Refusal()
	return bytes.Contains(said, []byte("ncrypted content is not supported")) || bytes.Contains(said, []byte("reasoning.encrypted_content"))
}

// nativeStream is the stream of a response. Close may be called while Next waits; nothing else is
// shared.
type nativeStream struct {
	p        *Provider
	header   http.Header
	withheld headers.Withheld
	upstream *upstream.Stream
	warnings []string
	decoder  responses.Decoder
	given    int // of the decoder's frames
	err      error
	frame    wire.Frame
	shape    wire.Shape
}

var (
	_ gateway.Reply      = (*nativeStream)(nil)
	_ gateway.Withholder = (*nativeStream)(nil)
	_ gateway.Speaker    = (*nativeStream)(nil)
	_ gateway.Warner     = (*nativeStream)(nil)
)

// Header implements [gateway.Reply].
func (s *nativeStream) Header() http.Header { return s.header }

// Withheld implements [gateway.Withholder].
func (s *nativeStream) Withheld() headers.Withheld { return s.withheld }

// Warnings implements [gateway.Warner].
func (s *nativeStream) Warnings() []string { return s.warnings }

// Protocol implements [gateway.Speaker].
func (s *nativeStream) Protocol() string { return responses.Protocol }

// Streamed implements [gateway.Reply].
func (s *nativeStream) Streamed() bool { return true }

// Close implements [gateway.Reply].
func (s *nativeStream) Close() error { return s.upstream.Close() }

// Next implements [gateway.Reply].
func (s *nativeStream) Next() (*gateway.Frame, error) {
	for s.err == nil && s.given == len(s.decoder.Frames) {
		s.read()
	}
	if s.given == len(s.decoder.Frames) {
		return nil, s.err
	}
	next := s.decoder.Frames[s.given]
	s.given++
	f := &s.frame
	s.shape.Read(f, next.Raw, next.Data)
	f.Done = next.Done
	for s.err == nil && !s.decoder.Done && s.given == len(s.decoder.Frames) && s.upstream.Buffered() {
		s.read()
	}
	f.More = s.given < len(s.decoder.Frames)
	return f, nil
}

// read reads one event, which may give no frame or several.
func (s *nativeStream) read() {
	d := &s.decoder
	d.Frames, s.given = d.Frames[:0], 0
	if d.Done {
		s.err = s.upstream.End()
		return
	}
	b, err := s.upstream.Next()
	if err != nil {
		s.err = err
		return
	}
	switch data := bytes.TrimSpace(b.Data); {
	case len(data) == 0:
		d.Frames = append(d.Frames, gateway.Frame{Raw: []byte(":\n\n")}) // no words of its own, which could be those of a [wire.Origin]
	case string(data) == "[DONE]":
	case !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		s.upstream.Close()
		s.err = s.p.client.Errorf(gateway.Unavailable, upstream.CodeUpstream, "the upstream's stream cannot be read: an event is not valid JSON.")
	default:
		d.Read(data)
	}
	if d.Content {
		s.upstream.Started()
	}
	s.upstream.Finished(d.Finished)
}
