package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Valid measures JSON text, as [Measure] does, and checks it in the same pass. ok says that it is one value
// of strict JSON (RFC 8259) in UTF-8, that nests no deeper than limit and has no name twice in an object.
// Where ok is false the text may still be all of this: Valid takes no memory but for names with escapes, and
// gives up where it would need some, or where the hashes of two names are the same. Who wants to know then
// asks a parser.
func Valid(b []byte, limit int) (m Measures, ok bool) {
	v := validator{b: b, limit: min(limit, maxMeasured)}
	v.m.TooDeep = -1
	ok = v.text()
	return v.m, ok
}

// maxOpen is how many names of objects that are open Valid tells apart.
const maxOpen = 128

// validator is a place in text that is checked.
type validator struct {
	b     []byte
	i     int
	limit int
	m     Measures
	depth int
	kinds [maxMeasured + 1]byte  // by depth: '{' or '['
	from  [maxMeasured + 1]uint8 // by depth: the first of an object's names
	names [maxOpen]uint64        // hashes of those of the objects that are open
	open  uint8
}

// text reads the whole text. A value is read in a loop and not by recursion: it may nest deep.
func (v *validator) text() bool {
	if !v.value() {
		return false
	}
	for v.depth > 0 {
		if !v.next() {
			return false
		}
	}
	v.space()
	return v.i == len(v.b)
}

// value reads a value, or the opening of one that nests.
func (v *validator) value() bool {
	v.space()
	if v.i == len(v.b) {
		return false
	}
	switch c := v.b[v.i]; c {
	case '{', '[':
		return v.opens(c)
	case '"':
		return v.str()
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

// opens reads the opening of an object or a list, and what follows it at once: its end, or its first value.
func (v *validator) opens(c byte) bool {
	v.m.Values++
	if v.depth == v.limit {
		v.m.Depth, v.m.TooDeep = v.depth+1, v.i
		return false
	}
	v.depth++
	v.m.Depth = max(v.m.Depth, v.depth)
	v.kinds[v.depth], v.from[v.depth] = c, v.open
	v.i++
	v.space()
	if v.i < len(v.b) && v.b[v.i] == c+2 { // '}' or ']'
		return v.closes()
	}
	if c == '{' && !v.name() {
		return false
	}
	return v.value()
}

// closes reads the end of an object or a list.
func (v *validator) closes() bool {
	if _, twice := twin(v.names[v.from[v.depth]:v.open]); twice {
		return false
	}
	v.open = v.from[v.depth]
	v.depth--
	v.i++
	return true
}

// next reads what follows a value in an object or a list: the end, or a comma and another value.
func (v *validator) next() bool {
	v.space()
	if v.i == len(v.b) {
		return false
	}
	kind := v.kinds[v.depth]
	switch v.b[v.i] {
	case kind + 2:
		return v.closes()
	case ',':
		v.m.Values++
		v.i++
		if kind == '{' && !v.name() {
			return false
		}
		return v.value()
	}
	return false
}

// name reads the name of a member, and its colon.
func (v *validator) name() bool {
	v.space()
	from := v.i
	if v.i == len(v.b) || v.b[v.i] != '"' || !v.str() || int(v.open) == maxOpen {
		return false
	}
	v.names[v.open] = hashOf(v.b[from+1 : v.i-1])
	v.open++
	v.m.Open = max(v.m.Open, int(v.open))
	v.space()
	if v.i == len(v.b) || v.b[v.i] != ':' {
		return false
	}
	v.i++
	return true
}

func (v *validator) space() { v.i = space(v.b, v.i) }

func (v *validator) word(w string) bool {
	if len(v.b)-v.i < len(w) || string(v.b[v.i:v.i+len(w)]) != w {
		return false
	}
	v.i += len(w)
	return true
}

// number reads a number.
func (v *validator) number() bool {
	if v.at('-') {
		v.i++
	}
	if v.at('0') {
		v.i++
	} else if !v.digits() {
		return false
	}
	if v.at('.') {
		v.i++
		if !v.digits() {
			return false
		}
	}
	if v.at('e') || v.at('E') {
		v.i++
		if v.at('+') || v.at('-') {
			v.i++
		}
		return v.digits()
	}
	return true
}

func (v *validator) at(c byte) bool { return v.i < len(v.b) && v.b[v.i] == c }

// digits reads one digit or more.
func (v *validator) digits() bool {
	from := v.i
	for v.i < len(v.b) && v.b[v.i]-'0' <= 9 {
		v.i++
	}
	return v.i > from
}

// str reads a string.
func (v *validator) str() bool {
	b, i := v.b, v.i+1
	for {
		if i += unescapedRun(b[i:]); i == len(b) {
			return false
		}
		switch c := b[i]; {
		case c == '"':
			v.i = i + 1
			return true
		case c == '\\':
			n := escapeSize(b[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		default:
			for i < len(b) && b[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(b[i:])
				if r == utf8.RuneError && n == 1 {
					return false
				}
				i += n
			}
		}
	}
}

// escapeSize is how long the escape is that the text begins with, 0 if it is none: half of a pair of
// surrogates stands for nothing.
func escapeSize(b []byte) int {
	if len(b) > 1 && escaped[b[1]] != 0 {
		return len(`\n`)
	}
	const one = len(`\u0000`)
	high, ok := hex4(b)
	switch {
	case !ok:
		return 0
	case !utf16.IsSurrogate(high):
		return one
	}
	if low, ok := hex4(b[one:]); ok && utf16.DecodeRune(high, low) != utf8.RuneError {
		return 2 * one
	}
	return 0
}
