package repair

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// quick is a schema of the plain sort, as most are: types, members, elements, words. It reads a value
// once and keeps nothing, and can tell that the value fits. What it cannot tell, that it does not
// fit among it, the library decides, which takes ten times as long.
type quick struct {
	types    abi.Types // 0: any
	members  map[string]*quick
	required map[string]uint64 // a bit for each
	all      uint64            // of these bits
	closed   bool              // no other members
	others   *quick            // these have to fit; nil: all do
	elements *quick            // nil: all fit
	words    []string          // the strings that are allowed, as JSON; nil: all are
	forms    []*quick          // of which one has to fit: no two have a type in common
}

// quickly reads schemas.
type quickly struct {
	root  map[string]any
	refs  map[string]*quick
	nodes int
}

// maxQuick is how many places a schema may have to be read.
const maxQuick = 1024

// newQuick reads a schema that the library has decoded. It is nil for one that says more than a
// quick can.
func newQuick(doc any) *quick {
	root, ok := doc.(map[string]any)
	if !ok {
		return nil
	}
	r := quickly{root: root, refs: map[string]*quick{}}
	q := &quick{}
	if !r.read(q, root) {
		return nil
	}
	return q
}

// silent are the keywords that say nothing about values, or nothing that is checked.
var silent = []string{"description", "title", "default", "examples", "$schema", "$defs", "definitions", "$comment", "format", "strict", "deprecated", "readOnly", "writeOnly"}

// read fills q with what a schema says. It reports false where that is more than q can hold.
func (r *quickly) read(q *quick, schema any) bool {
	if r.nodes++; r.nodes > maxQuick {
		return false
	}
	if schema == true {
		return true
	}
	s, ok := schema.(map[string]any)
	if !ok {
		return false
	}
	if ref, ok := s["$ref"]; ok {
		return r.follow(q, ref, s)
	}
	for key, v := range s {
		switch key {
		case "type":
			ok = q.readTypes(v)
		case "properties":
			ok = r.readMembers(q, v)
		case "required":
			ok = q.readRequired(v)
		case "additionalProperties":
			ok = r.readOthers(q, v)
		case "items":
			q.elements = &quick{}
			ok = r.read(q.elements, v)
		case "enum":
			ok = q.readWords(v)
		case "anyOf", "oneOf":
			ok = r.readForms(q, v)
		case "nullable": // the type says so already
		default:
			ok = slices.Contains(silent, key)
		}
		if !ok {
			return false
		}
	}
	return true
}

// follow reads the schema that a reference leads to, into q: those that lead to the same share its
// parts.
func (r *quickly) follow(q *quick, ref any, s map[string]any) bool {
	for key := range s {
		if key != "$ref" && !slices.Contains(silent, key) {
			return false
		}
	}
	text, _ := ref.(string)
	if text == "#" && r.refs[text] == nil { // the schema itself: it is being read
		return false
	}
	parts := strings.Split(text, "/")
	if len(parts) != 3 || parts[0] != "#" || parts[1] != "$defs" && parts[1] != "definitions" || strings.ContainsAny(parts[2], "~%") {
		return false
	}
	known := r.refs[text]
	if known == nil {
		list, _ := r.root[parts[1]].(map[string]any)
		target, found := list[parts[2]]
		if !found {
			return false
		}
		known = &quick{}
		r.refs[text] = known
		if !r.read(known, target) {
			return false
		}
	}
	q.forms = []*quick{known} // it may not be complete yet
	return true
}

func (q *quick) readTypes(v any) bool {
	names := []any{v}
	if list, ok := v.([]any); ok {
		names = list
	}
	for _, name := range names {
		text, _ := name.(string)
		t := quickTypes[text]
		if q.types |= t; t == 0 {
			return false
		}
	}
	return q.types != 0
}

var quickTypes = map[string]abi.Types{"object": abi.Object, "array": abi.Array, "string": abi.String, "integer": abi.Integer,
	"number": abi.Number | abi.Integer, "boolean": abi.Boolean, "null": abi.Null}

func (r *quickly) readMembers(q *quick, v any) bool {
	members, ok := v.(map[string]any)
	q.members = make(map[string]*quick, len(members))
	for name, schema := range members {
		m := &quick{}
		q.members[name] = m
		ok = ok && r.read(m, schema)
	}
	return ok
}

func (q *quick) readRequired(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) > 64 {
		return false
	}
	q.required = make(map[string]uint64, len(list))
	for i, name := range list {
		text, ok := name.(string)
		if _, twice := q.required[text]; !ok || twice {
			return false
		}
		q.required[text] = 1 << i
		q.all |= 1 << i
	}
	return true
}

func (r *quickly) readOthers(q *quick, v any) bool {
	switch v {
	case false:
		q.closed = true
		return true
	case true:
		return true
	}
	q.others = &quick{}
	return r.read(q.others, v)
}

func (q *quick) readWords(v any) bool {
	list, ok := v.([]any)
	if !ok || len(list) > 64 {
		return false
	}
	q.words = []string{}
	for _, word := range list {
		switch word := word.(type) {
		case string:
			b, err := json.Marshal(word)
			if err != nil {
				return false
			}
			q.words = append(q.words, string(b))
		case nil:
			q.words = append(q.words, "null")
		default: // numbers are equal in many ways
			return false
		}
	}
	return true
}

// readForms reads alternatives, of which the type of the value has to decide.
func (r *quickly) readForms(q *quick, v any) bool {
	list, ok := v.([]any)
	if !ok || len(q.forms) > 0 {
		return false
	}
	var all abi.Types
	for _, schema := range list {
		f := &quick{}
		if !r.read(f, schema) || f.types == 0 || all&f.types != 0 {
			return false // one that refers to another is not told apart by its type
		}
		all |= f.types
		q.forms = append(q.forms, f)
	}
	return len(list) > 0
}

// fits reports whether a value, strict JSON, fits for certain.
func (q *quick) fits(text []byte) bool {
	end := q.value(text, chars.Space(text, 0), 0)
	return end >= 0 && chars.Space(text, end) == len(text)
}

// plainNumber is how long a number may be to be looked at: others take arithmetic.
const plainNumber = 64

// value reads the value at a place, and gives the place behind it, or -1 where it is not certain that it
// fits.
func (q *quick) value(text []byte, at, depth int) int {
	if at >= len(text) || depth > mostDepth {
		return -1
	}
	c := text[at]
	t := typeOf(c)
	end := 0 // of a number
	if t&abi.Number != 0 {
		if end, t = number(text, at); end < 0 {
			return -1
		}
	}
	switch {
	case !q.takes(t):
		return -1
	case len(q.forms) > 0:
		return q.another(text, at, depth, t)
	case q.words != nil && (end > 0 || c == '{' || c == '['):
		return -1
	case end > 0:
		return end
	case c == '{':
		return q.object(text, at+1, depth)
	case c == '[':
		return q.array(text, at+1, depth)
	case c == '"':
		return q.word(text, at, stringEnd(text, at+1))
	}
	return q.word(text, at, wordEnd(text, at))
}

// wordEnd is the place behind true, false or null, or -1.
func wordEnd(text []byte, at int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if bytes.HasPrefix(text[at:], []byte(word)) {
			return at + len(word)
		}
	}
	return -1
}

// number is the place behind the number at a place, or -1, and its type: with a point or an exponent
// it is an integer in some cases, which are not looked at.
func number(text []byte, at int) (end int, t abi.Types) {
	t = abi.Integer
	for end = at + 1; end < len(text) && (chars.IsDigit(text[end]) || strings.IndexByte(".eE+-", text[end]) >= 0); end++ {
		if !chars.IsDigit(text[end]) {
			t = abi.Number
		}
	}
	if end-at > plainNumber || !relaxed.IsNumber(text[at:end]) {
		return -1, 0
	}
	return end, t
}

// word is the end of a string or a word, if it is one of those that are allowed.
func (q *quick) word(text []byte, at, end int) int {
	if end < 0 || q.words != nil && !slices.Contains(q.words, string(text[at:end])) {
		return -1
	}
	return end
}

// another reads a value by the alternative for its type. Where the schema says something itself too
// nothing is certain.
func (q *quick) another(text []byte, at, depth int, t abi.Types) int {
	itself := len(q.members)+len(q.required)+len(q.words) > 0 || q.words != nil || q.closed || q.elements != nil || q.others != nil
	form := q.form(t)
	if itself || form == nil {
		return -1
	}
	return form.value(text, at, depth+1)
}

// takes reports whether a value of a type may fit.
func (q *quick) takes(t abi.Types) bool { return q.types == 0 || q.types&t != 0 }

// form is the alternative for a type, nil if there are none, or none for it.
func (q *quick) form(t abi.Types) *quick {
	for _, f := range q.forms {
		if len(q.forms) == 1 || f.takes(t) {
			return f
		}
	}
	return nil
}

// stringEnd is the place behind the string whose inside begins at a place, or -1.
func stringEnd(text []byte, at int) int {
	end := at
	for {
		if end = chars.Plain(text, end); end >= len(text) {
			return -1
		}
		switch text[end] {
		case '"':
			return end + 1
		case '\\':
			n, kind := escapeUnit(text[end:])
			if kind != unitOK {
				return -1
			}
			end += n
		default:
			return -1
		}
	}
}

func (q *quick) object(text []byte, at, depth int) int {
	var seen uint64
	if at = chars.Space(text, at); at < len(text) && text[at] == '}' {
		return q.ends(at, seen)
	}
	for {
		key, behind := member(text, chars.Space(text, at))
		if behind < 0 {
			return -1
		}
		of, known := q.members[string(key)]
		switch {
		case known:
		case q.closed:
			return -1
		case q.others != nil:
			of = q.others
		default:
			of = anything
		}
		bit := q.required[string(key)]
		if seen&bit != 0 { // it is there twice
			return -1
		}
		seen |= bit
		if at = of.value(text, behind, depth+1); at < 0 {
			return -1
		}
		at = chars.Space(text, at)
		switch {
		case at < len(text) && text[at] == ',':
			at++
		case at < len(text) && text[at] == '}':
			return q.ends(at, seen)
		default:
			return -1
		}
	}
}

// ends is the place behind the brace at a place, if all members are there that have to.
func (q *quick) ends(at int, seen uint64) int {
	if seen != q.all {
		return -1
	}
	return at + 1
}

// member is the key at a place, and the place of its value, or -1.
func member(text []byte, at int) (key []byte, value int) {
	if at >= len(text) || text[at] != '"' {
		return nil, -1
	}
	end := stringEnd(text, at+1)
	if end < 0 {
		return nil, -1
	}
	key = text[at+1 : end-1]
	if at = chars.Space(text, end); at >= len(text) || text[at] != ':' || slices.Contains(key, '\\') {
		return nil, -1
	}
	return key, chars.Space(text, at+1)
}

var anything = &quick{}

func (q *quick) array(text []byte, at, depth int) int {
	element := q.elements
	if element == nil {
		element = anything
	}
	at = chars.Space(text, at)
	if at < len(text) && text[at] == ']' {
		return at + 1
	}
	for {
		if at = element.value(text, chars.Space(text, at), depth+1); at < 0 {
			return -1
		}
		if at = chars.Space(text, at); at >= len(text) {
			return -1
		}
		switch text[at] {
		case ',':
			at++
		case ']':
			return at + 1
		default:
			return -1
		}
	}
}
