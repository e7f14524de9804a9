package gateway

import (
	"bytes"

	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// addDate puts the date into the system prompt, behind all that stands there: the line
// is the same for a day, and what is in front of it stays in the upstream's cache when
// the next one begins.
func (a *attempts) addDate() {
	zone := a.conduct.Date
	if zone == nil || a.req.isEmpty() {
		return
	}
	line := a.g.now().In(zone).Format("Today's date is Monday, 2 January 2006 (2006-01-02).")
	if e, ok := a.req.system(line); ok {
		a.req = a.req.with(e)
		a.changed("date_context")
	}
}

// system is the edit that puts a line behind the system prompt, or makes one of it. ok
// is false where the prompt has it already, or is in no known form.
func (r *Request) system(line string) (e wire.Edit, ok bool) {
	first := conversation.First(r.messages.Of(r.body))
	at := r.messages.Start + 1
	if first.Role != conversation.System {
		with := append(wire.AppendQuoted([]byte(`{"role":"system","content":`), line), '}')
		if !first.At.Empty() {
			with = append(with, ',')
		}
		return wire.Edit{At: wire.Span{Start: at, End: at}, With: with}, true
	}
	content := wire.Span{Start: r.messages.Start + first.Content.Start, End: r.messages.Start + first.Content.End}
	if first.Content.Empty() || content.IsNull(r.body) {
		return wire.Edit{}, false
	}
	end := wire.Span{Start: content.End - 1, End: content.End - 1} // in front of the quote or bracket
	text := content.Of(r.body)
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
