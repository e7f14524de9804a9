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
	contentCalls = "python-call-list"
)

const allContents = "text, int, float, bool, json, xml-inline, kv-lines or python-call-list"

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
func (l *loader) content(s *section, nameKey, argsKey string, depth int) *content {
	args := section{where: s.where + "." + argsKey, n: &node{raw: []byte("{}")}}
	if n := s.n.get(argsKey); n != nil {
		args.n = n
	}
	c := &content{name: s.text(nameKey, contentText), value: -1}
	switch c.name {
	case contentText, contentInt, contentFloat, contentBool:
		args.check("strip")
	case contentJSON:
		args.check("unquoted_keys", "string_delims", "allow_non_json", "strip")
		c.lax, c.loose = args.flag("unquoted_keys", false), args.flag("allow_non_json", false)
		c.readDelims(&args)
	case contentXML:
		args.check("tag_pattern", "value_parser", "merge_duplicates")
		l.readTag(c, &args)
		c.merge = args.flag("merge_duplicates", false)
		l.readValues(c, &args, depth)
	case contentLines:
		args.check("line_sep", "kv_sep", "value_parser", "strip")
		c.lineSep, c.kvSep = args.text("line_sep", "\n"), args.text("kv_sep", ":")
		l.readValues(c, &args, depth)
	case contentCalls:
		args.check("strip")
	default:
		s.refuse(nameKey, "write "+allContents)
	}
	c.verbatim = !args.flag("strip", true)
	s.fail(args.err)
	return c
}

func (c *content) readDelims(s *section) {
	const fix = "write a list of pairs of strings, [[open, close], …]"
	list := s.n.get("string_delims")
	if list == nil {
		return
	}
	if !list.isList() || len(list.items) > maxDelims {
		s.refuse("string_delims", fix+", at most "+strconv.Itoa(maxDelims))
		return
	}
	for i := range list.items {
		pair := &list.items[i]
		if !pair.isList() || len(pair.items) != 2 || !pair.items[0].isText() || !pair.items[1].isText() {
			s.refuse("string_delims", fix)
			return
		}
		d := delims{pair.items[0].text, pair.items[1].text}
		if d.open == "" || d.close == "" || len(d.open) > maxLiteral || len(d.close) > maxLiteral {
			s.refuse("string_delims", "make each 1 to "+strconv.Itoa(maxLiteral)+" bytes long")
		}
		c.delims = append(c.delims, d)
	}
}

// readTag compiles the expression of one tag of xml-inline.
func (l *loader) readTag(c *content, s *section) {
	const key = "tag_pattern"
	source := s.text(key, "")
	if source == "" {
		s.refuse(key, "give the expression of one tag, with the groups (?P<key>…) and (?P<value>…)")
		return
	}
	var err error
	if c.tag, err = l.left.pattern(source); err != nil {
		s.refuse(key, err.Error())
		return
	}
	switch c.key, c.value = c.tag.group("key"), c.tag.group("value"); {
	case c.key < 0:
		s.refuse(key, "name the group of the key: (?P<key>…)")
	case c.tag.minimum(false) == 0:
		s.refuse(key, "make a part of it required; it matches the empty text")
	}
}

// readValues reads how the values of pairs are read.
func (l *loader) readValues(c *content, s *section, depth int) {
	n := s.n.get("value_parser")
	if n == nil || n.isNull() {
		return
	}
	if depth == maxParsers {
		s.refuse("value_parser", "nest at most "+strconv.Itoa(maxParsers)+" value parsers")
		return
	}
	sub := section{where: s.where + ".value_parser", n: n}
	sub.check("name", "args")
	c.values = l.content(&sub, "name", "args", depth+1)
	s.fail(sub.err)
}

// readTransform takes the transform of a field.
func (f *field) readTransform(s *section) {
	f.each = s.flag("transform_each", false)
	t := s.n.get("transform")
	switch groups := f.groups(); {
	case t != nil && !t.isNull():
		f.transform = t
		f.checkPlaceholders(s, t)
	case f.each:
		s.refuse("transform_each", "give a transform for it, or remove it")
	case len(groups) > 0:
		s.refuse("transform", "give a transform that uses the groups "+strings.Join(groups, ", ")+" of the markers, or remove their names")
	}
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
