package gateway

import (
	"context"
	"io"
	"net/http"

	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/internal/history"
	"github.com/callgate/callgate/gateway/wire"
)

// Provider asks one upstream. Implementations live under providers and are safe
// for concurrent use. A provider that can list its upstream's models implements
// [ModelLister] too.
type Provider interface {
	// Chat sends req to the upstream under the upstream's own name of the model.
	// An error is an [*Error]; it means that the client has seen nothing yet, so
	// that the caller may ask another target. Cancelling ctx ends the upstream
	// request, also while the reply is read.
	Chat(ctx context.Context, model string, req *Request) (Reply, error)
}

// ModelLister is a provider that can say which models its upstream has.
type ModelLister interface {
	// Models returns the upstream's names in its own order.
	Models(ctx context.Context) ([]string, error)
}

// ModelFinder is a [ModelLister] that takes models by more names than it lists.
type ModelFinder interface {
	// HasModel reports whether Chat takes a name.
	HasModel(name string) bool
}

// Relayer is a provider whose upstream has more than chat: embeddings, audio, images and what
// else goes by the name of a model.
type Relayer interface {
	// Relay sends a request on, under the upstream's own name of the model. The reply is
	// streamed whatever it is: its frames are the bytes as they come, in Raw, and the last
	// one is Done. Errors are as those of Chat.
	Relay(ctx context.Context, model string, r *Relay) (Relayed, error)
}

// CountPath is the path of a Relay that counts the tokens of a request of the Messages API. A provider
// whose upstream does not count answers with an error of the kind NotFound, and asks nobody.
const CountPath = "messages/count_tokens"

// Relayed is the reply of a [Relayer].
type Relayed interface {
	Reply
	// Status is the answer's own, one of success.
	Status() int
}

// Relay is a request that goes to an upstream as it came, but for the name of the model.
type Relay struct {
	Method string // "POST"
	// Path is what follows the upstream's base URL, with its version: "embeddings". It is
	// escaped.
	Path string
	// Query is the URL's, without the question mark.
	Query string
	// Header holds the client's headers that may travel on, and the body's content type.
	Header http.Header
	// Body opens the body, once for each attempt, under the upstream's name of the model, and
	// says how many bytes it has. An empty body is http.NoBody.
	Body func(model string) (body io.ReadCloser, size int64, err error)
}

// Needer is a provider whose upstream demands something of the conversation. What it
// needs is repaired before Chat is called, and reported.
type Needer interface {
	Needs() Needs
}

// Needs is what an upstream demands of the messages of a request.
type Needs = history.Needs

// The forms that an upstream may demand of the ids of calls.
const (
	AnyID       = history.AnyID
	KimiID      = history.KimiID
	AnthropicID = history.AnthropicID
	ShortID     = history.ShortID
	MistralID   = history.MistralID
)

// Warner is a reply that has something to say about its request or itself, such as
// a field that the upstream's wire has no word for ("dropped:seed").
type Warner interface {
	// Warnings is complete when Next has returned an error, or a whole answer.
	Warnings() []string
}

// Withholder is a reply that knows what of its upstream's header clients do not get.
type Withholder interface{ Withheld() headers.Withheld }

// Speaker is a reply of an upstream that was not asked for a chat completion. Its frames are the adapter's work: what
// they hold of the upstream's own form is what the upstream said, and not what one of chat completions has made up.
type Speaker interface {
	// Protocol is the API that it speaks, as [Source] has it.
	Protocol() string
}

// Redactor is a provider that has secrets which its upstream may quote.
type Redactor interface {
	// Redact replaces them in a text.
	Redact(s string) string
}

// Failer is a provider that reads the errors which its upstream sends in-band, in the
// place of a completion or of a chunk.
type Failer interface {
	// Failure is what [UpstreamFailure] makes of one, with the provider's own quota codes
	// and without its secrets; never nil. The header is the reply's.
	Failure(header http.Header, data []byte) *Error
}

// Reply gives the frames of an answer: an upstream's, or what became of it. It is used by one
// goroutine, but Close may be called while Next waits.
type Reply interface {
	// Header holds the upstream's response headers that may reach the client.
	Header() http.Header
	// Streamed says whether the frames are chunks of a stream, or one whole
	// completion.
	Streamed() bool
	// Next returns the next frame, and io.EOF after the last. A stream that ends
	// without its end marker and without a finish reason gives an [*Error]. A
	// frame is valid until the next call.
	Next() (*Frame, error)
	// Close ends the upstream request. It may be called more than once.
	Close() error
}

// Frame is one piece of a reply.
type Frame = wire.Frame

// Response is an answer on its way to the client, frame by frame. Next may return a nil frame
// without an error: what was given out before is to be flushed, since the next frame is not
// here yet.
type Response struct {
	Reply
	// Summary grows while the frames are read. It is complete when Next has returned an
	// error, or a whole answer.
	Summary *Summary
	// Status is that of a [Relayed] answer; 0 of any other, which is 200.
	Status int
}
