// Package recording is the stage that notes what upstreams are sent and answer, where the operator wants
// to read it later (admin.content). It changes nothing, and stands in front of all others.
package recording

import (
	"context"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/content"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the stage for requests whose context has a recording.
type Maker struct{}

// Begin implements gateway.Maker.
func (Maker) Begin(ctx context.Context, a *gateway.AttemptInfo, _ *gateway.Outcome) (gateway.Stage, error) {
	if t := content.Of(ctx); t != nil {
		return &stage{recording: t, attempt: a}, nil
	}
	return nil, nil //nolint:nilnil // a Maker's answer where there is nothing to do
}

type stage struct {
	recording *content.Recording
	attempt   *gateway.AttemptInfo
}

// Sent implements gateway.Witness.
func (s *stage) Sent(_ *gateway.Request, body wire.Pieces) error {
	s.recording.Sent(s.attempt.Provider, s.attempt.Model, body)
	return nil
}

// Refused implements gateway.Witness.
func (s *stage) Refused(e *gateway.Error) *gateway.Error {
	said := e.Refusal() // without the gateway's secrets
	if len(said) == 0 {
		said = []byte(e.Message)
	}
	s.recording.Came(said)
	return e
}

// Frame implements gateway.Stage.
func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	s.recording.Came(f.Chunk())
	next.Put(f)
	return nil
}

// End implements gateway.Stage.
func (s *stage) End(error, gateway.Sink) error { return nil }
