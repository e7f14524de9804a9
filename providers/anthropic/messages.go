package anthropic

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/callgate/callgate/gateway/wire"
)

// conversation is the messages in Anthropic's form: what the system says stands in
// front, and user and assistant take turns.
type conversation struct {
	parts  parts
	system blocks
	turns  []turn
	called []value // the names of tools in earlier calls, each once
}

// turn is one message of Anthropic's, made of all of the client's that follow one
// another in one role.
type turn struct {
	assistant bool
	results   blocks // those of tools' results, which have to come first
	blocks    blocks
}

// turn is the turn of a role, which begins if it is not at hand.
func (c *conversation) turn(assistant bool) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].assistant != assistant {
		c.turns = append(c.turns, turn{assistant: assistant})
	}
	return &c.turns[len(c.turns)-1]
}

// writeTo writes the turns as the Messages API wants them. They are not used any more.
func (c *conversation) writeTo(out *rope) {
	out.say("[")
	for i := range c.turns {
		t := &c.turns[i]
		if i > 0 {
			out.say(",")
		}
		if t.assistant {
			out.say(`{"role":"assistant","content":[`)
		} else {
			out.say(`{"role":"user","content":[`)
		}
		out.join(&t.results.rope)
		if t.results.count > 0 && t.blocks.count > 0 {
			out.say(",")
		}
		out.join(&t.blocks.rope)
		out.say("]}")
	}
	out.say("]")
}

// lacksThinking says whether the conversation ends in a turn of the model's that is
// still going on, a loop of calls and results or text that it shall continue, and
// that did not begin with thinking. (Anthropic, "Extended thinking": with thinking
// the last turn of the assistant must start with a thinking block.)
func (c *conversation) lacksThinking() bool {
	first := -1
	for i := len(c.turns) - 1; i >= 0; i-- {
		t := &c.turns[i]
		if !t.assistant && t.blocks.count > 0 {
			break
		}
		if t.assistant {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	return !c.turns[first].blocks.firstThinks
}

func isThinking(block value) bool {
	kind := text(get(block, "type"))
	return kind == "thinking" || kind == "redacted_thinking"
}

// The fields of a message that are read, by its role. name is not among them:
// Anthropic has none.
var (
	systemFields = set("role", "content", "cache_control")
	userFields   = set("role", "content", "cache_control")
	toolFields   = set("role", "content", "cache_control", "tool_call_id", "is_error")
)

// readMessages translates the messages, with the field system in front.
func readMessages(system, list value, w *warnings) (*conversation, error) {
	c := &conversation{parts: parts{w}}
	if err := c.readSystemField(system); err != nil {
		return nil, err
	}
	if !isArray(list) {
		return nil, invalid("messages", "The field \"messages\" must be an array.")
	}
	count := 0
	_ = elements(list, func(int, value) error { count++; return nil })
	err := elements(list, func(i int, v value) error {
		place := fmt.Sprintf("messages[%d]", i)
		if !isObject(v) {
			return invalid(place, "%s must be an object.", place)
		}
		m := fields(v)
		if i == count-1 && text(m["role"]) == "assistant" && hollow(m["tool_calls"]) {
			m["content"] = c.parts.trimmed(m["content"])
		}
		return c.readMessage(place, m)
	})
	return c, err
}

// trimmed is the content of a message that the model is to go on with. The API refuses one that ends in white space; see
// LiteLLM's prompt_templates/factory.py.
func (p parts) trimmed(content value) value {
	at := wire.Span{End: len(content)}
	if isArray(content) {
		var last wire.Span
		wire.Elements(content, 0, func(_ int, v wire.Span) bool {
			last = v
			return true
		})
		at = wire.Find(content, last, "text")
	}
	s := text(at.Of(content))
	short := strings.TrimRightFunc(s, unicode.IsSpace)
	if short == s {
		return content
	}
	p.warnings.drop("messages.trailing_space")
	return slices.Concat(content[:at.Start], quote(short), content[at.End:])
}

func (c *conversation) readMessage(place string, m map[string]value) error {
	switch role := text(m["role"]); role {
	case "system", "developer":
		return c.readSystem(place, m)
	case "user":
		return c.readUser(place, m)
	case "assistant":
		return c.readAssistant(place, m)
	case "tool":
		return c.readResult(place, m)
	default:
		return invalid(place+".role", "%s.role must be system, developer, user, assistant or tool, not %q.", place, cut(role))
	}
}

// readSystemField takes the field system, which is Anthropic's own, a string or
// blocks of text. It stands in front of what the messages say.
func (c *conversation) readSystemField(v value) error {
	if isString(v) {
		if !blank(v) {
			c.system.text(v, nil)
		}
		return nil
	}
	return elements(v, func(_ int, block value) error {
		c.system.give(block)
		return nil
	})
}

// readSystem puts a system or developer message in front. One that stood between
// other messages cannot stay there, which is reported.
func (c *conversation) readSystem(place string, m map[string]value) error {
	c.parts.warnings.leftover("messages", m, systemFields)
	var b blocks
	if err := c.parts.readContent(place, m["content"], &b); err != nil {
		return err
	}
	c.parts.mark(&b, m["cache_control"])
	if b.count > 0 && len(c.turns) > 0 {
		c.parts.warnings.add("moved", "system")
	}
	c.system.join(&b)
	return nil
}

func (c *conversation) readUser(place string, m map[string]value) error {
	c.parts.warnings.leftover("messages", m, userFields)
	var b blocks
	if err := c.parts.readContent(place, m["content"], &b); err != nil {
		return err
	}
	if b.count == 0 {
		// To leave it out would have the model go on with its own last words.
		return invalid(place+".content", "%s has no content; this model's API takes no empty message of a user.", place)
	}
	c.parts.mark(&b, m["cache_control"])
	c.turn(false).blocks.join(&b)
	return nil
}

// readResult takes the result of a call. All results of a turn stand together, in
// front of what the user says.
func (c *conversation) readResult(place string, m map[string]value) error {
	c.parts.warnings.leftover("messages", m, toolFields)
	id := m["tool_call_id"]
	if text(id) == "" {
		return invalid(place+".tool_call_id", "%s.tool_call_id is missing: it must name the call that this is the result of.", place)
	}
	var content blocks
	if err := c.parts.readContent(place, m["content"], &content); err != nil {
		return err
	}
	o := &c.turn(false).results
	o.begin(false, true)
	o.open("tool_result")
	o.set("tool_use_id", id)
	switch {
	case content.count == 0: // Anthropic lets a result have none
	case isString(m["content"]):
		o.set("content", m["content"])
	default:
		o.key("content")
		o.add([]byte{'['})
		o.rope.join(&content.rope)
		o.add([]byte{']'})
	}
	o.set("is_error", m["is_error"])
	o.set("cache_control", m["cache_control"])
	o.close()
	return nil
}

// noteCalled notes the name of a tool that was called.
func (c *conversation) noteCalled(name value) {
	if !slices.ContainsFunc(c.called, func(v value) bool { return bytes.Equal(v, name) }) {
		c.called = append(c.called, name)
	}
}
