package gateway

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/callgate/callgate/gateway/wire"
)

// streamedReply gives a whole answer as a stream, to a client that asked for one where
// the provider had better not, or where the upstream did not care. What is in the
// answer stays, but for its shape: each choice becomes a chunk with its message as the
// delta and one with its finish reason; usage comes last, if the client wants it.
type streamedReply struct {
	Reply
	usage  bool // the client wants it
	frames []Frame
	begun  bool
	header http.Header
}

func newStreamedReply(r Reply, req *Request) *streamedReply {
	h := r.Header().Clone()
	if h == nil {
		h = http.Header{}
	}
	h.Set("Content-Type", "text/event-stream")
	return &streamedReply{Reply: r, usage: req.wantsUsage(), header: h}
}

// Header implements [Reply].
func (s *streamedReply) Header() http.Header { return s.header }

// Streamed implements [Reply].
func (s *streamedReply) Streamed() bool { return true }

// Next implements [Reply].
func (s *streamedReply) Next() (Frame, error) {
	if !s.begun {
		s.begun = true
		f, err := s.Reply.Next()
		if err != nil {
			return Frame{}, err
		}
		s.cut(f.Data)
	}
	if len(s.frames) == 0 {
		return Frame{}, io.EOF
	}
	f := s.frames[0]
	s.frames = s.frames[1:]
	return f, nil
}

// Warnings implements [Warner].
func (s *streamedReply) Warnings() []string {
	if w, ok := s.Reply.(Warner); ok {
		return w.Warnings()
	}
	return nil
}

// cut makes the frames of a completion. What is none, such as an error, is one frame.
func (s *streamedReply) cut(data []byte) {
	var k chunk
	if !locate(&k, data, "message") {
		s.add(data, len(k.data) > 0 && !k.failed)
		return
	}
	var messages, reasons [][]byte
	for i := range k.parts {
		p := &k.parts[i]
		if p.body.Empty() || data[p.body.Start] != '{' { // nobody knows what that is
			messages = append(messages, p.object.Of(data))
			continue
		}
		messages = append(messages, asDelta(data, p))
		reasons = append(reasons, finishOnly(p.index, p.finish.Of(data)))
	}
	for i := range messages {
		s.add(k.asChunk(messages[i]), true)
	}
	for i := range reasons {
		s.add(k.asChunk(reasons[i]), true)
	}
	if s.usage && !k.usage.IsNull(data) {
		s.add(wire.Splice(data, append(k.object(), wire.Edit{At: k.choices, With: []byte("[]")})), true)
	}
	s.frames = append(s.frames, Frame{Raw: []byte("data: [DONE]\n\n"), Done: true})
	for i := range s.frames[:len(s.frames)-1] {
		s.frames[i].More = true
	}
}

// add appends a frame. What says that the answer is over is written by the caller.
func (s *streamedReply) add(data []byte, ok bool) {
	const field = "data: "
	data = bytes.ReplaceAll(data, []byte{'\n'}, []byte{' '}) // between the values of JSON; in strings it is escaped
	raw := append(append([]byte(field), data...), "\n\n"...)
	s.frames = append(s.frames, Frame{Raw: raw, Data: raw[len(field) : len(field)+len(data)], More: ok})
}

// asChunk is the completion as a chunk with one choice and without usage.
func (k *chunk) asChunk(choice []byte) []byte {
	edits := append(k.object(), wire.Edit{At: k.choices, With: wire.AppendElements(nil, []byte("[]"), [][]byte{choice})})
	if !k.usage.IsNull(k.data) {
		edits = append(edits, wire.Edit{At: k.usage, With: []byte("null")})
	}
	return wire.Splice(k.data, edits)
}

// object is the edit that makes a completion's type a chunk's.
func (k *chunk) object() []wire.Edit {
	if at := wire.Find(k.data, wire.Span{Start: 0, End: len(k.data)}, "object"); !at.Empty() {
		return []wire.Edit{{At: at, With: []byte(`"chat.completion.chunk"`)}}
	}
	return nil
}

// asDelta writes a choice of a completion as one of a chunk, without its finish
// reason.
func asDelta(data []byte, p *part) []byte {
	out := []byte{'{'}
	member := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(wire.AppendQuoted(out, key), ':'), value...)
	}
	indexed := false
	wire.Members(data, p.object.Start, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "message":
			member("delta", indexedCalls(v.Of(data)))
		case "finish_reason":
			member("finish_reason", []byte("null"))
		default:
			indexed = indexed || string(key) == "index"
			member(string(key), v.Of(data))
		}
		return true
	})
	if !indexed {
		member("index", strconv.AppendInt(nil, int64(p.index), 10))
	}
	return append(out, '}')
}

// indexedCalls gives the calls of a message the indexes that those of a delta have.
func indexedCalls(message []byte) []byte {
	calls := wire.Find(message, wire.Span{Start: 0, End: len(message)}, "tool_calls")
	if calls.IsNull(message) {
		return message
	}
	var edits []wire.Edit
	wire.Elements(message, calls.Start, func(n int, v wire.Span) bool {
		if message[v.Start] == '{' && wire.Find(message, v, "index").Empty() {
			at := wire.Span{Start: v.Start + 1, End: v.Start + 1}
			with := append(strconv.AppendInt([]byte(`"index":`), int64(n), 10), ',')
			edits = append(edits, wire.Edit{At: at, With: with})
		}
		return true
	})
	return wire.Splice(message, edits)
}

func finishOnly(index int, reason []byte) []byte {
	if len(reason) == 0 {
		reason = []byte("null")
	}
	b := strconv.AppendInt([]byte(`{"index":`), int64(index), 10)
	return append(append(append(b, `,"delta":{},"finish_reason":`...), reason...), '}')
}

// wantsUsage says whether the client of a stream asked for its usage.
func (r *Request) wantsUsage() bool {
	options := wire.Find(r.body, wire.Span{Start: 0, End: len(r.body)}, "stream_options")
	return !options.IsNull(r.body) && string(wire.Find(r.body, options, "include_usage").Of(r.body)) == "true"
}
