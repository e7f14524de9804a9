package gateway

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway/internal/reference"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// toolList is what is known of a request's tools. It is not changed once it is made.
type toolList struct {
	tools   []abi.Tool
	schemas map[string][]byte // of their parameters by name, as the client wrote them
	others  int               // how many tools are of another kind than functions
	runes   int               // of the list, without white space around values
	// references are the arguments that the schemas declare references, and stripped takes
	// the declarations out of the list. badReference says that one of them is wrong.
	references   []reference.Rule
	stripped     []wire.Edit
	badReference bool
}

// readToolList reads a list of tools. One that is not made as OpenAI's is left to the
// upstream's own complaint: no name is known then.
func readToolList(list []byte) *toolList {
	tools, err := ReadTools(list)
	if err != nil || len(tools) == 0 {
		return &toolList{}
	}
	t := &toolList{tools: tools, schemas: map[string][]byte{}, runes: countRunes(list)}
	wire.Elements(list, 0, func(_ int, tool wire.Span) bool {
		if kind := wire.Unquote(wire.Find(list, tool, "type").Of(list)); kind != "" && kind != "function" {
			t.others++
		}
		f := wire.Find(list, tool, "function")
		if f.Empty() {
			f = tool
		}
		var name string
		if json.Unmarshal(wire.Find(list, f, "name").Of(list), &name) != nil {
			return true
		}
		if _, known := t.schemas[name]; !known { // the first is the one that is offered
			t.schemas[name] = wire.Find(list, f, "parameters").Of(list)
		}
		return true
	})
	t.readReferences(list)
	return t
}

// countRunes counts the characters of JSON: an escape is one, and white space outside of
// strings is none.
func countRunes(list []byte) (n int) {
	inside := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			inside = !inside
			n++
		case inside && c == '\\':
			if n++; i+1 < len(list) && list[i+1] == 'u' {
				i += 4
			}
			i++
		case !inside && (c == ' ' || c == '\n' || c == '\t' || c == '\r'):
		case utf8.RuneStart(c):
			n++
		}
	}
	return n
}

// typed is a rule of the configuration with the types that its argument may have, or
// nothing if its tool is not offered. Those at the top of a schema are known.
func (t *toolList) typed(rule reference.Rule) []reference.Rule {
	i := slices.IndexFunc(t.tools, func(tool abi.Tool) bool { return tool.Name == rule.Tool })
	if i < 0 {
		return nil
	}
	if strings.ContainsAny(rule.Argument, ".[") {
		return []reference.Rule{rule.Typed(t.schemas[rule.Tool])}
	}
	for _, p := range t.tools[i].Params {
		if p.Name == rule.Argument {
			rule.Types = p.Types
		}
	}
	return []reference.Rule{rule}
}

// readReferences reads which arguments the schemas declare references.
func (t *toolList) readReferences(list []byte) {
	if !bytes.Contains(list, []byte("x-reference")) {
		return
	}
	t.stripped = reference.Strip(list)
	for _, tool := range t.tools { // in their order
		rules, problems := reference.FromSchema(tool.Name, t.schemas[tool.Name])
		t.references = append(t.references, rules...)
		t.badReference = t.badReference || len(problems) > 0
	}
}

// toolCache keeps what was read of lists of tools: an agent sends the same list with
// every request, and reading some dozens of schemas takes most of a millisecond. The
// key is the list itself, so that no client can get another's.
type toolCache struct{ lists *lru.Cache[string, *toolList] }

// Bounds of the cache: together 16 MiB of lists, as keys and as schemas.
const (
	maxToolLists = 128
	maxToolList  = 64 << 10 // bytes; a longer one is read each time
)

func newToolCache() *toolCache {
	lists, err := lru.New[string, *toolList](maxToolLists)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &toolCache{lists}
}

// read is readToolList, of which it remembers the results.
func (c *toolCache) read(list []byte) *toolList {
	if len(list) == 0 || len(list) > maxToolList {
		return readToolList(list)
	}
	key := string(list)
	tools, ok := c.lists.Get(key)
	if !ok {
		tools = readToolList(bytes.Clone(list)) // the request's bytes are not kept
		c.lists.Add(key, tools)
	}
	return tools
}
