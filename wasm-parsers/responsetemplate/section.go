package responsetemplate

import (
	"slices"
	"strings"
)

// section is an object of the template and where it is.
type section struct {
	where string
	n     *node
}

// check refuses what is no object, and keys that are not known: they would change
// how the model's output has to be read.
func (s *section) check(known ...string) error {
	if s.n.kind != object {
		return refuse(s.where, s.n.string(), "write an object")
	}
	for i, key := range s.n.keys {
		if !slices.Contains(known, key) {
			return refuse(s.where+"."+key, s.n.items[i].string(), "remove it; the keys are "+strings.Join(known, ", "))
		}
	}
	return nil
}

// refuse makes an error of the value of a key.
func (s *section) refuse(key, fix string) error {
	value, ok := s.n.get(key)
	if !ok {
		return refuse(s.where+"."+key, "", fix)
	}
	return refuse(s.where+"."+key, value.string(), fix)
}

// text is the value of a key that holds a string; null is as if it were not there.
func (s *section) text(key string) (string, bool, error) {
	value, ok := s.n.get(key)
	if !ok || value.kind == null {
		return "", false, nil
	}
	if value.kind != text || value.text == "" {
		return "", false, s.refuse(key, "write a string that is not empty, or remove it")
	}
	return value.text, true, nil
}

// flag is the value of a key that holds true or false.
func (s *section) flag(key string) (bool, error) {
	value, ok := s.n.get(key)
	if !ok || value.kind == null {
		return false, nil
	}
	switch string(value.raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, s.refuse(key, "write true or false")
}

// texts is the value of a key that holds a list of strings, or one.
func (s *section) texts(key string) ([]string, error) {
	value, ok := s.n.get(key)
	if !ok || value.kind == null {
		return nil, nil
	}
	items := value.items
	if value.kind == text {
		items = []node{value}
	} else if value.kind != array {
		return nil, s.refuse(key, "write a list of strings")
	}
	var texts []string
	for _, item := range items {
		if item.kind != text || item.text == "" {
			return nil, s.refuse(key, "write a list of strings that are not empty")
		}
		texts = append(texts, item.text)
	}
	return texts, nil
}
