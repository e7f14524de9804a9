package responses

import (
	"fmt"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// message is one of the chat's, with the results of its calls behind it.
type message struct {
	role    string // "" for the model's
	content parts  // of the others

	group     string // of the ids of its items: which answer they were a part of
	text      []byte // this and the next two as they stand between quotes
	refusal   []byte
	reasoning []byte
	thoughts  map[string][]byte // the elements of thoughtMembers, which upstreams need back
	said      bool              // it has text, were it empty
	calls     []chatCall
	results   []result
}

// chatCall is a call: its id, its name, its arguments and what belongs to it, as JSON.
type chatCall struct{ id, name, args, extra []byte }

// result is the result of a call, with its id as JSON.
type result struct {
	id      []byte
	content parts
}

const (
	system    = "system"
	user      = "user"
	assistant = "assistant"
)

// separator stands between texts that were messages of their own, as it is written in a string.
const separator = `\n\n`

// appendTo appends the messages, with commas between them.
func (t *translation) appendTo(b []byte) []byte {
	start := len(b)
	if t.system != nil {
		b = append(append(append(b, `{"role":"system","content":"`...), t.system...), `"}`...)
	}
	for _, m := range t.list {
		if len(b) > start {
			b = append(b, ',')
		}
		b = m.appendResults(m.appendTo(b))
	}
	return b
}

// appendResults appends the results of a message's calls, and behind them what the messages of
// tools cannot hold.
func (m *message) appendResults(b []byte) []byte {
	others := 0
	for i := range m.results {
		r := &m.results[i]
		others += r.content.others()
		b = append(append(append(b, `,{"role":"tool","tool_call_id":`...), r.id...), `,"content":"`...)
		b = append(r.content.appendText(b, separator), `"}`...)
	}
	if others == 0 {
		return b
	}
	b = append(b, `,{"role":"user","content":[`...)
	for i := range m.results {
		r := &m.results[i]
		if r.content.others() == 0 {
			continue
		}
		if b[len(b)-1] != '[' {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"type":"text","text":`...), fmt.Sprintf("What the tool call %s gave besides text:", wire.Unquote(r.id)))
		b = r.content.appendParts(b, false)
	}
	return append(b, "]}"...)
}

func (m *message) appendTo(b []byte) []byte {
	if m.role != "" {
		b = append(append(append(b, `{"role":"`...), m.role...), `","content":`...)
		return append(m.content.appendContent(b, m.role), '}')
	}
	b = append(b, `{"role":"assistant"`...)
	if len(m.reasoning) > 0 {
		b = append(append(append(b, `,"reasoning_content":"`...), m.reasoning...), '"')
	}
	for _, name := range thoughtMembers {
		if list := m.thoughts[name]; len(list) > 0 {
			b = append(append(append(append(append(b, `,"`...), name...), `":[`...), list...), ']')
		}
	}
	switch {
	case m.said:
		b = append(append(append(b, `,"content":"`...), m.text...), '"')
	case len(m.calls) > 0 || len(m.refusal) > 0:
		b = append(b, `,"content":null`...)
	default:
		b = append(b, `,"content":""`...)
	}
	if len(m.refusal) > 0 {
		b = append(append(append(b, `,"refusal":"`...), m.refusal...), '"')
	}
	for i, c := range m.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(append(append(b, `{"id":`...), c.id...), `,"type":"function","function":{"name":`...)
		b = append(append(append(append(b, c.name...), `,"arguments":`...), c.args...), '}')
		b = append(protocol.AppendExtra(b, c.extra), '}')
	}
	if len(m.calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
