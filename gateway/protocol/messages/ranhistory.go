package messages

import (
	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// readRan reads a call that the gateway has made, in a message of the assistant's.
func (h *history) readRan(place string, b value) error {
	m := fields(b)
	switch {
	case text(m["id"]) == "":
		return invalid(place+".id", "%s.id is missing: the result of the call has to name it.", place)
	case text(m["name"]) == "":
		return invalid(place+".name", "%s.name is missing.", place)
	case m["input"] != nil && !isObject(m["input"]):
		return invalid(place+".input", "%s.input must be an object.", place)
	}
	h.remarks.leftover("messages.", b, knownRan)
	input := m["input"]
	if input == nil {
		input = value("{}")
	}
	t := h.turn(true)
	t.calls = append(t.calls, pastCall{id: ranChatID(m["id"]), name: served.Alias(text(m["server_name"]), text(m["name"])), input: input})
	if h.ran == nil {
		h.ran = map[string][2]string{}
	}
	h.ran[text(m["id"])] = [2]string{text(m["server_name"]), text(m["name"])}
	return nil
}

// readRanResult reads what such a call gave: a message of the tool's, behind which the assistant goes
// on.
func (h *history) readRanResult(place string, b value) error {
	m := fields(b)
	id := text(m["tool_use_id"])
	of, ok := h.ran[id]
	if !ok {
		return invalid(place+".tool_use_id", "%s.tool_use_id is %s, and no mcp_tool_use in front of it has that id.", place, gateway.Excerpt(m["tool_use_id"]))
	}
	h.remarks.leftover("messages.", b, knownResult)
	var said prose
	if content := m["content"]; content != nil {
		err := h.remarks.eachBlock("messages.", place+".content", content, func(inner []byte) { said.add(inner) }, func(_, kind string, _ value) error {
			h.remarks.dropped("messages.mcp_tool_result." + kind)
			return nil
		})
		if err != nil {
			return err
		}
	}
	output, failure := quoted(said), value(nil)
	if string(m["is_error"]) == "true" {
		output, failure = nil, quoted(said)
	}
	t := h.turn(false)
	t.results = append(t.results, result{id: ranChatID(m["tool_use_id"]), text: inner(wire.AppendQuoted(nil, served.Result(of[0], of[1], output, failure)))})
	return nil
}
