package run

import (
	"bytes"
	"encoding/json"

	"github.com/callgate/callgate/gateway/wire"
)

// whole writes an answer as one completion: that of the last round, with the text of all.
type whole struct {
	put    func(*wire.Frame)
	id     identity
	base   []byte // the completion of the round at hand
	text   []byte // of the rounds before
	others []member
	events [][]byte
	rounds int
}

func (w *whole) frame(f *wire.Frame, t *turn, decide func(*call) owner) {
	if f.Data == nil {
		return
	}
	if w.id.id == nil {
		w.id.read(f.Data)
	}
	if !f.Whole && f.IsChunk() {
		t.add(f, nil)
	} else {
		w.base = unsigned(f.Data)
		t.add(&wire.Frame{Data: w.base, Whole: true}, nil)
	}
	for _, c := range t.calls {
		if c.owner == undecided && c.name != "" {
			c.owner = decide(c)
		}
	}
}

func (w *whole) event(e *event) {
	if e.Event == startedEvent {
		return
	}
	after := len(w.text)
	e.After = &after
	w.events = append(w.events, e.text())
}

func (w *whole) next(t *turn) {
	w.rounds++
	w.base = nil
	w.text = append(w.text, t.text...)
	if len(t.text) > 0 {
		w.text = append(w.text, gap(w.text)...)
	}
	for _, m := range t.others {
		if wire.IsReasoning(m.key) {
			w.others = joined(w.others, m.key, m.value)
		}
	}
}

func (w *whole) say(text string) { w.text = append(w.text, text...) }

func (w *whole) close(t *turn, calls []*call, finish string, usage []json.RawMessage) {
	if w.base != nil {
		f := wire.Frame{Data: w.base, Whole: true}
		if w.rounds == 0 && len(w.events) == 0 && len(calls) == len(t.calls) && (!f.IsChunk() || finish == t.finish) {
			w.put(&wire.Frame{Raw: w.base, Data: w.base, Whole: true})
			return
		}
	}
	b := []byte{'{'}
	for _, m := range []member{{"id", w.id.id}, {"object", json.RawMessage(`"chat.completion"`)}, {"created", w.id.created}, {"model", w.id.model}} {
		if len(m.value) > 0 {
			b = append(wire.AppendKey(b, m.key), m.value...)
		}
	}
	var choice []byte
	if w.base != nil {
		b = wire.AppendOthers(b, w.base, "id", "object", "created", "model", "choices", "usage")
		f := wire.Frame{Data: w.base, Whole: true}
		if len(f.Choices()) > 0 {
			choice = f.Choices()[0].Object.Of(w.base)
		}
	}
	b = append(wire.AppendKey(b, "choices"), w.choice(choice, t, calls, finish)...)
	if sum := sumUsage(usage); sum != nil {
		b = append(wire.AppendKey(b, "usage"), sum...)
	}
	if len(w.events) > 0 || len(usage) > 1 {
		b = append(w.vendor(wire.AppendKey(b, vendorMember), usage), '}')
	}
	b = append(b, '}')
	w.put(&wire.Frame{Raw: b, Data: b, Whole: true})
}

// choice is the list of the one choice.
func (w *whole) choice(base []byte, t *turn, calls []*call, finish string) []byte {
	b := []byte(`[{`)
	if base == nil {
		b = append(b, `"index":0`...)
	}
	b = wire.AppendOthers(b, base, "message", "delta", "finish_reason")
	b = append(wire.AppendKey(b, "message"), `{"role":"assistant"`...)
	b = wire.AppendKey(b, "content")
	if text := append(bytes.Clone(w.text), t.text...); len(text) > 0 {
		b = wire.AppendQuoted(b, text)
	} else {
		b = append(b, "null"...)
	}
	others := w.others
	for _, m := range t.others {
		others = joined(others, m.key, m.value)
	}
	for _, m := range others {
		b = append(wire.AppendKey(b, m.key), m.value...)
	}
	for i, c := range calls {
		if i == 0 {
			b = append(wire.AppendKey(b, "tool_calls"), '[')
		} else {
			b = append(b, ',')
		}
		if b = c.appendTo(b); i == len(calls)-1 {
			b = append(b, ']')
		}
	}
	b = append(b, '}')
	b = wire.AppendQuoted(wire.AppendKey(b, "finish_reason"), finish)
	return append(b, `}]`...)
}

// vendor appends the object of the member callgate, but for its end.
func (w *whole) vendor(b []byte, usage []json.RawMessage) []byte {
	b = append(append(append(b, `{"tools":[`...), bytes.Join(w.events, []byte{','})...), ']')
	if len(usage) > 1 {
		b = append(append(wire.AppendKey(b, "rounds"), '['), bytes.Join(raws(usage), []byte{','})...)
		b = append(b, ']')
	}
	return b
}
