package history

import (
	"bytes"
	"errors"
	"iter"

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
	if value, needed := r.repaired(at); needed {
		r.set(function, at, "arguments", value)
		r.count(KindArgs)
	}
}

// repaired returns what the arguments at a span have to be, the text of an object as a string of JSON.
// needed is false if that is what they are.
func (r *repairer) repaired(at wire.Span) (value []byte, needed bool) {
	if at.IsNull(r.text) {
		return []byte(`"{}"`), true
	}
	raw := at.Of(r.text)
	switch raw[0] {
	case '{': // not put into a string
		return wire.AppendQuoted(nil, raw), true
	case '"':
	default:
		return r.keep(len(raw), pieces(raw))
	}
	text := raw[1 : len(raw)-1 : len(raw)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		var err error
		if text, err = wire.AppendUnquoted(r.scratch[:0], raw); err != nil {
			return nil, false
		}
		r.scratch = text
	}
	if conversation.IsStrictObject(text) {
		return nil, false
	}
	if trimmed := bytes.Trim(text, " \t\r\n"); len(trimmed) == 0 || string(trimmed) == "null" {
		return []byte(`"{}"`), true
	}
	if r.fix != nil && len(text) <= MaxKept { // which takes some six times its memory
		if fixed, ok := r.fix(text); ok && conversation.IsStrictObject(fixed) {
			return wire.AppendQuoted(nil, fixed), true
		}
	}
	// The text is not needed any more, and read again in pieces.
	return r.keep(len(text), unquoted(pieces(raw[1:len(raw)-1])))
}

// keep is [keepRaw] of a text with so many bytes, as long as all that are kept are not too long.
func (r *repairer) keep(size int, text iter.Seq[[]byte]) (value []byte, needed bool) {
	if r.kept += size; r.kept > MaxKept {
		return nil, false
	}
	return keepRaw(text), true
}

// MaxKept is how many bytes of a conversation's broken arguments are kept as texts at most, and how long
// arguments are that are repaired.
const MaxKept = 4 << 20

// ErrTooMany is for a conversation of more calls and results than are looked at.
var ErrTooMany = errors.New("history: more than 262,144 calls and results")

// ErrTooLong is for a conversation with more broken arguments than MaxKept.
var ErrTooLong = errors.New("history: more than 4 MiB of arguments are no JSON objects")

// keepRaw is a string of JSON with the text of an object that holds a text. It is made in one go, of
// the size that it needs, and of pieces: the text may have many megabytes.
func keepRaw(text iter.Seq[[]byte]) []byte {
	const head, end = `"{\"` + rawArguments + `\":\"`, `\"}"`
	size := len(head) + len(end)
	for piece := range quoted(quoted(text)) {
		size += len(piece)
	}
	b := append(make([]byte, 0, size), head...)
	for piece := range quoted(quoted(text)) {
		b = append(b, piece...)
	}
	return append(b, end...)
}

// maxPiece is how long a piece of a text is at most, before it is quoted.
const maxPiece = 8 << 10

// pieces cuts a text, or what stands between the quotes of a string, between characters and escapes.
func pieces(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := text; len(rest) > 0; {
			n := wire.Units(rest, maxPiece)
			if !yield(rest[:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

// quoted are pieces of a text as they stand between the quotes of a string. Each is valid until the next.
func quoted(text iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var b []byte
		for piece := range text {
			b = wire.AppendQuoted(b[:0], piece)
			if !yield(b[1 : len(b)-1]) {
				return
			}
		}
	}
}

// unquoted are pieces of a string as a text.
func unquoted(text iter.Seq[[]byte]) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var in, out []byte
		for piece := range text {
			in = append(append(append(in[:0], '"'), piece...), '"')
			out, _ = jsontext.AppendUnquote(out[:0], in) // the request is valid
			if !yield(out) {
				return
			}
		}
	}
}
