package heuristic

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// beginArgs begins the object of arguments.
func (r *reader) beginArgs(exact bool) status {
	r.json.Out = r.json.Out[:0] // white space; the brace comes with what follows it
	r.argsDepth = r.json.Depth()
	r.place = inArgs
	r.check = checker{tool: r.tool, exact: exact}
	r.late = r.cur.Name == "" && len(r.tools) > 0
	return next
}

// argument reads a token of the arguments.
func (r *reader) argument(tok relaxed.Token) status {
	place := r.place
	r.place = inArgs
	switch {
	case tok == relaxed.ObjectClose && r.json.Depth() < r.argsDepth:
		return r.endArgs()
	case r.late:
		if r.json.Depth() > r.argsDepth {
			r.place = inNested
		}
		return next
	case place == inSchema && tok == relaxed.Key:
		if r.place = inNested; string(r.json.Key()) == "type" {
			r.place, r.valueAt = inType, len(r.json.Out)
		}
		return good(r.check.nested(r.json.Key()))
	case place == inType:
		r.place = inNested
		return good(tok != relaxed.String || !isType(r.text(r.valueAt)))
	case tok == relaxed.Key:
		r.valueAt = len(r.json.Out)
		return good(r.check.key(r.json.Key()))
	case tok == relaxed.String:
		return good(r.check.text(r.text(r.valueAt)))
	case tok == relaxed.ObjectOpen && r.check.curious():
		r.place = inSchema
	case tok == relaxed.ObjectOpen, tok == relaxed.ArrayOpen:
		r.place = inNested
	}
	return next
}

// text is the scalar that was read, without the white space before it.
func (r *reader) text(from int) []byte { return chars.SkipSpace(r.json.Out[from:]) }

func (r *reader) endArgs() status {
	if !r.late && !r.check.end() {
		return bad
	}
	r.cur.Args = bytes.Clone(r.json.Out)
	r.json.Out = r.json.Out[:0]
	r.place = r.back
	if r.bare {
		return r.endCall()
	}
	return next
}

// checkArgs looks at arguments that were read before it could be done.
func checkArgs(args []byte, name string, tool *sdk.Tool, maxDepth int) bool {
	r := newArgs(name, tool, relaxed.NewReader(maxDepth))
	for len(args) > 0 {
		n, s := r.step(args)
		args = args[n:]
		if s == bad {
			return false
		}
	}
	return true
}
