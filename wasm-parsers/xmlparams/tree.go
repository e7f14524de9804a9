package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
)

// allTypes are the types of text that may be anything.
const allTypes = abi.String | abi.Integer | abi.Number | abi.Boolean | abi.Object | abi.Array | abi.Null

// kind is what an element may hold.
type kind uint8

const (
	isAny  kind = iota // elements, or text whose type is not known
	isDict             // elements with keys, or a JSON object
	isList             // elements without, or a JSON array
	isRaw              // text
	isJSON             // a JSON value
)

// element is an element that is open.
type element struct {
	kind    kind
	key     string
	close   string
	from    int // where the values of its members begin in json
	members []member
}

// member is a value inside an element: json[from:to] of the tree.
type member struct {
	key      string
	from, to int
}

// tree turns elements inside elements into JSON. An object is written at its end,
// for a key that comes again makes an array of its values.
type tree struct {
	open     []element
	types    sdk.Types // of the first element
	json     []byte
	text     []byte // since the last tag
	repaired bool
}

// begin begins a value that holds elements.
func (t *tree) begin(k kind, types sdk.Types, end string) {
	*t = tree{open: append(t.open[:0], element{kind: k, close: end}), types: types, text: t.text[:0]}
}

func (t *tree) top() *element { return &t.open[len(t.open)-1] }

// push opens an element inside the innermost one. Text may not stand beside it.
func (t *tree) push(e element, maxDepth int) bool {
	if len(chars.SkipSpace(t.text)) > 0 || len(t.open) >= maxDepth {
		return false
	}
	t.text = t.text[:0]
	e.from = len(t.json)
	t.open = append(t.open, e)
	return true
}

// mixed reports whether text stands beside elements, which no JSON is like.
func (t *tree) mixed() bool { return len(t.top().members) > 0 && len(chars.SkipSpace(t.text)) > 0 }

// pop closes the innermost element, which is not the first.
func (t *tree) pop(maxDepth int) bool {
	if t.mixed() {
		return false
	}
	e := t.top()
	json := t.value(e, maxDepth)
	t.json = append(t.json[:e.from], json...)
	m := member{key: e.key, from: e.from, to: len(t.json)}
	t.open = t.open[:len(t.open)-1]
	t.top().members = append(t.top().members, m)
	t.text = t.text[:0]
	return true
}

// end closes the first element and gives its value.
func (t *tree) end(maxDepth int) (json []byte, repaired bool) {
	json = t.value(t.top(), maxDepth)
	return json, t.repaired
}

// value is the JSON of an element.
func (t *tree) value(e *element, maxDepth int) []byte {
	if len(e.members) > 0 {
		if t.isArray(e) {
			return t.array(e)
		}
		return t.object(e)
	}
	return t.leaf(e.kind, maxDepth)
}

// isArray reports whether an element with members is an array: of items, unless the
// schema wants an object.
func (t *tree) isArray(e *element) bool {
	if e.kind != isAny {
		return e.kind == isList
	}
	if len(t.open) == 1 && t.types&abi.Object != 0 && t.types&abi.Array == 0 {
		return false
	}
	name := "item"
	if len(t.open) == 1 && t.types == abi.Array && len(e.members) > 1 {
		name = e.members[0].key // whatever the model calls them
	}
	for _, m := range e.members {
		if m.key != name {
			return false
		}
	}
	return true
}

func (t *tree) array(e *element) []byte {
	items := make([][]byte, len(e.members))
	for i, m := range e.members {
		items[i] = t.json[m.from:m.to]
	}
	return joined(items)
}

func (t *tree) object(e *element) []byte {
	places := make(map[string]int, len(e.members))
	var keys []string
	var values [][][]byte // of each key
	for _, m := range e.members {
		v := t.json[m.from:m.to]
		at, again := places[m.key]
		switch {
		case !again:
			places[m.key] = len(keys)
			keys, values = append(keys, m.key), append(values, [][]byte{v})
		case e.kind == isDict:
			values[at][0] = v // the last one counts
		default:
			values[at] = append(values[at], v)
		}
	}
	b := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(relaxed.AppendString(b, []byte(key)), ": "...)
		if len(values[i]) > 1 {
			b = append(b, joined(values[i])...)
		} else {
			b = append(b, values[i][0]...)
		}
	}
	return append(b, '}')
}

// leaf is the value of an element that holds text, or nothing.
func (t *tree) leaf(k kind, maxDepth int) []byte {
	var types sdk.Types
	switch k {
	case isRaw:
		return relaxed.AppendString(nil, t.text)
	case isDict:
		types = abi.Object
	case isList:
		types = abi.Array
	case isAny:
		if len(t.text) == 0 {
			return []byte("null")
		}
		types = allTypes // quotes would be part of the text
	}
	json, repaired := typed.Convert(t.text, types, maxDepth)
	t.repaired = t.repaired || repaired
	return json
}
