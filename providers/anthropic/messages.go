package anthropic

import (
	"fmt"
	"slices"
)

// conversation is the messages in Anthropic's form: what the system says stands in
// front, and user and assistant take turns.
type conversation struct {
	system list
	turns  []turn
}

// turn is one message of Anthropic's, made of all of the client's that follow one
// another in one role.
type turn struct {
	assistant bool
	results   []value // blocks of tools' results, which have to come first
	blocks    []value
}

// add gives blocks to the turn of a role, which begins if it is not at hand.
func (c *conversation) add(assistant bool, blocks ...value) *turn {
	if n := len(c.turns); n == 0 || c.turns[n-1].assistant != assistant {
		c.turns = append(c.turns, turn{assistant: assistant})
	}
	t := &c.turns[len(c.turns)-1]
	t.blocks = append(t.blocks, blocks...)
	return t
}

// appendMessages appends the turns as the Messages API wants them.
func (c *conversation) appendMessages(b []byte) []byte {
	size := 2
	for _, t := range c.turns {
		size += len(`{"role":"assistant","content":[]},`)
		for _, list := range [...][]value{t.results, t.blocks} {
			for _, block := range list {
				size += len(block) + 1
			}
		}
	}
	b = append(slices.Grow(b, size+room), '[')
	for i, t := range c.turns {
		if i > 0 {
			b = append(b, ',')
		}
		role := "user"
		if t.assistant {
			role = "assistant"
		}
		b = append(append(append(b, `{"role":"`...), role...), `","content":[`...)
		for j := range len(t.results) + len(t.blocks) {
			if j > 0 {
				b = append(b, ',')
			}
			if j < len(t.results) {
				b = append(b, t.results[j]...)
			} else {
				b = append(b, t.blocks[j-len(t.results)]...)
			}
		}
		b = append(b, "]}"...)
	}
	return append(b, ']')
}

// lacksThinking says whether the conversation ends in a turn of the model's that is
// still going on, a loop of calls and results or text that it shall continue, and
// that did not begin with thinking. (Anthropic, "Extended thinking": with thinking
// the last turn of the assistant must start with a thinking block.)
func (c *conversation) lacksThinking() bool {
	first := -1
	for i := len(c.turns) - 1; i >= 0; i-- {
		t := c.turns[i]
		if !t.assistant && len(t.blocks) > 0 {
			break
		}
		if t.assistant {
			first = i
		}
	}
	if first < 0 {
		return false
	}
	blocks := c.turns[first].blocks
	return len(blocks) == 0 || !isThinking(blocks[0])
}

func isThinking(block value) bool {
	kind := text(fields(block)["type"])
	return kind == "thinking" || kind == "redacted_thinking"
}

// The fields of a message that are read, by its role. name is not among them:
// Anthropic has none.
var (
	systemFields = set("role", "content", "cache_control")
	userFields   = set("role", "content", "cache_control")
	toolFields   = set("role", "content", "cache_control", "tool_call_id", "is_error")
)

// readMessages translates the messages.
func (r *request) readMessages() (*conversation, error) {
	c := &conversation{}
	if err := r.readSystemField(c); err != nil {
		return nil, err
	}
	list := r.in["messages"]
	if !isArray(list) {
		return nil, invalid("messages", "The field \"messages\" must be an array.")
	}
	err := elements(list, func(i int, v value) error {
		place := fmt.Sprintf("messages[%d]", i)
		if !isObject(v) {
			return invalid(place, "%s must be an object.", place)
		}
		return r.readMessage(c, place, fields(v))
	})
	return c, err
}

func (r *request) readMessage(c *conversation, place string, m map[string]value) error {
	switch role := text(m["role"]); role {
	case "system", "developer":
		return r.readSystem(c, place, m)
	case "user":
		return r.readUser(c, place, m)
	case "assistant":
		return r.readAssistant(c, place, m)
	case "tool":
		return r.readResult(c, place, m)
	default:
		return invalid(place+".role", "%s.role must be system, developer, user, assistant or tool, not %q.", place, cut(role))
	}
}

// readSystemField takes the field system, which is Anthropic's own, a string or
// blocks of text. It stands in front of what the messages say.
func (r *request) readSystemField(c *conversation) error {
	v := r.in["system"]
	if isString(v) {
		if !blank(v) {
			c.system.add(textBlock(v, nil))
		}
		return nil
	}
	return elements(v, func(_ int, block value) error {
		c.system.add(block)
		return nil
	})
}

// readSystem puts a system or developer message in front. One that stood between
// other messages cannot stay there, which is reported.
func (r *request) readSystem(c *conversation, place string, m map[string]value) error {
	r.leftover("messages", m, systemFields)
	blocks, err := r.readContent(place, m["content"])
	if err != nil {
		return err
	}
	r.mark(blocks, m["cache_control"])
	for _, b := range blocks {
		if len(c.turns) > 0 {
			r.warnings.add("moved", "system")
		}
		c.system.add(b)
	}
	return nil
}

func (r *request) readUser(c *conversation, place string, m map[string]value) error {
	r.leftover("messages", m, userFields)
	blocks, err := r.readContent(place, m["content"])
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		// To leave it out would have the model go on with its own last words.
		return invalid(place+".content", "%s has no content; this model's API takes no empty message of a user.", place)
	}
	r.mark(blocks, m["cache_control"])
	c.add(false, blocks...)
	return nil
}

// readResult takes the result of a call. All results of a turn stand together, in
// front of what the user says.
func (r *request) readResult(c *conversation, place string, m map[string]value) error {
	r.leftover("messages", m, toolFields)
	id := m["tool_call_id"]
	if text(id) == "" {
		return invalid(place+".tool_call_id", "%s.tool_call_id is missing: it must name the call that this is the result of.", place)
	}
	var o object
	o.setString("type", "tool_result")
	o.set("tool_use_id", id)
	blocks, err := r.readContent(place, m["content"])
	switch {
	case err != nil:
		return err
	case len(blocks) == 0: // Anthropic lets a result have none
	case isString(m["content"]):
		o.set("content", m["content"])
	default:
		var content list
		for _, b := range blocks {
			content.add(b)
		}
		o.set("content", content.array())
	}
	o.setGiven("is_error", m["is_error"])
	o.setGiven("cache_control", m["cache_control"])
	t := c.add(false)
	t.results = append(t.results, o.close())
	return nil
}
