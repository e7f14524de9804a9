package gateway

import (
	"context"
	"time"
)

// Meter is told what upstreams are asked for a request, and what they answer: each attempt, with those
// whose answers are thrown away, and the guard's judge. The context of a request has it ([WithMeter]).
// Attempts call it one after the other, and a judge while its attempt runs.
type Meter interface {
	// Begin is told of an attempt, whose request has so many bytes, before the upstream is. An error keeps it from
	// the upstream: then there was no attempt, and Ended is not told.
	Begin(provider, model string, why Purpose, bytes int) error
	// Came is told of text of a stream that the upstream has sent, in bytes. Of a whole answer Ended says it all.
	Came(bytes int)
	// Ended is told of the attempt's end, once.
	Ended(u Use)
}

// Use is what one answer of an upstream has used.
type Use struct {
	Provider, Model string
	Purpose         Purpose
	// Usage is what the upstream reports. Complete says that it is of all of the answer.
	Usage    Usage
	Complete bool
	// Unbilled says that the upstream has not begun to answer: it was not asked, or has refused.
	Unbilled bool
	// Unsent says that it is certain that the upstream has had nothing of the request.
	Unsent bool
	// Sent and Came are the bytes of the request, and of the text that came, for who has to estimate.
	Sent, Came int
	// Tools is how many tools were called.
	Tools int
	// Status is "ok", "canceled", or the code of the error that ended it.
	Status string
	Took   time.Duration
}

// StatusCanceled is the status of an answer that nobody read to its end.
const StatusCanceled = "canceled"

// Purpose is why an upstream was asked.
type Purpose string

// The purposes.
const (
	ForAnswer Purpose = "answer"
	ForReask  Purpose = "reask"  // what came before was thrown away
	ForJudge  Purpose = "judge"  // the guard's judge
	ForMirror Purpose = "mirror" // a copy of a request, whose answer nobody gets; a Meter of its own says so
)

// Copier is a Meter that knows what is to be done with a copy of its request, whose answer nobody gets.
type Copier interface {
	// Copied makes the meter of the copy, nil for none. end has to be called when the copy is answered, and
	// the request itself may be over by then.
	Copied(ctx context.Context, copied *Request) (m Meter, end func())
}

// Copied has a copy of a request, of which m is the Meter or nil, told to a meter of its own. end has to
// be called when the copy is answered.
func Copied(ctx context.Context, m Meter, copied *Request) (_ context.Context, end func()) {
	if c, ok := m.(Copier); ok {
		if own, end := c.Copied(ctx, copied); own != nil {
			return WithMeter(ctx, own), end
		}
	}
	return ctx, func() {}
}

type meterKey struct{}

// WithMeter returns a context whose upstream requests a meter is told of.
func WithMeter(ctx context.Context, m Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

// MeterOf is a context's meter, or nil.
func MeterOf(ctx context.Context) Meter {
	m, _ := ctx.Value(meterKey{}).(Meter)
	return m
}
