package catalogue

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/callgate/callgate/gateway/toolserver"
)

const (
	maxDescription = 1 << 10  // bytes of a description
	maxSchema      = 16 << 10 // bytes of a schema
	maxDepth       = 32       // objects and lists of a schema in each other
)

// schema cleans a schema of invisible characters, and says what is wrong with it. What it
// refers to outside of itself is never fetched, so there must be nothing of the kind.
func schema(raw json.RawMessage, object bool) (_ json.RawMessage, why string) {
	if len(raw) == 0 || string(raw) == "null" {
		if object {
			return json.RawMessage(`{"type":"object"}`), ""
		}
		return nil, ""
	}
	switch {
	case len(raw) > maxSchema:
		return nil, "is larger than 16 KB"
	case depth(raw) > maxDepth:
		return nil, "nests too deep"
	}
	clean, err := cleanJSON(raw)
	if err != nil {
		return nil, "is no proper JSON"
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(clean))
	if err != nil {
		return nil, "is no proper JSON"
	}
	if top, ok := value.(map[string]any); object && (!ok || top["type"] != nil && top["type"] != "object") {
		return nil, "is not that of an object"
	}
	if outside(value) {
		return nil, "refers to something outside of itself ($ref), which is never fetched"
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	compiler.UseRegexpEngine(anyPattern)
	if compiler.AddResource("tool:schema", value) != nil {
		return nil, "cannot be used"
	}
	if _, err := compiler.Compile("tool:schema"); err != nil {
		return nil, "is no proper JSON Schema"
	}
	return clean, ""
}

// anyPattern takes every regular expression: which dialects there are is not what is asked here.
func anyPattern(text string) (jsonschema.Regexp, error) { return pattern(text), nil }

type pattern string

// MatchString implements jsonschema.Regexp.
func (pattern) MatchString(string) bool { return true }

// String implements jsonschema.Regexp.
func (p pattern) String() string { return string(p) }

// outside finds a reference that does not begin with #.
func outside(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if ref, ok := member.(string); ok && (key == "$ref" || key == "$dynamicRef") && !strings.HasPrefix(ref, "#") {
				return true
			}
			if outside(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, outside)
	}
	return false
}

func depth(raw json.RawMessage) int {
	deepest := 0
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		if _, err := d.ReadToken(); err != nil {
			return deepest
		}
		deepest = max(deepest, d.StackDepth())
	}
}

// cleanJSON strips invisible characters of all strings, and leaves all else in order and digits
// as it is. Names of members too: a model writes what it can see.
func cleanJSON(raw json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	d, e := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&out)
	for {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == '"' {
			token = jsontext.String(visible(token.String()))
		}
		if err := e.WriteToken(token); err != nil {
			return nil, err
		}
	}
	clean := bytes.TrimSpace(out.Bytes())
	if !json.Valid(clean) {
		return nil, errNoJSON
	}
	return clean, nil
}

// canonicalise sorts members and takes out spaces.
func canonicalise(raw json.RawMessage) (json.RawMessage, error) {
	value := jsontext.Value(bytes.Clone(raw))
	if err := value.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		return nil, err
	}
	return json.RawMessage(value), nil
}

// visible is text without the characters that a person does not see and a model reads: those
// without width, those that turn the direction of writing, tags, and control characters.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), // with zero width, direction and tags (U+E0000)
			unicode.Is(unicode.Co, r), unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// cleanDescription is a description as models may see it, with what is suspicious about it.
func cleanDescription(text string) (clean string, warnings []string) {
	clean = visible(text)
	if clean != strings.ToValidUTF8(text, "") {
		warnings = append(warnings, "its description has invisible characters, which are taken out")
	}
	clean, cut := toolserver.Cut(strings.TrimSpace(clean), maxDescription)
	if cut > 0 {
		warnings = append(warnings, "its description is longer than 1 KB, and cut")
	}
	return clean, append(warnings, lint(clean)...)
}

// instructions are the ways in which a description speaks to the model of something else than
// the tool. It is a hint for who reads the list, and no defence.
var instructions = []struct {
	what string
	re   *regexp.Regexp
}{
	{"it tells the model to ignore instructions", regexp.MustCompile(`(?i)\b(ignore|disregard|forget|override)\b.{0,40}\b(instruction|previous|prior|above|rule|prompt)`)},
	{"it tells the model to hide something from its user", regexp.MustCompile(`(?i)\b(do not|don't|never|without)\b.{0,30}\b(tell|mention|inform|show|reveal|notify|telling|mentioning)\b`)},
	{"it tells the model what to do beside the call", regexp.MustCompile(`(?i)\b(before|after|whenever|instead of)\b.{0,30}\b(using|calling|call|use|invok\w+|any|other)\b.{0,30}\btool|\byou must (always|first|also)\b`)},
	{"it speaks in the form of markup for instructions", regexp.MustCompile(`(?i)<\s*/?\s*(important|system|instructions?|secret|admin|assistant|user)\s*>|\[/?(INST|SYSTEM)\]|<\|[a-z_]+\|>`)},
	{"it speaks of files or variables with secrets", regexp.MustCompile(`(?i)~/\.|/etc/(passwd|shadow)|\.ssh\b|id_rsa|\.env\b|api[_ -]?key|password|mcp\.json`)},
	{"it speaks of the prompt", regexp.MustCompile(`(?i)\bsystem prompt|conversation history|chat history|all previous messages\b`)},
}

func lint(text string) []string {
	var out []string
	for _, i := range instructions {
		if i.re.MatchString(text) {
			out = append(out, i.what)
		}
	}
	return out
}

// lintSchema looks at the words in a schema.
func lintSchema(raw json.RawMessage) []string {
	var words []string
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	for {
		token, err := d.ReadToken()
		if err != nil {
			break
		}
		if token.Kind() == '"' {
			words = append(words, token.String())
		}
	}
	var out []string
	for _, warning := range lint(strings.Join(words, "\n")) {
		out = append(out, "in its schema "+warning)
	}
	return out
}
