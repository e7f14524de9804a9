package responses

import (
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// upstreamEvent is an event of an upstream by its members.
type upstreamEvent struct {
	kind, id              string
	at, number, noted     int       // the output_index, and those of the part and of the annotation
	sequence, place       wire.Span // the values of sequence_number and output_index
	response, item, part  object
	piece, text, logprobs []byte // what a delta adds, what the whole is
	note                  []byte
	placed                bool // it has an output_index
}

func readUpstreamEvent(e object) (c upstreamEvent) {
	wire.Members(e, 0, func(key []byte, at wire.Span) bool {
		v := at.Of(e)
		switch string(key) {
		case "type":
			c.kind = wire.Unquote(v)
		case "sequence_number":
			c.sequence = at
		case "response":
			c.response = v
		case "item":
			c.item = v
		case "part":
			c.part = v
		case "item_id":
			c.id = wire.Unquote(v)
		case "output_index":
			c.at, c.placed, c.place = number(v), true, at
		case "content_index", "summary_index":
			c.number = number(v)
		case "annotation_index":
			c.noted = number(v)
		case "delta":
			c.piece = v
		case "text", "refusal", "arguments", "input":
			c.text = v
		case "logprobs":
			c.logprobs = v
		case "annotation":
			c.note = v
		}
		return true
	})
	return c
}

// isOfItem reports whether an event has what those of items have.
func (c *upstreamEvent) isOfItem() bool {
	return c.item != nil || c.part != nil || c.id != "" || c.piece != nil || c.text != nil || c.note != nil
}

// isEnd reports whether an event ends a response that has not failed, and has it as the API has it.
func (c *upstreamEvent) isEnd() bool {
	kind := strings.TrimPrefix(c.kind, "response.")
	return isObject(c.response) && (kind == completed || kind == incomplete) && wire.Unquote(c.response.get("status")) == kind
}

// isEventName reports whether a text can be the name of an event: it goes on a line of its own.
func isEventName(s string) bool {
	return s != "" && s != "error" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789_.") == ""
}

// isTheirs reports whether an event is none that the machine writes of a response, or of an item with a text.
func isTheirs(kind string) bool {
	name, own := strings.CutPrefix(kind, "response.")
	family, _, deep := strings.Cut(name, ".")
	switch {
	case !isEventName(kind):
		return false
	case !own:
		return true
	}
	switch family {
	case "output_item", "content_part", "output_text", "refusal", "reasoning_summary_part", "reasoning_summary_text", "reasoning_text", "function_call_arguments", "custom_tool_call_input":
		return false
	}
	return deep
}
