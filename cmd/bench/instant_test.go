package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/chain"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/protocol/chat"
)

// instant is a provider that answers at once, with frames made beforehand: what is
// measured through it is the gateway alone.
type instant struct {
	whole  gateway.Frame
	frames []gateway.Frame
}

// newInstant makes the provider of a model of the mock.
func newInstant(model string) *instant {
	body := []byte(completion(model, modelAnswer(model)))
	p := &instant{whole: gateway.Frame{Raw: body, Data: body}}
	for _, data := range events(model) {
		raw := []byte("data: " + data + "\n\n")
		p.frames = append(p.frames, gateway.Frame{Raw: raw, Data: raw[len("data: ") : len(raw)-len("\n\n")]})
	}
	p.frames = append(p.frames, gateway.Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
	return p
}

// Chat implements gateway.Provider.
func (p *instant) Chat(_ context.Context, _ string, req *gateway.Request) (gateway.Reply, error) {
	r := &instantReply{header: http.Header{"Content-Type": {"application/json"}}, frames: []gateway.Frame{p.whole}}
	if req.Stream {
		r.header.Set("Content-Type", "text/event-stream")
		r.streamed, r.frames = true, p.frames
	}
	return r, nil
}

// instantReply is what an instant answers.
type instantReply struct {
	header   http.Header
	streamed bool
	frames   []gateway.Frame // to come
	frame    gateway.Frame
}

// Header implements gateway.Reply.
func (r *instantReply) Header() http.Header { return r.header }

// Streamed implements gateway.Reply.
func (r *instantReply) Streamed() bool { return r.streamed }

// Next implements gateway.Reply.
func (r *instantReply) Next() (*gateway.Frame, error) {
	if len(r.frames) == 0 {
		return nil, io.EOF
	}
	f := &r.frame
	*f = r.frames[0]
	r.frames = r.frames[1:]
	return f, nil
}

// Close implements gateway.Reply.
func (r *instantReply) Close() error { return nil }

// nativeParsers is a gateway.ParserSource of all parsers, as plain Go.
type nativeParsers struct {
	native
	plan *chain.Plan
}

// Plan implements gateway.ParserSource.
func (p nativeParsers) Plan(context.Context, gateway.ParserSpec, string) (*chain.Plan, gateway.ParserSession, error) {
	return p.plan, p, nil
}

// Close implements gateway.ParserSession.
func (p nativeParsers) Close() {}

// asker asks for an answer and reads it to its end. It returns how many bytes the
// client is given.
type asker func(ctx context.Context, req *gateway.Request) (int, error)

// alone asks a provider without a gateway.
func alone(p gateway.Provider) asker {
	return func(ctx context.Context, req *gateway.Request) (int, error) {
		reply, err := p.Chat(ctx, req.Model, req)
		if err != nil {
			return 0, err
		}
		defer reply.Close()
		for n := 0; ; {
			f, err := reply.Next()
			if err == io.EOF {
				return n, nil
			}
			if err != nil {
				return 0, err
			}
			n += len(f.Raw)
		}
	}
}

// through asks a gateway. Nothing in the answer may have been changed.
func through(g *flow.Gateway) asker {
	return func(ctx context.Context, req *gateway.Request) (int, error) {
		resp, err := g.Chat(ctx, req)
		if err != nil {
			return 0, err
		}
		defer resp.Close()
		front := chat.NewWriter(resp)
		var out []byte
		for n := 0; ; {
			f, err := resp.Next()
			if f != nil {
				out, _ = front.Frame(out[:0], f)
				n += len(out)
			}
			switch {
			case err != nil && err != io.EOF:
				return 0, err
			case err == nil && resp.Streamed():
				continue
			case resp.Summary.Changed:
				return 0, fmt.Errorf("a clean answer was changed: %s", resp.Summary.RepairList())
			}
			return n, nil
		}
	}
}

// asking makes a batch's work of an asker, from the bytes of the request on. All
// answers must have want bytes.
func asking(ctx context.Context, ask asker, body []byte, want int) func() error {
	return func() error {
		req, err := gateway.ParseRequest(body)
		if err != nil {
			return err
		}
		n, err := ask(ctx, req)
		if err == nil && n != want {
			err = fmt.Errorf("the answer has %d bytes, want %d", n, want)
		}
		return err
	}
}
