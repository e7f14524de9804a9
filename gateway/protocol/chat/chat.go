// Package chat writes answers in the form of OpenAI's chat completions, which is the one that
// frames have.
package chat

import (
	"bytes"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// Writer writes one answer. It is used by one goroutine.
type Writer struct {
	summary *gateway.Summary
	first   *wire.Frame // a chunk, to write a further one by; nil as long as there is none
	stream  bool
	events  bool // the client wants to know what the gateway's own tools do
	closed  bool // nothing is to be said at the end any more
}

// NewWriter makes the writer of a response, whose summary grows while it is written.
func NewWriter(r *gateway.Response) *Writer {
	return &Writer{summary: r.Summary, stream: r.Streamed(), closed: !r.Streamed()}
}

// Streamed implements [protocol.Writer]: what the upstream sent decides.
func (w *Writer) Streamed() bool { return w.stream }

// Whole is a whole answer, valid no longer than its frame.
func (w *Writer) Whole(f *wire.Frame) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return w.whole(f), nil
}

func (w *Writer) whole(f *wire.Frame) []byte {
	if w.mute() && len(served.All(f)) > 0 {
		data := wire.Splice(f.Bytes(), wire.Remove(f.Bytes(), served.Member))
		f = &wire.Frame{Raw: data, Data: data, Whole: true}
	}
	if w.summary.Execution && wire.IsObject(f.Data) {
		return w.withExecution(nil, f.Bytes(), false)
	}
	return f.Bytes()
}

// Frame appends a frame. In front of a stream's end marker stands what there is to say of the
// answer.
func (w *Writer) Frame(dst []byte, f *wire.Frame) ([]byte, error) {
	switch {
	case f.Done:
		return append(w.close(dst), f.Raw...), nil
	case f.Whole:
		return append(dst, w.whole(f)...), nil
	case w.mute() && isOwn(f):
		return dst, nil
	case w.summary.Execution && w.first == nil && len(f.Choices()) > 0:
		w.first = &wire.Frame{Data: bytes.Clone(f.Data)}
	}
	return f.AppendTo(dst), nil
}

// mute reports whether what the gateway's own tools do is left out: no client of chat completions
// knows of it.
func (w *Writer) mute() bool { return w.summary.ToolRun != nil && !w.events }

// isOwn reports whether a chunk is the gateway's own, about what its tools do.
func isOwn(f *wire.Frame) bool {
	_, own, _ := served.Of(f)
	return own
}

// Close appends what a stream says at its end, once: what the headers of a whole answer would
// say, as a comment, and in front of it what the route adds, as a chunk. It is called when
// all frames have been written, without an error.
func (w *Writer) Close(dst []byte) ([]byte, error) { return w.close(dst), nil }

// Fail appends the error that ends a stream.
func (w *Writer) Fail(dst []byte, e *gateway.Error) []byte { return appendFailure(dst, e) }

func (w *Writer) close(dst []byte) []byte {
	if w.closed || w.summary.UpstreamError {
		return dst
	}
	w.closed = true
	if w.first != nil {
		chunk := bytes.ReplaceAll(w.withExecution(nil, w.first.Bare(), true), []byte{'\n'}, []byte{' '}) // between values, where the chunk came on several lines
		dst = append(append(append(dst, "data: "...), chunk...), "\n\n"...)
	}
	if w.summary.Replayed() { // its headers have said it
		return dst
	}
	return append(dst, observe.Comment(w.summary)...)
}

// withExecution appends an object with the member in place of its own.
func (w *Writer) withExecution(dst, object []byte, streamed bool) []byte {
	out := wire.AppendOthers(append(make([]byte, 0, len(object)+256), '{'), object, "execution")
	out = append(append(wire.AppendKey(out, "execution"), observe.Execution(w.summary, streamed)...), '}')
	return append(dst, out...)
}
