package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// keyword is the member of a property's schema that declares it a reference. It is
// searched for as it stands here before anything is read: most tools have none, and
// nobody writes it with escapes.
const keyword = "x-reference"

const (
	// maxSchema is how many bytes a schema may have that is read.
	maxSchema = 256 << 10
	// maxNodes is how many schemas are visited within one, those behind a $ref each time.
	maxNodes = 10_000
	// maxProblems is how many problems of one schema are told.
	maxProblems = 10
)

// FromSchema reads the references that the JSON Schema of a tool's parameters declares:
//
//	"id": {"type": "integer", "x-reference": {"tool": "list_tasks", "match": "title", "value": "id"}}
//
// and optionally "min_ratio", see [Rule.MinRatio]. They may stand on properties and on
// the elements of arrays at any depth, behind a $ref within the schema, and in anyOf,
// oneOf and allOf. The problems are sentences about declarations that are not used,
// at most ten, for the caller to warn with. The rules are ordered by their arguments.
func FromSchema(tool string, parameters []byte) (rules []Rule, problems []string) {
	if !bytes.Contains(parameters, []byte(`"`+keyword+`"`)) {
		return nil, nil
	}
	w, err := newSchemaWalk(parameters)
	if err != nil {
		return nil, []string{fmt.Sprintf("The schema of %s is not read for %s: %v.", quote(tool), keyword, err)}
	}
	w.tool = tool
	w.walk(w.root, "", maxDepth)
	for _, path := range slices.Sorted(maps.Keys(w.rules)) {
		if len(rules) == maxRules {
			w.problem("", fmt.Sprintf("there are more than %d; those from %s on are not used", maxRules, quote(path)))
			break
		}
		rule := w.rules[path]
		rule.Types = w.types[path]
		rules = append(rules, rule)
	}
	if w.left < 0 {
		w.problem("", "the schema refers to too many others; not all of it is read")
	} else if declared := len(cuts(parameters, inSchema)); declared > w.read {
		w.problem("", fmt.Sprintf("%d of %d stand where none is looked for, which is at properties and the elements of arrays with plain names", declared-w.read, declared))
	}
	return rules, w.problems
}

// Typed returns the rule with the types that the tool's schema allows its argument,
// for rules that the schema does not declare itself.
func (r Rule) Typed(parameters []byte) Rule {
	if w, err := newSchemaWalk(parameters); err == nil {
		w.only = r.Argument
		w.walk(w.root, "", maxDepth)
		r.Types = w.types[r.Argument]
	}
	return r
}

// schemaWalk visits the schemas of arguments.
type schemaWalk struct {
	tool string
	only string // the argument whose way alone is gone; "" for all
	root map[string]any
	left int // schemas that may be visited

	rules    map[string]Rule      // by argument
	types    map[string]abi.Types // by argument
	open     map[string]bool      // the $refs that are being followed; true if one refers to itself
	read     int                  // declarations
	problems []string
}

// done stands in the place of a declaration that was read, so that it is counted once.
type done struct{ value any }

func newSchemaWalk(parameters []byte) (*schemaWalk, error) {
	w := &schemaWalk{left: maxNodes, rules: map[string]Rule{}, types: map[string]abi.Types{}, open: map[string]bool{}}
	if len(parameters) > maxSchema {
		return nil, fmt.Errorf("it has more than %d KiB", maxSchema>>10)
	}
	if _, at := wire.Depth(parameters, maxDepth); at >= 0 {
		return nil, fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	if v := jsontext.Value(parameters); !v.IsValid() || json.Unmarshal(parameters, &w.root) != nil {
		return nil, fmt.Errorf("it is not a JSON object, or has a key twice")
	}
	return w, nil
}

// walk visits a schema of the argument at path, "" for the arguments as a whole, and
// those below it.
func (w *schemaWalk) walk(node any, path string, depth int) {
	schema, ok := node.(map[string]any)
	if !ok {
		return
	}
	if w.left--; w.left < 0 || depth == 0 {
		w.left = min(w.left, -1)
		return
	}
	w.types[path] |= typesOf(schema["type"])
	if declared, found := schema[keyword]; found {
		w.declaration(schema, declared, path)
	}
	if ref, ok := schema["$ref"].(string); ok {
		w.follow(ref, path, depth-1)
	}
	for _, form := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := schema[form].([]any)
		for _, s := range list {
			w.walk(s, path, depth-1)
		}
	}
	if path != "" {
		w.down(schema["items"], path+"[]", depth-1)
		path += "."
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if plainName(name) {
			w.down(properties[name], path+name, depth-1)
		}
	}
}

// down visits the schema of a part of an argument, unless another one is looked for.
func (w *schemaWalk) down(node any, path string, depth int) {
	if strings.HasPrefix(w.only, path) || w.only == "" {
		w.walk(node, path, depth)
	}
}

// plainName says whether a path can name a property.
func plainName(name string) bool { return name != "" && !strings.ContainsAny(name, ".[]") }

// follow visits the schema that a $ref names. One that refers to itself is followed
// once.
func (w *schemaWalk) follow(ref, path string, depth int) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return
	}
	if _, open := w.open[ref]; open {
		w.open[ref] = true
		return
	}
	var node any = w.root
	if pointer != "" {
		for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			object, _ := node.(map[string]any)
			node = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	before := len(w.rules)
	w.open[ref] = false
	w.walk(node, path, depth)
	if w.open[ref] && len(w.rules) > before {
		w.problem(path, "the schema refers to itself; the arguments further in are not looked at")
	}
	delete(w.open, ref)
}

// declaration reads the reference that a schema declares.
func (w *schemaWalk) declaration(schema map[string]any, declared any, path string) {
	if again, ok := declared.(done); ok {
		declared = again.value
	} else {
		w.read++
		schema[keyword] = done{declared}
	}
	rule := Rule{Tool: w.tool, Argument: path}
	if path == "" {
		w.problem(path, "it stands on the arguments as a whole; it belongs to a property")
		return
	}
	if what := rule.declare(declared); what != "" {
		w.problem(path, what)
		return
	}
	if err := rule.Validate(); err != nil {
		w.problem(path, err.Error())
		return
	}
	if other, found := w.rules[path]; found && other != rule {
		w.problem(path, "there are several for the argument; the first counts")
		return
	}
	w.rules[path] = rule
}

// declare reads a declaration into a rule, or says what is wrong with it.
func (r *Rule) declare(declared any) (what string) {
	members, ok := declared.(map[string]any)
	if !ok {
		return `it must be an object such as {"tool": "list_tasks", "match": "title", "value": "id"}`
	}
	texts := map[string]*string{"tool": &r.From, "match": &r.Match, "value": &r.Value}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if text := texts[name]; text != nil {
			if *text, ok = members[name].(string); !ok {
				return quote(name) + " must be a string"
			}
		} else if name != "min_ratio" {
			return "there is no member " + quote(name) + "; the members are tool, match, value and min_ratio"
		} else if r.MinRatio, ok = members[name].(float64); !ok || r.MinRatio == 0 {
			return fmt.Sprintf("%q must be a number between %v and 1", name, leastRatio)
		}
	}
	for _, name := range []string{"tool", "match", "value"} {
		if *texts[name] == "" {
			return quote(name) + " is missing"
		}
	}
	return ""
}

func (w *schemaWalk) problem(path, what string) {
	if path != "" {
		path = " of " + quote(path)
	}
	text := fmt.Sprintf("The %s%s in the schema of %s: %s.", keyword, path, quote(w.tool), what)
	if len(w.problems) < maxProblems && !slices.Contains(w.problems, text) {
		w.problems = append(w.problems, text)
	}
}

// typesOf reads the types of a schema, a name or a list of names.
func typesOf(declared any) (t abi.Types) {
	switch declared := declared.(type) {
	case string:
		switch declared {
		case "string":
			return abi.String
		case "integer":
			return abi.Integer
		case "number":
			return abi.Number
		case "boolean":
			return abi.Boolean
		}
		return 0
	case []any:
		for _, name := range declared {
			if _, ok := name.(string); ok {
				t |= typesOf(name)
			}
		}
	}
	return t
}
