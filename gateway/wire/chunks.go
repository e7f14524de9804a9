package wire

import (
	"bytes"
	"fmt"
	"slices"
)

// Chunks are the frames of a stream that says what a completion does: each choice becomes a
// chunk with its message as the delta and one with its finish reason; usage comes last, if
// it is wanted, and then the end marker. What is no completion, such as an error, is one
// frame.
func Chunks(f *Frame, usage bool) []Frame {
	if !f.IsChunk() {
		return []Frame{chunk(f.Data, len(f.Data) > 0 && !f.Failed())}
	}
	var edits []Edit
	if at := Find(f.Data, Span{0, len(f.Data)}, "object"); !at.Empty() {
		edits = []Edit{{at, []byte(`"chat.completion.chunk"`)}}
	}
	f = &Frame{Data: Splice(f.Data, edits), Whole: true}
	f.look()
	b := base{f.Data, f.list, f.usage}
	var messages, reasons, frames []Frame
	byPlace := sharesIndex(f.choices)
	for i := range f.choices {
		p := &f.choices[i]
		index := p.Index
		if byPlace {
			index = i
		}
		if p.Body.Empty() || f.Data[p.Body.Start] != '{' { // nobody knows what that is
			messages = append(messages, b.chunk(p.Object.Of(f.Data)))
			continue
		}
		messages = append(messages, b.chunk(asDelta(f.Data, p, index)))
		reason := p.Finish.Of(f.Data)
		if len(reason) == 0 {
			reason = []byte("null")
		}
		reasons = append(reasons, b.chunk(fmt.Appendf(nil, `{"index":%d,"delta":{},"finish_reason":%s}`, index, reason)))
	}
	if usage && !f.usage.IsNull(f.Data) {
		b.usage = Span{} // it stays
		frames = append(frames, b.chunk(nil))
	}
	return append(slices.Concat(messages, reasons, frames), Done())
}

// Event is the frame of a stream that holds JSON, in one line.
func Event(data []byte) Frame {
	const field = "data: "
	raw := slices.Concat([]byte(field), data, []byte("\n\n"))
	return Frame{Raw: raw, Data: raw[len(field) : len(field)+len(data)]}
}

// Done is the end marker of a stream.
func Done() Frame { return Frame{Raw: []byte("data: [DONE]\n\n"), Done: true} }

// chunk makes a chunk with a choice.
func (b *base) chunk(choice []byte) Frame {
	return chunk(b.close(append(b.open(nil), choice...)), true)
}

// chunk makes a frame. more says that another one follows.
func chunk(data []byte, more bool) Frame {
	e := Event(bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})) // between the values of JSON; in strings it is escaped
	e.More = more
	return e
}

// sharesIndex reports whether choices have one index, as some upstreams give all of them.
func sharesIndex(choices []Choice) bool {
	if len(choices) < 2 {
		return false
	}
	seen := make(map[int]struct{}, len(choices))
	for i := range choices {
		seen[choices[i].Index] = struct{}{}
	}
	return len(seen) < len(choices)
}

// asDelta writes a choice of a completion as one of a chunk, with an index and without its finish
// reason.
func asDelta(data []byte, p *Choice, index int) []byte {
	out := []byte{'{'}
	indexed := false
	Members(data, p.Object.Start, func(key []byte, v Span) bool {
		switch string(key) {
		case "message":
			out = append(AppendKey(out, "delta"), indexedCalls(v.Of(data))...)
		case "finish_reason":
			out = append(AppendKey(out, "finish_reason"), "null"...)
		case "index":
			indexed = true
			if out = AppendKey(out, "index"); index == p.Index {
				out = append(out, v.Of(data)...)
			} else {
				out = AppendInt(out, index)
			}
		default:
			out = append(AppendKey(out, string(key)), v.Of(data)...)
		}
		return true
	})
	if !indexed {
		out = AppendInt(AppendKey(out, "index"), index)
	}
	return append(out, '}')
}

// indexedCalls gives the calls of a message the indexes that those of a delta have.
func indexedCalls(message []byte) []byte {
	calls := Find(message, Span{0, len(message)}, "tool_calls")
	if calls.IsNull(message) {
		return message
	}
	var edits []Edit
	Elements(message, calls.Start, func(n int, v Span) bool {
		if message[v.Start] == '{' && Find(message, v, "index").Empty() {
			at := Span{v.Start + 1, v.Start + 1}
			edits = append(edits, Edit{at, append(AppendInt([]byte(`"index":`), n), ',')})
		}
		return true
	})
	return Splice(message, edits)
}
