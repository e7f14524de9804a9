package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// Request is a client's chat completion request: its body, what came beside it, and what the gateway
// has decided on it. It is not changed once it was parsed: who wants another one makes it by
// [Request.Edit]. It is used by one goroutine.
type Request struct {
	// ID names the request in logs and in the header x-request-id.
	ID string
	// From is who asks.
	From Sender
	// Wishes are what the client wants done, beside the body.
	Wishes Wishes
	// Model is the name that the client asked for.
	Model string
	// Stream says that the client wants server-sent events.
	Stream bool
	// Body is the request itself, and Reading what is read of it.
	Body    *Body
	Reading *Reading
	// Source is the request in the client's own protocol; nil if that is chat completions. A
	// provider asks [Request.Native] and [Request.Foreign] of it.
	Source *Source
	// Routing is where it goes; the gateway sets it.
	Routing Routing
	// Raw is set for a target whose text the gateway parses itself.
	Raw Raw
	// Announced is told of the body that goes to the upstream, by Announce. The gateway
	// sets it, and so do the tests of providers.
	Announced func(body wire.Pieces) error
	// Room is the memory of the request and of its answer; nil has no bound.
	Room *inflight.Claim
	// Warnings are said with the answer, in front of what it gives rise to itself.
	Warnings []string

	original *original
}

// Sender is whose request it is.
type Sender struct {
	// Header holds the client's headers that may travel on. It may be nil.
	Header http.Header
	// Tenant is who asks: what was learnt of one tenant's prompts is of no use for
	// another's. It may be empty.
	Tenant string
	// Client is the key that it came with; nil if the gateway has no keys.
	Client *Client
}

// Wishes are what a client says in headers of how its request is to be served.
type Wishes struct {
	// MaxRetries is how many further attempts the client allows, instead of the
	// provider's number; nil if it does not say.
	MaxRetries *int
	// ClientRetries is how often the client's SDK has sent this request before. They
	// count against the retries.
	ClientRetries int
	// BaseDelay and MaxDelay are the first and the longest wait between attempts that the
	// client wants, instead of the provider's; 0 where it does not say.
	BaseDelay, MaxDelay time.Duration
	// Arm is the arm of a rollout that the client asks for, as rollout/arm; "" for none.
	Arm string
	// Tools says whether the request gets the tools that its route attaches: "on" or "off"; "" is on.
	Tools string
}

// Routing is where the gateway sends a request.
type Routing struct {
	// Route is the entry of the configuration that was taken.
	Route string
	// Arm is the arm that it is in; further rounds of tools keep it.
	Arm *ArmChoice
	// Mirror says that it is a copy, whose answer nobody gets and that nobody pays for.
	Mirror bool
}

// Raw asks an upstream for the model's text unparsed.
type Raw struct {
	Wanted bool
	// Server is the upstream's software, which it depends on, where the gateway has found
	// out; "" for what the provider knows.
	Server string
}

// original is what a request was before anything was changed.
type original struct {
	body   []byte // which Source says the same as
	limits Limits // that it keeps to
}

// whole is a request with its parts, in one piece of memory.
type whole struct {
	request Request
	body    Body
	reading Reading
}

// joined is the request, with its parts.
func (w *whole) joined() *Request {
	w.request.Body, w.request.Reading, w.reading.body = &w.body, &w.reading, &w.body
	return &w.request
}

// Bare is a request without a body, for what is sent on whole.
func Bare() *Request {
	w := &whole{request: Request{original: &original{}}}
	return w.joined()
}

// Again is the same request with another body, within the limits of the first, and with what that is
// in the client's own protocol.
func (r *Request) Again(body []byte, source *Source) (*Request, error) {
	out, err := r.original.limits.Parse(body, r.Room)
	if err != nil {
		return nil, err
	}
	out.ID, out.From, out.Wishes, out.Source = r.ID, r.From, r.Wishes, source
	return out.Capped()
}

// Copy is the same request with bytes of its own, for who asks it again beside the first one. What it
// and its answer take is claimed of room.
func (r *Request) Copy(room *inflight.Claim) (*Request, error) {
	body := bytes.Clone(r.Body.Bytes())
	if err := noRoom(room.Grow(int64(len(body)) * inflight.Body)); err != nil {
		return nil, err
	}
	out, err := r.original.limits.Parse(body, room)
	if err != nil {
		return nil, err
	}
	out.ID, out.From, out.Body.Appended, out.Reading.Ran = r.ID, r.From, r.Body.Appended, slices.Clone(r.Reading.Ran)
	if r.Source != nil {
		source := *r.Source
		source.Body, source.Metadata, source.sent = bytes.Clone(source.Body), bytes.Clone(source.Metadata), false
		out.Source = &source
	}
	return out, nil
}

// Edit returns the request with edits of its bytes, which must not overlap. They are spliced in
// when somebody asks for the bytes: all that are made until then cost one copy. What was
// read of the tools stays: edits of them do not change what they mean.
func (r *Request) Edit(edits ...wire.Edit) *Request {
	if len(edits) == 0 {
		return r
	}
	w := &whole{request: *r, body: *r.Body.flat(), reading: Reading{Cache: r.Reading.Cache, Ran: r.Reading.Ran, tools: r.Reading.tools}}
	w.body.edits = edits
	return w.joined()
}

// Remake is [Request.Edit] for edits that offer other tools than the client does. The memory of
// the longer body is the caller's to claim.
func (r *Request) Remake(edits ...wire.Edit) *Request {
	out := r.Edit(edits...)
	if out == r {
		return r
	}
	out.Reading.tools = nil
	if r.Source != nil { // the client's own request does not say the same any more
		source := *r.Source
		source.Body, source.sent = nil, false
		out.Source = &source
	}
	return out
}

// Remark returns the request with edits and, behind the client's messages, one of the
// gateway's own.
func (r *Request) Remark(text string, edits ...wire.Edit) *Request {
	out := r.Edit(append(edits, r.Body.Message(text))...)
	out.Body.Appended++
	return out
}

// Chat returns the request as [Request.With] does, but under the client's name of the model: for
// providers that write a request of another API from it, so that there is no copy between.
func (r *Request) Chat() []byte {
	if r.Source != nil {
		r.Source.sent = false
	}
	return r.Body.Bytes()
}

// With returns the request as it goes upstream, in pieces: the client's bytes with the upstream's
// name of the model, with what was edited for the upstream, with some fields set, and with further
// edits of the bytes. Fields that the client has set too are replaced. The caller must not change them.
func (r *Request) With(model string, fields []Field, further ...wire.Edit) wire.Pieces {
	if r.Source != nil {
		r.Source.sent = false
	}
	var name []byte
	if model != r.Model {
		name, _ = json.Marshal(model) // a string cannot fail
	}
	return r.Body.lay(name, fields, further)
}

// Announce tells the gateway which body is about to go to the upstream. Providers call
// it before they send one, and do not send it if there is an error: that is how tools
// which an adapter loses are noticed. Who keeps to With has nothing to fear.
func (r *Request) Announce(body wire.Pieces) error {
	if r.Announced == nil {
		return nil
	}
	return r.Announced(body)
}
