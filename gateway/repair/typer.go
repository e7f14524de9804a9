package repair

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// Typer gives the arguments of one call their types as they come: where the model
// wrote a string for a parameter that takes none, such as "3" for an integer, it
// writes what the string says, if that is exactly such a value. All else goes
// through as it is. A string that may be given its type is held until it is
// complete.
//
// The text is strict JSON, cut anywhere. Begin makes a Typer ready for a call and
// keeps its memory.
type Typer struct {
	tool     *abi.Tool
	maxDepth int
	strict   bool // gives no type that JSON parsers would read differently
	changed  bool

	place   place
	depth   int
	escaped bool // the last byte of a string was a backslash
	str     bool // inside a string, of any depth
	key     []byte
	param   *abi.Param // whose value is read
	held    []byte     // a string that may be given its type
	out     []byte
	inner   *object // checks what a string held
}

// Watcher is told what a Typer reads of the object itself, not of what is nested in
// it. It is for callers that want to know about arguments before they are complete.
type Watcher interface {
	// Value is called with the first byte of each value. param is nil if the schema
	// does not name the member.
	Value(param *abi.Param, first byte)
	// BeginString is called where a value begins that is a string and stays one.
	BeginString()
	// String is called with the text of that string, piece by piece, escapes and the
	// closing quote included. end says that this is the last piece.
	String(piece []byte, end bool)
}

// place is what comes next in the object of arguments, at its own depth.
type place uint8

const (
	beforeKey place = iota
	withinKey
	beforeValue
	withinValue
	withinHeld // in a string that waits
)

// Begin makes t ready for the arguments of a call of tool, which is nil if it is not
// known. maxDepth is how deep a value may nest that a string holds; less than 1
// means [abi.DefaultMaxDepth].
func (t *Typer) Begin(tool *abi.Tool, maxDepth int) {
	*t = Typer{tool: tool, maxDepth: maxDepth, key: t.key[:0], held: t.held[:0], out: t.out[:0], inner: t.inner}
}

// Changed reports whether a string was given its type.
func (t *Typer) Changed() bool { return t.changed }

// Read takes the next bytes and returns those that are certain. They are text
// itself if nothing in it waits or waited, and valid until the next call. watcher
// may be nil.
func (t *Typer) Read(text []byte, watcher Watcher) []byte {
	if t.tool == nil || len(t.tool.Params) == 0 {
		return text
	}
	t.out = t.out[:0]
	from, whole := 0, t.place != withinHeld
	for i := 0; i < len(text); {
		if t.depth > 1 {
			i += t.skip(text[i:])
			continue
		}
		if !t.str {
			t.readByte(text[i], watcher)
			if i++; t.place == withinHeld {
				t.out = append(t.out, text[from:i-1]...)
				whole = false
			}
			continue
		}
		held := t.place == withinHeld
		i += t.readString(text[i:], watcher)
		if held && t.place != withinHeld {
			from = i
		}
	}
	switch {
	case whole:
		return text
	case t.place != withinHeld:
		t.out = append(t.out, text[from:]...)
	}
	return t.out
}

// readString reads some of a string, up to its end.
func (t *Typer) readString(text []byte, watcher Watcher) int {
	n := t.stringEnd(text)
	switch t.place {
	case withinHeld:
		t.held = append(t.held, text[:n]...)
		if !t.str {
			t.place = withinValue
			t.retype()
		}
	case withinKey:
		t.key = append(t.key, text[:n]...)
		if !t.str {
			t.place = beforeValue
			t.find()
		}
	case withinValue:
		if watcher != nil {
			watcher.String(text[:n], !t.str)
		}
	case beforeKey, beforeValue:
	}
	return n
}

// stringEnd is the place behind the closing quote of the string that text goes on with, or
// len(text).
func (t *Typer) stringEnd(text []byte) int {
	for n := 0; n < len(text); {
		if t.escaped {
			t.escaped = false
			n++
			continue
		}
		if n = chars.Plain(text, n); n == len(text) {
			break
		}
		c := text[n]
		n++
		if t.escaped = c == '\\'; c == '"' {
			t.str = false
			return n
		}
	}
	return len(text)
}

// skip reads what is nested in a value, in which nothing is to be seen but its end.
func (t *Typer) skip(text []byte) int {
	for i := 0; i < len(text); {
		if t.str {
			i += t.stringEnd(text[i:])
			continue
		}
		switch text[i] {
		case '"':
			t.str = true
		case '{', '[':
			t.depth++
		case '}', ']':
			if t.depth--; t.depth == 1 {
				return i + 1
			}
		}
		i++
	}
	return len(text)
}

// readByte reads a byte outside of strings.
func (t *Typer) readByte(c byte, watcher Watcher) {
	first := t.depth == 1 && t.place == beforeValue && c != ':' && !chars.IsSpace(c)
	if first && watcher != nil {
		watcher.Value(t.param, c)
	}
	switch c {
	case '{', '[':
		if t.depth++; t.depth > 1 {
			t.place = withinValue
		}
	case '}', ']':
		t.depth--
	case ',':
		if t.depth == 1 {
			t.place, t.key, t.param = beforeKey, t.key[:0], nil
		}
	case '"':
		t.str = true
		t.beginString(watcher)
	default:
		if first {
			t.place = withinValue
		}
	}
}

// beginString says what the string is that begins.
func (t *Typer) beginString(watcher Watcher) {
	switch {
	case t.depth != 1: // no object at all
	case t.place == beforeKey:
		t.place, t.key = withinKey, append(t.key, '"')
	case t.place == beforeValue && t.param != nil && excludesString(t.param.Types):
		t.place, t.held = withinHeld, append(t.held[:0], '"')
	default:
		t.place = withinValue
		if watcher != nil {
			watcher.BeginString()
		}
	}
}

// excludesString reports whether a schema says what a value is, and that it is no
// string.
func excludesString(types abi.Types) bool { return types != 0 && types&abi.String == 0 }

// find looks up the parameter whose key was read.
func (t *Typer) find() {
	name := t.key[1 : len(t.key)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		decoded, ok := relaxed.Unquote(t.key)
		if !ok {
			return
		}
		name = decoded
	}
	for i := range t.tool.Params {
		if p := &t.tool.Params[i]; p.Name == string(name) {
			t.param = p
			return
		}
	}
}

// retype writes a string that waited.
func (t *Typer) retype() {
	value, ok := typed.String(t.held, t.param.Types, t.maxDepth)
	if ok && (!t.strict || t.acceptable(value)) {
		t.changed = true
		t.out = append(t.out, value...)
	} else {
		t.out = append(t.out, t.held...)
	}
	t.held = t.held[:0]
}

// acceptable reports whether a value that a string held is one that all parsers read
// alike, and nests no deeper than it may where it stands.
func (t *Typer) acceptable(value []byte) bool {
	if value[0] != '{' && value[0] != '[' {
		return true
	}
	if t.maxDepth < 2 {
		return false
	}
	if t.inner == nil {
		t.inner = new(object)
	}
	t.inner.begin(nil, t.maxDepth-1, 0, 0)
	t.inner.read(value)
	return t.inner.walk().closed
}

// holding reports whether a string waits.
func (t *Typer) holding() bool { return t.place == withinHeld }
