package accounts

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a file. The YAML parser takes time quadratic in nesting and in the keys of
// one mapping, so both are bounded before it runs.
const (
	maxFile     = 256 << 10
	maxTokens   = 50_000
	maxDepth    = 8
	maxIndent   = 64 // columns
	maxProblems = 100
	maxText     = 256 // bytes of a name
)

// node is a YAML value with its place.
type node struct {
	ast.Node
	line, column int
}

// report collects problems.
type report struct{ problems []Problem }

func (r *report) add(n *node, field, format string, args ...any) {
	p := Problem{Field: field, Message: fmt.Sprintf(format, args...)}
	if n != nil {
		p.Line, p.Column = n.line, n.column
	}
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, p)
	}
}

// sorted are the problems in the order of the file.
func (r *report) sorted() []Problem {
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.problems
}

// tree reads the file's one document, or reports why it cannot be read.
func (r *report) tree(data []byte) *node {
	if len(data) > maxFile {
		r.add(nil, "", "the file has %d bytes; the most is %d", len(data), maxFile)
		return nil
	}
	if !utf8.Valid(data) {
		r.add(nil, "", "the file is not valid UTF-8; save it as UTF-8")
		return nil
	}
	file, err := parse(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	var at yaml.Error
	switch {
	case errors.As(err, &at) && at.GetToken() != nil:
		pos := at.GetToken().Position
		r.add(&node{line: pos.Line, column: pos.Column}, "", "not YAML: %s", short(at.GetMessage(), 200))
	case err != nil:
		r.add(nil, "", "%v", err)
	case len(file.Docs) > 1:
		r.add(nil, "", "the file holds more than one YAML document; keep one")
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		r.add(nil, "", "the file is empty")
	default:
		return place(file.Docs[0].Body)
	}
	return nil
}

// parse calls the YAML parser. A panic in it is reported as an error: a file that a
// person mistyped must not end a running gateway.
func parse(text string) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the file cannot be read as YAML")
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens); err != nil {
		return nil, err
	}
	// Repeated keys are found by mapping, which reports all of them.
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// checkTokens refuses a file that would keep the parser busy: too many tokens, brackets
// nested too deep, or too many "- " or "? " on one line, which nest too. Blocks nest by
// their indentation.
func checkTokens(tokens token.Tokens) error {
	count, brackets, entries, line := 0, 0, 0, 0
	for _, tk := range tokens {
		if tk.Type == token.CommentType {
			continue
		}
		if tk.Position.Line != line {
			line, entries = tk.Position.Line, 0
		}
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			brackets++
		case token.MappingEndType, token.SequenceEndType:
			brackets--
		case token.SequenceEntryType, token.MappingKeyType:
			entries++
		}
		if count++; count > maxTokens {
			return fmt.Errorf("the file has more than %d words and signs", maxTokens)
		}
		if brackets+entries > maxDepth || tk.Position.IndentNum > maxIndent {
			return &yaml.SyntaxError{Message: fmt.Sprintf("the file nests more than %d levels deep", maxDepth), Token: tk}
		}
	}
	return nil
}

// place finds where a value begins. The token of a mapping is its first colon, so the
// place is that of its first key.
func place(n ast.Node) *node {
	if n == nil {
		return nil
	}
	at := n
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			at = m.Values[0].Key
		}
	case *ast.MappingValueNode:
		at = m.Key
	}
	p := &node{Node: n}
	if tk := at.GetToken(); tk != nil {
		p.line, p.column = tk.Position.Line, tk.Position.Column
	}
	return p
}

// mapping returns the values of a mapping that may have the given keys.
func (r *report) mapping(n *node, field string, keys ...string) map[string]*node {
	var pairs []*ast.MappingValueNode
	switch m := n.Node.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		r.add(n, field, "expected a mapping with some of the keys %s", strings.Join(keys, ", "))
		return nil
	}
	found := make(map[string]*node, len(pairs))
	for _, pair := range pairs {
		key, at := pair.Key.GetToken().Value, place(pair.Key)
		under := strings.TrimPrefix(field+"."+short(key, 40), ".")
		value := place(pair.Value)
		switch {
		case !slices.Contains(keys, key):
			r.add(at, under, "unknown key; known keys: %s", strings.Join(keys, ", "))
		case found[key] != nil:
			r.add(at, under, "the key is here twice, first in line %d; keep one", found[key].line)
		case value == nil:
			found[key] = &node{line: at.line, column: at.column} // no kind of value
		default:
			found[key] = value
		}
	}
	return found
}

// list returns the elements of a list.
func (r *report) list(n *node, field string) []*node {
	if n == nil {
		return nil
	}
	s, ok := n.Node.(*ast.SequenceNode)
	if !ok {
		r.add(n, field, "expected a list")
		return nil
	}
	items := make([]*node, len(s.Values))
	for i, v := range s.Values {
		items[i] = place(v)
	}
	return items
}

// text reads text.
func (r *report) text(n *node, field string) string {
	s, ok := n.Node.(*ast.StringNode)
	switch {
	case !ok:
		r.add(n, field, "expected text, in quotes if it looks like something else")
		return ""
	case s.Value == "" || len(s.Value) > maxText:
		r.add(n, field, "the text has %d bytes; it must have 1 to %d", len(s.Value), maxText)
		return ""
	}
	return s.Value
}

// number reads a price or a factor, which is otherwise the given one.
func (r *report) number(m map[string]*node, key, at string, otherwise float64) float64 {
	n := m[key]
	if n == nil {
		return otherwise
	}
	var text string
	switch n.Node.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		text = n.GetToken().Value
	}
	x, err := strconv.ParseFloat(text, 64)
	field := at + "." + key
	switch {
	case err != nil || strings.Trim(text, "0123456789.eE+-") != "":
		r.add(n, field, "expected a decimal number, such as 0.25")
	case x < 0:
		r.add(n, field, "%s is negative", text)
	case x > maxPrice:
		r.add(n, field, "%s is more than %d", text, int(maxPrice))
	default:
		return x
	}
	return otherwise
}

// short bounds what a message repeats of the file.
func short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
