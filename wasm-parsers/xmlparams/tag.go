package xmlparams

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// Limits of tags.
const (
	maxName = 256  // bytes of a name
	maxTag  = 1024 // bytes of a tag with attributes
)

// tagForm is how a start tag with a name is written.
type tagForm struct {
	open string // what it begins with
	// attrs says that attributes follow, one of which is the name. Otherwise the
	// name follows at once.
	attrs bool
	glued bool   // the first attribute may touch open, as in <paramname="x">
	not   string // bytes that the name may not hold
	bpe   bool   // as in format
}

// Bytes that are not in names that are written in markup.
const (
	notInFunc    = " \t\r\n<>\"'"
	notInKey     = "\n>"
	notInElement = notInFunc + "/=[]"
)

// tag is a start tag that was read.
type tag struct {
	name []byte
	id   []byte // the attribute of that name
	kind []byte // the attribute type or string
	n    int    // the tag's length; if it is none, the place of the byte that does not fit
	// closed says that the tag is its own end: <invoke name="f"/>.
	closed  bool
	foreign bool // there are attributes besides these
}

// read reads the tag that b begins with. On No n is 0 if b does not begin with one.
func (f *tagForm) read(b []byte) (tag, sdk.Verdict) {
	t, v := f.readAny(b)
	if v == sdk.Yes && t.name == nil {
		return tag{n: t.n - 1}, sdk.No
	}
	return t, v
}

// readAny is read for tags with attributes that may lack a name.
func (f *tagForm) readAny(b []byte) (tag, sdk.Verdict) {
	if v := markup.Match(b, f.open); v != sdk.Yes {
		return tag{}, v
	}
	if f.attrs {
		return f.readAttrs(b[:min(len(b), maxTag)])
	}
	from := len(f.open)
	rest := b[from:min(len(b), from+maxName+1)]
	end := bytes.IndexByte(rest, '>')
	if i := bytes.IndexByte(rest[:max(end, 0)], '\n'); i >= 0 {
		end = i
	} else if end < 0 {
		end = bytes.IndexByte(rest, '\n')
	}
	switch {
	case end < 0 && len(rest) <= maxName:
		return tag{n: from}, sdk.Maybe
	case end < 0:
		return tag{n: from + maxName}, sdk.No
	case rest[end] == '\n' || !f.isName(rest[:end]):
		return tag{n: from + end}, sdk.No
	}
	return tag{name: rest[:end], n: from + end + 1}, sdk.Yes
}

// isName reports whether b can be a name.
func (f *tagForm) isName(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f || strings.IndexByte(f.not, c) >= 0 {
			return false
		}
	}
	return len(b) <= maxName && !chars.Blank(b)
}

// readAttrs reads the attributes up to the tag's end.
func (f *tagForm) readAttrs(b []byte) (tag, sdk.Verdict) {
	var t tag
	at := len(f.open)
	for first := true; ; first = false {
		space := spaceLen(b[at:], f.bpe)
		at += space
		switch {
		case at == len(b):
			return more(at)
		case first && space == 0 && !f.glued:
			return tag{}, sdk.No // <invoker
		case b[at] == '>' || b[at] == '/' && at+1 < len(b) && b[at+1] == '>':
			if t.closed = b[at] == '/'; t.closed {
				at++
			}
			t.n = at + 1
			return t, sdk.Yes
		case b[at] == '/' && at+1 == len(b):
			return more(len(b))
		}
		n, v := f.readAttr(&t, b[at:])
		if at += n; v == sdk.Maybe {
			return more(len(b))
		} else if v == sdk.No {
			return tag{n: at}, sdk.No
		}
	}
}

// more is for a tag of which n bytes were seen, but not its end.
func more(n int) (tag, sdk.Verdict) {
	if n >= maxTag {
		return tag{n: n}, sdk.No
	}
	return tag{n: n}, sdk.Maybe
}

// readAttr reads an attribute into t, and says how long it is.
func (f *tagForm) readAttr(t *tag, b []byte) (int, sdk.Verdict) {
	n := 0
	for n < len(b) && isAttr(b[n]) {
		n++
	}
	key := b[:n]
	n += spaceLen(b[n:], f.bpe)
	switch {
	case n == len(b):
		return n, sdk.Maybe
	case b[n] != '=' || len(key) == 0:
		return n, sdk.No
	}
	n++
	n += spaceLen(b[n:], f.bpe)
	value, length, v := attrValue(b[n:])
	if v != sdk.Yes {
		return n + length, v
	}
	switch string(key) {
	case "name":
		if !f.isName(value) || t.name != nil {
			return n, sdk.No
		}
		t.name = value
	case "id":
		t.id = value
	case "type", "string":
		t.kind = value
	default:
		t.foreign = true
	}
	return n + length, sdk.Yes
}

// attrValue reads the value of an attribute, which is quoted or bare.
func attrValue(b []byte) (value []byte, n int, v sdk.Verdict) {
	if len(b) == 0 {
		return nil, 0, sdk.Maybe
	}
	if b[0] == '"' || b[0] == '\'' {
		end := bytes.IndexByte(b[1:], b[0])
		if end < 0 {
			return nil, len(b), sdk.Maybe
		}
		return b[1 : end+1], end + 2, sdk.Yes
	}
	for n < len(b) && !chars.IsSpace(b[n]) && b[n] != '>' {
		n++
	}
	switch {
	case n == len(b):
		return nil, n, sdk.Maybe
	case b[n] == '>' && b[n-min(n, 1)] == '/':
		n--
	}
	if n == 0 {
		return nil, 0, sdk.No
	}
	return b[:n], n, sdk.Yes
}

// isAttr tells what the name of an attribute is made of.
func isAttr(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '-' || c == ':' }

// spaceLen is how much white space b begins with. In the alphabet of byte-level BPE
// a space is Ġ and a newline is Ċ; a model that was converted badly writes those.
func spaceLen(b []byte, bpe bool) int {
	n := 0
	for n < len(b) {
		switch {
		case chars.IsSpace(b[n]):
			n++
		case bpe && b[n] == bpeFirst && n+1 < len(b) && (b[n+1] == bpeSpace || b[n+1] == bpeNewline):
			n += 2
		default:
			return n
		}
	}
	return n
}

// The bytes of Ġ and Ċ.
const (
	bpeFirst   = 0xC4
	bpeSpace   = 0xA0
	bpeNewline = 0x8A
)

// cutHalf gives b without a byte at its end that may be half of Ġ or Ċ, and whether there
// was one.
func cutHalf(b []byte) (whole []byte, half bool) {
	if n := len(b) - 1; n >= 0 && b[n] == bpeFirst {
		return b[:n], true
	}
	return b, false
}
