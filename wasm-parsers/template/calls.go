package template

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// Limits of a call.
const (
	maxName  = 256 // bytes of a name, and of an id
	maxLists = 4   // how deep lists of calls may nest
)

// call is a call that is complete.
type call struct {
	callobject.Call
	raw []byte // of what is no call
}

// readCalls reads the text of the region up to a place and gives its calls out. It
// reports false if that text holds none.
func (p *parser) readCalls(r *reader, to int, out *sdk.Out) bool {
	v, ok := r.read(p.field.content, p.bytes(p.body, to))
	return ok && p.giveCalls(v, r.repaired, out)
}

func (p *parser) giveCalls(v value, repaired bool, out *sdk.Out) bool {
	v, ok := p.transformed(v)
	if !ok {
		return false
	}
	calls, good := p.calls(nil, v, 0)
	if !good {
		return false
	}
	for i := range calls {
		if calls[i].raw != nil {
			p.content.begin(nil)
			p.content.write(calls[i].raw, out.Content)
			continue
		}
		calls[i].Repaired = calls[i].Repaired || repaired
		calls[i].Write(out)
	}
	return true
}

// salvage gives out the calls of a list in front of what cannot be read, and passes
// over them.
func (p *parser) salvage(to int, out *sdk.Out) {
	c := p.field.content
	if c.name != contentJSON || c.lax || len(c.delims) > 0 {
		return
	}
	text := p.bytes(p.body, to)
	list, n := wholeItems(text, p.options.MaxDepth)
	if n > 0 && p.giveCalls(value{kind: isJSON, json: list}, false, out) {
		p.start = p.body + n
	}
}

// wholeItems are the objects that text, which begins a list of JSON, begins with,
// as a list, and the length of the text up to there. It is 0 if there are none.
func wholeItems(text []byte, maxDepth int) (list []byte, n int) {
	if first(text) != '[' {
		return nil, 0
	}
	r := relaxed.NewReader(maxDepth)
	size := 0
	for at := 0; at < len(text); {
		read, tok := r.Feed(text[at:])
		at += read
		if tok == relaxed.Bad || tok == relaxed.Done {
			break
		}
		if tok == relaxed.ObjectClose && r.Depth() == 1 {
			size, n = len(r.Out), at
		}
	}
	return append(r.Out[:size:size], ']'), n
}

// calls makes calls of a value, which is one or a list of them, and reports
// whether there is one, or an empty list. What is no call in a list is kept raw.
func (p *parser) calls(all []call, v value, depth int) (calls []call, good bool) {
	v = v.opened()
	function := v.member("function")
	items, isList := function.list() // a list inside of one call's frame
	if !isList {
		items, isList = v.list()
	}
	if !isList || depth == maxLists {
		c, ok := p.call(&v)
		if !ok {
			if c = (call{raw: v.source}); c.raw == nil {
				c.raw = v.appendJSON(nil)
			}
		}
		return append(all, c), ok
	}
	good = len(items) == 0
	for _, item := range items {
		var ok bool
		all, ok = p.calls(all, item, depth+1)
		good = good || ok
	}
	return all, good
}

// call makes a call of {"name": …, "arguments": …}, which may stand under function.
func (p *parser) call(v *value) (call, bool) {
	function := v.member("function")
	if function.kind != isObject && (function.kind != isJSON || first(function.json) != '{') {
		function = *v
	}
	function = function.opened()
	name := function.member("name")
	text, ok := name.asText()
	if name.kind == isText {
		text = strings.Trim(text, " \t\r\n")
	}
	c := call{Call: callobject.Call{Name: text}}
	if !ok || !validName(text, name.kind == isText) {
		return c, false
	}
	for _, id := range []value{v.member("id"), function.member("id")} {
		if text, ok := id.asText(); ok && text != "" && len(text) <= maxName {
			c.ID = text
		}
	}
	args := function.member("arguments")
	if args.kind == absent {
		args = function.member("parameters")
	}
	return c, c.readArgs(p, &args)
}

// validName tells whether a name may be one. In free text a name has no white
// space and no brackets of markup.
func validName(name string, free bool) bool {
	if len(name) == 0 || len(name) > maxName || strings.Trim(name, " \t\r\n") == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c < ' ' || c == 0x7f || free && (c == ' ' || strings.IndexByte(`<>{}"`, c) >= 0) {
			return false
		}
	}
	return true
}

// readArgs makes one JSON object of the arguments. None are {}.
func (c *call) readArgs(p *parser, v *value) bool {
	if v.kind == isObject && v.json == nil {
		p.giveTypes(c, v)
		c.Args = v.appendJSON(nil)
		return true
	}
	text, isString := v.asText()
	switch {
	case v.kind == absent:
		c.Args = []byte("{}")
		return true
	case isString:
		ok := c.Decode([]byte(text), p.options.MaxDepth)
		c.Decoded = c.Decoded && v.kind == isJSON
		return ok
	case v.json == nil:
		return false
	}
	switch first(v.json) {
	case 'n':
		c.Args = []byte("{}")
		return true
	case '{':
		c.Args = v.json
		return true
	}
	return false
}

// giveTypes gives the values that were written without a type that of the tool's
// schema. Without one they are what the template says.
func (p *parser) giveTypes(c *call, args *value) {
	tool := sdk.FindTool(p.options.Tools, c.Name)
	if tool == nil {
		return
	}
	types := map[string]sdk.Types{}
	for _, param := range tool.Params {
		types[param.Name] = param.Types
	}
	for i, key := range args.keys {
		t := types[key]
		item := &args.items[i]
		switch {
		case t == 0 || !item.untyped:
		case item.kind != isList:
			p.giveType(c, item, t)
		case t&abi.Array == 0: // values of the same key
			for k := range item.items {
				p.giveType(c, &item.items[k], t)
			}
		}
	}
}

func (p *parser) giveType(c *call, v *value, types sdk.Types) {
	switch {
	case !v.untyped:
	case v.kind == isText:
		json, repaired := typed.Convert([]byte(v.text), types, p.options.MaxDepth)
		*v = value{kind: isJSON, json: json}
		c.Repaired = c.Repaired || repaired
	case types == abi.String && first(v.json) != '"':
		*v = value{kind: isText, text: v.text} // text that looks like another type
	}
}
