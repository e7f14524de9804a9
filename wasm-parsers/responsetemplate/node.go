package responsetemplate

import (
	"bytes"

	"github.com/callgate/callgate/sdk/relaxed"
)

// kind says what a node is.
type kind uint8

const (
	missing kind = iota // a placeholder that has no value
	object
	array
	text
	scalar // a number, true or false
	null
)

// node is a JSON value. raw is the JSON that it was read from, if it was.
type node struct {
	kind  kind
	raw   []byte
	text  string // of text
	keys  []string
	items []node // of an object in the order of keys, of an array
}

// readNode makes a tree of strict JSON, which relaxed has written, and says
// how much of it was read.
func readNode(strict []byte) (node, int) {
	i := space(strict, 0)
	var n node
	var size int
	switch strict[i] {
	case '{', '[':
		n, size = readItems(strict[i:])
	case '"':
		size = stringEnd(strict[i:])
		decoded, _ := relaxed.Unquote(strict[i : i+size])
		n = node{kind: text, text: string(decoded)}
	default:
		for size = 1; i+size < len(strict) && bytes.IndexByte([]byte(",]} \t\r\n"), strict[i+size]) < 0; {
			size++
		}
		n.kind = scalar
		if strict[i] == 'n' {
			n.kind = null
		}
	}
	n.raw = strict[i : i+size]
	return n, i + size
}

// readItems reads an object or array.
func readItems(strict []byte) (node, int) {
	n := node{kind: array}
	if strict[0] == '{' {
		n.kind = object
	}
	i := space(strict, 1)
	for strict[i] != '}' && strict[i] != ']' {
		if n.kind == object {
			size := stringEnd(strict[i:])
			key, _ := relaxed.Unquote(strict[i : i+size])
			n.keys = append(n.keys, string(key))
			i = space(strict, i+size) + 1 // the colon
		}
		item, size := readNode(strict[i:])
		n.items = append(n.items, item)
		if i = space(strict, i+size); strict[i] == ',' {
			i = space(strict, i+1)
		}
	}
	return n, i + 1
}

func space(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// stringEnd is the length of the string that b begins with.
func stringEnd(b []byte) int {
	i := 1
	for b[i] != '"' {
		if b[i] == '\\' {
			i++
		}
		i++
	}
	return i + 1
}

// get is the last member called key.
func (n *node) get(key string) (node, bool) {
	if n.kind == object {
		for i := len(n.keys) - 1; i >= 0; i-- {
			if n.keys[i] == key {
				return n.items[i], true
			}
		}
	}
	return node{}, false
}

// appendJSON writes a node as strict JSON. A missing value is null.
func (n *node) appendJSON(b []byte) []byte {
	if n.raw != nil {
		return append(b, n.raw...)
	}
	switch n.kind {
	case text:
		return relaxed.AppendString(b, []byte(n.text))
	case object, array:
		return n.appendItems(b)
	}
	return append(b, "null"...)
}

func (n *node) appendItems(b []byte) []byte {
	open, end := byte('['), byte(']')
	if n.kind == object {
		open, end = '{', '}'
	}
	b = append(b, open)
	first := true
	for i := range n.items {
		if n.items[i].kind == missing {
			continue
		}
		if !first {
			b = append(b, ", "...)
		}
		first = false
		if n.kind == object {
			b = append(relaxed.AppendString(b, []byte(n.keys[i])), ": "...)
		}
		b = n.items[i].appendJSON(b)
	}
	return append(b, end)
}

// string is a text's text, and the JSON of anything else.
func (n *node) string() string {
	if n.kind == text {
		return n.text
	}
	return string(n.appendJSON(nil))
}
