package tools

import (
	"bytes"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/sdk/abi"
)

// List is what is known of a request's tools. To those who use it it never changes.
type List struct {
	// Tools are the functions, as a parser needs to know them.
	Tools []abi.Tool
	// Names are theirs.
	Names []string
	// Schemas are those of their parameters by name, as the client wrote them.
	Schemas map[string][]byte
	// Others is how many tools are of another kind than functions.
	Others int
	// Runes is how many characters the list has, without white space around values.
	Runes int
	// JSON is the list itself.
	JSON []byte

	inside shapes
}

// shapes are those of tools that were asked for. They are of use only once a call is broken or
// read from text, and most tools are never called.
type shapes struct {
	mu    sync.Mutex
	known map[string]*repair.Shape
}

// Inside says of what types the values are that are nested in the arguments of an offered tool;
// nil says nothing. It is safe for concurrent use.
func (l *List) Inside(name string) *repair.Shape {
	schema := l.Schemas[name]
	if len(schema) == 0 {
		return nil
	}
	l.inside.mu.Lock()
	defer l.inside.mu.Unlock()
	shape, known := l.inside.known[name]
	if !known {
		if l.inside.known == nil {
			l.inside.known = map[string]*repair.Shape{}
		}
		shape = Shape(schema)
		l.inside.known[name] = shape
	}
	return shape
}

// Find is the offered tool of a name, or nil.
func (l *List) Find(name string) *abi.Tool {
	for i := range l.Tools {
		if l.Tools[i].Name == name {
			return &l.Tools[i]
		}
	}
	return nil
}

// Continues reports whether a longer name than this is offered, so that a name which comes
// in pieces may not be complete.
func (l *List) Continues(name string) bool {
	return slices.ContainsFunc(l.Names, func(n string) bool { return len(n) > len(name) && strings.HasPrefix(n, name) })
}

// NewList reads a list of tools. One that is not made as OpenAI's is left to the upstream's
// own complaint: no name is known then.
func NewList(list []byte) *List {
	l := &List{JSON: list}
	if l.Tools, _ = Read(list); len(l.Tools) == 0 {
		return l
	}
	l.Schemas, l.Runes = map[string][]byte{}, countRunes(list)
	for i := range l.Tools {
		l.Names = append(l.Names, l.Tools[i].Name)
	}
	wire.Elements(list, 0, func(_ int, tool wire.Span) bool {
		if kind := wire.Unquote(wire.Find(list, tool, "type").Of(list)); kind != "" && kind != "function" {
			l.Others++
		}
		f := wire.Find(list, tool, "function")
		if f.Empty() {
			f = tool
		}
		var name string
		if json.Unmarshal(wire.Find(list, f, "name").Of(list), &name) != nil {
			return true
		}
		if _, known := l.Schemas[name]; !known { // the first is the one that is offered
			l.Schemas[name] = wire.Find(list, f, "parameters").Of(list)
		}
		return true
	})
	return l
}

// Count is how many elements the member "tools" of a body has.
func Count(body []byte) (n int) {
	tools := wire.Find(body, wire.Span{Start: 0, End: len(body)}, "tools")
	if !tools.IsNull(body) {
		wire.Elements(body, tools.Start, func(int, wire.Span) bool { n++; return true })
	}
	return n
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

// Cache keeps what was read of lists of tools: an agent sends the same list with every
// request, and reading some dozens of schemas takes most of a millisecond. What is found is
// compared with the list itself, so that no client can get another's. It is safe for
// concurrent use.
type Cache struct {
	seed  maphash.Seed
	lists *lru.Cache[uint64, *List]
}

// Bounds of the cache: together 8 MiB of lists.
const (
	maxLists = 128
	maxList  = 64 << 10 // bytes; a longer one is read each time
)

// NewCache makes an empty cache.
func NewCache() *Cache {
	lists, err := lru.New[uint64, *List](maxLists)
	if err != nil {
		panic(err) // the size is not positive
	}
	return &Cache{maphash.MakeSeed(), lists}
}

// Read is NewList, of which it remembers the results.
func (c *Cache) Read(list []byte) *List {
	if len(list) == 0 || len(list) > maxList {
		return NewList(list)
	}
	key := maphash.Bytes(c.seed, list)
	if l, ok := c.lists.Get(key); ok && bytes.Equal(l.JSON, list) {
		return l
	}
	l := NewList(bytes.Clone(list)) // the request's bytes are not kept
	c.lists.Add(key, l)
	return l
}
