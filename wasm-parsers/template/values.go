package template

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/pythonic"
)

// kind says what a value is.
type kind uint8

const (
	absent kind = iota // nothing stands for a placeholder
	isJSON             // of any type
	isText
	isObject
	isList
)

// value is what a region says.
type value struct {
	kind  kind
	json  []byte   // strict, of isJSON
	text  string   // of isText; and of isJSON if untyped
	keys  []string // of isObject
	items []value  // of isObject and isList
	// untyped says that the text has the type that the tool's schema wants: it was
	// written without quotes.
	untyped bool
	source  []byte // the item that a transform was applied to
}

// opened is the value with its members apart, if it is an object of JSON.
func (v *value) opened() value {
	if v.kind != isJSON || first(v.json) != '{' {
		return *v
	}
	o := value{kind: isObject, json: v.json, source: v.source}
	each(v.json, func(key, item []byte) bool {
		name, _ := relaxed.Unquote(key)
		o.keys, o.items = append(o.keys, string(name)), append(o.items, value{kind: isJSON, json: item})
		return true
	})
	return o
}

// member is what an object has under a key.
func (v *value) member(key string) value {
	o := v.opened()
	for i := len(o.keys) - 1; i >= 0; i-- {
		if o.keys[i] == key {
			return o.items[i]
		}
	}
	return value{}
}

// list are the items of a list.
func (v *value) list() (items []value, ok bool) {
	if v.kind == isJSON && first(v.json) == '[' {
		each(v.json, func(_, item []byte) bool {
			items = append(items, value{kind: isJSON, json: item})
			return true
		})
		return items, true
	}
	return v.items, v.kind == isList
}

// asText is a string's text.
func (v *value) asText() (string, bool) {
	if v.kind == isJSON && first(v.json) == '"' {
		text, ok := relaxed.Unquote(trim(v.json))
		return string(text), ok
	}
	return v.text, v.kind == isText
}

// appendJSON writes a value. A member that is absent is left out.
func (v *value) appendJSON(b []byte) []byte {
	switch {
	case v.json != nil:
		return append(b, v.json...)
	case v.kind == isText:
		return relaxed.AppendString(b, []byte(v.text))
	case v.kind == absent:
		return append(b, "null"...)
	}
	brackets := "[]"
	if v.kind == isObject {
		brackets = "{}"
	}
	b = append(b, brackets[0])
	comma := false
	for i := range v.items {
		if v.items[i].kind == absent && v.kind == isObject {
			continue
		}
		if comma {
			b = append(b, ", "...)
		}
		comma = true
		if v.kind == isObject {
			b = append(relaxed.AppendString(b, []byte(v.keys[i])), ": "...)
		}
		b = v.items[i].appendJSON(b)
	}
	return append(b, brackets[1])
}

// reader reads the text of regions.
type reader struct {
	depth    int  // how deep JSON may nest
	repaired bool // what was read was not as it should be
	// open says that no closing marker came: what ends early is then no value.
	open bool
}

// read reads text as the content says. It reports false if that cannot be.
func (r *reader) read(c *content, text []byte) (value, bool) {
	switch c.name {
	case contentJSON:
		return r.readJSON(c, text)
	case contentXML:
		return r.readTags(c, text)
	case contentLines:
		return r.readLines(c, text)
	case contentCalls:
		return r.readCalls(text)
	}
	if !c.verbatim {
		text = trim(text)
	}
	if c.name == contentText {
		return value{kind: isText, text: string(text)}, true
	}
	strict, ok := scalar(c.name, trim(text))
	return value{kind: isJSON, json: strict}, ok
}

// scalar reads what Python's int, float and bool would. Digits are copied.
func scalar(name string, text []byte) ([]byte, bool) {
	if name == contentBool {
		if s := strings.ToLower(string(text)); s == "true" || s == "1" {
			return []byte("true"), true
		}
		return []byte("false"), true
	}
	text = bytes.TrimPrefix(text, []byte("+"))
	strict, kind, ok := relaxed.Value(text, 1)
	if !ok || kind != relaxed.Number || name == contentInt && bytes.ContainsAny(strict, ".eE") {
		return nil, false
	}
	return strict, true
}

func (r *reader) readJSON(c *content, text []byte) (value, bool) {
	plain := trim(text)
	if len(c.delims) > 0 || c.lax {
		plain = trim(c.plain(nil, text))
	}
	if len(plain) == 0 && !r.open && !c.loose {
		return value{kind: isJSON, json: []byte("null")}, true // no arguments
	}
	strict, _, ok := relaxed.Value(plain, r.depth)
	switch {
	case ok:
		r.repaired = r.repaired || !bytes.Equal(strict, plain)
		return value{kind: isJSON, json: strict}, true
	case !c.loose:
		return value{}, false
	case !c.verbatim:
		text = trim(text)
	}
	return value{kind: isText, text: string(text)}, true
}

// pairs collects the members of an object.
type pairs struct {
	value
	c      *content
	index  map[string]int
	merged []bool // the item is a list of values of the same key
}

func newPairs(c *content) *pairs {
	return &pairs{value: value{kind: isObject}, c: c, index: map[string]int{}}
}

// add reads the value of a key. Of a key that comes again the last value counts,
// unless they are merged.
func (p *pairs) add(r *reader, key string, text []byte) bool {
	v, ok := p.read(r, text)
	if !ok {
		return false
	}
	i, again := p.index[key]
	switch {
	case !again:
		p.index[key] = len(p.items)
		p.keys, p.items, p.merged = append(p.keys, key), append(p.items, v), append(p.merged, false)
	case !p.c.merge:
		p.items[i] = v
	case p.merged[i]:
		p.items[i].items = append(p.items[i].items, v)
	default:
		p.items[i], p.merged[i] = value{kind: isList, items: []value{p.items[i], v}, untyped: true}, true
	}
	return true
}

// read reads a value, whose type only the tool's schema may know.
func (p *pairs) read(r *reader, text []byte) (value, bool) {
	c := p.c.values
	if c == nil {
		return value{kind: isText, text: string(text), untyped: true}, true
	}
	open := r.open
	r.open = false // the pair is complete
	v, ok := r.read(c, text)
	r.open = open
	switch {
	case c.name == contentText:
		v.untyped = true
	case c.name == contentJSON && c.loose:
		v.untyped = true
		if v.kind == isJSON {
			v.text = string(trim(text))
		}
	}
	return v, ok
}

// readTags reads xml-inline. Text between the tags does not count, but a tag that
// has begun and does not end was meant to be read.
func (r *reader) readTags(c *content, text []byte) (value, bool) {
	p, tags := newPairs(c), newTags(c.tag)
	for tags.next(text) {
		m := &tags.found
		key, ok := m.group(c.key, text, 0)
		if !ok {
			return value{}, false
		}
		var raw []byte
		if c.value >= 0 {
			raw, _ = m.group(c.value, text, 0)
		}
		if !p.add(r, string(key), raw) {
			return value{}, false
		}
	}
	if tags.spent || tags.begun >= 0 && len(trim(text[tags.begun:])) > 1 || r.open && len(trim(text[tags.last:])) > 0 {
		return value{}, false
	}
	return p.value, true
}

// tags looks for all matches of a program in a text.
type tags struct {
	*scanner
	last   int // the end of the last match
	reread int
	spent  bool // too much was read again
}

func newTags(p *program) *tags {
	return &tags{scanner: newScanner(newWatch([]marker{{prog: p}}, 0))}
}

func (t *tags) next(text []byte) bool {
	if t.found.machine != nil {
		t.reread += t.pos - t.last
		t.spent = t.reread > rescanTimes*t.pos+rescanFree
		t.restart(text, 0, t.last)
	}
	if t.spent || !t.scanner.next(text, 0, true, false) {
		return false
	}
	t.last = t.found.end
	return true
}

// readLines reads kv-lines. A line without a separator does not count.
func (r *reader) readLines(c *content, text []byte) (value, bool) {
	p := newPairs(c)
	strip := func(b []byte) []byte {
		if c.verbatim {
			return b
		}
		return trim(b)
	}
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte(c.lineSep))
		text = rest
		key, raw, found := bytes.Cut(strip(line), []byte(c.kvSep))
		if found && !p.add(r, string(strip(key)), strip(raw)) {
			return value{}, false
		}
	}
	return p.value, true
}

// readCalls reads python-call-list: [get_weather(city="Oslo"), get_time()].
func (r *reader) readCalls(text []byte) (value, bool) {
	list := trim(text)
	if len(list) < 2 || list[0] != '[' || list[len(list)-1] != ']' {
		return value{}, false
	}
	if len(trim(list[1:len(list)-1])) == 0 {
		return value{kind: isJSON, json: []byte("[]")}, true
	}
	calls, ok := pythonic.Calls(list, r.depth)
	if !ok {
		return value{}, false
	}
	v := value{kind: isList}
	for _, c := range calls {
		r.repaired = r.repaired || c.Repaired
		v.items = append(v.items, value{kind: isObject, keys: []string{"name", "arguments"}, items: []value{
			{kind: isText, text: c.Name}, {kind: isJSON, json: c.Args},
		}})
	}
	return v, true
}
