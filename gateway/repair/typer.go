package repair

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// Typer gives the values of one call their types as they come: where the model
// wrote a string for a value that is to be none, such as "3" for an integer, it
// writes what the string says, if that is exactly such a value. That is so for the
// parameters and, as far as a [Shape] says what is in them, for all that they hold.
// All else goes through as it is. A string that may be given its type is held until
// it is complete.
//
// The text is strict JSON, cut anywhere. Begin makes a Typer ready for a call and
// keeps its memory.
type Typer struct {
	tool     *abi.Tool
	root     *Shape
	maxDepth int
	strict   bool // gives no type that JSON parsers would read differently
	changed  bool

	place   place
	levels  []level // the objects and arrays that are open and looked into
	skipped int     // how many are open that are not, within those
	escaped bool    // the last byte of a string was a backslash
	str     bool    // inside a string, of any depth
	key     []byte
	value
	held  []byte // a string that may be given its type
	out   []byte
	inner *object // checks what a string held
	// within gives the types in what a string held, which is text of its own.
	within *Typer
}

// level is an object or array that is open.
type level struct {
	shape *Shape
	array bool
	begun int // elements
}

// value is what is known of the value that comes or is read.
type value struct {
	param *abi.Param // of the call itself; nil if it is nested, or not known
	shape *Shape     // what is in it
}

// types are those that it may have, 0 for any.
func (v *value) types() abi.Types {
	switch {
	case v.param != nil:
		return v.param.Types
	case v.shape != nil:
		return v.shape.Types
	}
	return 0
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

// place is what comes next in the object or array that is looked into.
type place uint8

const (
	beforeKey place = iota
	withinKey
	beforeValue
	withinValue
	withinHeld // in a string that waits
)

// Begin makes t ready for the arguments of a call of tool, which is nil if it is not
// known. root is what its schema says of what is in them, or nil. maxDepth is how deep
// a value may nest that a string holds; less than 1 means [abi.DefaultMaxDepth].
func (t *Typer) Begin(tool *abi.Tool, root *Shape, maxDepth int) {
	*t = Typer{tool: tool, root: root, maxDepth: maxDepth, levels: t.levels[:0], key: t.key[:0], held: t.held[:0], out: t.out[:0], inner: t.inner, within: t.within}
}

// Changed reports whether a string was given its type.
func (t *Typer) Changed() bool { return t.changed }

// Read takes the next bytes and returns those that are certain. They are text
// itself if nothing in it waits or waited, and valid until the next call. watcher
// may be nil.
func (t *Typer) Read(text []byte, watcher Watcher) []byte {
	if t.root == nil && (t.tool == nil || len(t.tool.Params) == 0) {
		return text
	}
	t.out = t.out[:0]
	from, whole := 0, t.place != withinHeld
	for i := 0; i < len(text); {
		if t.skipped > 0 {
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
		if watcher != nil && t.outermost() {
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
			t.skipped++
		case '}', ']':
			if t.skipped--; t.skipped == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(text)
}

// outermost reports whether what is read is the object of the arguments itself.
func (t *Typer) outermost() bool { return len(t.levels) == 1 && !t.levels[0].array }

// readByte reads a byte outside of strings.
func (t *Typer) readByte(c byte, watcher Watcher) {
	first := t.place == beforeValue && c != ':' && !chars.IsSpace(c)
	if first && watcher != nil && t.outermost() {
		watcher.Value(t.param, c)
	}
	switch c {
	case '{', '[':
		t.open(c)
	case '}', ']':
		if n := len(t.levels); n > 0 {
			t.levels = t.levels[:n-1]
		}
		t.place = withinValue
	case ',':
		t.begin()
	case '"':
		t.str = true
		t.beginString(watcher)
	default:
		if first {
			t.place = withinValue
		}
	}
}

// open begins an object or an array, which is skipped if nothing is to be seen in it.
func (t *Typer) open(c byte) {
	shape := t.shape
	if len(t.levels) == 0 {
		shape = t.root
	} else if t.place = withinValue; !shape.inside(c) {
		t.skipped = 1
		return
	}
	t.levels = append(t.levels, level{shape: shape, array: c == '['})
	t.begin()
}

// begin begins a member or an element of what is open.
func (t *Typer) begin() {
	if len(t.levels) == 0 {
		return
	}
	t.place, t.key, t.value = beforeKey, t.key[:0], value{}
	if l := &t.levels[len(t.levels)-1]; l.array {
		if t.place = beforeValue; l.shape != nil {
			t.shape = l.shape.element(l.begun)
			l.begun++
		}
	}
}

// beginString says what the string is that begins.
func (t *Typer) beginString(watcher Watcher) {
	switch {
	case len(t.levels) == 0: // no object at all
	case t.place == beforeKey:
		t.place, t.key = withinKey, append(t.key, '"')
	case t.place == beforeValue && excludesString(t.types()):
		t.place, t.held = withinHeld, append(t.held[:0], '"')
	default:
		t.place = withinValue
		if watcher != nil && t.outermost() {
			watcher.BeginString()
		}
	}
}

// excludesString reports whether a schema says what a value is, and that it is no
// string.
func excludesString(types abi.Types) bool { return types != 0 && types&abi.String == 0 }

// find looks up the value whose key was read.
func (t *Typer) find() {
	name := t.key[1 : len(t.key)-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		decoded, ok := relaxed.Unquote(t.key)
		if !ok {
			return
		}
		name = decoded
	}
	if l := &t.levels[len(t.levels)-1]; l.shape != nil {
		member, named := l.shape.Members[string(name)]
		if t.shape = member; !named {
			t.shape = l.shape.Others
		}
	}
	if t.tool == nil || !t.outermost() {
		return
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
	value, ok := typed.String(t.held, t.types(), t.maxDepth)
	if ok && (!t.strict || t.acceptable(value)) {
		t.changed = true
		t.out = append(t.out, t.inside(value)...)
	} else {
		t.out = append(t.out, t.held...)
	}
	t.held = t.held[:0]
}

// inside is a value that a string held, in which strings are given their types too.
func (t *Typer) inside(value []byte) []byte {
	depth := depthOr(t.maxDepth) - len(t.levels)
	if !t.shape.inside(value[0]) || depth < 1 {
		return value
	}
	if t.within == nil {
		t.within = new(Typer)
	}
	t.within.Begin(nil, t.shape, depth)
	t.within.strict = t.strict
	return t.within.Read(value, nil)
}

// acceptable reports whether a value that a string held is one that all parsers read
// alike, and nests no deeper than it may where it stands.
func (t *Typer) acceptable(value []byte) bool {
	if value[0] != '{' && value[0] != '[' {
		return true
	}
	if t.maxDepth <= len(t.levels) {
		return false
	}
	if t.inner == nil {
		t.inner = new(object)
	}
	t.inner.begin(nil, nil, t.maxDepth-len(t.levels), 0, 0)
	t.inner.read(value)
	return t.inner.walk().closed
}

// holding reports whether a string waits.
func (t *Typer) holding() bool { return t.place == withinHeld }
