// Package intake is the first stage of an answer. It reads what an upstream says of the
// answer as a whole: errors in the place of a chunk, finish reasons, the count of tokens.
package intake

import (
	"context"
	"fmt"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/repair"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// Maker makes the stage.
type Maker struct{}

// Begin implements gateway.Maker.
func (Maker) Begin(_ context.Context, a *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	return &stage{attempt: a, outcome: o}, nil
}

type stage struct {
	attempt *gateway.AttemptInfo
	outcome *gateway.Outcome
}

func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	if u := f.Usage(); u != nil { // OpenRouter has it beside an error too, and bills it
		s.outcome.Usage = s.outcome.Usage.Then(usage.Read(u))
	}
	if f.Failed() {
		return s.attempt.Failure(f)
	}
	for i := range f.Choices() {
		c := &f.Choices()[i]
		s.outcome.HasOutput = s.outcome.HasOutput || c.Says
		if i == 0 && c.Index == 0 { // others are variants of the first
			s.outcome.CallSeen = s.outcome.CallSeen || c.Acts || !c.Calls.IsNull(f.Data) && c.Calls.End-c.Calls.Start > len("[]")
			if c.Reason != "" {
				s.outcome.Finish = c.Reason
			}
		}
		if err := s.malformed(f, c.Reason); err != nil {
			return err
		}
	}
	next.Put(f)
	return nil
}

func (s *stage) End(error, gateway.Sink) error { return nil }

// malformed is the failure of an answer whose call the upstream itself calls malformed, as
// Gemini does.
func (s *stage) malformed(f *wire.Frame, finish string) error {
	if !isMalformed(finish) || s.outcome.Committed || s.outcome.HasOutput && !f.Whole || s.attempt.Target.Mode != gateway.Repair {
		return nil
	}
	s.outcome.Fault(repair.VendorMalformed)
	return &gateway.Error{Kind: gateway.Unusable, Code: "invalid_tool_call",
		Message: fmt.Sprintf("Provider %q: the model's tool call was malformed (finish_reason %.40q).", s.attempt.Provider, finish)}
}

// isMalformed reads finish reasons such as Gemini's MALFORMED_FUNCTION_CALL, which may have the name of a filter in
// front.
func isMalformed(finish string) bool {
	const word, end = "malformed", "call"
	if len(finish) < len(word)+len(end) || finish[len(finish)-1]|0x20 != end[len(end)-1] { // nearly all
		return false
	}
	f := strings.ToLower(finish)
	return strings.Contains(f, word) && strings.HasSuffix(f, end)
}
