package responses

import (
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// The statuses of responses and items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
)

// encryptedReasoning is what a client includes to keep reasoning itself.
const encryptedReasoning = "reasoning.encrypted_content"

// Writer writes one response. It is used by one goroutine.
type Writer struct {
	machine machine
	answer  answer
	reader  reader
	passage passage
	stream  bool
}

func newWriter(r *Request, resp *gateway.Response) *Writer {
	stream := r.Stream() || resp.Streamed()
	w := &Writer{machine: newMachine(r, resp.Summary, events{quiet: !stream, number: r.said}), stream: stream}
	w.answer = answer{req: r, machine: &w.machine, model: r.fields[fModel]}
	w.reader = reader{answer: &w.answer, machine: &w.machine}
	w.passage = passage{answer: &w.answer, machine: &w.machine}
	return w
}

// Streamed implements [protocol.Writer].
func (w *Writer) Streamed() bool { return w.stream }

// Whole implements [protocol.Writer].
func (w *Writer) Whole(f *wire.Frame) ([]byte, error) {
	if f == nil || !f.Whole {
		return nil, &gateway.Error{Kind: gateway.Unusable, Message: "The upstream has sent nothing that is an answer."}
	}
	failure, err := w.readWhole(f)
	if err != nil {
		return nil, err
	}
	if failure != nil {
		w.fail(failure, isOwn(w.machine.summary))
		return nil, &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream has sent an error in the place of an answer."}
	}
	if err := protocol.CheckCompletion(f); err != nil {
		return nil, err
	}
	end, err := w.answer.end()
	if err != nil {
		return nil, err
	}
	response := w.answer.final(w.passage.final, end)
	if err := w.answer.save(end, response); err != nil {
		return nil, err
	}
	return response, nil
}

// readWhole reads a whole answer: that of an upstream of the API as it came, with what was changed of it.
func (w *Writer) readWhole(f *wire.Frame) (failure []byte, err error) {
	choices, m := f.Choices(), &w.machine
	if !m.quiet || !isOwn(m.summary) || len(choices) != 1 {
		return w.reader.read(f)
	}
	own := ownResponse(choices[0].Body.Of(f.Data))
	if own == nil || !utf8.Valid(own) {
		return w.reader.read(f)
	}
	w.answer.takeCreated(own)
	w.passage.final = own
	switch {
	case f.Changed():
		if ok, err := w.mendWhole(f, own); ok || err != nil {
			return nil, err
		}
	case m.calls.may(own.get("output")):
		w.answer.readModel(f)
		if raw := f.Usage(); raw != nil {
			w.answer.counts = readCounts(raw)
		}
		w.answer.phase, w.answer.finish = begun, choices[0].Reason
		m.output.take(own.get("output"), m.response)
		return nil, nil
	}
	return w.reader.read(f)
}

// Frame implements [protocol.Writer].
func (w *Writer) Frame(dst []byte, f *wire.Frame) ([]byte, error) {
	w.machine.out = dst
	var err error
	switch {
	case w.answer.phase == over:
	case f.Done:
		err = w.complete()
	default:
		err = w.read(f)
	}
	return w.give(), err
}

// read takes a frame.
func (w *Writer) read(f *wire.Frame) error {
	if w.passage.pass(f) {
		return w.machine.tooLarge()
	}
	failure, err := w.reader.read(f)
	if failure != nil {
		w.fail(failure, isOwn(w.machine.summary))
	}
	return err
}

// Close implements [protocol.Writer].
func (w *Writer) Close(dst []byte) ([]byte, error) {
	w.machine.out = dst
	err := w.complete()
	return w.give(), err
}

// Fail implements [protocol.Writer].
func (w *Writer) Fail(dst []byte, e *gateway.Error) []byte {
	w.machine.out = dst
	w.fail(failure(e), false)
	return w.give()
}

// give gives away what was written.
func (w *Writer) give() []byte {
	out := w.machine.out
	w.machine.out = nil
	return out
}

// complete ends a response, once.
func (w *Writer) complete() error {
	if w.answer.phase == over {
		return nil
	}
	w.answer.begin()
	final := object(w.passage.final)
	if final == nil {
		w.passage.stop()
	}
	end, err := w.answer.end()
	if err != nil {
		return err
	}
	response := w.answer.final(final.get("response"), end)
	if err := w.answer.save(end, response); err != nil {
		return err
	}
	w.answer.phase = over
	if !w.machine.summary.Replayed() { // its headers have said it
		w.machine.out = append(w.machine.out, observe.Comment(w.machine.summary)...)
	}
	if c := readUpstreamEvent(final); c.kind == "response."+end.status {
		w.passage.passResponse(final, &c, response)
	} else {
		w.machine.raw("response."+end.status, []byte(`,"response":`), response)
	}
	w.machine.out = append(w.machine.out, done...)
	return nil
}

const done = "data: [DONE]\n\n"

// fail ends a response with an error, which is own if it is of an upstream's response. What was open stays so: it is not over.
func (w *Writer) fail(body []byte, own bool) {
	if w.answer.phase == over {
		return
	}
	if w.answer.phase == fresh && w.answer.req.said == 0 { // nobody has heard of a response
		w.answer.phase = over
		w.machine.out = appendError(w.machine.out, body, w.machine.number)
		return
	}
	w.passage.stop()
	w.answer.phase = over
	end := ending{status: failed, failure: responseError(body, own)}
	response := w.answer.appendTo([]byte(`,"response":`), end, 0)
	_ = w.answer.save(end, response[len(`,"response":`):]) // it has failed already
	w.machine.raw("response.failed", response)
	w.machine.out = append(w.machine.out, done...)
}
