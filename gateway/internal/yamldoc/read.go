package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
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

// Limits are the bounds on a file. The YAML parser takes time quadratic in nesting and
// in the keys of one mapping, so all are checked before it runs.
type Limits struct {
	// Bytes is the size of the largest file, in whole KiB.
	Bytes int
	// Depth is how many levels may be nested.
	Depth int
}

func (l Limits) size() string {
	if l.Bytes%(1<<20) == 0 {
		return strconv.Itoa(l.Bytes>>20) + "MiB"
	}
	return strconv.Itoa(l.Bytes>>10) + "KiB"
}

// maxTokens bounds the words and signs of a file.
const maxTokens = 50_000

// Read reads the file's one document, whose text is UTF-8. It returns nil if the file is
// empty, or if it reports a problem that makes the rest unreadable.
func Read(data []byte, limits Limits, r *Problems) *Node {
	if len(data) > limits.Bytes {
		r.Add(0, 0, "", "the file has %d bytes; the most is %s", len(data), limits.size())
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := invalidLine(data); line > 0 {
		r.Add(line, 1, "", "the line is not valid UTF-8; save the file as UTF-8")
		return nil
	}
	file, err := parse(string(data), limits.Depth)
	if err != nil {
		reportSyntax(r, err, data)
		return nil
	}
	body := oneDocument(r, file)
	if body == nil {
		return nil
	}
	c := &converter{r: r, anchors: map[string]*Node{}, left: maxNodes, depth: limits.Depth}
	n := c.convert(body, "", 0)
	if c.failed {
		return nil
	}
	return n
}

// invalidLine returns the number of the first line that is not UTF-8, or 0.
func invalidLine(data []byte) int {
	if utf8.Valid(data) {
		return 0
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !utf8.Valid(line) {
			return i + 1
		}
	}
	return 0
}

// parse calls the YAML parser. A panic in it is reported as an error: a file
// that a person mistyped must not end a running gateway at a reload.
func parse(text string, depth int) (file *ast.File, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the file cannot be read as YAML")
		}
	}()
	tokens := lexer.Tokenize(text)
	if err := checkTokens(tokens, depth); err != nil {
		return nil, err
	}
	// Repeated keys are found by the converter, which reports all of them.
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// checkTokens refuses a file that would keep the parser busy: too many tokens, brackets
// nested too deep, too many "- " or "? " on one line, which nest too, or too many lines that
// are each indented further. Of those it allows twice as many, as the tree tells better where
// it is too deep.
func checkTokens(tokens token.Tokens, depth int) error {
	count, brackets, entries, line := 0, 0, 0, 0
	var indents []int // of the blocks that are open
	for _, tk := range tokens {
		if tk.Type == token.CommentType {
			continue
		}
		if tk.Position.Line != line {
			line, entries = tk.Position.Line, 0
			if brackets == 0 {
				closed := func(column int) bool { return column >= tk.Position.Column }
				indents = append(slices.DeleteFunc(indents, closed), tk.Position.Column)
			}
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
		if brackets+entries > depth || len(indents) > 2*depth {
			return &yaml.SyntaxError{Message: tooDeep(depth), Token: tk}
		}
	}
	return nil
}

func tooDeep(depth int) string { return fmt.Sprintf("the file nests more than %d levels deep", depth) }

// reportSyntax reports what the YAML parser says, without the source lines that
// it would add: they may hold a secret.
func reportSyntax(r *Problems, err error, data []byte) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		r.Add(0, 0, "", "%v", err)
		return
	}
	// What follows a colon is text of the file.
	message, _, _ := strings.Cut(at.GetMessage(), ": ")
	pos := at.GetToken().Position
	if lines := bytes.Split(data, []byte("\n")); 0 < pos.Line && pos.Line <= len(lines) {
		message = clearer(message, lines[pos.Line-1])
	}
	r.Add(pos.Line, pos.Column, "", "not YAML: %s", message)
}

// glued matches a line whose key has its value right behind the colon.
var glued = regexp.MustCompile(`^\s*(- *)?[\w-]+:[^\s/:]`)

// clearer adds to what the YAML parser says what to write instead, by what people
// get wrong most, in the line at fault.
func clearer(message string, line []byte) string {
	begin := bytes.TrimLeft(line, " ")
	switch {
	case bytes.HasPrefix(begin, []byte("\t")):
		return "the line is indented with a tab; use spaces"
	case bytes.HasPrefix(begin, []byte("*:")):
		return `a key * without quotes; write "*":`
	case bytes.Contains(line, []byte("${")):
		return message + `; inside { } and [ ] write "${NAME}" in quotes`
	case glued.Match(line):
		return message + "; write a space behind the colon of a key"
	case strings.Contains(message, "mapping value is not allowed"):
		return message + `; put text that holds ": " in quotes, and indent the keys of a mapping alike`
	case strings.HasPrefix(message, "value is not allowed"):
		return message + "; indent the keys of a mapping alike"
	case strings.Contains(message, "end token '}'"):
		return message + "; close the { that is here"
	case strings.Contains(message, "end token ']'"):
		return message + "; close the [ that is here"
	}
	return message
}

// oneDocument returns the body of the only document, nil if it is empty.
func oneDocument(r *Problems, file *ast.File) ast.Node {
	var body ast.Node
	for i, doc := range file.Docs {
		if d, ok := doc.Body.(*ast.DirectiveNode); ok {
			pos := d.GetToken().Position
			r.Add(pos.Line, pos.Column, "", "a YAML directive; leave the line out")
			return nil
		}
		if i > 0 {
			line, col := 0, 0
			if doc.Start != nil {
				line, col = doc.Start.Position.Line, doc.Start.Position.Column
			}
			r.Add(line, col, "", "the file holds more than one YAML document; keep one")
			return nil
		}
		body = doc.Body
	}
	return body
}
