package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// tags are the tags of a format as one region writes them.
type tags struct {
	wrapOpen, wrapClose   string
	callOpen, callClose   string
	sep                   string
	keyOpen, keyClose     string
	kindOpen, kindClose   string
	valueOpen, valueClose string
}

// tags gives the tags with a suffix.
func (f *format) tags(suffix string) *tags {
	if suffix == "" && f.plain != nil {
		return f.plain
	}
	t := &tags{}
	t.wrapOpen, t.wrapClose = pair(f.wrap, suffix)
	t.callOpen, t.callClose = pair(f.call, suffix)
	t.sep, _ = pair(f.sep, suffix)
	t.keyOpen, t.keyClose = pair(f.key, suffix)
	t.kindOpen, t.kindClose = pair(f.kind, suffix)
	t.valueOpen, t.valueClose = pair(f.value, suffix)
	return t
}

func pair(name, suffix string) (open, end string) {
	if name == "" {
		return "", ""
	}
	return "<" + name + suffix + ">", "</" + name + suffix + ">"
}

// opening reads the start tag of the element called name, with any suffix. n is its
// length on Yes.
func (f *format) opening(b []byte, name string) (suffix string, n int, v sdk.Verdict) {
	if name == "" {
		return "", 0, sdk.No
	}
	if v := markup.Match(b, "<"+name); v != sdk.Yes {
		return "", 0, v
	}
	from := 1 + len(name)
	end := from
	for end < len(b) && end-from <= maxSuffix && (end == from && b[end] == ':' || end > from && markup.IsWord(b[end])) {
		end++
	}
	switch {
	case end > from && !f.suffix, end-from > maxSuffix:
		return "", 0, sdk.No
	case end == len(b):
		return "", 0, sdk.Maybe
	case b[end] != '>' || end == from+1:
		return "", 0, sdk.No
	}
	return string(b[from:end]), end + 1, sdk.Yes
}

// maxSuffix is how many bytes the suffix of tags may have, with its colon.
const maxSuffix = 32

// canParse wants the tag of a call, in the wrapper if there is one, and a name with
// what may stand behind it: others write JSON or another tag there. A call without
// wrapper and suffix must have the separator, if the format has one, for it is some
// other format's otherwise.
func (f *format) canParse(head []byte) sdk.Verdict {
	suffix, n, v := f.opening(head, f.wrap)
	if v == sdk.Yes {
		t := f.tags(suffix)
		rest, _, v := again(head[n:], t.wrapOpen)
		if v != sdk.Yes {
			return v
		}
		rest = chars.SkipSpace(rest)
		if v := markup.MatchTag(rest, t.callOpen); v != sdk.Yes {
			return v
		}
		if rest, _, v = again(rest[len(t.callOpen):], t.callOpen); v != sdk.Yes {
			return v
		}
		if f.isJSON(rest) {
			return sdk.Yes
		}
		_, _, v = t.name(rest)
		return markup.Filled(v, head)
	}
	suffix, n, bare := f.opening(head, f.call)
	if bare != sdk.Yes {
		return max(v, bare) // Maybe if one of them may still be it
	}
	t := f.tags(suffix)
	if f.isJSON(head[n:]) {
		return sdk.Yes
	}
	_, n, v = t.name(head[n:])
	if v == sdk.Yes && f.sep != "" && suffix == "" && !bytes.HasSuffix(head[:n+len(t.callOpen)], []byte(t.sep)) {
		return sdk.No
	}
	return markup.Filled(v, head)
}

// isJSON tells whether an object stands where the name of a call would.
func (f *format) isJSON(b []byte) bool {
	rest := chars.SkipSpace(b)
	return f.json && len(rest) > 0 && rest[0] == '{'
}

// Limits of what is waited for.
const (
	maxName  = 256
	maxKey   = 1024
	maxKind  = 64
	maxSpace = 256 // white space in front of a tag; more of it means that none follows
)

// name reads a function's name and what ends it: a line's end, the separator, or
// the tag of what follows. n is the length of all of it but such a tag.
func (t *tags) name(b []byte) (name []byte, n int, v sdk.Verdict) {
	from := len(b) - len(chars.SkipSpace(b))
	end := from
	for end < len(b) && markup.IsName(b[end]) {
		end++
	}
	after := end
	for after < len(b) && (b[after] == ' ' || b[after] == '\t' || b[after] == '\r') {
		after++
	}
	switch {
	case from > maxSpace, end-from > maxName, after-end > maxSpace, end == from && end < len(b):
		return nil, 0, sdk.No
	case after == len(b):
		return nil, 0, sdk.Maybe
	}
	name, b = b[from:end], b[after:]
	switch v := markup.MatchTag(b, t.sep); {
	case b[0] == '\n':
		return name, after + 1, sdk.Yes
	case v == sdk.Yes:
		return name, after + len(t.sep), sdk.Yes
	case v == sdk.Maybe:
		return nil, 0, sdk.Maybe
	}
	return name, after, markup.MatchAny(b, `\n`, t.keyOpen, t.callClose)
}

// skipSpace is b without what may stand between tags: white space, and the letters
// \n, which some models write for a newline (SGLang's GLM parser).
func skipSpace(b []byte) []byte {
	for {
		b = chars.SkipSpace(b)
		if len(b) < 2 || b[0] != '\\' || b[1] != 'n' {
			return b
		}
		b = b[2:]
	}
}
