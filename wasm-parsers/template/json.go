package template

import (
	"bytes"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// The functions of this file read strict JSON that package relaxed has written, so
// they find no mistakes in it.

// trim cuts off white space as Python's strip does, as far as it is ASCII.
func trim(b []byte) []byte { return bytes.Trim(b, " \t\r\n\v\f") }

// stringEnd is the place behind the string that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd is the place behind the value that begins at i.
func valueEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			i = stringEnd(b, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ' ', '\t', '\r', '\n', ':':
			i++
			continue
		default:
			for i < len(b) && bytes.IndexByte([]byte(",]} \t\r\n"), b[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			break
		}
	}
	return i
}

// each calls use with the key, which is nil in an array, and the value of every
// item of an object or array, until use returns false.
func each(b []byte, use func(key, value []byte) bool) {
	i := chars.Space(b, 0)
	isObject := b[i] == '{'
	for i = chars.Space(b, i+1); b[i] != '}' && b[i] != ']'; {
		var key []byte
		if isObject {
			end := stringEnd(b, i)
			key = b[i:end]
			i = chars.Space(b, chars.Space(b, end)+1) // behind the colon
		}
		end := valueEnd(b, i)
		if !use(key, b[i:end]) {
			return
		}
		if i = chars.Space(b, end); b[i] == ',' {
			i = chars.Space(b, i+1)
		}
	}
}

// first is the first byte of a value, which tells what it is.
func first(b []byte) byte {
	if b = b[chars.Space(b, 0):]; len(b) > 0 {
		return b[0]
	}
	return 0
}

// node is a value of the template, as a tree.
type node struct {
	raw   []byte
	text  string // of a string
	keys  []string
	items []node // of an object in the order of keys, or of an array
}

// readNode makes a tree of a value, which must not nest deep.
func readNode(b []byte) node {
	n := node{raw: b}
	switch first(b) {
	case '"':
		text, _ := relaxed.Unquote(b)
		n.text = string(text)
	case '{', '[':
		each(b, func(key, value []byte) bool {
			if key != nil {
				text, _ := relaxed.Unquote(key)
				n.keys = append(n.keys, string(text))
			}
			n.items = append(n.items, readNode(value))
			return true
		})
	}
	return n
}

func (n *node) isObject() bool { return first(n.raw) == '{' }
func (n *node) isList() bool   { return first(n.raw) == '[' }
func (n *node) isText() bool   { return first(n.raw) == '"' }
func (n *node) isNull() bool   { return first(n.raw) == 'n' }

// get is the last member called key, or nil.
func (n *node) get(key string) *node {
	for i := len(n.keys) - 1; i >= 0; i-- {
		if n.keys[i] == key {
			return &n.items[i]
		}
	}
	return nil
}

// show is the node as errors show it.
func (n *node) show() string {
	switch {
	case n == nil:
		return ""
	case n.isText():
		return n.text
	}
	return string(n.raw)
}
