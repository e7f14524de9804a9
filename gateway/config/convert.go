package config

import (
	"github.com/goccy/go-yaml/ast"
)

const (
	// maxNodes bounds the values of a file with every alias and merge key
	// written out, so that a few lines cannot stand for millions of values. Long
	// text counts as several, one for each 256 bytes.
	maxNodes = 100_000
	// maxKey bounds a key, as the path of every value below repeats it.
	maxKey = 256
)

type kind int

const (
	kindNull kind = iota
	kindText
	kindNumber
	kindBool
	kindList
	kindMap
)

// String names the kind for a message.
func (k kind) String() string {
	return [...]string{"nothing", "text", "a number", "true or false", "a list", "a mapping"}[k]
}

// node is a YAML value. Aliases share the node of their anchor.
type node struct {
	kind      kind
	text      string // a scalar as written, without quotes and escapes
	line, col int
	items     []*node
	entries   []entry
	size      int // number of nodes with what aliases stand for
}

// entry is one key of a mapping.
type entry struct {
	key       string
	line, col int
	value     *node
}

// converter turns the parser's tree into nodes, resolving aliases and merge keys.
type converter struct {
	r       *report
	anchors map[string]*node
	left    int
	failed  bool
}

// fail reports a problem after which the file is not read any further.
func (c *converter) fail(n *node, p path, format string, args ...any) {
	if !c.failed {
		c.failed = true
		c.r.at(n.line, n.col, p, format, args...)
	}
}

// spend takes size from what is left for the whole file.
func (c *converter) spend(n *node, p path, size int) {
	if c.left -= size; c.left < 0 {
		c.fail(n, p, "the file stands for more than %d values; use fewer aliases", maxNodes)
	}
}

func (c *converter) convert(in ast.Node, p path, depth int) *node {
	n := &node{size: 1}
	if in == nil {
		return n
	}
	if tk := in.GetToken(); tk != nil {
		n.line, n.col = tk.Position.Line, tk.Position.Column
	}
	if depth > maxDepth {
		c.fail(n, p, "%s", tooDeep)
	}
	c.spend(n, p, 1)
	if c.failed {
		return n
	}
	switch in := in.(type) {
	case *ast.AnchorNode:
		value := c.convert(in.Value, p, depth+1)
		c.anchors[in.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		return c.alias(in, n, p)
	case *ast.SequenceNode:
		n.kind = kindList
		for i, item := range in.Values {
			n.items = append(n.items, c.convert(item, p.at(i), depth+1))
			n.size += n.items[i].size
		}
	case *ast.MappingNode:
		c.mapping(n, in.Values, p, depth)
	case *ast.MappingValueNode:
		c.mapping(n, []*ast.MappingValueNode{in}, p, depth)
	default:
		c.scalar(n, in, p)
		long := len(n.text) / 256
		n.size += long
		c.spend(n, p, long)
	}
	return n
}

func (c *converter) alias(in *ast.AliasNode, n *node, p path) *node {
	name := in.Value.GetToken().Value
	value, ok := c.anchors[name]
	if !ok {
		c.fail(n, p, "there is no anchor &%s before this alias; put text that begins with * in quotes", name)
		return n
	}
	c.spend(n, p, value.size)
	return value
}

func (c *converter) scalar(n *node, in ast.Node, p path) {
	switch in := in.(type) {
	case *ast.StringNode:
		n.kind, n.text = kindText, in.Value
	case *ast.LiteralNode:
		n.kind, n.text = kindText, in.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = kindNumber, in.GetToken().Value
	case *ast.BoolNode:
		n.kind, n.text = kindBool, in.GetToken().Value
	case *ast.NullNode:
		n.kind = kindNull
	case *ast.TagNode:
		c.fail(n, p, "YAML tags such as !!str are not used here; leave it out, and put text in quotes")
	default:
		c.fail(n, p, "this kind of YAML is not used here; write plain keys and values")
	}
}

func (c *converter) mapping(n *node, values []*ast.MappingValueNode, p path, depth int) {
	n.kind = kindMap
	own := map[string]int{} // the line of each key
	var merged []ast.Node
	for i, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, v.Value)
			continue
		}
		key := c.convert(v.Key, p, depth+1)
		if i == 0 && n.line == key.line && n.col > key.col {
			n.line, n.col = key.line, key.col // not of the colon
		}
		if !c.usable(key, own, p) {
			continue
		}
		own[key.text] = key.line
		value := c.convert(v.Value, p.key(key.text), depth+1)
		n.entries = append(n.entries, entry{key.text, key.line, key.col, value})
		n.size += 1 + value.size
	}
	for _, in := range merged {
		c.merge(n, c.convert(in, p, depth+1), own, p)
	}
}

// usable checks a key.
func (c *converter) usable(key *node, own map[string]int, p path) bool {
	line, repeated := own[key.text]
	switch {
	case c.failed:
		return false
	case key.kind == kindList || key.kind == kindMap || key.kind == kindNull:
		c.r.put(key.line, key.col, p, "a key must be plain text")
		return false
	case len(key.text) > maxKey:
		c.r.put(key.line, key.col, p, "a key has %d bytes; the most is %d", len(key.text), maxKey)
		return false
	case repeated:
		c.r.put(key.line, key.col, p.key(key.text), "the key is here twice, first in line %d; keep one", line)
		return false
	}
	return true
}

// merge adds the entries of a merge key's mappings. A mapping's own keys win
// over merged ones, and an earlier mapping over a later.
func (c *converter) merge(n, from *node, own map[string]int, p path) {
	switch from.kind {
	case kindMap:
		c.spend(from, p, len(from.entries)+1)
		if c.failed {
			return
		}
		for _, e := range from.entries {
			if _, ok := own[e.key]; ok {
				continue
			}
			own[e.key] = e.line
			c.spend(from, p, e.value.size)
			n.entries = append(n.entries, e)
			n.size += 1 + e.value.size
		}
	case kindList:
		for _, item := range from.items {
			c.merge(n, item, own, p)
		}
	default:
		c.r.put(from.line, from.col, p, "<< merges a mapping or a list of mappings, got %s", from.kind)
	}
}
