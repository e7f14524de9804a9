package headerjson

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// header is what stands between the beginning of a call and its arguments.
type header struct {
	name, id []byte
	n        int // its length
	strays   int // markers in it that stand there once more
}

// again skips a marker where b begins with it once more, and counts how often. The verdict is Maybe
// where b may go on with it.
func again(b []byte, marker string) (rest []byte, n int, v sdk.Verdict) {
	for isToken(marker) {
		switch markup.Match(b, marker) {
		case sdk.Yes:
			b, n = chars.SkipSpace(b[len(marker):]), n+1
			continue
		case sdk.Maybe:
			return b, n, sdk.Maybe
		}
		break
	}
	return b, n, sdk.Yes
}

// isToken reports whether a marker is more than a byte that stands anywhere.
func isToken(marker string) bool { return len(marker) > 1 }

// header reads the header that b begins with.
func (f *format) header(b []byte) (header, sdk.Verdict) {
	rest := chars.SkipSpace(b)
	if v := markup.Match(rest, f.before); v != sdk.Yes {
		return header{}, v
	}
	rest, strays, v := again(f.skipBlank(rest[len(f.before):]), f.mid)
	if v != sdk.Yes {
		return header{}, v
	}
	name, rest, isID, v := f.word(rest, f.id)
	h := header{name: name, strays: strays}
	if v == sdk.Yes && isID {
		h.id, rest, _, v = f.word(f.skipBlank(rest), "")
	}
	h.n = len(b) - len(rest)
	return h, v
}

// word reads a name or an id up to what ends it: the separator, the first byte of
// the arguments, which is not read, or the mark of an id if that is not empty.
func (f *format) word(b []byte, id string) (word, rest []byte, isID bool, v sdk.Verdict) {
	n := 0
	for n < len(b) && nameByte(b[n]) {
		n++
	}
	gap := f.skipBlank(b[n:])
	switch {
	case n > f.maxWord(), n == 0 && len(b) > 0:
		return nil, nil, false, sdk.No
	case len(gap) == 0:
		return nil, nil, false, sdk.Maybe
	case f.bodySep && (gap[0] == '{' || gap[0] == '`' && f.fenced):
		return b[:n], gap, false, sdk.Yes
	}
	v = markup.Match(gap, f.sep)
	if v == sdk.Yes {
		return b[:n], gap[len(f.sep):], false, v
	}
	if id != "" {
		switch markup.Match(gap, id) {
		case sdk.Yes:
			return b[:n], gap[len(id):], true, sdk.Yes
		case sdk.Maybe:
			v = sdk.Maybe
		}
	}
	return nil, nil, false, v
}

// maxWord is how long a name may be, or the id that it is read from.
func (f *format) maxWord() int {
	if f.idName {
		return callobject.MaxName + 32
	}
	return callobject.MaxName
}

// skipBlank is SkipSpace that stops at a newline if that is the separator.
func (f *format) skipBlank(b []byte) []byte {
	for len(b) > 0 && chars.IsSpace(b[0]) && (b[0] != '\n' || f.sep != "\n") {
		b = b[1:]
	}
	return b
}

// nameByte reports whether c may be part of a name or an id that is read from free
// text: no space, no control character, and nothing that is markup here.
func nameByte(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte("<>[]{}()\"'`|\\,", c) < 0
}

// nameOf is the name that a header gives, and the id. The rules of Kimi's ids are
// those of Moonshot's guide, but for a missing prefix, which is seen in the wild. A
// counter alone names nothing, and without an index the id is one only if the tool
// is known.
func (f *format) nameOf(h header, tools []sdk.Tool) (name, id string, ok bool) {
	if !f.idName {
		return string(h.name), string(h.id), chars.HasWord(h.name)
	}
	full := string(h.name)
	name, prefixed := strings.CutPrefix(full, "functions.")
	at := strings.LastIndexByte(name, ':')
	if at < 0 || !digits(name[at+1:]) {
		return name, "", sdk.FindTool(tools, name) != nil
	}
	if name = name[:at]; len(full) <= callobject.MaxName {
		id = full
	}
	return name, id, chars.HasWord([]byte(name)) && len(name) <= callobject.MaxName && (prefixed || !digits(name))
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// canParse wants the beginning of a call up to the first byte of its arguments.
func (f *format) canParse(head []byte) sdk.Verdict {
	verdict := f.canParseThis(head)
	for i := range f.others {
		verdict = markup.Either(verdict, f.others[i].canParseThis(head))
	}
	return verdict
}

func (f *format) canParseThis(head []byte) sdk.Verdict {
	rest, v := cut(head, f.sections...)
	if v == sdk.Yes {
		return f.canParseSection(chars.SkipSpace(rest), len(head))
	}
	call, w := cut(head, f.open)
	if w == sdk.Yes {
		return f.canParseCall(call, len(head))
	}
	return max(v, w) // Maybe or No
}

// canParseSection is canParse behind the beginning of a section.
func (f *format) canParseSection(b []byte, size int) sdk.Verdict {
	b, _, twice := again(b, f.sections[0])
	end := markup.MatchAny(b, f.sectionEnds...)
	call, v := cut(b, f.open)
	switch {
	case end == sdk.Yes: // an empty section
		return end
	case v == sdk.Yes:
		return f.canParseCall(call, size)
	case max(end, v, twice) == sdk.Maybe:
		return sdk.Maybe
	case f.openless:
		if v = f.canParseCall(call, size); v != sdk.No {
			return v
		}
	}
	at, v := f.wordsBefore(b)
	if v == sdk.Yes {
		v = f.canParseCall(b[at+len(f.open):], size)
	}
	return v
}

// maxWords is how long a text between the beginning of a section and that of its first call may be.
const maxWords = 128

// wordsBefore tells how long the text is that b begins with where a call should begin, and whether one
// does behind it. Another marker is no text.
func (f *format) wordsBefore(b []byte) (n int, v sdk.Verdict) {
	switch n = bytes.Index(b[:min(len(b), maxWords)], []byte(f.open[:2])); {
	case n >= 0:
		return n, markup.Match(b[n:], f.open)
	case len(b) < maxWords:
		return 0, sdk.Maybe
	}
	return 0, sdk.No
}

// canParseCall is canParse behind the beginning of a call. If all that a parser may
// see, size bytes, is a header that is right so far, then it is a call.
func (f *format) canParseCall(b []byte, size int) sdk.Verdict {
	b, _, v := again(chars.SkipSpace(b), f.open)
	if v != sdk.Yes {
		return v
	}
	h, v := f.header(b)
	if v == sdk.Yes {
		v = f.canBegin(b[h.n:])
	}
	if v == sdk.Maybe && size >= abi.MaxHead {
		return sdk.Yes
	}
	return v
}

// canBegin tells whether b may begin a call's arguments.
func (f *format) canBegin(b []byte) sdk.Verdict {
	rest := chars.SkipSpace(b)
	body, strays, v := again(rest, f.sep)
	if v == sdk.Maybe {
		return v
	}
	if strays > 0 {
		b, rest = body, body
	}
	if f.textKey != "" && len(rest) < len(b) && bytes.IndexByte(b[:len(b)-len(rest)], '\n') >= 0 {
		return sdk.Yes
	}
	switch {
	case len(rest) == 0:
		return sdk.Maybe
	case rest[0] == '{':
		return sdk.Yes
	case f.textKey != "" || f.braceOnly:
		return sdk.No
	case rest[0] == '"':
		return sdk.Yes
	case rest[0] == '`' && f.fenced:
		return markup.Match(rest, fence)
	case rest[0] == 'n':
		return markup.Match(rest, "null")
	case f.end != "":
		return markup.Match(rest, f.end)
	}
	return sdk.No
}

// cut is b without the marker that it begins with.
func cut(b []byte, markers ...string) ([]byte, sdk.Verdict) {
	verdict := sdk.No
	for _, m := range markers {
		switch markup.Match(b, m) {
		case sdk.Yes:
			return b[len(m):], sdk.Yes
		case sdk.Maybe:
			verdict = sdk.Maybe
		}
	}
	return b, verdict
}
