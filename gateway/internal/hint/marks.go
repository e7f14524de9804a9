package hint

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// Form is how marks are written.
type Form int

// The forms.
const (
	// Parts puts them into text parts of messages, where OpenRouter, LiteLLM and DashScope
	// take them. A string becomes one part: Anthropic reads both as the same block
	// ("Messages API": "a string is shorthand for an array of one content block of type
	// text"), so that a cached prompt stays good when the next turn has the string again.
	Parts Form = iota
	// Members puts them into messages and tools, as members beside the content, where our
	// adapter for Anthropic's API takes them.
	Members
)

const mark = `"cache_control":{"type":"ephemeral"}`

// Request is what marks are put into.
type Request struct {
	Tools []byte // the JSON of the list, or nil
	Talk  *conversation.Conversation
	// Own is how many messages at the end are the gateway's own: they are not there in
	// the next turn.
	Own int
}

// Marks returns the edits that tell an upstream which parts of the prompt it shall keep:
// the tools, the system prompt, what the request before has ended with, and what this one
// ends with. With the third, what was cached then is found however many blocks have come
// since; without it Anthropic looks back no more than 20. Where the prompt up to a mark
// has less than least tokens there is none. Edits of tools are places in the tools, and
// those of messages in the talk's text.
func Marks(r Request, form Form, least int) (tools, messages []wire.Edit) {
	size := len(r.Tools)
	if form == Members && Tokens(size) >= least {
		tools = markTools(r.Tools)
	}
	for _, i := range r.places() {
		m := &r.Talk.Messages[i]
		if Tokens(size+m.At.End) < least {
			continue
		}
		if form == Members {
			messages = append(messages, behind(m.At))
		} else {
			messages = append(messages, r.markPart(m))
		}
	}
	return tools, messages
}

// behind is the edit that makes the mark the last member of an object with members.
func behind(at wire.Span) wire.Edit {
	end := at.End - 1 // in front of the brace
	return wire.Edit{At: wire.Span{Start: end, End: end}, With: []byte("," + mark)}
}

// markTools marks the last tool. Tools that are loaded later must not be marked, and the
// list of them is left alone.
func markTools(tools []byte) []wire.Edit {
	var last wire.Span
	wire.Elements(tools, 0, func(_ int, at wire.Span) bool { last = at; return true })
	if !conversation.IsObject(tools, last) || wire.Blank(tools[last.Start+1:last.End-1]) || HasKey(tools, "defer_loading") {
		return nil
	}
	return []wire.Edit{behind(last)}
}

// places are the messages to mark, in their order.
func (r *Request) places() (places []int) {
	system := -1
	for system+1 < len(r.Talk.Messages) && r.Talk.Messages[system+1].Role == conversation.System {
		system++
	}
	end := len(r.Talk.Messages) - r.Own - 1
	last := r.markable(end, conversation.User, conversation.Tool)
	before, from := -1, end
	for from >= 0 && before < 0 { // what ends with nothing to mark has left its own place behind
		from = endBefore(r.Talk, from)
		before = r.markable(from, conversation.User, conversation.Tool)
	}
	for _, i := range []int{r.markable(system, conversation.System, conversation.System), before, last} {
		if i >= 0 {
			places = append(places, i)
		}
	}
	return places
}

// endBefore is the place of the last message of the request that came before the one which
// ends at a message: the one in front of the model's last answer. It is -1 if there is none.
func endBefore(c *conversation.Conversation, end int) int {
	for end >= 0 && c.Messages[end].Role != conversation.Assistant {
		end--
	}
	for end >= 0 && c.Messages[end].Role == conversation.Assistant {
		end--
	}
	return end
}

// markable is the last message up to i that can take a mark and is of one of two roles, or
// -1. Anthropic refuses marks on empty text.
func (r *Request) markable(i int, one, other conversation.Role) int {
	for ; i >= 0; i-- {
		m := &r.Talk.Messages[i]
		if m.Role == conversation.Assistant {
			return -1 // what is in front of it is another request's
		}
		if part := r.lastText(m); (m.Role == one || m.Role == other) && !part.Empty() {
			return i
		}
	}
	return -1
}

// lastText is the place of the last text of a message's content: the string, or the part
// that has one. It is empty if there is none but white space.
func (r *Request) lastText(m *conversation.Message) (found wire.Span) {
	text := r.Talk.Text
	if m.Content.IsNull(text) {
		return wire.Span{}
	}
	switch text[m.Content.Start] {
	case '"':
		if !blank(text, m.Content) {
			return m.Content
		}
	case '[':
		r.Talk.Parts(m.Content, func(part wire.Span, kind []byte, at wire.Span) bool {
			if string(kind) == "text" && !blank(text, at) {
				found = part
			}
			return true
		})
	}
	return found
}

// blank reports whether a value is anything but a string with more than white space.
func blank(text []byte, at wire.Span) bool {
	s, ok := conversation.Decode(text, at)
	return !ok || len(bytes.TrimSpace(s)) == 0
}

// markPart marks the last text of a message, of which there is one.
func (r *Request) markPart(m *conversation.Message) wire.Edit {
	at := r.lastText(m)
	if at != m.Content {
		return behind(at)
	}
	with := append([]byte(`[{"type":"text","text":`), at.Of(r.Talk.Text)...)
	return wire.Edit{At: at, With: append(with, `,`+mark+`}]`...)}
}
