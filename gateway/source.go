package gateway

import "strings"

// Source is a request in another protocol than chat completions.
type Source struct {
	Protocol string // "responses" or "messages"
	Body     []byte // nil if the client's own does not say all that is asked
	// Metadata is the client's, an object in JSON, where the chat completion does not have it:
	// rules route by it, and it goes to no upstream of another protocol. nil if there is none.
	Metadata []byte
	// Conversation is the id of the conversation that the gateway keeps and the request is a part of, "" for
	// none. Costs are known by it.
	Conversation string
	// Closed says that the request is the gateway's own work, such as a summary: no tools are
	// attached to it, since a model could do again what it reads of.
	Closed bool
	// Foreign is why no upstream can take the request that does not speak the protocol; nil if
	// any can.
	Foreign *Error
	// Hosted are the tools that the request offers and the upstream runs itself, which the chat completion
	// does not have.
	Hosted Hosted
	sent   bool
}

// Hosted says what there is of tools that an upstream runs itself.
type Hosted struct {
	Any  bool
	Acts bool // some may do more than look something up
}

// Add notes a tool of a type.
func (h *Hosted) Add(kind string) {
	h.Any = true
	for _, prefix := range [...]string{"web_search", "web_fetch", "file_search", "tool_search"} {
		if strings.HasPrefix(kind, prefix) {
			return
		}
	}
	h.Acts = true
}

// Sent reports whether the latest upstream that was asked has got Body, and not a chat completion: what
// that leaves out is not left out then.
func (s *Source) Sent() bool { return s.sent }

// MayHaveRun says which tools the latest upstream that was asked may have run of which the chat completion knows
// nothing.
func (r *Request) MayHaveRun() Hosted {
	if r.Source == nil || !r.Source.sent {
		return Hosted{}
	}
	return r.Source.Hosted
}

// Foreign is what a provider answers that does not send [Request.Native]: why no upstream can
// take the request as a chat completion; nil if any can.
func (r *Request) Foreign() *Error {
	if r.Source == nil {
		return nil
	}
	return r.Source.Foreign
}

// Native is the request in a protocol as the client has sent it, for an upstream that speaks it
// too, and what the gateway has changed of it since. The body is nil if the client speaks another
// protocol, or if something was changed that [Changes] has no word for.
func (r *Request) Native(protocol string) (body []byte, changes *Changes) {
	if !r.Speaks(protocol) || r.Source.Body == nil {
		return nil, nil
	}
	changes = &Changes{}
	if !changes.find(r.original.body, r.Body.Bytes()) {
		return nil, nil
	}
	r.Source.sent = true
	return r.Source.Body, changes
}

// Speaks reports whether the client speaks a protocol besides chat completions.
func (r *Request) Speaks(protocol string) bool {
	return r.Source != nil && r.Source.Protocol == protocol
}
