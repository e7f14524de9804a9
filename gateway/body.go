package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// Body returns the request as it goes upstream: the client's bytes with the
// upstream's name of the model, and with what was mended for the upstream. The caller
// must not change them.
func (r *Request) Body(model string) []byte {
	edits := r.edits(model)
	if len(edits) == 0 {
		return r.body
	}
	return wire.Splice(r.body, edits)
}

// Announce tells the gateway which body is about to go to the upstream. Providers call
// it before they send one, and do not send it if there is an error: that is how tools
// which an adapter loses are noticed. Who keeps to Body or With has nothing to fear.
func (r *Request) Announce(wire []byte) error {
	if r.Announced == nil {
		return nil
	}
	return r.Announced(wire)
}

// edits are the changes of the body for an upstream's name of the model, and for its cache.
func (r *Request) edits(model string) (edits []wire.Edit) {
	if model != r.Model {
		name, _ := json.Marshal(model) // a string cannot fail
		edits = append(edits, wire.Edit{At: r.model, With: name})
	}
	if r.key != "" {
		edits = append(edits, r.set(r.cacheKey, "prompt_cache_key", string(wire.AppendQuoted(nil, r.key))))
	}
	return edits
}

// Field is a member of a request, its value in JSON.
type Field struct{ Name, Value string }

// With returns the request as [Request.Body] does, with some fields set. Those that
// the client has set too are replaced.
func (r *Request) With(model string, fields []Field) []byte {
	edits := r.edits(model)
	set := make([]bool, len(fields))
	wire.Members(r.body, 0, func(key []byte, v wire.Span) bool {
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &plain) // the body is valid
			key = []byte(plain)
		}
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == string(key) }); i >= 0 {
			edits = append(edits, wire.Edit{At: v, With: []byte(fields[i].Value)})
			set[i] = true
		}
		return true
	})
	brace := bytes.IndexByte(r.body, '{') + 1
	var added []byte
	for i, f := range fields {
		if !set[i] {
			added = append(append(append(strconv.AppendQuote(added, f.Name), ':'), f.Value...), ',') // the model follows
		}
	}
	edits = append(edits, wire.Edit{At: wire.Span{Start: brace, End: brace}, With: added})
	return wire.Splice(r.body, edits)
}

// with returns the request with edits of its body. What was read of the tools stays:
// edits of them do not change what they mean.
func (r *Request) with(edits ...wire.Edit) *Request {
	if len(edits) == 0 {
		return r
	}
	out := *r
	out.body = wire.Splice(r.body, edits)
	out.locate()
	return &out
}

// set is the edit that gives a member of the body a value; at is its place, empty if it
// is not there.
func (r *Request) set(at wire.Span, name, value string) wire.Edit {
	if !at.Empty() {
		return wire.Edit{At: at, With: []byte(value)}
	}
	brace := bytes.IndexByte(r.body, '{') + 1
	return wire.Edit{At: wire.Span{Start: brace, End: brace}, With: fmt.Appendf(nil, "%q:%s,", name, value)} // the model follows
}

// message is the edit that puts a message behind the others.
func (r *Request) message(role, text string) wire.Edit {
	end := r.messages.End - 1 // in front of the bracket
	message := wire.AppendQuoted(fmt.Appendf(nil, `,{"role":%q,"content":`, role), text)
	if wire.Blank(r.body[r.messages.Start+1 : end]) {
		message = message[1:]
	}
	return wire.Edit{At: wire.Span{Start: end, End: end}, With: append(message, '}')}
}

// drop returns the request without some of its members.
func (r *Request) drop(names ...string) *Request {
	out := *r
	out.body, _ = wire.AppendOthers([]byte{'{'}, r.body, names...)
	out.body = append(out.body, '}')
	out.locate()
	return &out
}
