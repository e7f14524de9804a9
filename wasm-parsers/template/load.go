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
	s := section{where: "template", n: &root}
	s.check("version", "defaults", "fields", "start_anchor", "start_anchor_pattern")
	fields := s.fields()
	if s.err != nil {
		return nil, s.err
	}
	l := loader{t: &template{}, left: budget{maxPrograms, maxClasses}}
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

// fields are the fields, and checks what stands beside them. The anchor marks where the answer
// begins in prompt and output together; a gateway has the output only.
func (s *section) fields() *node {
	if v := s.n.get("version"); v != nil && string(v.raw) != "1" {
		s.refuse("version", "write 1, the version that is understood")
	}
	if d := s.n.get("defaults"); d != nil && !d.isObject() {
		s.refuse("defaults", "write an object")
	}
	if s.n.get("start_anchor") != nil {
		s.texts("start_anchor")
	}
	s.text("start_anchor_pattern", "")
	fields := s.n.get("fields")
	switch {
	case fields == nil || !fields.isObject() || len(fields.items) == 0:
		s.refuse("fields", "give an object of the fields by name")
	case len(fields.items) > maxFields:
		s.refuse("fields", "use at most "+strconv.Itoa(maxFields)+" fields")
	}
	return fields
}

func (l *loader) field(name string, n *node) error {
	s := section{where: "fields." + name, n: n}
	s.check("open", "open_pattern", "close", "close_pattern", "content", "content_args",
		"repeats", "join", "optional", "transform", "transform_each")
	if slices.ContainsFunc(l.t.fields, func(f *field) bool { return f.name == name }) {
		s.fail(refuse(s.where, n.show(), "remove it; the field is there twice"))
	}
	f := &field{name: name, role: roleOf(name)}
	f.open, f.close = l.marker(&s, "open"), l.marker(&s, "close")
	f.content = l.content(&s, "content", "content_args", 0)
	f.readFlags(&s)
	f.readTransform(&s)
	if s.err == nil {
		l.place(f, &s)
	}
	return s.err
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
func (l *loader) place(f *field, s *section) {
	l.t.fields = append(l.t.fields, f)
	switch {
	case f.open != nil:
		if f.open.minimum(false) == 0 {
			s.refuse(f.open.key, "make a part of it required; it matches the empty text")
		}
	case l.t.implicit != nil:
		s.refuse("open", "give open or open_pattern; only one field, here "+l.t.implicit.name+", takes the text that is left over")
	case f.role == toCalls || f.role == dropped:
		s.refuse("open", "give open or open_pattern; the text that is left over cannot be "+f.name)
	case f.close != nil && f.close.minimum(true) == 0:
		s.refuse(f.close.key, "make a part of it required; without an opening marker it may not match the empty text")
	default:
		l.t.implicit = f
	}
}

func (f *field) readFlags(s *section) {
	s.flag("optional", true) // a reply is passed on as it is
	repeats := s.flag("repeats", false)
	j := s.n.get("join")
	switch {
	case j == nil || j.isNull():
	case !j.isText():
		s.refuse("join", "write a string")
	case !repeats:
		s.refuse("join", `add "repeats": true, or remove it`)
	default:
		f.join, f.joins = j.text, true
	}
}

// marker compiles the literals under a key, or the pattern under the key with
// _pattern; nil for neither.
func (l *loader) marker(s *section, key string) *program {
	literals, pattern := s.n.get(key), s.n.get(key+"_pattern")
	var p *program
	var err error
	switch {
	case literals != nil && pattern != nil:
		s.refuse(key, "give "+key+" or "+key+"_pattern, not both")
	case literals != nil:
		if texts := s.texts(key); s.err == nil {
			p, err = l.left.literals(texts)
		}
	case pattern != nil:
		if key += "_pattern"; !pattern.isText() {
			s.refuse(key, "write a string")
		}
		p, err = l.left.pattern(pattern.text)
	}
	if err != nil {
		s.refuse(key, err.Error())
	} else if p != nil {
		p.key = key
	}
	return p
}

// section is an object of the template and where it is, with the first error in it.
type section struct {
	where string
	n     *node
	err   error
}

// fail notes an error, if it is the first.
func (s *section) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// check refuses what is no object, and keys that are not known.
func (s *section) check(known ...string) {
	if !s.n.isObject() {
		s.fail(refuse(s.where, s.n.show(), "write an object"))
	}
	for i, key := range s.n.keys {
		if !slices.Contains(known, key) {
			s.fail(refuse(s.where+"."+key, s.n.items[i].show(), "remove it; the keys are "+strings.Join(known, ", ")))
		}
	}
}

func (s *section) refuse(key, fix string) {
	s.fail(refuse(s.where+"."+key, s.n.get(key).show(), fix))
}

func (s *section) flag(key string, missing bool) bool {
	v := s.n.get(key)
	if v != nil && string(v.raw) != "true" && string(v.raw) != "false" {
		s.refuse(key, "write true or false")
	}
	return v == nil && missing || v != nil && string(v.raw) == "true"
}

// texts is a string, or a list of them, none of which is empty.
func (s *section) texts(key string) []string {
	v := s.n.get(key)
	items := []node{*v}
	if v.isList() {
		items = v.items
	}
	var texts []string
	for i := range items {
		if !items[i].isText() || items[i].text == "" {
			s.refuse(key, "write a string or a list of strings, none of them empty")
		}
		texts = append(texts, items[i].text)
	}
	if len(texts) == 0 {
		s.refuse(key, "give at least one string")
	}
	return texts
}

// text is a string with a default.
func (s *section) text(key, missing string) string {
	v := s.n.get(key)
	if v == nil {
		return missing
	}
	if !v.isText() || v.text == "" {
		s.refuse(key, "write a string that is not empty")
	}
	return v.text
}
