package amend

import (
	"bytes"
	"context"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// Date puts the date into the system prompt, behind all that stands there: the line is the
// same for a day, and what is in front of it stays in the upstream's cache when the next one
// begins.
type Date struct {
	Zone *time.Location
	Now  func() time.Time
}

// Apply implements gateway.RequestPolicy.
func (d Date) Apply(_ context.Context, r *gateway.Request, _ *gateway.AttemptInfo) (a gateway.Amendment, err error) {
	if r.Reading.IsEmpty() {
		return a, nil
	}
	line := d.Now().In(d.Zone).Format("Today's date is Monday, 2 January 2006 (2006-01-02).")
	if e, ok := systemPromptEdit(r, line); ok {
		a.Edits, a.Repairs = []wire.Edit{e}, map[string]int{"date_context": 1}
	}
	return a, nil
}

// systemPromptEdit is the edit that puts a line behind the system prompt, or makes one of it. ok
// is false where the prompt has it already, or is in no known form.
func systemPromptEdit(r *gateway.Request, line string) (e wire.Edit, ok bool) {
	body, list := r.Body.Bytes(), r.Body.Places().Messages
	first := conversation.First(list.Of(body))
	at := list.Start + 1
	if first.Role != conversation.System {
		with := append(wire.AppendQuoted([]byte(`{"role":"system","content":`), line), '}')
		if !first.At.Empty() {
			with = append(with, ',')
		}
		return wire.Edit{At: wire.Span{Start: at, End: at}, With: with}, true
	}
	content := wire.Span{Start: list.Start + first.Content.Start, End: list.Start + first.Content.End}
	if first.Content.Empty() || content.IsNull(body) {
		return wire.Edit{}, false
	}
	end := wire.Span{Start: content.End - 1, End: content.End - 1} // in front of the quote or bracket
	text := content.Of(body)
	quoted := wire.AppendQuoted(nil, line)
	switch {
	case bytes.Contains(text, quoted[1:len(quoted)-1]):
		return wire.Edit{}, false
	case text[0] == '"' && len(text) == len(`""`):
		return wire.Edit{At: end, With: quoted[1 : len(quoted)-1]}, true
	case text[0] == '"':
		return wire.Edit{At: end, With: append([]byte(`\n\n`), quoted[1:len(quoted)-1]...)}, true
	case text[0] == '[':
		part := append(append([]byte(`,{"type":"text","text":`), quoted...), '}')
		if wire.Blank(text[1 : len(text)-1]) {
			part = part[1:]
		}
		return wire.Edit{At: end, With: part}, true
	}
	return wire.Edit{}, false
}
