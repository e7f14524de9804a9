package messages

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// turn is what one side says until the other one does: neighbours of one role are one turn.
type turn struct {
	assistant bool
	results   []result
	parts     []part
	calls     []pastCall
	thoughts  prose
	signed    []value  // blocks of thinking that only who has signed them can read
	unsigned  value    // the thoughts of the last block that the gateway has signed itself
	details   [][]byte // those of others than Anthropic, in OpenRouter's form
	extras    protocol.Extras
}

// part is a part of a message's content.
type part struct {
	text   []byte // inner text
	other  value  // or a part that is none
	joined bool   // it goes on with the text in front of it
}

// result is the result of a call.
type result struct {
	id   value
	text prose
}

// history is what was said before.
type history struct {
	remarks *remarks
	system  prose
	turns   []turn
	added   []addition
	ran     map[string][2]string // server and tool of earlier calls that the gateway has made, by id
}

// turn is the one of a role that is going on.
func (h *history) turn(assistant bool) *turn {
	if n := len(h.turns); n == 0 || h.turns[n-1].assistant != assistant {
		h.turns = append(h.turns, turn{assistant: assistant})
	}
	return &h.turns[len(h.turns)-1]
}

// read reads the messages. Those of the system, wherever they stand, join what it says
// at the beginning: templates of models know no other place.
func (h *history) read(messages value) error {
	return elements(messages, func(i int, v value) error {
		place := fmt.Sprintf("messages[%d]", i)
		if !isObject(v) {
			return invalid(place, "%s must be an object.", place)
		}
		h.remarks.leftover("messages.", v, knownMessage)
		content := find(v, "content")
		switch role := text(find(v, "role")); role {
		case "system", "developer":
			return h.readSystem(place+".content", content)
		case "user":
			return h.readUser(place, content)
		case "assistant":
			return h.readAssistant(place, content)
		default:
			return invalid(place+".role", "%s.role must be user, assistant or system, not %q.", place, gateway.ExcerptOf(role, 40))
		}
	})
}

// eachBlock calls f for the blocks of a content; a string is a block of text. where is what warnings call the place.
func (m *remarks) eachBlock(where, place string, content value, text func(inner []byte), f func(place, kind string, b value) error) error {
	switch {
	case isString(content):
		text(inner(content))
		return nil
	case !isArray(content):
		return invalid(place, "%s must be a string or an array of blocks, not %s.", place, gateway.Excerpt(content))
	}
	return elements(content, func(i int, b value) error {
		at := fmt.Sprintf("%s[%d]", place, i)
		if !isObject(b) {
			return invalid(at, "%s must be an object with a type.", at)
		}
		kind := find(b, "type")
		if !isString(kind) {
			return invalid(at+".type", "%s.type is missing: a block needs a type, such as \"text\".", at)
		}
		if string(kind) == `"text"` {
			s := find(b, "text")
			if !isString(s) {
				return invalid(at+".text", "%s.text must be a string.", at)
			}
			m.leftover(where, b, knownText)
			text(inner(s))
			return nil
		}
		return f(at, wire.Unquote(kind), b)
	})
}

// billing begins the block of the system in which Claude Code says who pays. It differs with
// every request, so that no cache of a prompt would ever be of use.
var billing = []byte("x-anthropic-billing-header")

// readSystem adds what the system says.
func (h *history) readSystem(place string, content value) error {
	if content == nil {
		return nil
	}
	return h.remarks.eachBlock("system.", place, content, func(inner []byte) {
		switch {
		case bytes.HasPrefix(inner, billing):
			h.remarks.dropped("system.billing_header")
		case !blank(inner):
			h.system.add(inner)
		}
	}, func(at, kind string, b value) error {
		if kind == "tool_addition" && h.addTool(at, b) {
			return nil
		}
		h.remarks.needsOwn(invalid(at+".type", "%s has the type %q, which this model's API does not take from the system.", at, gateway.ExcerptOf(kind, 40)))
		return nil
	})
}

// addTool takes a tool that the system adds in the midst of the conversation: all tools are offered from
// the beginning. ok is false for one that is no function.
func (h *history) addTool(place string, b value) (ok bool) {
	tool := find(b, "tool")
	switch text(find(tool, "type")) {
	case "tool_reference": // to one of the request's
		return true
	case "tool_definition":
		definition := find(tool, "definition")
		if kind := text(find(definition, "type")); !isObject(definition) || kind != "" && kind != "custom" {
			return false
		}
		h.remarks.leftover("messages.", b, knownAddition)
		h.added = append(h.added, addition{place + ".tool.definition", definition})
		return true
	}
	return false
}

// addition is a tool that a message adds.
type addition struct {
	place string
	tool  value
}

func (h *history) readUser(place string, content value) error {
	t := h.turn(false)
	place += ".content"
	return h.remarks.eachBlock("messages.", place, content, func(inner []byte) {
		if len(inner) > 0 {
			t.parts = append(t.parts, part{text: inner})
		}
	}, func(at, kind string, b value) error {
		if kind == "tool_result" {
			return h.readResult(t, at, b)
		}
		p, err := h.remarks.media(at, kind, b)
		if err == nil && (p.text != nil || p.other != nil) {
			t.parts = append(t.parts, p)
		}
		return err
	})
}

// readResult reads the result of a call. A tool message holds text alone: what else there is
// follows in the user's message.
func (h *history) readResult(t *turn, place string, b value) error {
	m := fields(b)
	id := m["tool_use_id"]
	if text(id) == "" {
		return invalid(place+".tool_use_id", "%s.tool_use_id is missing: it must name the call that this is the result of.", place)
	}
	h.remarks.leftover("messages.", b, knownResult)
	res := result{id: chatID(id)}
	if string(m["is_error"]) == "true" {
		res.text = append(res.text, "Error: "...)
	}
	first := true
	add := func(inner []byte) {
		if first {
			first = false
			if len(res.text) == 0 {
				res.text = inner[:len(inner):len(inner)] // a part of the client's body
			} else {
				res.text = append(res.text, inner...)
			}
			return
		}
		res.text.add(inner)
	}
	var err error
	if content := m["content"]; content != nil {
		err = h.remarks.eachBlock("messages.", place+".content", content, add, func(at, kind string, b value) error {
			if kind == "tool_reference" {
				h.remarks.leftover("messages.", b, knownReference)
				add(reference(find(b, "tool_name")))
				return nil
			}
			p, err := h.remarks.media(at, kind, b)
			if p.text != nil {
				add(p.text)
			}
			if p.other != nil {
				t.parts = append(t.parts, p)
			}
			return err
		})
	}
	t.results = append(t.results, res)
	return err
}

// reference is the text of a tool that a search for tools has found. All tools are offered
// from the beginning, so that its name is enough.
func reference(name value) []byte {
	return append(append([]byte("The tool "), inner(name)...), " is available."...)
}

// readAssistant reads what the model has said before.
func (h *history) readAssistant(place string, content value) error {
	h.turn(true)
	place += ".content"
	goesOn, texts := continued(content), 0
	return h.remarks.eachBlock("messages.", place, content, func(inner []byte) {
		if len(inner) > 0 {
			t := h.turn(true)
			t.parts = append(t.parts, part{text: inner, joined: texts < len(goesOn) && goesOn[texts] && len(t.parts) > 0})
		}
		texts++
	}, func(at, kind string, b value) error {
		t := h.turn(true)
		switch kind {
		case "mcp_tool_use":
			return h.readRan(at, b)
		case "mcp_tool_result":
			return h.readRanResult(at, b)
		case "tool_use":
			h.remarks.leftover("messages.", b, knownCall)
			return t.readCall(at, b)
		case "thinking":
			h.remarks.leftover("messages.", b, knownThought)
			t.readThought(b)
			return nil
		case "redacted_thinking":
			if data := text(find(b, "data")); !gateway.IsSealed(data) {
				t.signed = append(t.signed, b)
			} else if entry, ok := gateway.SealedDetail(data); ok {
				t.readDetail(entry)
			}
			return nil
		case "server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result",
			"bash_code_execution_tool_result", "text_editor_code_execution_tool_result", "tool_search_tool_result",
			"container_upload":
			h.remarks.dropped("messages." + kind)
			return nil
		}
		h.remarks.needsOwn(invalid(at+".type", "%s has the type %q, which this model's API does not take from the assistant.", at, gateway.ExcerptOf(kind, 40)))
		return nil
	})
}

// readDetail reads what the gateway has sealed for a client.
func (t *turn) readDetail(entry []byte) {
	if thought, ok := protocol.ThoughtOfDetail(entry); ok {
		if len(thought) > 0 {
			t.thoughts.add(thought)
		}
	} else if _, ok := t.extras.Take(entry); !ok {
		t.details = append(t.details, entry)
	}
}

// readThought reads what was thought. OpenRouter may give a signature when the text has begun already, so that the
// thoughts it is of stand in a block before, which the gateway has signed (@openrouter/ai-sdk-provider, chat/index.ts):
// who has signed them refuses them apart.
func (t *turn) readThought(block value) {
	thought, signature := find(block, "thinking"), find(block, "signature")
	if len(inner(thought)) > 0 {
		t.thoughts.add(inner(thought))
	}
	switch s := text(signature); {
	case s == "":
		return
	case gateway.IsSealed(s):
		t.unsigned = thought
		return
	case len(inner(thought)) == 0 && len(inner(t.unsigned)) > 0:
		block = slices.Concat(value(`{"type":"thinking","thinking":`), t.unsigned, value(`,"signature":`), signature, value(`}`))
	}
	t.signed, t.unsigned = append(t.signed, block), nil
}

// continued says of each text in what the model has said whether it goes on with the one in front of it:
// where a text has citations, it is cut into blocks in the midst of its sentences.
func continued(content value) (goesOn []bool) {
	if !bytes.Contains(content, []byte(`"citations"`)) {
		return nil
	}
	adjacent, cited := false, false
	_ = elements(content, func(_ int, b value) error {
		if text(find(b, "type")) != "text" {
			adjacent = false
			return nil
		}
		now := isArray(find(b, "citations")) && !protocol.IsHollow(find(b, "citations"))
		goesOn = append(goesOn, adjacent && (cited || now))
		adjacent, cited = true, now
		return nil
	})
	return goesOn
}

// readCall reads a call of a tool. Its input becomes the arguments as it is spelled.
func (t *turn) readCall(place string, b value) error {
	m := fields(b)
	id, name, input := m["id"], m["name"], m["input"]
	switch {
	case text(id) == "":
		return invalid(place+".id", "%s.id is missing: the result of the call has to name it.", place)
	case text(name) == "":
		return invalid(place+".name", "%s.name is missing.", place)
	case input == nil:
		input = value("{}")
	case !isObject(input):
		return invalid(place+".input", "%s.input must be an object, not %s.", place, gateway.Excerpt(input))
	}
	t.calls = append(t.calls, pastCall{id: chatID(id), own: id, name: name, input: input})
	return nil
}

// pastCall is an earlier call of a tool, of parts of the client's body. own is the client's id.
type pastCall struct{ id, own, name, input value }

// appendTo appends the call as an entry of tool_calls, with what belongs to it.
func (c *pastCall) appendTo(b []byte, extras protocol.Extras) []byte {
	b = append(append(b, `{"id":`...), c.id...)
	b = append(append(b, `,"type":"function","function":{"name":`...), c.name...)
	b = append(wire.AppendQuoted(append(b, `,"arguments":`...), c.input), '}')
	return append(protocol.AppendExtra(b, extras[text(c.own)]), '}')
}

// appendTo appends the turns as messages of a chat completion.
func (h *history) appendTo(b []byte) []byte {
	b = append(wire.AppendKey(b, "messages"), '[')
	first := true
	begin := func(role string) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(append(append(b, `{"role":"`...), role...), '"')
	}
	if len(h.system) > 0 {
		begin("system")
		b = append(append(append(b, `,"content":"`...), h.system...), `"}`...)
	}
	for i := range h.turns {
		t := &h.turns[i]
		if t.assistant {
			if t.empty() {
				continue
			}
			begin("assistant")
			b = t.appendTo(b)
			if i == len(h.turns)-1 && len(t.calls) == 0 {
				h.remarks.needsOwn(invalid("messages", "The last message is one of the assistant, which this model's API does not continue (prefill): end with a message of the user."))
			}
			continue
		}
		for j := range t.results {
			begin("tool")
			b = append(append(b, `,"tool_call_id":`...), t.results[j].id...)
			b = append(append(append(b, `,"content":"`...), t.results[j].text...), `"}`...)
		}
		if len(t.parts) > 0 || len(t.results) == 0 {
			begin("user")
			b = append(appendParts(append(b, `,"content":`...), t.parts), '}')
		}
	}
	return append(b, ']')
}

// empty reports whether nothing of the turn is left for a chat completion.
func (t *turn) empty() bool {
	return len(t.parts) == 0 && len(t.calls) == 0 && len(t.thoughts) == 0 && len(t.signed) == 0 && len(t.details) == 0
}

// appendTo appends what the assistant has said, behind the beginning of its message.
func (t *turn) appendTo(b []byte) []byte {
	b = append(b, `,"content":`...)
	if len(t.parts) == 0 && len(t.calls) > 0 {
		b = append(b, "null"...)
	} else {
		b = appendParts(b, t.parts)
	}
	if len(t.thoughts) > 0 {
		b = append(append(append(b, `,"reasoning_content":"`...), t.thoughts...), '"')
	}
	b = t.appendSigned(b)
	for i := range t.calls {
		b = t.calls[i].appendTo(appendSeparator(b, "tool_calls", i), t.extras)
	}
	if len(t.calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// appendSigned appends what was signed, in LiteLLM's form, which is Anthropic's, and in OpenRouter's.
func (t *turn) appendSigned(b []byte) []byte {
	for i, block := range t.signed {
		b = append(appendSeparator(b, "thinking_blocks", i), block...)
	}
	if len(t.signed) > 0 {
		b = append(b, ']')
	}
	for i, block := range t.signed {
		b = appendSeparator(b, "reasoning_details", i)
		if text(find(block, "type")) == "redacted_thinking" {
			b = append(append(b, `{"type":"reasoning.encrypted","data":`...), orEmpty(find(block, "data"))...)
		} else {
			b = append(append(b, `{"type":"reasoning.text","text":`...), orEmpty(find(block, "thinking"))...)
			b = append(append(b, `,"signature":`...), find(block, "signature")...)
		}
		b = append(strconv.AppendInt(append(b, `,"format":"anthropic-claude-v1","index":`...), int64(i), 10), '}')
	}
	for i, entry := range t.details {
		b = append(appendSeparator(b, "reasoning_details", len(t.signed)+i), entry...)
	}
	if len(t.signed)+len(t.details) > 0 {
		b = append(b, ']')
	}
	return b
}

// orEmpty is a value, or an empty string for none.
func orEmpty(v value) value {
	if v == nil {
		return value(`""`)
	}
	return v
}

// appendSeparator appends what stands in front of an element of a list: the beginning of its member, or a comma.
func appendSeparator(b []byte, member string, i int) []byte {
	if i > 0 {
		return append(b, ',')
	}
	return append(wire.AppendKey(b, member), '[')
}

// appendParts appends a content: a string, which every server takes, unless there is more than
// text.
func appendParts(dst []byte, parts []part) []byte {
	only := true
	for i := range parts {
		only = only && parts[i].other == nil
	}
	if only {
		dst = append(dst, '"')
		for i := range parts {
			if i > 0 && !parts[i].joined {
				dst = append(dst, `\n\n`...)
			}
			dst = append(dst, parts[i].text...)
		}
		return append(dst, '"')
	}
	dst = append(dst, '[')
	for i := range parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		if parts[i].other != nil {
			dst = append(dst, parts[i].other...)
			continue
		}
		dst = append(append(append(dst, `{"type":"text","text":"`...), parts[i].text...), `"}`...)
	}
	return append(dst, ']')
}
