package chain

import (
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// args reads the arguments of one call as they come: it notes which required
// parameters are there, and where the model wrote a string for a parameter that
// takes none, such as "3" for an integer, it writes what the string says, if that
// is exactly such a value. All else goes through as it is.
//
// The text is strict JSON, as parsers write it, cut anywhere.
type args struct {
	tool     *abi.Tool
	maxDepth int
	lacking  int  // required parameters that have not come
	changed  bool // a string was given its type

	place   place
	depth   int
	escaped bool // the last byte of a string was a backslash
	str     bool // inside a string, of any depth
	key     []byte
	param   *abi.Param // whose value is read
	seen    []bool     // parameters that have come
	held    []byte     // a string that may be given its type
	value   []byte     // the beginning of a string that is a value of the object itself
	strings int        // such strings
	samples int        // those of them that documentation writes for a value
	out     []byte
}

// place is what comes next in the object of arguments, at its own depth.
type place uint8

const (
	atKey place = iota
	inKey
	atValue
	inValue
	inHeld // in a string that waits
)

// begin makes a ready for the arguments of another call; tool is nil if it was not
// offered.
func (a *args) begin(tool *abi.Tool, maxDepth int) {
	*a = args{tool: tool, maxDepth: maxDepth, key: a.key[:0], held: a.held[:0], value: a.value[:0], out: a.out[:0], seen: a.seen[:0]}
	if tool == nil {
		return
	}
	for i := range tool.Params {
		a.seen = append(a.seen, false)
		if tool.Params[i].Required {
			a.lacking++
		}
	}
}

// missing reports whether a required parameter has not come.
func (a *args) missing() bool { return a.lacking > 0 }

// read takes the next bytes and returns those that are certain.
func (a *args) read(text string) string {
	if a.tool == nil || len(a.tool.Params) == 0 {
		return text
	}
	a.out = a.out[:0]
	for len(text) > 0 {
		n := 1
		if a.str {
			n = a.readString(text)
		} else {
			a.readByte(text[0])
		}
		text = text[n:]
	}
	return string(a.out)
}

// readString reads some of a string, or its end.
func (a *args) readString(text string) int {
	n := 1
	switch {
	case a.escaped:
		a.escaped = false
	case text[0] == '\\':
		a.escaped = true
	case text[0] == '"':
		a.str = false
	default:
		if n = strings.IndexAny(text, `"\`); n < 0 {
			n = len(text)
		}
	}
	switch a.place {
	case inHeld:
		a.held = append(a.held, text[:n]...)
		if !a.str {
			a.place = inValue
			a.retype()
		}
		return n
	case inKey:
		a.key = append(a.key, text[:n]...)
		if !a.str {
			a.place = atValue
			a.find()
		}
	case inValue:
		a.sample(text[:n])
	case atKey, atValue:
	}
	a.out = append(a.out, text[:n]...)
	return n
}

// readByte reads a byte outside of strings.
func (a *args) readByte(c byte) {
	first := a.depth == 1 && a.place == atValue && c != ':' && !isSpace(c)
	if first {
		a.arrive(c)
	}
	switch c {
	case '{', '[':
		if a.depth++; a.depth > 1 {
			a.place = inValue
		}
	case '}', ']':
		a.depth--
	case ',':
		if a.depth == 1 {
			a.place, a.key, a.param = atKey, a.key[:0], nil
		}
	case '"':
		a.str = true
		if a.beginString(); a.place == inHeld {
			return
		}
	default:
		if first {
			a.place = inValue
		}
	}
	a.out = append(a.out, c)
}

// beginString says what the string is that begins.
func (a *args) beginString() {
	switch {
	case a.depth != 1:
	case a.place == atKey:
		a.place, a.key = inKey, append(a.key, '"')
	case a.place == atValue && a.param != nil && a.param.Types != 0 && a.param.Types&abi.String == 0:
		a.place, a.held = inHeld, append(a.held[:0], '"')
	default:
		a.place, a.value = inValue, append(a.value[:0], '"')
	}
}

// sample looks at the strings among the arguments, at their beginnings alone.
func (a *args) sample(text string) {
	const longest = 64
	if a.depth != 1 {
		return
	}
	if len(a.value) < longest {
		a.value = append(a.value, text[:min(len(text), longest-len(a.value))]...)
	}
	if a.str {
		return
	}
	a.strings++
	if v := strings.Trim(string(a.value), `"`); isSample(v) {
		a.samples++
	}
}

// isSample reports whether a string is what documentation writes for a value.
func isSample(v string) bool {
	switch v {
	case "...", "…", "string", "str", "integer", "int", "number", "float", "boolean", "bool", "object", "array":
		return true
	}
	if strings.HasPrefix(v, "YOUR_") {
		return true
	}
	words := strings.Trim(v, "<>[]{}")
	if len(words) < 2 || len(v)-len(words) < 2 || strings.IndexByte("<[{", v[0]) < 0 || strings.IndexByte(">]}", v[len(v)-1]) < 0 {
		return false
	}
	for _, b := range []byte(words) { // <city>, [city name], {{city}}: words alone
		if b < 0x80 && !isWord(b) && b != ' ' && b != '_' && b != '-' || b == '{' || b == '.' {
			return false
		}
	}
	return true
}

// example reports whether all strings are such.
func (a *args) example() bool { return a.strings > 0 && a.samples == a.strings }

// arrive notes that a value begins. Null, where the schema has none, is no value.
func (a *args) arrive(c byte) {
	p := a.param
	if p == nil || c == 'n' && p.Types != 0 && p.Types&abi.Null == 0 {
		return
	}
	for i := range a.tool.Params {
		if &a.tool.Params[i] == p && !a.seen[i] {
			a.seen[i] = true
			if p.Required {
				a.lacking--
			}
		}
	}
}

// find looks up the parameter whose key was read.
func (a *args) find() {
	name := a.key[1 : len(a.key)-1]
	if strings.IndexByte(string(name), '\\') >= 0 {
		decoded, ok := relaxed.Unquote(a.key)
		if !ok {
			return
		}
		name = decoded
	}
	for i := range a.tool.Params {
		p := &a.tool.Params[i]
		if p.Name != string(name) {
			continue
		}
		a.param = p
		return
	}
}

// retype writes a string that waited.
func (a *args) retype() {
	if value, ok := typed.String(a.held, a.param.Types, a.maxDepth); ok {
		a.changed = true
		a.out = append(a.out, value...)
	} else {
		a.out = append(a.out, a.held...)
	}
	a.held = a.held[:0]
}
