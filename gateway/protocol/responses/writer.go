package responses

import (
	"errors"
	"time"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/observe"
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
	machine
	reader  reader
	passage passage
	stream  bool
	phase   phase
	model   []byte // JSON
	finish  string
	counts  counts
}

// phase is how far a response is.
type phase uint8

const (
	fresh phase = iota
	begun
	over
)

func newWriter(r *Request, resp *gateway.Response) *Writer {
	stream := r.Stream() || resp.Streamed()
	return &Writer{machine: machine{req: r, summary: resp.Summary, events: events{quiet: !stream, number: r.said}}, stream: stream, model: r.fields[fModel]}
}

// Streamed implements [protocol.Writer].
func (w *Writer) Streamed() bool { return w.stream }

// Whole implements [protocol.Writer].
func (w *Writer) Whole(f *wire.Frame) ([]byte, error) {
	if f == nil || !f.Whole {
		return nil, &gateway.Error{Kind: gateway.Unusable, Message: "The upstream has sent nothing that is an answer."}
	}
	if err := w.readWhole(f); err != nil {
		return nil, err
	}
	if w.phase == over {
		return nil, &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream has sent an error in the place of an answer."}
	}
	end := w.end()
	var response []byte
	if w.passage.final != nil {
		response = w.ownResponse(w.passage.final, end)
	} else {
		response = w.appendResponse(nil, end, time.Now().Unix())
	}
	if err := w.save(end, response); err != nil {
		return nil, err
	}
	return response, nil
}

// readWhole reads a whole answer: that of an upstream of the API as it came, if nothing was put into it.
func (w *Writer) readWhole(f *wire.Frame) error {
	if choices := f.Choices(); w.quiet && w.isOwn() && !f.Changed() && len(choices) == 1 {
		c := &choices[0]
		if own := ownResponse(c.Body.Of(f.Data)); own != nil && utf8.Valid(own) && w.mayCall(own.get("output")) {
			w.readHead(f)
			if raw := f.Usage(); raw != nil {
				w.counts = readCounts(raw)
			}
			w.phase, w.finish = begun, c.Reason
			w.takeCreated(own)
			w.takeOutput(own.get("output"))
			w.passage.final = own
			return nil
		}
	}
	return w.read(f)
}

// Frame implements [protocol.Writer].
func (w *Writer) Frame(dst []byte, f *wire.Frame) ([]byte, error) {
	w.out = dst
	var err error
	switch {
	case w.phase == over:
	case f.Done:
		err = w.complete()
	default:
		err = w.read(f)
	}
	return w.give(), err
}

// Close implements [protocol.Writer].
func (w *Writer) Close(dst []byte) ([]byte, error) {
	w.out = dst
	err := w.complete()
	return w.give(), err
}

// Fail implements [protocol.Writer].
func (w *Writer) Fail(dst []byte, e *gateway.Error) []byte {
	w.out = dst
	w.fail(failure(e))
	return w.give()
}

// give gives away what was written.
func (w *Writer) give() []byte {
	out := w.out
	w.out = nil
	return out
}

// begin writes how a response begins.
func (w *Writer) begin() {
	if w.phase != fresh {
		return
	}
	w.phase = begun
	if w.quiet {
		return
	}
	if w.req.said == 0 {
		w.response("response.created", inProgress)
	}
	w.response("response.in_progress", inProgress)
}

// response writes an event with the response as it is now, in the place where it goes out.
func (w *Writer) response(kind, status string) {
	w.eventHead(kind)
	w.out = w.appendResponse(append(w.out, `,"response":`...), ending{status: status}, 0)
	w.eventEnd()
}

// complete ends a response, once.
func (w *Writer) complete() error {
	if w.phase == over {
		return nil
	}
	w.begin()
	final := object(w.passage.final)
	if final == nil {
		w.stopPassing()
	}
	end := w.end()
	var response []byte
	if final != nil {
		response = w.ownResponse(final.get("response"), end)
	} else {
		response = w.appendResponse(nil, end, time.Now().Unix())
	}
	if err := w.save(end, response); err != nil {
		return err
	}
	w.phase = over
	if !w.summary.Replayed() { // its headers have said it
		w.out = append(w.out, observe.Comment(w.summary)...)
	}
	if final != nil {
		c := readCame(final)
		w.passResponse(final, &c, response)
	} else {
		w.raw("response."+end.status, []byte(`,"response":`), response)
	}
	w.out = append(w.out, done...)
	return nil
}

const done = "data: [DONE]\n\n"

// save hands the response to whoever stores it, before the client knows that it is over.
func (w *Writer) save(end ending, response []byte) error {
	if w.req.Save == nil {
		return nil
	}
	err := w.req.Save(Result{ID: w.req.id, Status: end.status, Response: response, Items: w.items})
	if not, ok := errors.AsType[*NotStoredError](err); ok {
		w.summary.Warn("not_stored:" + not.Why)
		return nil
	}
	return err
}

// fail ends a response with an error. What was open stays so: it is not over.
func (w *Writer) fail(body []byte) {
	if w.phase == over {
		return
	}
	if w.phase == fresh && w.req.said == 0 { // nobody has heard of a response
		w.phase = over
		w.out = appendError(w.out, body, w.number)
		return
	}
	w.stopPassing()
	w.phase = over
	end := ending{status: failed, failure: responseError(body)}
	response := w.appendResponse([]byte(`,"response":`), end, 0)
	_ = w.save(end, response[len(`,"response":`):]) // it has failed already
	w.raw("response.failed", response)
	w.out = append(w.out, done...)
}

// end ends all items, and says how the response ends.
func (w *Writer) end() ending {
	end := ending{status: completed}
	switch gateway.CutBy(w.finish) {
	case "length":
		end = ending{status: incomplete, reason: "max_output_tokens"}
	case "content_filter":
		end = ending{status: incomplete, reason: "content_filter"}
	}
	w.drain(end.status)
	return end
}
