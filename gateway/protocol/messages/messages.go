// Package messages is the front for Anthropic's Messages API: it turns POST /v1/messages into
// a chat completion, and what comes back into a message, whole or as a stream of events.
//
// Text, arguments of calls and schemas are carried over as they are spelled. What a chat
// completion has no place for is left out and named in a warning; what cannot be left out
// without changing what is asked is refused, with the place. An upstream that speaks the
// Messages API itself gets the client's own body (see [Front.Source]), where none of this
// matters.
package messages

import (
	"context"
	"fmt"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
)

// Protocol is the name of the protocol, as [gateway.Source] has it.
const Protocol = "messages"

// Front is one request. It implements [protocol.Front].
type Front struct {
	body, chat []byte
	foreign    *gateway.Error
	source     *gateway.Source
	warnings   []string
	hosted     gateway.Hosted
	shown      thinking
	stream     bool
	model      string
	requestID  string
}

// thinking says what the client wants to see of the model's reasoning.
type thinking int

const (
	hidden   thinking = iota // it has not asked for it, and takes the first block for the text
	sealed                   // the signature alone
	readable                 // all
)

// Parse implements [protocol.Parser]. It refuses the same JSON as [gateway.Limits.Parse]
// does: duplicate keys, text that is not UTF-8, and what nests too deeply.
func Parse(_ context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
	req, err := c.Limits.Parse(body, c.Room)
	if err != nil {
		return nil, err
	}
	r := &reader{body: body, serves: c.Serves}
	chat, err := r.chat(req.Stream)
	if err != nil {
		return nil, err
	}
	return &Front{body: body, chat: chat, foreign: r.remarks.foreign, hosted: r.remarks.hosted, warnings: r.remarks.warnings, shown: r.shown, stream: req.Stream, model: req.Model, requestID: c.RequestID}, nil
}

// Chat implements [protocol.Front].
func (f *Front) Chat() []byte { return f.chat }

// Source implements [protocol.Front].
func (f *Front) Source() *gateway.Source {
	f.source = &gateway.Source{Protocol: Protocol, Body: f.body, Foreign: f.foreign, Hosted: f.hosted}
	return f.source
}

// Warnings implements [protocol.Front]. What a chat completion has no place for is not said of a
// request that went out as it came.
func (f *Front) Warnings() []string {
	if f.source != nil && f.source.Sent() {
		return nil
	}
	return f.warnings
}

// Writer implements [protocol.Front].
func (f *Front) Writer(r *gateway.Response) protocol.Writer { return newWriter(f, r) }

// Form is how the protocol says errors.
var Form = &protocol.Form{
	Name:  Protocol,
	Ping:  "event: ping\ndata: {\"type\": \"ping\"}\n\n",
	Error: errorBody,
	Fail:  appendFailure,
}

func invalid(param, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
