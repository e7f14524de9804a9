package template

import (
	"strconv"
	"strings"
)

// The contents that a template may name.
const (
	contentText  = "text"
	contentInt   = "int"
	contentFloat = "float"
	contentBool  = "bool"
	contentJSON  = "json"
	contentXML   = "xml-inline"
	contentLines = "kv-lines"
)

const allContents = "text, int, float, bool, json, xml-inline or kv-lines"

// Limits of a content.
const (
	maxDelims  = 8
	maxParsers = 4 // how deep value parsers may nest
)

// content says how the text of a region is read.
type content struct {
	name     string
	verbatim bool     // white space around text stays
	lax      bool     // keys of JSON may be without quotes
	loose    bool     // what is no JSON is text
	delims   []delims // of strings in JSON
	tag      *program // of xml-inline
	key      int      // its groups, value is -1 if there is none
	value    int
	merge    bool   // values of the same key become a list
	lineSep  string // of kv-lines
	kvSep    string
	values   *content // of the values of xml-inline and kv-lines; nil for text as it is
}

// delims are the markers around a string.
type delims struct{ open, close string }

// content reads the name of a content and its arguments, which are under two keys
// of s.
func (l *loader) content(s *section, nameKey, argsKey string, depth int) (*content, error) {
	name, err := s.text(nameKey, contentText)
	if err != nil {
		return nil, err
	}
	args := section{s.where + "." + argsKey, &node{raw: []byte("{}")}}
	if n := s.n.get(argsKey); n != nil {
		args.n = n
	}
	c := &content{name: name, value: -1}
	switch name {
	case contentText, contentInt, contentFloat, contentBool:
		err = c.readText(&args)
	case contentJSON:
		err = c.readJSON(&args)
	case contentXML:
		err = l.readXML(c, &args, depth)
	case contentLines:
		err = l.readLines(c, &args, depth)
	default:
		return nil, s.refuse(nameKey, "write "+allContents)
	}
	return c, err
}

func (c *content) readText(s *section) error {
	if err := s.check("strip"); err != nil {
		return err
	}
	strip, err := s.flag("strip", true)
	c.verbatim = !strip
	return err
}

func (c *content) readJSON(s *section) error {
	err := s.check("unquoted_keys", "string_delims", "allow_non_json", "strip")
	if err == nil {
		c.lax, err = s.flag("unquoted_keys", false)
	}
	if err == nil {
		c.loose, err = s.flag("allow_non_json", false)
	}
	strip := true
	if err == nil {
		strip, err = s.flag("strip", true)
	}
	c.verbatim = !strip
	if err != nil {
		return err
	}
	return c.readDelims(s)
}

func (c *content) readDelims(s *section) error {
	const fix = "write a list of pairs of strings, [[open, close], …]"
	list := s.n.get("string_delims")
	if list == nil {
		return nil
	}
	if !list.isList() || len(list.items) > maxDelims {
		return s.refuse("string_delims", fix+", at most "+strconv.Itoa(maxDelims))
	}
	for i := range list.items {
		pair := &list.items[i]
		if !pair.isList() || len(pair.items) != 2 || !pair.items[0].isText() || !pair.items[1].isText() {
			return s.refuse("string_delims", fix)
		}
		d := delims{pair.items[0].text, pair.items[1].text}
		if d.open == "" || d.close == "" || len(d.open) > maxLiteral || len(d.close) > maxLiteral {
			return s.refuse("string_delims", "make each 1 to "+strconv.Itoa(maxLiteral)+" bytes long")
		}
		c.delims = append(c.delims, d)
	}
	return nil
}

func (l *loader) readXML(c *content, s *section, depth int) error {
	if err := s.check("tag_pattern", "value_parser", "merge_duplicates"); err != nil {
		return err
	}
	source, err := s.text("tag_pattern", "")
	if err != nil {
		return err
	}
	if source == "" {
		return s.refuse("tag_pattern", "give the expression of one tag, with the groups (?P<key>…) and (?P<value>…)")
	}
	if c.tag, err = l.left.pattern(source); err != nil {
		return s.refuse("tag_pattern", err.Error())
	}
	if c.key, c.value = c.tag.group("key"), c.tag.group("value"); c.key < 0 {
		return s.refuse("tag_pattern", "name the group of the key: (?P<key>…)")
	}
	if c.tag.minimum(false) == 0 {
		return s.refuse("tag_pattern", "make a part of it required; it matches the empty text")
	}
	if c.merge, err = s.flag("merge_duplicates", false); err != nil {
		return err
	}
	return l.readValues(c, s, depth)
}

func (l *loader) readLines(c *content, s *section, depth int) error {
	err := s.check("line_sep", "kv_sep", "value_parser", "strip")
	if err == nil {
		c.lineSep, err = s.text("line_sep", "\n")
	}
	if err == nil {
		c.kvSep, err = s.text("kv_sep", ":")
	}
	strip := true
	if err == nil {
		strip, err = s.flag("strip", true)
	}
	c.verbatim = !strip
	if err != nil {
		return err
	}
	return l.readValues(c, s, depth)
}

// readValues reads how the values of pairs are read.
func (l *loader) readValues(c *content, s *section, depth int) error {
	n := s.n.get("value_parser")
	if n == nil || n.isNull() {
		return nil
	}
	if depth == maxParsers {
		return s.refuse("value_parser", "nest at most "+strconv.Itoa(maxParsers)+" value parsers")
	}
	sub := section{s.where + ".value_parser", n}
	err := sub.check("name", "args")
	if err == nil {
		c.values, err = l.content(&sub, "name", "args", depth+1)
	}
	return err
}

// readTransform takes the transform of a field.
func (f *field) readTransform(s *section) error {
	var err error
	if f.each, err = s.flag("transform_each", false); err != nil {
		return err
	}
	t := s.n.get("transform")
	if t == nil || t.isNull() {
		switch groups := f.groups(); {
		case f.each:
			return s.refuse("transform_each", "give a transform for it, or remove it")
		case len(groups) > 0:
			return s.refuse("transform", "give a transform that uses the groups "+strings.Join(groups, ", ")+" of the markers, or remove their names")
		}
		return nil
	}
	f.transform = t
	return f.checkPlaceholders(s, t)
}

// groups are the named groups of the field's markers.
func (f *field) groups() []string {
	var names []string
	for _, p := range []*program{f.open, f.close} {
		if p != nil {
			names = append(names, p.groups...)
		}
	}
	return names
}
