package yamldoc

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

// Kind is what sort of value a node is.
type Kind int

// The kinds of values.
const (
	Null Kind = iota
	Text
	Number
	Bool
	List
	Map
)

// String names the kind for a message.
func (k Kind) String() string {
	return [...]string{"nothing", "text", "a number", "true or false", "a list", "a mapping"}[k]
}

// Node is a YAML value. Aliases share the node of their anchor.
type Node struct {
	Kind Kind
	// Text is a scalar as written, without quotes and escapes.
	Text string
	// Line and Column are where the value begins, from 1.
	Line, Column int
	Items        []*Node // of a List
	Entries      []Entry // of a Map, each key once

	size int // number of nodes with what aliases stand for
}

// Entry is one key of a mapping.
type Entry struct {
	Key          string
	Line, Column int // of the key
	Value        *Node
}

// converter turns the parser's tree into nodes, resolving aliases and merge keys.
type converter struct {
	r       *Problems
	anchors map[string]*Node
	left    int
	depth   int // of the limits
	failed  bool
}

// fail reports a problem after which the file is not read any further.
func (c *converter) fail(n *Node, p Path, format string, args ...any) {
	if !c.failed {
		c.failed = true
		c.r.Add(n.Line, n.Column, p, format, args...)
	}
}

// spend takes size from what is left for the whole file.
func (c *converter) spend(n *Node, p Path, size int) {
	if c.left -= size; c.left < 0 {
		c.fail(n, p, "the file stands for more than %d values; use fewer aliases", maxNodes)
	}
}

func (c *converter) convert(in ast.Node, p Path, depth int) *Node {
	n := &Node{size: 1}
	if in == nil {
		return n
	}
	if tk := in.GetToken(); tk != nil {
		n.Line, n.Column = tk.Position.Line, tk.Position.Column
	}
	if depth > c.depth {
		c.fail(n, p, "%s", tooDeep(c.depth))
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
		n.Kind = List
		for i, item := range in.Values {
			n.Items = append(n.Items, c.convert(item, p.At(i), depth+1))
			n.size += n.Items[i].size
		}
	case *ast.MappingNode:
		c.mapping(n, in.Values, p, depth)
	case *ast.MappingValueNode:
		c.mapping(n, []*ast.MappingValueNode{in}, p, depth)
	default:
		c.scalar(n, in, p)
		long := len(n.Text) / 256
		n.size += long
		c.spend(n, p, long)
	}
	return n
}

func (c *converter) alias(in *ast.AliasNode, n *Node, p Path) *Node {
	value, ok := c.anchors[in.Value.GetToken().Value]
	if !ok { // it may be a secret that begins with *
		c.fail(n, p, "there is no anchor of this name before the alias; put text that begins with * in quotes")
		return n
	}
	c.spend(n, p, value.size)
	return value
}

func (c *converter) scalar(n *Node, in ast.Node, p Path) {
	switch in := in.(type) {
	case *ast.StringNode:
		n.Kind, n.Text = Text, in.Value
	case *ast.LiteralNode:
		n.Kind, n.Text = Text, in.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		n.Kind, n.Text = Number, in.GetToken().Value
	case *ast.BoolNode:
		n.Kind, n.Text = Bool, in.GetToken().Value
	case *ast.NullNode:
		n.Kind = Null
	case *ast.TagNode:
		c.fail(n, p, "YAML tags such as !!str are not used here; leave it out, and put text in quotes")
	default:
		c.fail(n, p, "this kind of YAML is not used here; write plain keys and values")
	}
}

func (c *converter) mapping(n *Node, values []*ast.MappingValueNode, p Path, depth int) {
	n.Kind = Map
	own := map[string]int{} // the line of each key
	var merged []ast.Node
	for i, v := range values {
		if v.Key.IsMergeKey() {
			merged = append(merged, v.Value)
			continue
		}
		key := c.convert(v.Key, p, depth+1)
		if i == 0 && n.Line == key.Line && n.Column > key.Column {
			n.Line, n.Column = key.Line, key.Column // not of the colon
		}
		if !c.usable(key, own, p) {
			continue
		}
		own[key.Text] = key.Line
		value := c.convert(v.Value, p.Key(key.Text), depth+1)
		n.Entries = append(n.Entries, Entry{key.Text, key.Line, key.Column, value})
		n.size += 1 + value.size
	}
	for _, in := range merged {
		c.merge(n, c.convert(in, p, depth+1), own, p)
	}
}

// usable checks a key.
func (c *converter) usable(key *Node, own map[string]int, p Path) bool {
	line, repeated := own[key.Text]
	switch {
	case c.failed:
		return false
	case key.Kind == List || key.Kind == Map || key.Kind == Null:
		c.r.Add(key.Line, key.Column, p, "a key must be plain text")
		return false
	case len(key.Text) > maxKey:
		c.r.Add(key.Line, key.Column, p, "a key has %d bytes; the most is %d", len(key.Text), maxKey)
		return false
	case repeated:
		c.r.Add(key.Line, key.Column, p.Key(key.Text), "the key is here twice, first in line %d; keep one", line)
		return false
	}
	return true
}

// merge adds the entries of a merge key's mappings. A mapping's own keys win
// over merged ones, and an earlier mapping over a later.
func (c *converter) merge(n, from *Node, own map[string]int, p Path) {
	switch from.Kind {
	case Map:
		c.spend(from, p, len(from.Entries)+1)
		if c.failed {
			return
		}
		for _, e := range from.Entries {
			if _, ok := own[e.Key]; ok {
				continue
			}
			own[e.Key] = e.Line
			c.spend(from, p, e.Value.size)
			n.Entries = append(n.Entries, e)
			n.size += 1 + e.Value.size
		}
	case List:
		for _, item := range from.Items {
			c.merge(n, item, own, p)
		}
	default:
		c.r.Add(from.Line, from.Column, p, "<< merges a mapping or a list of mappings, got %s", from.Kind)
	}
}
