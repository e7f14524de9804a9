package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/internal/span"
)

// Body returns the request as it goes upstream: the client's bytes with the
// upstream's name of the model, and with what was mended for the upstream. The caller
// must not change them.
func (r *Request) Body(model string) []byte {
	edits := r.edits(model)
	if len(edits) == 0 {
		return r.body
	}
	return splice(r.body, edits)
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
func (r *Request) edits(model string) (edits []edit) {
	if model != r.Model {
		name, _ := json.Marshal(model) // a string cannot fail
		edits = append(edits, edit{r.model, name})
	}
	if r.key != "" {
		edits = append(edits, r.set(r.cacheKey, "prompt_cache_key", string(quote(nil, r.key))))
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
	span.Members(r.body, 0, func(key []byte, v span.Span) bool {
		if bytes.IndexByte(key, '\\') >= 0 {
			var plain string
			_ = json.Unmarshal(slices.Concat([]byte{'"'}, key, []byte{'"'}), &plain) // the body is valid
			key = []byte(plain)
		}
		if i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == string(key) }); i >= 0 {
			edits = append(edits, edit{v, []byte(fields[i].Value)})
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
	edits = append(edits, edit{span.Span{Start: brace, End: brace}, added})
	return splice(r.body, edits)
}

// with returns the request with edits of its body. What was read of the tools stays:
// edits of them do not change what they mean.
func (r *Request) with(edits ...edit) *Request {
	if len(edits) == 0 {
		return r
	}
	out := *r
	out.body = splice(r.body, edits)
	out.locate()
	return &out
}

// set is the edit that gives a member of the body a value; at is its place, empty if it
// is not there.
func (r *Request) set(at span.Span, name, value string) edit {
	if !at.Empty() {
		return edit{at, []byte(value)}
	}
	brace := bytes.IndexByte(r.body, '{') + 1
	return edit{span.Span{Start: brace, End: brace}, fmt.Appendf(nil, "%q:%s,", name, value)} // the model follows
}

// message is the edit that puts a message behind the others.
func (r *Request) message(role, text string) edit {
	end := r.messages.End - 1 // in front of the bracket
	message := quote(fmt.Appendf(nil, `,{"role":%q,"content":`, role), text)
	if span.Blank(r.body[r.messages.Start+1 : end]) {
		message = message[1:]
	}
	return edit{span.Span{Start: end, End: end}, append(message, '}')}
}

// drop returns the request without some of its members.
func (r *Request) drop(names ...string) *Request {
	out := *r
	out.body, _ = appendOthers([]byte{'{'}, r.body, names...)
	out.body = append(out.body, '}')
	out.locate()
	return &out
}
