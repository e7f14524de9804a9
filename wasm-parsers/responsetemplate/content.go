package responsetemplate

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/relaxed"
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

const maxDelims = 8

// content says how the text of a region is read.
type content struct {
	name       string
	unquoted   bool     // bare keys are the format's, not a slip
	delims     []string // of strings in JSON
	allowText  bool     // what is no JSON is text
	tag        *program // of xml-inline
	key, value int      // its groups
	values     *content // of the values of xml-inline and kv-lines
	merge      bool     // values of the same key become a list
}

// structured tells whether the content may hold calls without a transform.
func (c *content) structured() bool {
	return c.name == contentJSON || c.name == contentXML || c.name == contentLines
}

// content reads the content under key, which is a name with its options beside it
// or an object that holds both.
func (c *compiler) content(s *section, key string, depth int) (*content, error) {
	value, ok := s.n.get(key)
	options := *s
	name := contentText
	switch {
	case !ok || value.kind == null:
	case value.kind == text:
		name = value.text
		if depth > 0 {
			options = section{where: s.where + "." + key, n: &node{kind: object}}
		}
	case value.kind == object:
		options = section{where: s.where + "." + key, n: &value}
		if err := options.check("type", "unquoted_keys", "string_delims", "allow_non_json", "tag_pattern",
			"value_parser", "merge_duplicates"); err != nil {
			return nil, err
		}
		var err error
		if name, ok, err = options.text("type"); err != nil || !ok {
			return nil, s.refuse(key, "give its type: "+allContents)
		}
	default:
		return nil, s.refuse(key, "write "+allContents)
	}
	spec := &content{name: name}
	switch name {
	case contentText, contentInt, contentFloat, contentBool:
		return spec, nil
	case contentJSON:
		return spec, spec.readJSON(&options)
	case contentXML, contentLines:
		if depth == 0 {
			return spec, c.pairs(spec, &options)
		}
		return nil, s.refuse(key, "write text, int, float, bool or json")
	}
	return nil, s.refuse(key, "write "+allContents)
}

func (c *content) readJSON(s *section) error {
	var err error
	if c.unquoted, err = s.flag("unquoted_keys"); err != nil {
		return err
	}
	if c.allowText, err = s.flag("allow_non_json"); err != nil {
		return err
	}
	if c.delims, err = s.texts("string_delims"); err != nil {
		return err
	}
	if len(c.delims) > maxDelims {
		return s.refuse("string_delims", "use at most "+strconv.Itoa(maxDelims)+" delimiters")
	}
	for i, d := range c.delims {
		if len(d) > maxPattern || d == `"` || d == `'` {
			return s.refuse("string_delims", "leave out quotes, which JSON has anyway, and what is longer than "+strconv.Itoa(maxPattern)+" bytes")
		}
		for k, other := range c.delims {
			if k != i && strings.HasPrefix(d, other) {
				return s.refuse("string_delims", "leave out "+quote(d)+", which begins with another delimiter")
			}
		}
	}
	return nil
}

// pairs reads the options of xml-inline and kv-lines.
func (c *compiler) pairs(spec *content, s *section) error {
	var err error
	if spec.merge, err = s.flag("merge_duplicates"); err != nil {
		return err
	}
	if spec.values, err = c.content(s, "value_parser", 1); err != nil || spec.name == contentLines {
		return err
	}
	source, ok, err := s.text("tag_pattern")
	if err != nil || !ok {
		return s.refuse("tag_pattern", "give the expression of one tag, with the groups (?P<key>…) and (?P<value>…)")
	}
	p, err := c.left.expression(source)
	if err == nil {
		err = p.nonEmpty(true)
	}
	if err != nil {
		return s.refuse("tag_pattern", err.Error())
	}
	spec.key, spec.value = p.group("key"), p.group("value")
	if spec.key < 0 || spec.value < 0 {
		return s.refuse("tag_pattern", "name the groups of key and value: (?P<key>…) and (?P<value>…)")
	}
	spec.tag = join([]*pattern{p})
	return nil
}

// read reads the text of a region as a value. It reports false for what the
// content does not allow.
func (c *content) read(b []byte, maxDepth int) (n node, repaired, ok bool) {
	switch c.name {
	case contentJSON:
		j := newJSONText(c, 0, maxDepth)
		j.advance(b, 0, len(b), true)
		return c.fromJSON(j, b)
	case contentXML:
		return c.tags(b, maxDepth)
	case contentLines:
		return c.lines(b, maxDepth)
	case contentText:
		return node{kind: text, text: string(b)}, false, true
	}
	return c.readScalar(b)
}

// fromJSON is the value of text that j has read.
func (c *content) fromJSON(j *jsonText, b []byte) (n node, repaired, ok bool) {
	if !j.ok() {
		return node{kind: text, text: string(b)}, false, c.allowText
	}
	n, _ = readNode(j.r.Out)
	slips := j.r.Repaired()
	if c.unquoted {
		slips &^= relaxed.BareKey
	}
	return n, slips != 0, true
}

// readScalar reads int, float and bool. Digits are copied.
func (c *content) readScalar(b []byte) (n node, repaired, ok bool) {
	strict, kind, ok := relaxed.Value(b, 1)
	switch c.name {
	case contentBool:
		ok = ok && kind == relaxed.Bool
	case contentInt:
		ok = ok && kind == relaxed.Number && !bytes.ContainsAny(strict, ".eE")
	default:
		ok = ok && kind == relaxed.Number
	}
	return node{kind: scalar, raw: bytes.TrimSpace(strict)}, false, ok
}
