package template

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// Limits of a template.
const (
	maxTemplate = 64 << 10 // bytes
	maxNesting  = 32       // of its JSON
	maxFields   = 32
)

// role is what becomes of the text of a field.
type role uint8

const (
	toContent role = iota
	toReasoning
	toCalls
	dropped
)

// field is a kind of region.
type field struct {
	name      string
	role      role
	open      *program // nil for the implicit field
	close     *program // nil if the end of the output ends the region
	content   *content
	transform *node
	each      bool   // transform is for the items of a list
	join      string // between the texts of two regions
	joins     bool
}

// template is a response_template that was accepted.
type template struct {
	fields   []*field
	implicit *field // takes the text that is left over; nil if the template has none
}

// load reads a template. Its errors name the key, the value and what to do.
func load(source string) (*template, error) {
	if len(source) > maxTemplate {
		return nil, refuse("template", source, "shorten it to "+strconv.Itoa(maxTemplate)+" bytes")
	}
	strict, kind, ok := relaxed.Value([]byte(source), maxNesting)
	if !ok || kind != relaxed.ObjectOpen || !bytes.Equal(strict, chars.TrimSpace([]byte(source))) {
		return nil, refuse("template", source, "write it as a JSON object that nests at most "+strconv.Itoa(maxNesting)+" deep")
	}
	root := readNode(strict)
	s := section{"template", &root}
	if err := s.check("version", "defaults", "fields", "start_anchor", "start_anchor_pattern"); err != nil {
		return nil, err
	}
	l := loader{t: &template{}, left: newBudget()}
	if err := checkRoot(&s); err != nil {
		return nil, err
	}
	fields := root.get("fields")
	for i := range fields.items {
		if err := l.field(fields.keys[i], &fields.items[i]); err != nil {
			return nil, err
		}
	}
	return l.t, nil
}

// loader is a template that is being read.
type loader struct {
	t    *template
	left budget
}

// checkRoot checks what stands beside the fields. The anchor marks where the answer
// begins in prompt and output together; a gateway has the output only.
func checkRoot(s *section) error {
	if v := s.n.get("version"); v != nil && string(v.raw) != "1" {
		return s.refuse("version", "write 1, the version that is understood")
	}
	if d := s.n.get("defaults"); d != nil && !d.isObject() {
		return s.refuse("defaults", "write an object")
	}
	if s.n.get("start_anchor") != nil {
		if _, err := s.texts("start_anchor"); err != nil {
			return err
		}
	}
	if _, err := s.text("start_anchor_pattern", ""); err != nil {
		return err
	}
	fields := s.n.get("fields")
	switch {
	case fields == nil || !fields.isObject() || len(fields.items) == 0:
		return s.refuse("fields", "give an object of the fields by name")
	case len(fields.items) > maxFields:
		return s.refuse("fields", "use at most "+strconv.Itoa(maxFields)+" fields")
	}
	return nil
}

func (l *loader) field(name string, n *node) error {
	s := section{"fields." + name, n}
	if err := s.check("open", "open_pattern", "close", "close_pattern", "content", "content_args",
		"repeats", "join", "optional", "transform", "transform_each"); err != nil {
		return err
	}
	if slices.ContainsFunc(l.t.fields, func(f *field) bool { return f.name == name }) {
		return refuse(s.where, n.show(), "remove it; the field is there twice")
	}
	f := &field{name: name, role: roleOf(name)}
	var err error
	if f.open, err = l.marker(&s, "open"); err != nil {
		return err
	}
	if f.close, err = l.marker(&s, "close"); err != nil {
		return err
	}
	if f.content, err = l.content(&s, "content", "content_args", 0); err != nil {
		return err
	}
	if err := f.readFlags(&s); err != nil {
		return err
	}
	if err := f.readTransform(&s); err != nil {
		return err
	}
	return l.place(f, &s)
}

// roleOf says what becomes of a field. OpenAI's form has no place for a field with
// a name of its own, so its text is content; the role of the message is framing.
func roleOf(name string) role {
	switch name {
	case "thinking", "reasoning", "reasoning_content":
		return toReasoning
	case "tool_calls":
		return toCalls
	case "role":
		return dropped
	}
	return toContent
}

// place checks the field's markers and adds it to the template.
func (l *loader) place(f *field, s *section) error {
	l.t.fields = append(l.t.fields, f)
	if f.open != nil {
		if f.open.minimum(false) == 0 {
			return s.refuse(f.open.key, "make a part of it required; it matches the empty text")
		}
		return nil
	}
	switch {
	case l.t.implicit != nil:
		return s.refuse("open", "give open or open_pattern; only one field, here "+l.t.implicit.name+", takes the text that is left over")
	case f.role == toCalls || f.role == dropped:
		return s.refuse("open", "give open or open_pattern; the text that is left over cannot be "+f.name)
	case f.close != nil && f.close.minimum(true) == 0:
		return s.refuse(f.close.key, "make a part of it required; without an opening marker it may not match the empty text")
	}
	l.t.implicit = f
	return nil
}

func (f *field) readFlags(s *section) error {
	if _, err := s.flag("optional", true); err != nil { // a reply is passed on as it is
		return err
	}
	repeats, err := s.flag("repeats", false)
	if err != nil {
		return err
	}
	j := s.n.get("join")
	switch {
	case j == nil || j.isNull():
		return nil
	case !j.isText():
		return s.refuse("join", "write a string")
	case !repeats:
		return s.refuse("join", `add "repeats": true, or remove it`)
	}
	f.join, f.joins = j.text, true
	return nil
}

// marker compiles the literals under a key, or the pattern under the key with
// _pattern.
func (l *loader) marker(s *section, key string) (*program, error) {
	literals, pattern := s.n.get(key), s.n.get(key+"_pattern")
	var p *program
	var err error
	switch {
	case literals != nil && pattern != nil:
		return nil, s.refuse(key, "give "+key+" or "+key+"_pattern, not both")
	case literals != nil:
		var texts []string
		if texts, err = s.texts(key); err != nil {
			return nil, err
		}
		p, err = l.left.literals(texts)
	case pattern != nil:
		key += "_pattern"
		if !pattern.isText() {
			return nil, s.refuse(key, "write a string")
		}
		p, err = l.left.pattern(pattern.text)
	default:
		return nil, nil //nolint:nilnil // a field may have no marker
	}
	if err != nil {
		return nil, s.refuse(key, err.Error())
	}
	p.key = key
	return p, nil
}

// section is an object of the template and where it is.
type section struct {
	where string
	n     *node
}

// check refuses what is no object, and keys that are not known.
func (s *section) check(known ...string) error {
	if !s.n.isObject() {
		return refuse(s.where, s.n.show(), "write an object")
	}
	for i, key := range s.n.keys {
		if !slices.Contains(known, key) {
			return refuse(s.where+"."+key, s.n.items[i].show(), "remove it; the keys are "+strings.Join(known, ", "))
		}
	}
	return nil
}

func (s *section) refuse(key, fix string) error {
	return refuse(s.where+"."+key, s.n.get(key).show(), fix)
}

func (s *section) flag(key string, missing bool) (bool, error) {
	v := s.n.get(key)
	switch {
	case v == nil:
		return missing, nil
	case string(v.raw) == "true":
		return true, nil
	case string(v.raw) == "false":
		return false, nil
	}
	return false, s.refuse(key, "write true or false")
}

// texts is a string, or a list of them, none of which is empty.
func (s *section) texts(key string) ([]string, error) {
	v := s.n.get(key)
	items := []node{*v}
	if v.isList() {
		items = v.items
	}
	var texts []string
	for i := range items {
		if !items[i].isText() || items[i].text == "" {
			return nil, s.refuse(key, "write a string or a list of strings, none of them empty")
		}
		texts = append(texts, items[i].text)
	}
	if len(texts) == 0 {
		return nil, s.refuse(key, "give at least one string")
	}
	return texts, nil
}

// text is a string with a default.
func (s *section) text(key, missing string) (string, error) {
	v := s.n.get(key)
	if v == nil {
		return missing, nil
	}
	if !v.isText() || v.text == "" {
		return "", s.refuse(key, "write a string that is not empty")
	}
	return v.text, nil
}
