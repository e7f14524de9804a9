package responses

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// mend makes the output of a whole answer of an upstream of the API that the gateway has changed: the upstream's items with
// what was changed of their texts and calls, and further calls behind them. It takes what it is sure of, and else reports
// false: the output is then what the chat completion says.
type mend struct {
	machine *machine
	was, is protocol.Said // before and after the change
	edited  [][]wire.Edit
	items   []object // those of the upstream; nil for one that is left out
	calls   int      // how many of them are calls
	texts   int      // and parts with a text
}

// mendWhole does so with a frame, whose response is own.
func (w *Writer) mendWhole(f *wire.Frame, own object) (bool, error) {
	rendered := &wire.Frame{Data: f.AppendTo(nil), Whole: true}
	rendered.Raw = rendered.Data
	was, is := f.Choices(), rendered.Choices()
	if len(was) != 1 || len(is) != 1 || rendered.Failed() || len(served.All(f, w.machine.summary)) > 0 || !utf8.Valid(rendered.Data) {
		return false, nil
	}
	m := mend{machine: &w.machine}
	var okWas, okIs bool
	m.was, okWas = protocol.ReadSaid(was[0].Body.Of(f.Data))
	m.is, okIs = protocol.ReadSaid(is[0].Body.Of(rendered.Data))
	if !okWas || !okIs || m.was.Refusal != m.is.Refusal || m.was.Reasoning != m.is.Reasoning || len(m.is.Calls) < len(m.was.Calls) || !m.read(own.get("output")) {
		return false, nil
	}
	w.answer.beginWith(rendered)
	if raw := rendered.Usage(); raw != nil {
		w.answer.counts = readCounts(raw)
	}
	w.answer.finish = is[0].Reason
	return true, m.write()
}

// read finds what is to be changed of the upstream's items.
func (m *mend) read(output []byte) bool {
	ok := true
	wire.Elements(output, 0, func(_ int, at wire.Span) bool {
		item := object(at.Of(output))
		var edits []wire.Edit
		switch itemType(item) {
		case "function_call", "custom_tool_call":
			edits, ok = m.readCall(item)
		case "message":
			edits, ok = m.readTexts(item)
			if ok && edits != nil && len(edits[0].With) <= len(`""`) { // all of it was a call
				item, ok = nil, hasOnePart(item)
			}
		}
		m.items, m.edited = append(m.items, item), append(m.edited, edits)
		return ok
	})
	return ok && m.calls == len(m.was.Calls) && (m.was.Content == m.is.Content || m.texts == 1) && m.knows(m.is.Calls[m.calls:])
}

// knows reports whether the client may have all of some calls.
func (m *mend) knows(calls []protocol.SaidCall) bool {
	return !slices.ContainsFunc(calls, func(c protocol.SaidCall) bool {
		t := m.machine.calls.tools.byName[wire.Unquote(c.Name)]
		_, ok := m.machine.calls.tools.allowed("", wire.Unquote(c.Name))
		return t.barred || !ok || m.machine.calls.isApproval(c.ID)
	})
}

// readCall finds what was changed of a call.
func (m *mend) readCall(item object) (edits []wire.Edit, ok bool) {
	if m.calls == len(m.was.Calls) || !m.machine.calls.mayBe(item) {
		return nil, false
	}
	was, is := m.was.Calls[m.calls], m.is.Calls[m.calls]
	m.calls++
	same := bytes.Equal(was.Name, is.Name)
	if !same && !bytes.Equal(was.ID, is.ID) || !m.knows([]protocol.SaidCall{is}) {
		return nil, false
	}
	set := func(name string, v []byte) {
		if at := wire.Find(item, wire.Span{End: len(item)}, name); !at.Empty() {
			edits = append(edits, wire.Edit{At: at, With: v})
		} else {
			ok = false
		}
	}
	ok = true
	custom := itemType(item) == "custom_tool_call"
	if !same {
		t := m.machine.calls.tools.byName[wire.Unquote(is.Name)]
		if t.name == "" || t.custom != custom || t.space != wire.Unquote(item.get("namespace")) {
			return nil, false
		}
		set("name", wire.AppendQuoted(nil, t.name))
	}
	if !bytes.Equal(was.ID, is.ID) {
		set("call_id", is.ID)
	}
	if !bytes.Equal(argumentOf(was.Arguments), argumentOf(is.Arguments)) {
		name, text := "arguments", argumentOf(is.Arguments)
		if custom {
			name, text = "input", customInput(argumentOf(is.Arguments))
		}
		set(name, slices.Concat([]byte{'"'}, text, []byte{'"'}))
	}
	return sorted(edits), ok
}

// readTexts finds what was changed of a message: the one text that there is.
func (m *mend) readTexts(item object) (edits []wire.Edit, ok bool) {
	content := wire.Find(item, wire.Span{End: len(item)}, "content")
	list := content.Of(item)
	ok = true
	wire.Elements(list, 0, func(_ int, at wire.Span) bool {
		part := object(at.Of(list))
		if wire.Unquote(part.get("type")) != "output_text" {
			return true
		}
		m.texts++
		if m.was.Content == m.is.Content {
			return true
		}
		text := wire.Find(part, wire.Span{End: len(part)}, "text")
		inPlace := isEmptyList(part.get("annotations")) || strings.HasPrefix(m.was.Content, m.is.Content) // an annotation has places in the text
		if ok = inPlace && wire.Unquote(text.Of(part)) == m.was.Content; !ok {
			return false
		}
		said := slices.Concat([]byte{'"'}, clean(inner(orEmpty(m.is.Text))), []byte{'"'})
		changes := []wire.Edit{{At: text, With: said}}
		if probs := wire.Find(part, wire.Span{End: len(part)}, "logprobs"); !probs.Empty() && !isEmptyList(probs.Of(part)) {
			changes = append(changes, wire.Edit{At: probs, With: []byte("[]")})
		}
		edits = append(edits, wire.Shifted(changes, content.Start+at.Start)...)
		return true
	})
	return edits, ok
}

func isEmptyList(v []byte) bool { return v == nil || isEmptyValue(v) || wire.Blank(inner(v)) }

// hasOnePart reports whether a message has no more than one part.
func hasOnePart(item object) bool {
	n, list := 0, item.get("content")
	wire.Elements(list, 0, func(int, wire.Span) bool { n++; return true })
	return n == 1
}

// write gives the items to the machine.
func (m *mend) write() error {
	list := []byte{'['}
	for i, item := range m.items {
		if item == nil {
			continue
		}
		if len(list) > 1 {
			list = append(list, ',')
		}
		list = append(list, wire.Splice(item, sorted(m.edited[i]))...)
	}
	m.machine.output.take(append(list, ']'), m.machine.response)
	for i, c := range m.is.Calls[m.calls:] {
		if err := m.machine.addCall(m.calls+i, c.ID, c.Name, argumentOf(c.Arguments)); err != nil {
			return err
		}
	}
	return nil
}
