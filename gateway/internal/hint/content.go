package hint

import (
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

const cacheControl = "cache_control"

// reader reads messages as a cache sees them: a mark on a message is not a part of it, and
// a text is the same whether it is a string or the only part of an array. Clients that set
// marks move them with every turn, and turn strings into parts for it.
type reader struct {
	c      *conversation.Conversation
	marked bool // there may be marks
}

// message appends the pieces that a message consists of.
func (r *reader) message(dst [][]byte, m *conversation.Message) [][]byte {
	if m.Content.Empty() {
		return r.append(dst, m.At)
	}
	dst = r.append(dst, wire.Span{Start: m.At.Start, End: m.Content.Start})
	dst = r.content(dst, m)
	return r.append(dst, wire.Span{Start: m.Content.End, End: m.At.End})
}

// content appends the pieces of a message's content.
func (r *reader) content(dst [][]byte, m *conversation.Message) [][]byte {
	if at := r.onlyText(m.Content); !at.Empty() {
		return append(dst, at.Of(r.c.Text))
	}
	return r.append(dst, m.Content)
}

func (r *reader) append(dst [][]byte, at wire.Span) [][]byte {
	if r.marked {
		return append(dst, withoutKey(at.Of(r.c.Text), cacheControl)...)
	}
	return append(dst, at.Of(r.c.Text))
}

// onlyText is the place of the text of a content that is an array of one part of text, and
// nothing besides.
func (r *reader) onlyText(content wire.Span) (text wire.Span) {
	if content.Empty() || r.c.Text[content.Start] != '[' {
		return wire.Span{}
	}
	wire.Elements(r.c.Text[:content.End], content.Start, func(n int, part wire.Span) bool {
		if n > 0 {
			text = wire.Span{}
			return false
		}
		plain := true
		conversation.Members(r.c.Text, part, func(key []byte, v wire.Span) bool {
			switch string(key) {
			case "text":
				text = v
			case "type":
				kind, _ := conversation.Decode(r.c.Text, v)
				plain = plain && string(kind) == "text"
			case cacheControl:
			default:
				plain = false
			}
			return true
		})
		if !plain || text.IsNull(r.c.Text) || r.c.Text[text.Start] != '"' {
			text = wire.Span{}
		}
		return true
	})
	return text
}
