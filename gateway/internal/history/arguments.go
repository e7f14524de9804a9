package history

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// rawArguments is the member that holds a text which could not be repaired. A model
// reads there what it wrote. An empty object in its place would say that it had
// called without arguments.
const rawArguments = "raw_arguments"

// repairArguments has the arguments of a function be the text of a JSON object.
func (r *repairer) repairArguments(function wire.Span) {
	if !conversation.IsObject(r.text, function) {
		return
	}
	at := conversation.Member(r.text, function, "arguments")
	fixed, needed := r.repaired(at)
	if !needed {
		return
	}
	r.set(function, at, "arguments", wire.AppendQuoted(nil, fixed))
	r.count(KindArgs)
}

// repaired returns the object that the arguments at a span have to be. needed is
// false if that is what they are.
func (r *repairer) repaired(at wire.Span) (fixed []byte, needed bool) {
	if at.IsNull(r.text) {
		return []byte("{}"), true
	}
	raw := at.Of(r.text)
	switch raw[0] {
	case '{': // not put into a string
		return raw, true
	case '"':
	default:
		return keepRaw(raw), true
	}
	text := raw[1 : len(raw)-1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var err error
		if text, err = jsontext.AppendUnquote(slices.Grow(r.scratch[:0], len(raw)), raw); err != nil {
			return nil, false
		}
		r.scratch = text
	}
	if conversation.IsStrictObject(text) {
		return nil, false
	}
	if trimmed := bytes.Trim(text, " \t\r\n"); len(trimmed) == 0 || string(trimmed) == "null" {
		return []byte("{}"), true
	}
	if r.fix != nil && len(text) <= maxFixed {
		if fixed, ok := r.fix(text); ok && conversation.IsStrictObject(fixed) {
			return fixed, true
		}
	}
	return keepRaw(text), true
}

// maxFixed is how long a text is that is repaired, which takes some six times its memory. What is
// longer is kept as a text: no model writes a call that long.
const maxFixed = 4 << 20

func keepRaw(text []byte) []byte {
	return append(wire.AppendQuoted([]byte(`{"`+rawArguments+`":`), text), '}')
}
