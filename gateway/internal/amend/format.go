package amend

import (
	"context"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// Format makes requests fit for an upstream without response_format: what form the answer is to
// have stands in the system prompt.
type Format struct{}

// Apply implements gateway.RequestPolicy.
func (Format) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	format := r.Reading.Format()
	if !format.JSON || r.Reading.IsEmpty() {
		return a, nil
	}
	a.Edits = append(wire.Remove(r.Body.Bytes(), "response_format"), toSystem(r, formatText(format, r.Reading.OffersTools())))
	a.Repairs = map[string]int{"prompted_format": 1}
	return a, nil
}

// formatText tells the model what form its answer is to have.
func formatText(f gateway.Format, tools bool) string {
	var b strings.Builder
	if tools {
		b.WriteString("When you answer without calling a tool, answer ")
	} else {
		b.WriteString("Answer ")
	}
	b.WriteString("with one JSON value and nothing else: no code fence, and no text before or behind it.")
	if f.Schema == nil {
		b.WriteString(" It must be an object.")
	} else {
		b.WriteString(" It must fit this JSON schema:\n")
		b.Write(f.Schema)
	}
	return b.String()
}

// toSystem is the edit that puts a text behind the system prompt, or in front of the messages as
// one.
func toSystem(r *gateway.Request, text string) wire.Edit {
	talk, at := r.Reading.Conversation(), r.Body.Places().Messages
	if len(talk.Messages) > 0 {
		if m := talk.Messages[0]; m.Role == conversation.System && !m.Content.IsNull(talk.Text) {
			end := at.Start + m.Content.End - 1 // in front of the quote, or of the bracket
			place := wire.Span{Start: end, End: end}
			quoted := wire.AppendQuoted(nil, text)
			switch talk.Text[m.Content.Start] {
			case '"':
				return wire.Edit{At: place, With: append([]byte(`\n\n`), quoted[1:len(quoted)-1]...)}
			case '[':
				part := append(append([]byte(`{"type":"text","text":`), quoted...), '}')
				if !wire.Blank(talk.Text[m.Content.Start+1 : m.Content.End-1]) {
					part = append([]byte{','}, part...)
				}
				return wire.Edit{At: place, With: part}
			}
		}
	}
	message := append(wire.AppendQuoted([]byte(`{"role":"system","content":`), text), "},"...) // another message follows
	return wire.Edit{At: wire.Span{Start: at.Start + 1, End: at.Start + 1}, With: message}
}
