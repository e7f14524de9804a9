package responsetemplate

import (
	"bytes"
	"unicode/utf8"
)

// members collects the members of an object.
type members struct {
	c     *content
	n     node
	index map[string]int
	lists []bool // the value at the same place is a list of merged ones
}

// add reads a value and gives it to key. Of a key that comes again the last value
// counts, unless they are merged.
func (m *members) add(key, value []byte, maxDepth int) (repaired, ok bool) {
	if key = bytes.TrimSpace(key); len(key) == 0 {
		return false, false
	}
	item, repaired, ok := m.c.values.read(value, maxDepth)
	if !ok {
		return repaired, false
	}
	i, again := m.index[string(key)]
	switch {
	case !again:
		m.index[string(key)] = len(m.n.items)
		m.n.keys, m.n.items, m.lists = append(m.n.keys, string(key)), append(m.n.items, item), append(m.lists, false)
	case !m.c.merge:
		m.n.items[i] = item
	case m.lists[i]:
		m.n.items[i].items = append(m.n.items[i].items, item)
	default:
		m.n.items[i], m.lists[i] = node{kind: array, items: []node{m.n.items[i], item}}, true
	}
	return repaired, true
}

// object is what was collected.
func (m *members) object() node {
	m.n.raw = m.n.appendJSON(nil)
	return m.n
}

func (c *content) newMembers() *members {
	return &members{c: c, n: node{kind: object}, index: map[string]int{}}
}

// tags reads xml-inline: what matches the tag pattern is a member. Text between
// the tags that is no end tag was meant to be read, so it is not passed over.
func (c *content) tags(b []byte, maxDepth int) (n node, repaired, ok bool) {
	m, found := newMachine(c.tag), c.newMembers()
	last := 0
	for m.search(b, 0, true) {
		key, _ := m.group(c.key, b, 0)
		value, _ := m.group(c.value, b, 0)
		mended, ok := found.add(key, value, maxDepth)
		if !ok || !onlyEndTags(b[last:m.best[0]]) {
			return n, false, false
		}
		repaired = repaired || mended
		last = m.end
		prev, _ := utf8.DecodeLastRune(b[:last])
		m.reset(last, prev)
	}
	return found.object(), repaired, onlyEndTags(b[last:])
}

// onlyEndTags tells whether b is white space and end tags such as </function>.
func onlyEndTags(b []byte) bool {
	for {
		b = b[space(b, 0):]
		if !bytes.HasPrefix(b, []byte("</")) {
			return len(b) == 0
		}
		end := bytes.IndexAny(b[1:], "<>")
		if end < 0 || b[1+end] != '>' {
			return false
		}
		b = b[end+2:]
	}
}

// lines reads kv-lines: a key, a colon or equals sign, and a value on each line.
func (c *content) lines(b []byte, maxDepth int) (n node, repaired, ok bool) {
	found := c.newMembers()
	for line := range bytes.Lines(b) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		i := bytes.IndexAny(line, ":=")
		if i < 0 {
			return n, false, false
		}
		mended, ok := found.add(line[:i], bytes.TrimSpace(line[i+1:]), maxDepth)
		if !ok {
			return n, false, false
		}
		repaired = repaired || mended
	}
	return found.object(), repaired, true
}
