package prompted

import (
	"github.com/callgate/callgate/gateway/internal/conversation"
	"github.com/callgate/callgate/gateway/wire"
)

// writer writes the messages of one request.
type writer struct {
	*Format
	c        *conversation.Conversation
	tools    string // what the prompt says of them, or ""
	sentence string // what the choice asks for, until it is written
	calls    []call // in their order
	results  []int  // by message: 0, or which call it is the result of, from 1, or noCall
	warned   warned
	out      []byte

	// What is needed for one round, kept for the next.
	order []int
	list  []result
	text  []byte
}

// paragraph is what stands between texts that no template joins.
const paragraph = "\n\n"

// lastly is the sentence as it stands behind a text, "" if there is none.
func (w *writer) lastly() string {
	if w.sentence == "" {
		return ""
	}
	return paragraph + w.sentence
}

func (w *writer) writeAll() {
	w.out = make([]byte, 0, len(w.c.Text)+len(w.c.Text)/8+len(w.tools)+len(w.tools)/8+256)
	w.out = append(w.out, '[')
	last := len(w.c.Messages) - 1
	if !w.closes(last) {
		w.tools += w.lastly()
		w.sentence = ""
	}
	i, calls := 0, w.calls
	if w.tools != "" && !w.prompted() {
		w.separate()
		w.out = wire.AppendQuoted(append(w.out, `{"role":"system","content":`...), w.form.prompt(w.tools))
		w.out = append(w.out, '}')
	}
	for i <= last {
		w.separate()
		m := &w.c.Messages[i]
		switch {
		case w.results[i] != 0:
			i = w.round(i)
			continue
		case m.Role == conversation.Assistant:
			n := 0
			for n < len(calls) && calls[n].message == i {
				n++
			}
			w.assistant(m, calls[:n])
			calls = calls[n:]
		default:
			w.message(i, m)
		}
		i++
	}
	w.out = append(w.out, ']')
}

func (w *writer) separate() {
	if len(w.out) > 1 {
		w.out = append(w.out, ',')
	}
}

// closes says whether the choice can stand at the end of a message.
func (w *writer) closes(i int) bool {
	if i < 0 {
		return false
	}
	m := &w.c.Messages[i]
	return w.results[i] != 0 || (m.Role == conversation.User || m.Role == conversation.System) && w.extendable(m)
}

// prompted says whether the first message is a system prompt to which the tools can be
// added.
func (w *writer) prompted() bool {
	return len(w.c.Messages) > 0 && w.c.Messages[0].Role == conversation.System && w.extendable(&w.c.Messages[0])
}

// extendable says whether a message has content that a text can be added to.
func (w *writer) extendable(m *conversation.Message) bool {
	return m.Content.IsNull(w.c.Text) || w.c.Text[m.Content.Start] == '"' || w.c.Text[m.Content.Start] == '['
}

// message writes a message that keeps its bytes but for what is added to its text.
func (w *writer) message(i int, m *conversation.Message) {
	var content []byte
	if i == 0 && w.tools != "" && w.prompted() {
		content = w.system(m.Content.Of(w.c.Text))
	}
	if i == len(w.c.Messages)-1 && w.sentence != "" {
		if content == nil {
			content = m.Content.Of(w.c.Text)
		}
		content = extend(content, paragraph, w.sentence)
	}
	if content == nil {
		w.out = append(w.out, m.At.Of(w.c.Text)...)
		return
	}
	at := m.Content
	if at.Empty() {
		end := m.At.End - 1 // the brace; there is a member before it, which gave the role
		at = wire.Span{Start: end, End: end}
		content = append([]byte(`,"content":`), content...)
	}
	w.out = append(w.out, w.c.Text[m.At.Start:at.Start]...)
	w.out = append(w.out, content...)
	w.out = append(w.out, w.c.Text[at.End:m.At.End]...)
}

// system returns the content of the system prompt with the tools, where the template
// has them.
func (w *writer) system(content []byte) []byte {
	switch {
	case wire.Span{End: len(content)}.IsNull(content):
		return wire.AppendQuoted(nil, w.form.prompt(w.tools))
	case w.form.first:
		return precede(content, w.tools, w.form.gap)
	}
	return extend(content, w.form.gap, w.tools)
}
