package responses

import (
	"github.com/callgate/callgate/gateway"
)

// The statuses of responses that nobody answers yet, or any more.
const (
	Queued     = "queued"
	InProgress = inProgress
	Completed  = completed
	Incomplete = incomplete
	Failed     = failed
	Cancelled  = "cancelled"
)

// EncryptedReasoning is what a client includes to get sealed reasoning.
const EncryptedReasoning = encryptedReasoning

// Object is the response with a status and without output: before an answer, or in the place
// of one. e is why it has failed, or nil. It is called after Translate.
func (r *Request) Object(status string, e *gateway.Error) []byte {
	end := ending{status: status}
	if e != nil {
		end.failure = responseError(failure(e), false)
	}
	return r.bare().appendTo(nil, end, 0)
}

// bare is a response of what the request alone decides.
func (r *Request) bare() *answer {
	return &answer{req: r, machine: &machine{}, model: r.fields[fModel]}
}

// Queue is how the stream of a response begins that waits; the answer's [Writer] goes on from
// there. It is called after Translate, once.
func (r *Request) Queue() []byte {
	a := r.bare()
	a.announce("response.created", Queued)
	a.announce("response.queued", Queued)
	r.said = a.machine.number
	return a.machine.out
}

// Give is how a stream that Queue has begun ends with an error, behind as many events as it has.
func (r *Request) Give(e *gateway.Error, behind int) []byte {
	last := events{number: behind}
	last.raw("response.failed", []byte(`,"response":`), r.Object(Failed, e))
	return append(last.out, done...)
}

// ItemType is the type of an item of the input; "" if it has none.
func ItemType(item []byte) string { return itemType(item) }

// NotStoredError is returned by Save of a response that is good but could not be stored: the
// client gets it with a warning.
type NotStoredError struct {
	Why string // a word
	Err error
}

// Error implements error.
func (e *NotStoredError) Error() string { return "not stored: " + e.Why }

// Unwrap returns the cause.
func (e *NotStoredError) Unwrap() error { return e.Err }
