// Package tally is the stage that reads the usage of answers which nobody else looks into. It
// stands at the end of what an upstream sends, in JSON or in the last events of a stream.
package tally

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

// window is how many bytes of an answer's end are looked at. A usage has some hundred.
const window = 8 << 10

// Maker makes the stage.
type Maker struct{}

// Begin implements gateway.Maker.
func (Maker) Begin(_ context.Context, _ *gateway.AttemptInfo, o *gateway.Outcome) (gateway.Stage, error) {
	return &stage{outcome: o}, nil
}

type stage struct {
	outcome *gateway.Outcome
	tail    []byte
}

// Frame keeps the end of what has come.
func (s *stage) Frame(f *wire.Frame, next gateway.Sink) error {
	raw := f.Raw
	if len(raw) > window {
		raw = raw[len(raw)-window:]
	}
	if over := len(s.tail) + len(raw) - 2*window; over > 0 {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-window:]...)
	}
	s.tail = append(s.tail, raw...)
	next.Put(f)
	return nil
}

func (s *stage) End(cause error, _ gateway.Sink) error {
	if cause != io.EOF {
		return nil
	}
	for text := s.tail; ; {
		i := bytes.LastIndex(text, []byte(`"usage"`))
		if i < 0 {
			return nil
		}
		var object json.RawMessage
		value := bytes.TrimLeft(s.tail[i+len(`"usage"`):], " \t\r\n:")
		if json.NewDecoder(bytes.NewReader(value)).Decode(&object) == nil && object[0] == '{' {
			if u := usage.Read(object); u.Reported {
				s.outcome.Usage = u
				return nil
			}
		}
		text = s.tail[:i]
	}
}
