package responses

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
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
	fields
	input
	// Save, if it is set, keeps a response, with what a provider has sealed of its thoughts. It is called
	// before the client is told that it is over, and the client is told of an error in its place if there is one.
	Save func(Result) error
	// Stored is what the response says of store; it is false unless somebody sets it.
	Stored bool

	id       string
	created  int64
	body     []byte
	options  Options
	remarks  remarks
	tools    toolset
	ownTools ownTools
	source   *gateway.Source
	chat     []byte
	lost     bool // reasoning of another model's is not in what the source has
	said     int  // how many events Queue has written
}

// Parse reads the body of a request and checks what can be checked of it alone. The error is a
// *gateway.Error of the kind Invalid that names the place.
func Parse(body []byte, o Options) (*Request, error) {
	if _, err := o.Limits.Validate(body, maxDepth, o.Room); err != nil {
		return nil, err
	}
	r := &Request{body: body, options: o, created: time.Now().Unix()}
	if err := r.fields.read(body, func(name string) { r.Warn("dropped", name) }); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	for _, id := range [...]field{fPrompt, fContext} {
		if r.fields[id] != nil {
			r.remarks.needsOwn(invalid(schema[id].name, "The field %q is OpenAI's own, and not served for this model: leave it out.", schema[id].name))
		}
	}
	if err := r.input.read(r.fields[fInput]); err != nil {
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

// IsItemOf reports whether an item is one of a response's output, by the ids that this gateway gives.
func IsItemOf(item, response string) bool {
	_, digits, _ := strings.Cut(item, "_")
	group := strings.TrimPrefix(response, "resp_")
	return len(digits) == 2*idBytes && len(group) == 2*idBytes && digits[:groupDigits] == group[:groupDigits]
}

// ID is the response's id, which is there before the response.
func (r *Request) ID() string { return r.id }

// Created is when the request came, in seconds since 1970.
func (r *Request) Created() int64 { return r.created }

// Warn adds a warning to those of the translation.
func (r *Request) Warn(kind, what string) { r.remarks.warn(kind, what) }

// vault is what seals and opens what the client keeps.
func (r *Request) vault() vault { return vault{r.options.Sealer, r.options.Tenant, r.fields[fModel]} }

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
