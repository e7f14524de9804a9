// Package bill is the stage that reckons what an answer has cost.
package bill

import (
	"context"
	"io"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the bill of an answer, once for each, with its target.
type Maker func(provider, model string, u gateway.Usage) gateway.Bill

// Begin implements gateway.Maker.
func (m Maker) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	return &stage{m, a, o}, nil
}

type stage struct {
	make    Maker
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	next.Put(f)
	return nil
}

func (s *stage) End(cause error, _ gateway.Sink) error {
	if cause == io.EOF && s.outcome.Usage.Reported {
		s.outcome.Bill = s.make(s.attempt.Provider, s.attempt.Model, s.outcome.Usage)
	}
	return nil
}
