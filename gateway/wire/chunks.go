package wire

import (
	"bytes"
	"slices"
)

// Chunks are the frames of a stream that says what a completion does: each choice becomes a
// chunk with its message as the delta and one with its finish reason; usage comes last, if
// it is wanted, and then the end marker. What is no completion, such as an error, is one
// frame.
func Chunks(f *Frame, usage bool) []Frame {
	c := chunker{data: f.Data}
	if !f.IsChunk() {
		c.add(f.Data, len(f.Data) > 0 && !f.Failed())
		return c.frames
	}
	var messages, reasons [][]byte
	for i := range f.choices {
		p := &f.choices[i]
		if p.Body.Empty() || f.Data[p.Body.Start] != '{' { // nobody knows what that is
			messages = append(messages, p.Object.Of(f.Data))
			continue
		}
		messages = append(messages, asDelta(f.Data, p))
		reasons = append(reasons, finishOnly(p.Index, p.Finish.Of(f.Data)))
	}
	for _, choice := range append(messages, reasons...) {
		edits := append(c.object(), Edit{f.list, AppendElements(nil, []byte("[]"), [][]byte{choice})})
		if !f.usage.IsNull(f.Data) {
			edits = append(edits, Edit{f.usage, []byte("null")})
		}
		c.add(Splice(f.Data, edits), true)
	}
	if usage && !f.usage.IsNull(f.Data) {
		c.add(Splice(f.Data, append(c.object(), Edit{f.list, []byte("[]")})), true)
	}
	return append(c.frames, Done())
}

// Event is the frame of a stream that holds JSON, in one line.
func Event(data []byte) Frame {
	const field = "data: "
	raw := slices.Concat([]byte(field), data, []byte("\n\n"))
	return Frame{Raw: raw, Data: raw[len(field) : len(field)+len(data)]}
}

// Done is the end marker of a stream.
func Done() Frame { return Frame{Raw: []byte("data: [DONE]\n\n"), Done: true} }

// chunker writes the chunks of a completion.
type chunker struct {
	data   []byte
	frames []Frame
}

// add adds a frame. more says that another one follows.
func (c *chunker) add(data []byte, more bool) {
	e := Event(bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '})) // between the values of JSON; in strings it is escaped
	e.More = more
	c.frames = append(c.frames, e)
}

// object is the edit that makes a completion's type a chunk's.
func (c *chunker) object() []Edit {
	if at := Find(c.data, Span{0, len(c.data)}, "object"); !at.Empty() {
		return []Edit{{at, []byte(`"chat.completion.chunk"`)}}
	}
	return nil
}

// asDelta writes a choice of a completion as one of a chunk, without its finish reason.
func asDelta(data []byte, p *Choice) []byte {
	out := []byte{'{'}
	indexed := false
	Members(data, p.Object.Start, func(key []byte, v Span) bool {
		switch string(key) {
		case "message":
			out = append(AppendKey(out, "delta"), indexedCalls(v.Of(data))...)
		case "finish_reason":
			out = append(AppendKey(out, "finish_reason"), "null"...)
		default:
			indexed = indexed || string(key) == "index"
			out = append(AppendKey(out, string(key)), v.Of(data)...)
		}
		return true
	})
	if !indexed {
		out = AppendInt(AppendKey(out, "index"), p.Index)
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

func finishOnly(index int, reason []byte) []byte {
	if len(reason) == 0 {
		reason = []byte("null")
	}
	b := AppendInt([]byte(`{"index":`), index)
	return append(append(append(b, `,"delta":{},"finish_reason":`...), reason...), '}')
}
