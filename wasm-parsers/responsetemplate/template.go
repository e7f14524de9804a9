package responsetemplate

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/relaxed"
)

// Limits of a template.
const (
	maxTemplate = 64 << 10 // bytes
	maxFields   = 32
	maxNesting  = 32 // of its JSON
)

// role is what becomes of a field's text.
type role uint8

const (
	toContent role = iota
	toReasoning
	toCalls
	dropped
)

// field is a kind of region.
type field struct {
	name       string
	role       role
	opens      *pattern // nil for the implicit field, and for one that begins with the output
	closes     *pattern // nil if the next region or the end of the output ends it
	close      *program // of closes
	content    *content
	transform  *node // what the value is turned into
	each       *node // what each item of a list is turned into
	structured bool  // it is read as a whole and not passed on as text
}

// template is a compiled response_template.
type template struct {
	open   *program
	opened []*field // the fields of the patterns of open
	first  *field   // a field without opening marker: it begins with the output
	rest   *field   // the field of the text that is left over
}

// compile reads a template. Its errors name the key, the value and what to do.
func compile(source string) (*template, error) {
	if len(source) > maxTemplate {
		return nil, refuse("template", source, "shorten it to "+strconv.Itoa(maxTemplate)+" bytes")
	}
	strict, kind, ok := relaxed.Value([]byte(source), maxNesting)
	if !ok || kind != relaxed.ObjectOpen {
		return nil, refuse("template", source, "write a JSON object that nests at most "+strconv.Itoa(maxNesting)+" deep")
	}
	root, _ := readNode(strict)
	fields, ok := root.get("fields")
	if !ok || fields.kind != object || len(fields.items) == 0 {
		return nil, refuse("template", source, "give fields, an object of the fields by name")
	}
	if len(fields.items) > maxFields {
		return nil, refuse("fields", fields.string(), "use at most "+strconv.Itoa(maxFields)+" fields")
	}
	c := compiler{left: budget{maxPrograms, maxRunes}, t: &template{rest: &field{name: "content"}}}
	for i := range fields.items {
		if err := c.field(fields.keys[i], &fields.items[i]); err != nil {
			return nil, err
		}
	}
	return c.finish()
}

// compiler is a template that is being compiled.
type compiler struct {
	t        *template
	left     budget
	implicit string // the name of the field without markers
	names    []string
}

func (c *compiler) field(name string, n *node) error {
	where := "fields." + name
	for _, other := range c.names {
		if other == name {
			return refuse(where, n.string(), "the field is there twice: remove one, or give one pattern with alternatives")
		}
	}
	c.names = append(c.names, name)
	s := section{where: where, n: n}
	if err := s.check("open", "open_pattern", "close", "close_pattern", "repeats", "optional", "content", "transform",
		"transform_each", "unquoted_keys", "string_delims", "allow_non_json", "tag_pattern", "value_parser",
		"merge_duplicates", "type", "description"); err != nil {
		return err
	}
	for _, key := range []string{"repeats", "optional"} { // neither changes how an output is read
		if _, err := s.flag(key); err != nil {
			return err
		}
	}
	f := &field{name: name, role: roleOf(name)}
	var err error
	if f.opens, err = c.marker(&s, "open", true); err != nil {
		return err
	}
	if f.closes, err = c.marker(&s, "close", false); err != nil {
		return err
	}
	if f.closes != nil {
		f.close = join([]*pattern{f.closes})
	}
	if f.content, err = c.content(&s, "content", 0); err != nil {
		return err
	}
	if err := f.readTransforms(&s); err != nil {
		return err
	}
	return c.place(f, &s)
}

// roleOf says what becomes of a field by its name, as chat templates use them.
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

// place puts a field where it is looked for.
func (c *compiler) place(f *field, s *section) error {
	f.structured = f.role == toCalls || f.role != dropped && (f.transform != nil || f.each != nil)
	if f.role == toCalls && f.transform == nil && f.each == nil && !f.content.structured() {
		return refuse(s.where+".content", f.content.name, "give a transform that makes calls of it, or a content that holds calls")
	}
	switch {
	case f.opens != nil:
		c.t.opened = append(c.t.opened, f)
	case f.closes != nil && c.t.first != nil:
		return refuse(s.where+".open", "", "give open: only one field, here "+c.t.first.name+", may begin with the output")
	case f.closes != nil:
		c.t.first = f
	case c.implicit != "":
		return refuse(s.where+".open", "", "give open or open_pattern: only one field, here "+c.implicit+", takes the text that is left over")
	case f.structured || f.role == dropped:
		return refuse(s.where+".open", "", "give open or open_pattern: the text that is left over cannot be "+f.name+" or have a transform")
	default:
		c.implicit, c.t.rest = f.name, f
	}
	return nil
}

// marker compiles a literal, or a pattern under the same key with _pattern.
func (c *compiler) marker(s *section, key string, opens bool) (*pattern, error) {
	literal, hasLiteral, err := s.text(key)
	if err != nil {
		return nil, err
	}
	source, hasPattern, err := s.text(key + "_pattern")
	if err != nil {
		return nil, err
	}
	var p *pattern
	switch {
	case hasLiteral && hasPattern:
		return nil, s.refuse(key, "give "+key+" or "+key+"_pattern, not both")
	case hasLiteral:
		p, err = c.left.literal(literal)
	case hasPattern:
		key += "_pattern"
		p, err = c.left.expression(source)
	default:
		return nil, nil //nolint:nilnil // no marker
	}
	if err == nil {
		err = p.nonEmpty(opens)
	}
	if err != nil {
		return nil, s.refuse(key, err.Error())
	}
	return p, nil
}

// finish makes one program of all that opens a field.
func (c *compiler) finish() (*template, error) {
	for _, f := range c.t.opened {
		if err := f.checkPlaceholders(); err != nil {
			return nil, err
		}
	}
	if c.t.first != nil {
		if err := c.t.first.checkPlaceholders(); err != nil {
			return nil, err
		}
	}
	longestFirst(c.t.opened)
	patterns := make([]*pattern, len(c.t.opened))
	for i, f := range c.t.opened {
		patterns[i] = f.opens
	}
	c.t.open = join(patterns)
	return c.t, nil
}

// longestFirst moves a marker in front of those that it begins with, which would
// hide it. The order of the fields stays otherwise.
func longestFirst(fields []*field) {
	for i := range fields {
		for j := range i {
			a, b := fields[i].opens.source, fields[j].opens.source
			if len(a) > len(b) && strings.HasPrefix(a, b) {
				moved := fields[i]
				copy(fields[j+1:i+1], fields[j:i])
				fields[j] = moved
				break
			}
		}
	}
}
