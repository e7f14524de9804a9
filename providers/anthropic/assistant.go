package anthropic

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// The fields that are read of a message of the model's, of a call in it, and of the
// call's function.
var (
	assistantFields = set("role", "content", "cache_control", "tool_calls", "refusal", "thinking_blocks", "function_call")
	callFields      = set("id", "type", "function", "index", "caller", "cache_control")
	functionFields  = set("name", "arguments")
)

// readAssistant takes a message of the model's. Its thinking comes first, as it came
// from the model.
func (c *conversation) readAssistant(place string, m map[string]value) error {
	if v := m["function_call"]; v != nil {
		return invalid(place+".function_call", "%s has a function_call, which this model's API does not have: use tool_calls.", place)
	}
	var b blocks
	if err := c.parts.readThoughts(place, m, &b); err != nil {
		return err
	}
	thoughts := b.count
	if err := c.parts.readContent(place, m["content"], &b); err != nil {
		return err
	}
	if refusal := m["refusal"]; refusal != nil && b.count == thoughts && isString(refusal) && !blank(refusal) {
		b.text(refusal, nil)
	}
	if err := c.parts.readCalls(place, m["tool_calls"], &b); err != nil {
		return err
	}
	_ = elements(m["tool_calls"], func(_ int, v value) error { c.noteCalled(get(get(v, "function"), "name")); return nil })
	if b.count == 0 {
		c.parts.warnings.drop("messages.empty")
		return nil
	}
	c.parts.mark(&b, m["cache_control"])
	c.turn(true).blocks.join(&b)
	return nil
}

// readThoughts reads the thinking blocks that a message brings back. Reasoning
// without them has no signature, so that Anthropic would refuse it.
func (p parts) readThoughts(place string, m map[string]value, to *blocks) error {
	thoughts := m["thinking_blocks"]
	var signed []value
	lost := false
	if hollow(thoughts) {
		signed, lost = thoughtsOf(m["reasoning_details"])
	}
	if !hollow(thoughts) || len(signed) > 0 {
		delete(m, "reasoning_content") // the same once more
		delete(m, "reasoning")
	}
	if !lost {
		delete(m, "reasoning_details")
	}
	p.warnings.leftover("messages", m, assistantFields)
	if thoughts != nil && !isArray(thoughts) {
		return invalid(place+".thinking_blocks", "%s.thinking_blocks must be an array.", place)
	}
	for _, v := range signed {
		to.give(v)
	}
	return elements(thoughts, func(i int, v value) error {
		if !isThinking(v) {
			at := fmt.Sprintf("%s.thinking_blocks[%d]", place, i)
			return invalid(at, "%s is no block of the type thinking or redacted_thinking.", at)
		}
		if isSealedBlock(v) {
			p.warnings.drop("messages.thinking")
			return nil
		}
		to.give(unnumbered(v))
		return nil
	})
}

// unnumbered is a block without the index that it got in a stream, which the API would refuse.
func unnumbered(block value) value {
	if get(block, "index") == nil {
		return block
	}
	rest := besides(block, "index")
	return rest.close()
}

// readCalls translates tool_calls.
func (p parts) readCalls(place string, v value, to *blocks) error {
	if v != nil && !isArray(v) {
		return invalid(place+".tool_calls", "%s.tool_calls must be an array.", place)
	}
	return elements(v, func(j int, v value) error {
		return p.readCall(fmt.Sprintf("%s.tool_calls[%d]", place, j), fields(v), to)
	})
}

func (p parts) readCall(place string, m map[string]value, to *blocks) error {
	function := fields(m["function"])
	p.warnings.leftover("messages.tool_calls", m, callFields)
	p.warnings.leftover("messages.tool_calls.function", function, functionFields)
	switch kind := text(m["type"]); {
	case m["type"] != nil && kind != "function":
		return invalid(place+".type", "%s has the type %q; this model's API has functions only.", place, cut(kind))
	case text(m["id"]) == "":
		return invalid(place+".id", "%s.id is missing: the result of the call has to name it.", place)
	case text(function["name"]) == "":
		return invalid(place+".function.name", "%s.function.name is missing.", place)
	}
	input := function["arguments"]
	if isString(input) {
		input = content(input)
	}
	input = bytes.TrimSpace(input)
	// Twice the same name in the arguments is the model's own and the API's to judge.
	if !isObject(input) || !input.IsValid(jsontext.AllowDuplicateNames(true)) {
		// {} in its place would be another call than the model made.
		return invalid(place+".function.arguments", "%s.function.arguments is not a JSON object, which this model's API needs it to be.", place)
	}
	to.begin(false, m["cache_control"] != nil)
	to.open("tool_use")
	to.set("id", m["id"])
	to.set("name", function["name"])
	to.set("input", input)
	to.set("caller", m["caller"])
	to.set("cache_control", m["cache_control"])
	to.close()
	return nil
}
