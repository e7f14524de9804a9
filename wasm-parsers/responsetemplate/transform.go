package responsetemplate

import "strings"

// env is what the placeholders of a transform stand for.
type env struct {
	names   []string // the named groups of the markers
	values  []node
	content node
	left    *int // bytes that may still be written
}

// nodeCost is what a value of a transform costs besides its text.
const nodeCost = 16

// render fills in a transform. It reports false if a value that is part of a
// string is missing, or if the result is too large. A string that is exactly one
// placeholder becomes the value, or is missing like it.
func (e *env) render(t *node) (node, bool) {
	*e.left -= nodeCost + len(t.text)
	if *e.left < 0 {
		return node{}, false
	}
	switch t.kind {
	case text:
		return e.renderText(t.text)
	case object, array:
		n := node{kind: t.kind, keys: t.keys, items: make([]node, len(t.items))}
		for i := range t.items {
			var ok bool
			if n.items[i], ok = e.render(&t.items[i]); !ok {
				return n, false
			}
		}
		return n, true
	}
	return *t, true
}

func (e *env) renderText(s string) (node, bool) {
	before, name, after, ok := placeholder(s)
	if ok && before == "" && after == "" {
		return e.value(name)
	}
	var b strings.Builder
	for ok {
		value, fits := e.value(name)
		if !fits || value.kind == missing {
			return value, false
		}
		b.WriteString(before)
		b.WriteString(value.string())
		before, name, after, ok = placeholder(after)
		if !ok {
			s = before
		}
	}
	b.WriteString(s)
	return node{kind: text, text: b.String()}, true
}

// value is what a name stands for: a group, the content, or a member of it.
func (e *env) value(name string) (node, bool) {
	n := e.lookup(name)
	*e.left -= len(n.text) + len(n.raw)
	return n, *e.left >= 0
}

func (e *env) lookup(name string) node {
	for i, g := range e.names {
		if g == name {
			return e.values[i]
		}
	}
	if name == "content" {
		return e.content
	}
	n := e.content
	for {
		if item, ok := n.get(name); ok {
			return item
		}
		key, rest, dotted := strings.Cut(name, ".")
		item, ok := n.get(key)
		if !dotted || !ok {
			return node{}
		}
		n, name = item, rest
	}
}

// placeholder finds the first {name} in s. Without one, before is s.
func placeholder(s string) (before, name, after string, ok bool) {
	for from := 0; ; {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 {
			return s, "", "", false
		}
		i += from + 1
		n := 0
		for i+n < len(s) && isNameByte(s[i+n]) {
			n++
		}
		if n > 0 && i+n < len(s) && s[i+n] == '}' {
			return s[:i-1], s[i : i+n], s[i+n+1:], true
		}
		from = i + n
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-'
}

// readTransforms takes the transforms of a field.
func (f *field) readTransforms(s *section) error {
	for _, t := range []struct {
		key string
		to  **node
	}{{"transform", &f.transform}, {"transform_each", &f.each}} {
		value, ok := s.n.get(t.key)
		if !ok || value.kind == null {
			continue
		}
		if value.kind == scalar {
			return s.refuse(t.key, "write an object, a list or a string with placeholders")
		}
		*t.to = &value
	}
	return nil
}

// checkPlaceholders refuses a placeholder that nothing can stand for.
func (f *field) checkPlaceholders() error {
	for _, t := range []struct {
		key string
		n   *node
	}{{"transform", f.transform}, {"transform_each", f.each}} {
		if t.n == nil {
			continue
		}
		if name := f.unknown(t.n); name != "" {
			return refuse("fields."+f.name+"."+t.key, "{"+name+"}",
				"name a group of the markers or {content}; a content of "+f.content.name+" has no keys")
		}
	}
	return nil
}

// unknown is the first placeholder in n that has no value in any output.
func (f *field) unknown(n *node) string {
	for i := range n.items {
		if name := f.unknown(&n.items[i]); name != "" {
			return name
		}
	}
	if n.kind != text || f.content.structured() {
		return ""
	}
	for _, name, after, ok := placeholder(n.text); ok; _, name, after, ok = placeholder(after) {
		if name != "content" && !f.hasGroup(name) {
			return name
		}
	}
	return ""
}

func (f *field) hasGroup(name string) bool {
	return f.opens != nil && f.opens.group(name) >= 0 || f.closes != nil && f.closes.group(name) >= 0
}
