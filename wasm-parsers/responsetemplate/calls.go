package responsetemplate

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
)

// call is a call of a region, ready to be given out.
type call struct {
	name, id string
	args     []byte
	repaired bool
}

// maxName is how long a tool's name may be.
const maxName = 256

// calls makes calls of a value: one, or a list of them. It reports false if
// anything of it is none.
func calls(n *node, maxDepth int) ([]call, bool) {
	if n.kind != array {
		c, ok := oneCall(n, maxDepth)
		return []call{c}, ok
	}
	all := make([]call, 0, len(n.items))
	for i := range n.items {
		c, ok := oneCall(&n.items[i], maxDepth)
		if !ok {
			return nil, false
		}
		all = append(all, c)
	}
	return all, true
}

// oneCall reads {"name", "arguments"}, which may stand under function.
func oneCall(n *node, maxDepth int) (call, bool) {
	c := call{}
	if id, _ := n.get("id"); id.kind == text {
		c.id = id.text
	}
	function, ok := n.get("function")
	if !ok || function.kind != object {
		function = *n
	}
	name, _ := function.get("name")
	c.name = strings.Trim(name.text, " \t\r\n")
	if name.kind != text || !validName(c.name) {
		return c, false
	}
	args, _ := function.get("arguments")
	c.args, c.repaired, ok = arguments(&args, maxDepth)
	return c, ok
}

func validName(name string) bool {
	for i := range len(name) {
		if name[i] < ' ' || name[i] == 0x7f {
			return false
		}
	}
	return name != "" && len(name) <= maxName
}

// arguments is the JSON object of a call's arguments, which may be written as a
// string that holds it. None are {}.
func arguments(n *node, maxDepth int) (args []byte, repaired, ok bool) {
	switch n.kind {
	case missing, null:
		return []byte("{}"), false, true
	case object:
		return n.appendJSON(nil), false, true
	case text:
		source := strings.Trim(n.text, " \t\r\n")
		if source == "" {
			return []byte("{}"), false, true
		}
		strict, kind, ok := relaxed.Value([]byte(source), maxDepth)
		return strict, string(strict) != source, ok && kind == relaxed.ObjectOpen
	}
	return nil, false, false
}

// write gives out a call.
func (c *call) write(repaired bool, out *sdk.Out) {
	out.CallStart(c.name, c.id)
	out.Args(c.args)
	if repaired || c.repaired {
		out.Repair("args_json")
	}
	out.CallEnd()
}
