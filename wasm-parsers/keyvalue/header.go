package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// header is what stands in front of a value: its key and maybe its type.
type header struct {
	key      []byte
	types    sdk.Types // 0 if it has no type
	n        int       // its length, with the start tag of the value
	repaired bool      // a tag is missing
	again    bool      // a tag of the key is there twice
	opened   bool      // the start tag of the value is not what is missing
}

// header reads a header into h. Of its tags one may be missing, as GLM models do it
// (Ollama's parser repairs the same): the one that opens or closes the key, or the one
// that opens the value.
func (t *tags) header(b []byte, h *header) sdk.Verdict {
	*h = header{}
	for _, part := range [...]func([]byte, *header) sdk.Verdict{t.headerKey, t.headerKind, t.headerValue} {
		if v := part(b, h); v != sdk.Yes {
			return v
		}
	}
	return sdk.Yes
}

// headerKey reads the key with its tags, and the white space behind it.
func (t *tags) headerKey(b []byte, h *header) sdk.Verdict {
	switch markup.MatchTag(b, t.keyOpen) {
	case sdk.Yes:
		h.n = len(t.keyOpen)
		if v := h.skipAgain(b, t.keyOpen); v != sdk.Yes {
			return v
		}
	case sdk.Maybe:
		return sdk.Maybe
	case sdk.No:
		h.repaired = true
	}
	if v := h.readKey(b); v != sdk.Yes {
		return v
	}
	v := markup.MatchTag(b[h.n:], t.keyClose)
	switch {
	case v == sdk.Yes:
		h.n += len(t.keyClose)
		if v := h.skipAgain(b, t.keyClose); v != sdk.Yes {
			return v
		}
	case v == sdk.Maybe:
		return v
	case h.repaired:
		return sdk.No
	default:
		h.repaired = true
		if v := markup.MatchAny(b[h.n:], t.valueOpen, t.kindOpen); v != sdk.Yes {
			return v
		}
	}
	return h.skip(b)
}

// skipAgain skips a tag that was read and comes once more. Yes means that something else stands behind it.
func (h *header) skipAgain(b []byte, tag string) sdk.Verdict {
	rest, n, v := again(b[h.n:], tag)
	if n > 0 {
		h.n, h.again = len(b)-len(rest), true
	}
	return v
}

// maxAgain is how often a tag is skipped that comes once more.
const maxAgain = 4

// again skips a tag where b begins with it once more, and counts how often. Yes means that something else
// stands behind it.
func again(b []byte, tag string) (rest []byte, n int, v sdk.Verdict) {
	for rest = b; n < maxAgain; n++ {
		next := skipSpace(rest)
		if len(next) == 0 || len(next) == 1 && next[0] == '\\' || len(rest)-len(next) > maxSpace {
			return rest, n, sdk.Maybe
		}
		switch v = markup.MatchTag(next, tag); v {
		case sdk.Yes:
			rest = next[len(tag):]
		case sdk.Maybe:
			return rest, n, sdk.Maybe
		default:
			return rest, n, sdk.Yes
		}
	}
	return rest, n, sdk.Yes
}

// readKey reads the text of the key.
func (h *header) readKey(b []byte) sdk.Verdict {
	text := b[h.n:min(len(b), h.n+maxKey+1)]
	end := bytes.IndexByte(text, '<')
	if end >= 0 {
		text = text[:end]
	}
	h.key = trimSpace(text)
	switch {
	case h.repaired && bytes.ContainsAny(h.key, " \t\r\n"):
		return sdk.No // prose
	case end < 0 && len(text) <= maxKey:
		return sdk.Maybe
	case end < 0, !isKey(h.key):
		return sdk.No
	}
	h.n += end
	return sdk.Yes
}

// headerKind reads the type, if there is one, and the white space behind it.
func (t *tags) headerKind(b []byte, h *header) sdk.Verdict {
	rest := b[h.n:]
	switch markup.MatchTag(rest, t.kindOpen) {
	case sdk.No:
		return sdk.Yes
	case sdk.Maybe:
		return sdk.Maybe
	}
	rest = rest[len(t.kindOpen):]
	end := bytes.IndexByte(rest[:min(len(rest), maxKind)], '<')
	switch {
	case end < 0 && len(rest) < maxKind:
		return sdk.Maybe
	case end < 0:
		return sdk.No
	}
	if v := markup.MatchTag(rest[end:], t.kindClose); v != sdk.Yes {
		return v
	}
	h.types = typesOf(string(trimSpace(rest[:end])))
	h.n = len(b) - len(rest) + end + len(t.kindClose)
	return h.skip(b)
}

// headerValue reads the start tag of the value.
func (t *tags) headerValue(b []byte, h *header) sdk.Verdict {
	v := markup.MatchTag(b[h.n:], t.valueOpen)
	switch {
	case v == sdk.Yes:
		h.n += len(t.valueOpen)
		h.opened = true
	case v == sdk.No && !h.repaired && b[h.n] != '<':
		h.repaired = true
		return sdk.Yes
	}
	return v
}

// skip reads white space between tags. Yes means that something stands behind it.
func (h *header) skip(b []byte) sdk.Verdict {
	rest := skipSpace(b[h.n:])
	switch space := len(b) - h.n - len(rest); {
	case space > maxSpace:
		return sdk.No
	case len(rest) == 0 || len(rest) == 1 && rest[0] == '\\':
		return sdk.Maybe
	default:
		h.n += space
	}
	return sdk.Yes
}

// isKey tells what a key may be: something without control characters.
func isKey(key []byte) bool {
	for _, c := range key {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(key) > 0
}

// trimSpace is b without what may stand between tags at its ends.
func trimSpace(b []byte) []byte {
	b = skipSpace(b)
	for {
		b = bytes.TrimRight(b, " \t\r\n")
		if !bytes.HasSuffix(b, []byte(`\n`)) {
			return b
		}
		b = b[:len(b)-2]
	}
}

// typesOf gives the type that a type tag names: JSON's names and Python's. An
// unknown one is none, and the schema decides.
func typesOf(name string) sdk.Types {
	switch name {
	case "string", "str":
		return abi.String
	case "integer", "int":
		return abi.Integer
	case "number", "float":
		return abi.Number
	case "boolean", "bool":
		return abi.Boolean
	case "object", "dict":
		return abi.Object
	case "array", "list":
		return abi.Array
	case "null", "none", "None":
		return abi.Null
	}
	return 0
}
