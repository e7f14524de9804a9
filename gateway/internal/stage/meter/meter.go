// Package meter is the stage that tells a request's [gateway.Meter] what each attempt has used, and
// leaves out the chunk of a stream's usage that only the gateway has asked for.
package meter

import (
	"context"
	"io"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the stage, for requests that have a meter. It stands where the upstream's usage is read
// already, and its frames are as they came.
type Maker struct {
	// Relay says that the request is no chat, and Text that it is answered with text nevertheless.
	Relay, Text bool
}

// Begin implements gateway.Maker.
func (m Maker) Begin(ctx context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	meter := gateway.MeterOf(ctx)
	if meter == nil {
		return nil, nil
	}
	s := &stage{maker: m, meter: meter, attempt: a, outcome: o, bytes: len(a.Sent.Body.Bytes()), sent: m.Relay}
	s.mayHide = !m.Relay && a.Asked.Stream && !a.Asked.Reading.WantsUsage()
	return s, meter.Begin(a.Provider, a.Model, purpose(a), s.bytes)
}

// purpose is why an attempt is made, for the ledger.
func purpose(a *gateway.AttemptInfo) gateway.Purpose {
	switch a.Reason {
	case gateway.Reask, gateway.Forced, gateway.Corrected:
		return gateway.ForReask
	}
	return gateway.ForAnswer
}

type stage struct {
	maker   Maker
	meter   gateway.Meter
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
	bytes   int    // of the request
	came    int    // bytes of the answer that count
	mayHide bool   // the client has not asked for the usage of its stream
	hides   bool   // and the gateway has
	sent    bool   // the request
	spoken  spoken // of what is relayed
	refused *gateway.Error
}

// Sent implements gateway.Witness.
func (s *stage) Sent(r *gateway.Request, body wire.Pieces) error {
	s.hides = s.mayHide && r.Reading.WantsUsage()
	s.sent, s.bytes = true, body.Size()
	return nil
}

// Refused implements gateway.Witness.
func (s *stage) Refused(e *gateway.Error) *gateway.Error {
	s.refused = e
	return e
}

// around is what a call's chunk has around its arguments, in bytes.
const around = 60

// Frame implements gateway.Stage.
func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	n := 0
	if s.maker.Relay && s.maker.Text {
		n = s.spoken.count(f.Raw)
	}
	if !s.maker.Relay && f.Data != nil {
		for i := range f.Choices() {
			c := &f.Choices()[i]
			n += max(c.Content.End-c.Content.Start-2, 0) + max(c.Reasoning.End-c.Reasoning.Start-2, 0)
			if calls := c.Calls.End - c.Calls.Start; calls > 0 {
				n += max(calls-around, 1)
			}
		}
	}
	if s.came += n; n > 0 && !f.Whole { // a whole answer has ended, and what is held for it is settled at once
		s.meter.Came(n)
	}
	if s.hides && !f.Whole && f.IsChunk() && len(f.Choices()) == 0 && f.Usage() != nil {
		f.Free()
		return nil
	}
	next.Put(f)
	return nil
}

// End implements gateway.Stage.
func (s *stage) End(cause error, _ gateway.Sink) error {
	u := gateway.Use{Provider: s.attempt.Provider, Model: s.attempt.Model, Purpose: purpose(s.attempt), Sent: s.bytes, Came: s.came, Status: "ok",
		Usage: s.outcome.Usage, Tools: len(s.outcome.Called), Took: time.Since(s.attempt.Began)}
	u.Complete = cause == io.EOF || u.Usage.Reported && s.outcome.Finish != "" // also if another stage has thrown it away
	if cause != io.EOF {
		e := gateway.AsError(cause)
		if s.refused != nil {
			e = s.refused
		}
		if u.Status = e.CodeOrDefault(); e.Kind == gateway.Canceled {
			u.Status = gateway.StatusCanceled
		}
	}
	u.Unbilled = !s.sent || u.Came == 0 && !u.Usage.Reported && s.refused != nil && unbilled(s.refused)
	u.Unsent = !s.sent || u.Unbilled && s.refused != nil && s.refused.Unsent
	s.meter.Ended(u)
	return nil
}

// unbilled reports whether nobody bills a request that was refused. Of one that a timer or its client has ended nobody
// knows, unless it was not sent.
func unbilled(e *gateway.Error) bool {
	return e.Unsent || e.Kind != gateway.Timeout && e.Kind != gateway.Canceled
}
