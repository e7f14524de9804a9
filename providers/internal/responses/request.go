// Package responses is OpenAI's Responses API as an upstream speaks it: a client's own request goes out
// nearly as it came, and what comes back becomes the frames of a chat completion, with what those have
// no member for beside them, so that a client of the API gets it again.
package responses

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Protocol is the name of the API as a client's protocol.
const Protocol = "responses"

// encrypted is what a request includes to get reasoning that can be sent back.
const encrypted = `"reasoning.encrypted_content"`

// Request is a client's request as it goes upstream, with what the gateway has changed of it. State is
// the gateway's: nothing is stored upstream, and what earlier responses said is in the input. keeps says
// that reasoning is asked for in a form that can be sent back, which models that do not reason refuse. ok
// is false if the API has no word for a change.
func Request(body []byte, model string, c *gateway.Changes, keeps bool) (out wire.Pieces, ok bool) {
	b := &builder{body: body}
	b.set("model", wire.AppendQuoted(nil, model))
	b.edits = append(b.edits, wire.Remove(body, "previous_response_id", "conversation", "background")...)
	b.set("store", []byte("false"))
	if keeps && !Keeps(body) {
		b.set("include", appended(b.get("include"), []byte(encrypted)))
	}
	if c.System != "" {
		said := wire.Unquote(b.get("instructions"))
		if said != "" {
			said += "\n\n"
		}
		b.set("instructions", wire.AppendQuoted(nil, said+c.System))
	}
	if len(c.Remarks) > 0 {
		b.set("input", remarked(b.get("input"), c.Remarks))
	}
	tools := b.get("tools")
	if c.Choice != nil {
		b.set("tool_choice", choice(c.Choice, tools))
	}
	if len(c.Parameters) > 0 {
		at := wire.Find(body, wire.Span{End: len(body)}, "tools")
		b.edits = append(b.edits, wire.Shifted(schemas(tools, c.Parameters), at.Start)...)
	}
	for _, f := range c.Fields {
		name, known := map[string]string{"prompt_cache_key": "prompt_cache_key", "max_completion_tokens": "max_output_tokens"}[f.Name]
		if !known {
			return nil, false
		}
		b.set(name, []byte(f.Value))
	}
	return wire.Lay(body, b.edits), true
}

// Keeps reports whether a client's request itself asks for reasoning that can be sent back.
func Keeps(body []byte) bool { return bytes.Contains(get(body, "include"), []byte(encrypted)) }

// builder collects the edits of an object.
type builder struct {
	body  []byte
	edits []wire.Edit
}

func (b *builder) get(name string) []byte { return get(b.body, name) }

// set gives a member a value.
func (b *builder) set(name string, v []byte) {
	at := wire.Find(b.body, wire.Span{End: len(b.body)}, name)
	if at.Empty() {
		begin := bytes.IndexByte(b.body, '{') + 1
		b.edits = append(b.edits, wire.Edit{At: wire.Span{Start: begin, End: begin}, With: slices.Concat(wire.AppendQuoted(nil, name), []byte{':'}, v, []byte{','})}) // the model follows
		return
	}
	if !bytes.Equal(at.Of(b.body), v) {
		b.edits = append(b.edits, wire.Edit{At: at, With: v})
	}
}

// get is a member of an object, nil for none, or null.
func get(object []byte, name string) []byte {
	if len(object) == 0 || object[0] != '{' && bytes.IndexByte(object, '{') < 0 {
		return nil
	}
	at := wire.Find(object, wire.Span{End: len(object)}, name)
	if at.IsNull(object) {
		return nil
	}
	return at.Of(object)
}

// appended is an array with an element behind the others.
func appended(array, element []byte) []byte {
	if len(array) == 0 || array[0] != '[' || wire.Blank(array[1:len(array)-1]) {
		return slices.Concat([]byte{'['}, element, []byte{']'})
	}
	return slices.Concat(array[:len(array)-1], []byte{','}, element, []byte{']'})
}

func remarked(input []byte, remarks []string) []byte {
	if len(input) > 0 && input[0] == '"' {
		input = slices.Concat([]byte(`[{"role":"user","content":`), input, []byte("}]"))
	}
	for _, remark := range remarks {
		input = appended(input, append(wire.AppendQuoted([]byte(`{"role":"user","content":`), remark), '}'))
	}
	return input
}

// choice is a tool_choice of a chat completion in the API's form.
func choice(chat, tools []byte) []byte {
	name := get(get(chat, "function"), "name")
	if name == nil {
		return chat
	}
	kind := "function"
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool {
		tool := at.Of(tools)
		if wire.Unquote(get(tool, "type")) == "custom" && bytes.Equal(get(tool, "name"), name) {
			kind = "custom"
		}
		return true
	})
	return append(append(wire.AppendQuoted([]byte(`{"type":`), kind), `,"name":`...), append(bytes.Clone(name), '}')...)
}

// schemas are the edits of a list of tools that give some of them other parameters.
func schemas(tools []byte, parameters map[string][]byte) (edits []wire.Edit) {
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool {
		tool := at.Of(tools)
		schema, ok := parameters[wire.Unquote(get(tool, "name"))]
		if place := wire.Find(tool, wire.Span{End: len(tool)}, "parameters"); ok && !place.Empty() {
			edits = append(edits, wire.Shifted([]wire.Edit{{At: place, With: schema}}, at.Start)...)
		}
		return true
	})
	return edits
}
