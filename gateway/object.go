package gateway

import "github.com/callgate/callgate/gateway/wire"

// object writes a delta or a message with new text and calls: the members of the
// original with the new text in place of the old, and what is new behind them.
type object struct {
	text, reasoning, reasoningField string
	calls                           [][]byte // entries of tool_calls
	// whole writes a message: its text is always there, and null beside calls where
	// it is empty, as OpenAI writes it.
	whole bool
	// renumber, if there is one, writes the original's calls with other indexes.
	renumber func(calls []byte) []byte

	out                             []byte
	textDone, reasonDone, callsDone bool
}

// write returns the object.
func (o *object) write(data []byte, original wire.Span) []byte {
	o.out = []byte{'{'}
	o.textDone = o.text == "" && !o.whole
	o.reasonDone = o.reasoning == ""
	o.callsDone = len(o.calls) == 0
	if !original.Empty() {
		wire.Members(data, original.Start, func(key []byte, v wire.Span) bool {
			o.member(string(key), v.Of(data))
			return true
		})
	}
	if !o.textDone {
		o.putText()
	}
	if !o.reasonDone {
		o.name(o.reasoningField)
		o.out = wire.AppendQuoted(o.out, o.reasoning)
	}
	if !o.callsDone {
		o.name("tool_calls")
		o.out = wire.AppendElements(o.out, []byte("[]"), o.calls)
	}
	return append(o.out, '}')
}

// member writes a member of the original, or what takes its place.
func (o *object) member(key string, old []byte) {
	if key == "tool_calls" && o.renumber != nil {
		old = o.renumber(old)
	}
	switch {
	case key == "content" && !o.textDone:
		o.putText()
	case key == "content" && !o.whole && len(old) > 2 && old[0] == '"':
		// Its text is gone, or goes out later.
	case key == o.reasoningField && !o.reasonDone:
		o.reasonDone = true
		o.name(key)
		o.out = wire.AppendQuoted(o.out, wire.Unquote(old)+o.reasoning)
	case key == "tool_calls" && !o.callsDone:
		if old[0] != '[' { // null, where there were none
			old = []byte("[]")
		}
		o.callsDone = true
		o.name(key)
		o.out = wire.AppendElements(o.out, old, o.calls)
	default:
		o.name(key)
		o.out = append(o.out, old...)
	}
}

func (o *object) putText() {
	o.textDone = true
	o.name("content")
	if o.text == "" && len(o.calls) > 0 {
		o.out = append(o.out, "null"...)
		return
	}
	o.out = wire.AppendQuoted(o.out, o.text)
}

func (o *object) name(key string) {
	if len(o.out) > 1 {
		o.out = append(o.out, ',')
	}
	o.out = append(wire.AppendQuoted(o.out, key), ':')
}
