package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a file. The YAML parser takes time quadratic in nesting and in the
// keys of one mapping, so both are bounded before it runs.
const (
	maxFile   = 1 << 20
	maxTokens = 50_000
	maxDepth  = 32
)

// readTree reads the file's one document. It returns nil if the file is empty or
// if a problem makes the rest unreadable.
func readTree(r *report, data []byte) *node {
	if len(data) > maxFile {
		r.at(0, 0, "", "the file has %d bytes; the most is 1MiB", len(data))
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if line := invalidLine(data); line > 0 {
		r.at(line, 1, "", "the line is not valid UTF-8; save the file as UTF-8")
		return nil
	}
	file, err := parse(string(data))
	if err != nil {
		reportSyntax(r, err, data)
		return nil
	}
	body := oneDocument(r, file)
	if body == nil {
		return nil
	}
	c := &converter{r: r, anchors: map[string]*node{}, left: maxNodes}
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
	// Repeated keys are found by the converter, which reports all of them.
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// checkTokens refuses a file that would keep the parser busy: too many tokens,
// brackets nested too deep, or too many "- " or "? " on one line, which nest too.
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
		if brackets+entries > maxDepth {
			return &yaml.SyntaxError{Message: tooDeep, Token: tk}
		}
	}
	return nil
}

var tooDeep = fmt.Sprintf("the file nests more than %d levels deep", maxDepth)

// reportSyntax reports what the YAML parser says, without the source lines that
// it would add: they may hold a secret.
func reportSyntax(r *report, err error, data []byte) {
	var at yaml.Error
	if !errors.As(err, &at) || at.GetToken() == nil {
		r.at(0, 0, "", "%v", err)
		return
	}
	// What follows a colon is text of the file.
	message, _, _ := strings.Cut(at.GetMessage(), ": ")
	pos := at.GetToken().Position
	if lines := bytes.Split(data, []byte("\n")); pos.Line <= len(lines) &&
		bytes.Contains(lines[pos.Line-1], []byte("${")) {
		message += "; inside { } and [ ] write \"${NAME}\" in quotes"
	}
	r.at(pos.Line, pos.Column, "", "not YAML: %s", message)
}

// oneDocument returns the body of the only document, nil if it is empty.
func oneDocument(r *report, file *ast.File) ast.Node {
	var body ast.Node
	for i, doc := range file.Docs {
		if d, ok := doc.Body.(*ast.DirectiveNode); ok {
			pos := d.GetToken().Position
			r.at(pos.Line, pos.Column, "", "a YAML directive; leave the line out")
			return nil
		}
		if i > 0 {
			line, col := 0, 0
			if doc.Start != nil {
				line, col = doc.Start.Position.Line, doc.Start.Position.Column
			}
			r.at(line, col, "", "the file holds more than one YAML document; keep one")
			return nil
		}
		body = doc.Body
	}
	return body
}
