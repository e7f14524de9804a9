package anthropic

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// canSay reports whether the Messages API has words for all that the gateway has changed of a
// request.
func canSay(c *gateway.Changes) bool { return len(c.Fields) == 0 }

// change is a client's own request with what the gateway has changed of it: everything else stays,
// signatures and marks for the cache too.
func change(body value, c *gateway.Changes) value {
	var edits []wire.Edit
	set := func(name string, v value) {
		if at := place(body, name); !at.Empty() {
			edits = append(edits, wire.Edit{At: at, With: v})
			return
		}
		begin := bytes.IndexByte(body, '{') + 1
		edits = append(edits, wire.Edit{At: wire.Span{Start: begin, End: begin}, With: slices.Concat(quote(name), value(":"), v, value(","))}) // the model follows
	}
	if c.System != "" {
		set("system", appended(get(body, "system"), c.System))
	}
	if len(c.Remarks) > 0 {
		at := place(body, "messages")
		edits = append(edits, wire.Edit{At: at, With: remarked(body[at.Start:at.End], c.Remarks)})
	}
	if choice := ownChoice(c.Choice, body); choice != nil {
		set("tool_choice", choice)
	}
	if len(c.Parameters) > 0 {
		at := place(body, "tools")
		edits = append(edits, wire.Shifted(ownSchemas(body[at.Start:at.End], c.Parameters), at.Start)...)
	}
	if len(edits) == 0 {
		return body
	}
	return wire.Splice(body, edits)
}

// place is where a member of an object is; it is empty if it is not there.
func place(object value, name string) wire.Span {
	return wire.Find(object, wire.Span{End: len(object)}, name)
}

// appended is a content, blocks or a string, with a text behind it.
func appended(content value, said string) value {
	switch {
	case isArray(content):
		at := content[1 : len(content)-1]
		block := textBlock(quote(said), nil)
		if wire.Blank(at) {
			return arrayOf(block)
		}
		return slices.Concat(content[:len(content)-1], value(","), block, value("]"))
	case isString(content) && len(content) > len(`""`):
		return slices.Concat(content[:len(content)-1], value(`\n\n`), quote(said)[1:])
	}
	return quote(said)
}

// remarked are messages with further ones of the user's, which join the user's own where that is
// the last.
func remarked(messages value, remarks []string) value {
	var all []value
	_ = elements(messages, func(_ int, m value) error {
		all = append(all, m)
		return nil
	})
	for _, remark := range remarks {
		last := len(all) - 1
		if last >= 0 && text(get(all[last], "role")) == "user" {
			at := place(all[last], "content")
			content := value(all[last][at.Start:at.End])
			if isString(content) {
				content = arrayOf(textBlock(content, nil))
			}
			all[last] = slices.Concat(all[last][:at.Start], appended(content, remark), all[last][at.End:])
			continue
		}
		var o object
		o.setString("role", "user")
		o.set("content", arrayOf(textBlock(quote(remark), nil)))
		all = append(all, o.close())
	}
	var out list
	for _, m := range all {
		out.add(m)
	}
	return out.array()
}

// ownChoice is a tool_choice in the API's form; nil leaves the client's. A call is not demanded of a
// model that thinks: the API would refuse the request.
func ownChoice(choice value, body value) value {
	var o object
	thinks := text(get(get(body, "thinking"), "type"))
	name := get(get(choice, "function"), "name")
	switch {
	case choice == nil:
		return nil
	case text(choice) == "none" || text(choice) == "auto":
		o.set("type", choice)
	case thinks != "" && thinks != "disabled":
		return nil
	case name != nil:
		o.setString("type", "tool")
		o.set("name", name)
	default:
		o.setString("type", "any")
	}
	if single := get(get(body, "tool_choice"), "disable_parallel_tool_use"); single != nil && text(choice) != "none" {
		o.set("disable_parallel_tool_use", single)
	}
	return o.close()
}

// ownSchemas are the edits of a list of tools that give some of them other schemas.
func ownSchemas(tools value, schemas map[string][]byte) (edits []wire.Edit) {
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool {
		tool := part(tools, at)
		if schema, ok := schemas[text(get(tool, "name"))]; ok {
			edits = append(edits, wire.Shifted([]wire.Edit{{At: place(tool, "input_schema"), With: schema}}, at.Start)...)
		}
		return true
	})
	return edits
}
