package intake

import (
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/usage"
	"github.com/callgate/callgate/gateway/wire"
)

type sink struct{}

func (sink) Put(*wire.Frame) {}

// TestUsage holds that of a stream all counts that it has told, in pieces or again and again, and not what its last chunk
// says alone.
func TestUsage(t *testing.T) {
	t.Parallel()
	want := usage.Usage{Reported: true, Input: 9, Output: 5}
	failure := &gateway.Error{}
	for name, frames := range map[string][]string{
		"grows":            {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}`},
		"pieces":           {`{"choices":[],"usage":{"prompt_tokens":9}}`, `{"choices":[],"usage":{"completion_tokens":5}}`},
		"empty at the end": {`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}`, `{"choices":[],"usage":{}}`, `{"choices":[],"usage":null}`},
		"beside an error":  {`{"error":{"code":400,"message":"Token limit reached"},"choices":[{"index":0,"delta":{},"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`},
	} {
		o := &gateway.Outcome{}
		s, err := Maker{}.Begin(t.Context(), &gateway.AttemptInfo{Failure: func(*wire.Frame) *gateway.Error { return failure }}, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, data := range frames {
			if err := s.Frame(&wire.Frame{Data: []byte(data)}, sink{}); err != nil && err != error(failure) {
				t.Fatal(err)
			}
		}
		if o.Usage != want {
			t.Errorf("%s: got %+v, want %+v", name, o.Usage, want)
		}
	}
}
