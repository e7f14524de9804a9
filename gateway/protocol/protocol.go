// Package protocol is what a protocol of clients gives to the server that speaks it. The
// middle of the gateway speaks OpenAI's chat completions alone: a protocol turns its
// requests into those, and what comes back into its own answers.
package protocol

import (
	"context"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// Front is one request of a client, and what writes the answer.
type Front interface {
	// Chat is the request as the body of a chat completion.
	Chat() []byte
	// Source is the request in the client's own protocol, for upstreams that speak it too: nil
	// if it is a chat completion, and without a body if that does not say all.
	Source() *gateway.Source
	// Warnings say what the translation has left out, in the form of those of providers
	// ("dropped:web_search").
	Warnings() []string
	// Writer is the answer's. It is called once, when the upstream has begun to answer.
	Writer(r *gateway.Response) Writer
}

// Detached is a Front whose answer does not wait for its client, nor end with it.
type Detached interface {
	Front
	// Detach begins to answer req, which is made of the Front. ctx is the client's, and bounds
	// the beginning alone. The error is a [*gateway.Error]; without one, req.Room is closed when
	// the answer is over.
	Detach(ctx context.Context, req *gateway.Request) (*Detachment, error)
}

// Shortener is a Front that can do with a shorter prompt.
type Shortener interface {
	Front
	// Shorten makes Chat shorter where that helps against why the upstream has refused it, once,
	// and reports whether it did.
	Shorten(ctx context.Context, why *gateway.Error) bool
}

// Detachment is what the client gets at once.
type Detachment struct {
	Body   []byte // an answer that is not streamed
	Events Events // a stream; nil for none
}

// Events are the events of a stream: each call waits for some. The last one returns io.EOF
// with what ends the stream, or another error, with nothing.
type Events func(ctx context.Context) ([]byte, error)

// Writer writes one answer. It is used by one goroutine.
type Writer interface {
	// Whole is the body of an answer that is not streamed, from a whole completion; f is nil
	// if the upstream gave none. It is valid no longer than its frame.
	Whole(f *wire.Frame) ([]byte, error)
	// Frame appends what becomes of a frame of a stream.
	Frame(dst []byte, f *wire.Frame) ([]byte, error)
	// Close appends what a stream says at its end, once, when all frames have come without
	// an error.
	Close(dst []byte) ([]byte, error)
	// Fail appends the error that ends a stream which has begun, in the place of Close.
	Fail(dst []byte, e *gateway.Error) []byte
	// Streamed says whether the client gets a stream, which an upstream's whole answer is
	// turned into where the protocol can.
	Streamed() bool
}

// Form is what a protocol says where there is no answer. There is one for each protocol.
type Form struct {
	// Name stands in logs, traces and metrics.
	Name string
	// Ping is what goes to the client of a stream that has been silent for long.
	Ping string
	// OpenAI says that errors are in OpenAI's form: an upstream's own refusal goes on as it is.
	OpenAI bool
	// Error is the body of an error, as JSON. It may set headers, such as the protocol's own
	// for the request's id.
	Error func(e *gateway.Error, requestID string, h http.Header) []byte
	// Status is the status of an error; nil for [gateway.Error.HTTPStatus].
	Status func(e *gateway.Error) int
	// Fail appends an error to a stream which has begun with nothing but pings.
	Fail func(dst []byte, e *gateway.Error, requestID string) []byte
}

// StatusOf is the status of an error.
func (f *Form) StatusOf(e *gateway.Error) int {
	if f.Status == nil {
		return e.HTTPStatus()
	}
	return f.Status(e)
}

// Client is who asks, besides the body.
type Client struct {
	Tenant    string          // the name of its key, or ""
	Key       *gateway.Client // its key; nil without keys
	RequestID string
	Header    http.Header
	// Serves says that the gateway runs tools of servers of its own, which requests may name.
	Serves bool
	// Limits are on what a body is made of, which a translation looks at first.
	Limits gateway.Limits
	// Room has the memory of the request, which a translation takes more of. It may be nil.
	Room *inflight.Claim
}

// Parser reads a client's request. The error is a [*gateway.Error].
type Parser func(ctx context.Context, body []byte, c Client) (Front, error)
