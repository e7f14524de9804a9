package meter

import (
	"io"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// told is a meter that notes what it is told.
type told struct {
	came  []int
	ended gateway.Use
}

func (m *told) Begin(string, string, gateway.Purpose, int) error { return nil }
func (m *told) Came(n int)                                       { m.came = append(m.came, n) }
func (m *told) Ended(u gateway.Use)                              { m.ended = u }

type sink struct{ n int }

func (s *sink) Put(*wire.Frame) { s.n++ }

// TestCame holds that what is held of a client's limits grows with a stream, chunk by chunk, and not behind a whole
// answer, which is settled at once: with limits in a Redis that would be one call more for each request.
func TestCame(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		frames []wire.Frame
		calls  int
		bytes  int
	}{
		{"whole", []wire.Frame{{Whole: true, Data: []byte(`{"choices":[{"index":0,"message":{"content":"twelve bytes"}}]}`)}}, 0, 12},
		{"stream", []wire.Frame{
			{Data: []byte(`{"choices":[{"index":0,"delta":{"content":"twelve bytes"}}]}`)},
			{Data: []byte(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`)},
			{Data: []byte(`{"choices":[{"index":0,"delta":{"content":"four"}}]}`)},
		}, 2, 16},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			req, err := gateway.ParseRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
			if err != nil {
				t.Fatal(err)
			}
			m, out := &told{}, &sink{}
			s, err := Maker{}.Begin(gateway.WithMeter(t.Context(), m), &gateway.AttemptInfo{Asked: req, Sent: req, Began: time.Now()}, &gateway.Outcome{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range row.frames {
				if err := s.Frame(&row.frames[i], out); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.End(io.EOF, out); err != nil {
				t.Fatal(err)
			}
			if len(m.came) != row.calls || m.ended.Came != row.bytes || out.n != len(row.frames) {
				t.Errorf("told of %v, in all %d, and %d frames went on; want %d calls, %d bytes and all", m.came, m.ended.Came, out.n, row.calls, row.bytes)
			}
		})
	}
}
