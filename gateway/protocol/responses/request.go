package responses

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

const (
	// maxItems is how many items an input may have, with earlier ones, and maxTools how many
	// tools a request may offer.
	maxItems = 20_000
	maxTools = 4096
	// maxDepth is less than that of chat completions, which some places of a request nest
	// deeper in.
	maxDepth = gateway.MaxDepth - 2
)

// Options are what a request is read and answered with.
type Options struct {
	// Sealer seals reasoning that clients keep; nil: there is none, and none is opened.
	Sealer *Sealer
	// Tenant is who asks, by the name of its key.
	Tenant string
	// Serves says that the gateway runs tools of servers of its own, which requests may name.
	Serves bool
	// Limits are on what a body is made of, and Room has the memory of the request; it may be
	// nil.
	Limits gateway.Limits
	Room   *inflight.Claim
}

// Request is a client's request. It is used by one goroutine.
type Request struct {
	// Save, if it is set, is told of a response before the client is told that it is over, and
	// the client is told of an error in its place if there is one.
	Save func(Result) error
	// Stored is what the response says of store; it is false unless somebody sets it.
	Stored bool

	id       string
	created  int64
	body     []byte
	options  Options
	fields   fields
	earlier  [][]byte
	items    [][]byte
	tools    toolset
	listed   map[string]bool // servers whose tools the history has listed
	foreign  *gateway.Error
	source   *gateway.Source
	ranOurs  bool // the history has calls that this gateway has made
	chat     []byte
	warnings []string
	replaced bool
	said     int // how many events Queue has written
}

// Parse reads the body of a request and checks what can be checked of it alone. The error is a
// *gateway.Error of the kind Invalid that names the place.
func Parse(body []byte, o Options) (*Request, error) {
	if _, err := o.Limits.Validate(body, maxDepth, o.Room); err != nil {
		return nil, err
	}
	r := &Request{body: body, options: o, created: time.Now().Unix()}
	if err := r.fields.read(body); err != nil {
		return nil, err
	}
	if err := r.fields.check(); err != nil {
		return nil, err
	}
	for _, id := range [...]field{fPrompt, fContext} {
		if r.fields[id] != nil {
			r.needsOwn(invalid(schema[id].name, "The field %q is OpenAI's own, and not served for this model: leave it out.", schema[id].name))
		}
	}
	if err := r.readInput(); err != nil {
		return nil, err
	}
	var random [idBytes]byte
	_, _ = rand.Read(random[:]) // it never fails
	var id [len("resp_") + 2*idBytes]byte
	r.id = string(hex.AppendEncode(append(id[:0], "resp_"...), random[:]))
	return r, nil
}

// idBytes is how much of an id is random. Those of a response's items have the first
// groupDigits of its digits, so that a client's history tells which items were one answer.
const (
	idBytes     = 24
	groupDigits = 40
)

// readInput splits the input into items.
func (r *Request) readInput() error {
	input := r.fields[fInput]
	switch {
	case input == nil:
		return nil // with an earlier response it may be missing
	case input[0] == '"':
		r.items = [][]byte{slices.Concat([]byte(`{"type":"message","role":"user","content":[{"type":"input_text","text":`), input, []byte("}]}"))}
		return nil
	case input[0] != '[':
		return invalid("input", "The field \"input\" must be a string or an array of items, not %s.", gateway.Excerpt(input))
	}
	var err error
	wire.Elements(input, 0, func(n int, v wire.Span) bool {
		switch {
		case n >= maxItems:
			err = invalid("input", "The field \"input\" has more than %d items.", maxItems)
		case input[v.Start] != '{':
			err = invalid(fmt.Sprintf("input[%d]", n), "input[%d] must be an object, not %s.", n, gateway.Excerpt(v.Of(input)))
		}
		r.items = append(r.items, v.Of(input))
		return err == nil
	})
	return err
}

// ID is the response's id, which is there before the response.
func (r *Request) ID() string { return r.id }

// Created is when the request came, in seconds since 1970.
func (r *Request) Created() int64 { return r.created }

// Model is the name that the client asked for.
func (r *Request) Model() string { return wire.Unquote(r.fields[fModel]) }

// Stream says that the client wants events.
func (r *Request) Stream() bool { return r.fields.isTrue(fStream) }

// PreviousResponseID is the response that the request goes on from, or "".
func (r *Request) PreviousResponseID() string { return wire.Unquote(r.fields[fPrevious]) }

// Conversation is the id of the conversation that the request is a part of, or "".
func (r *Request) Conversation() string {
	c := r.fields[fConversation]
	if len(c) > 0 && c[0] == '{' {
		return wire.Unquote(object(c).get("id"))
	}
	return wire.Unquote(c)
}

// Background says that the client wants to come back for the response.
func (r *Request) Background() bool { return r.fields.isTrue(fBackground) }

// Store says whether the client wants the response stored, which is so unless it says no.
func (r *Request) Store() bool { return string(r.fields[fStore]) != "false" }

// Truncates says that the client would rather lose the oldest items than have an error.
func (r *Request) Truncates() bool { return string(r.fields[fTruncation]) == `"auto"` }

// Metadata is the client's, an object as it came, or nil.
func (r *Request) Metadata() []byte { return r.fields[fMetadata] }

// NewItems are the items of the request itself, as they came; a text as a message.
func (r *Request) NewItems() [][]byte { return r.items }

// SetItems puts items in the place of the request's own, such as those that references stand
// for. It must be called before Translate.
func (r *Request) SetItems(items [][]byte) { r.items, r.replaced = items, true }

// Prepend puts the items of earlier responses in front of those that are there. It must be
// called before Translate.
func (r *Request) Prepend(items [][]byte) {
	r.earlier = append(items[:len(items):len(items)], r.earlier...)
}

// SetEarlier puts items in the place of those that Prepend has put in front. Translate is to be
// called then, again if it was called before.
func (r *Request) SetEarlier(items [][]byte) { r.earlier = items }

// Reference is an item of the request that stands for another one.
type Reference struct {
	At int // its place in NewItems
	ID string
}

// References are the items of the request that stand for stored ones.
func (r *Request) References() (list []Reference) {
	for i, item := range r.items {
		if itemType(item) == "item_reference" {
			list = append(list, Reference{i, wire.Unquote(object(item).get("id"))})
		}
	}
	return list
}

// includes reports whether the client wants something more in the response.
func (r *Request) includes(what string) (found bool) {
	wire.Elements(r.fields[fInclude], 0, func(_ int, v wire.Span) bool {
		found = wire.Unquote(v.Of(r.fields[fInclude])) == what
		return !found
	})
	return found
}

// Includes reports whether the client wants something more in the response.
func (r *Request) Includes(what string) bool { return r.includes(what) }

// Warn adds a warning to those of the translation.
func (r *Request) Warn(kind, what string) { r.warn(kind, what) }

// warn adds a warning, once.
func (r *Request) warn(kind, what string) {
	w := kind + ":" + gateway.ExcerptOf(what, 40)
	for _, have := range r.warnings {
		if have == w {
			return
		}
	}
	if len(r.warnings) < maxWarnings {
		r.warnings = append(r.warnings, w)
	}
}

// maxWarnings is how many different things may be said of one request: they go into a header.
const maxWarnings = 16

// Stateless refuses what needs a store.
func (r *Request) Stateless() error {
	for _, f := range [...]struct {
		id   field
		used bool
	}{{fPrevious, r.fields[fPrevious] != nil}, {fConversation, r.fields[fConversation] != nil}, {fBackground, r.Background()}} {
		if f.used {
			name := fieldNames[f.id]
			return invalid(name, "The field %q needs a store of responses, which this gateway does not have: send the whole conversation as input.", name)
		}
	}
	return nil
}

// Chat implements [protocol.Front]; it is nil before Translate.
func (r *Request) Chat() []byte { return r.chat }

// Writer implements [protocol.Front].
func (r *Request) Writer(resp *gateway.Response) protocol.Writer { return newWriter(r, resp) }

// Stateless is a [protocol.Parser] for a gateway without a store.
func Stateless(o Options) protocol.Parser {
	return func(_ context.Context, body []byte, c protocol.Client) (protocol.Front, error) {
		o := o
		o.Tenant, o.Room, o.Serves = c.Tenant, c.Room, c.Serves
		r, err := Parse(body, o)
		if err != nil {
			return nil, err
		}
		if err := r.Stateless(); err != nil {
			return nil, err
		}
		if err := r.Translate(); err != nil {
			return nil, err
		}
		return r, nil
	}
}

func invalid(param, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: gateway.Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}

// object is a JSON object whose members are looked for one by one.
type object []byte

// get is the value of a member, nil where there is none, or null.
func (o object) get(name string) []byte {
	at := wire.Find(o, wire.Span{End: len(o)}, name)
	if at.IsNull(o) {
		return nil
	}
	return at.Of(o)
}

func isString(v []byte) bool { return len(v) > 0 && v[0] == '"' }
func isObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }
func isArray(v []byte) bool  { return len(v) > 0 && v[0] == '[' }

// inner is what stands between the quotes of a JSON string.
func inner(v []byte) []byte { return v[1 : len(v)-1] }
