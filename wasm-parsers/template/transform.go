package template

import (
	"slices"
	"strings"
)

// placeholder is the path in a string such as {content.name}, nil if the string is
// none. mixed says that it holds one besides other text, which is not supported.
func placeholder(s string) (path []string, mixed bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '{' {
			continue
		}
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			break
		}
		if path := strings.Split(s[i+1:i+end], "."); isPath(path) {
			if i == 0 && end == len(s)-1 {
				return path, false
			}
			return nil, true
		}
	}
	return nil, false
}

func isPath(path []string) bool {
	for _, name := range path {
		if name == "" || strings.ContainsFunc(name, func(c rune) bool { return !isWord(c) }) {
			return false
		}
	}
	return true
}

// checkPlaceholders refuses placeholders that nothing can stand for. The items of a
// list may have any key.
func (f *field) checkPlaceholders(s *section, t *node) {
	if t.isText() {
		path, mixed := placeholder(t.text)
		switch {
		case mixed:
			s.fail(refuse(s.where+".transform", t.text, `make the placeholder the whole string, such as "{content}"; text around it is not supported`))
		case path != nil && !f.each && path[0] != "content" && !slices.Contains(f.groups(), path[0]):
			known := append([]string{"content"}, f.groups()...)
			s.fail(refuse(s.where+".transform", t.text, "name a group of the markers or content; here these are "+strings.Join(known, ", ")))
		}
	}
	for i := range t.items {
		f.checkPlaceholders(s, &t.items[i])
	}
}

// scope is what placeholders stand for.
type scope struct {
	region  *region
	content value
	item    bool // content is an item of a list, whose keys are names
}

// apply fills in a transform. What a placeholder names may be absent.
func (s *scope) apply(t *node) value {
	switch {
	case t.isText():
		if path, _ := placeholder(t.text); path != nil {
			v := s.root(path[0])
			for _, key := range path[1:] {
				v = v.member(key)
			}
			return v
		}
		return value{kind: isText, text: t.text}
	case t.isObject(), t.isList():
		v := value{kind: isList, keys: t.keys, items: make([]value, len(t.items))}
		if t.isObject() {
			v.kind = isObject
		}
		for i := range t.items {
			v.items[i] = s.apply(&t.items[i])
		}
		return v
	}
	return value{kind: isJSON, json: t.raw}
}

func (s *scope) root(name string) value {
	if s.item {
		if v := s.content.member(name); v.kind != absent {
			return v
		}
	} else if name == "content" {
		return s.content
	}
	if i := slices.Index(s.region.keys, name); i >= 0 {
		return s.region.values[i]
	}
	return value{}
}

// transformed applies the field's transform to what the region holds.
func (r *region) transformed(v value) (value, bool) {
	if r.transform == nil {
		return v, true
	}
	if !r.each {
		s := scope{region: r, content: v.opened()}
		return s.apply(r.transform), true
	}
	items, ok := v.list()
	if !ok {
		items = []value{v} // one that stands without its list
	}
	list := value{kind: isList}
	for _, item := range items {
		if item.kind != isObject && (item.kind != isJSON || first(item.json) != '{') {
			return value{}, false
		}
		s := scope{region: r, content: item.opened(), item: true}
		v := s.apply(r.transform)
		v.source = item.appendJSON(nil)
		list.items = append(list.items, v)
	}
	return list, true
}
