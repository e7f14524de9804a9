package heuristic

import (
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// checker looks at the arguments of a call for signs that they are none: the schema
// of a tool, an example from its documentation, somebody else's data.
type checker struct {
	tool  *sdk.Tool // nil if the tools are not known
	exact bool      // every key must be a parameter
	keys  int
	known int // keys that are parameters
	param *sdk.Param
	last  string // the key of the value that is read
}

// key looks at the key of an argument.
func (c *checker) key(key []byte) bool {
	c.last = string(key)
	c.param = sdk.FindParam(c.tool, c.last)
	c.keys++
	if c.param != nil {
		c.known++
		return true
	}
	return !c.exact && c.last != "properties" && c.last != "$schema"
}

// text looks at an argument that is a string, as strict JSON.
func (c *checker) text(quoted []byte) bool {
	return c.last != "type" || c.param != nil || string(quoted) != `"object"`
}

// curious reports whether an object as the argument may be the schema of one.
func (c *checker) curious() bool { return c.param == nil || c.param.Types&abi.Object == 0 }

// nested looks at the first key of an object where the parameter takes none.
func (c *checker) nested(key []byte) bool {
	if c.param == nil || c.param.Types == 0 {
		return true
	}
	return !slices.Contains([]string{"type", "description", "title", "enum", "properties", "items", "default", "anyOf"}, string(key))
}

// isType tells the names of JSON's types, as a schema has them for a parameter.
func isType(quoted []byte) bool {
	return slices.Contains([]string{`"string"`, `"integer"`, `"number"`, `"boolean"`, `"object"`, `"array"`, `"null"`}, string(quoted))
}

// end looks at the whole.
func (c *checker) end() bool {
	return c.keys == 0 || c.known > 0 || c.tool == nil || len(c.tool.Params) == 0
}
