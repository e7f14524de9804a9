package state

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// stops is a gateway whose answers end in their midst.
type stops struct{ end func() error }

// Chat implements Chatter.
func (s *stops) Chat(context.Context, *gateway.Request) (*gateway.Response, error) {
	return &gateway.Response{Reply: &stopping{end: s.end}, Summary: &gateway.Summary{}}, nil
}

type stopping struct {
	given int
	end   func() error
}

func (*stopping) Header() http.Header { return nil }
func (*stopping) Streamed() bool      { return true }
func (*stopping) Close() error        { return nil }

func (s *stopping) Next() (*wire.Frame, error) {
	if s.given++; s.given > 2 {
		return nil, s.end()
	}
	f := wire.Event([]byte(`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}`))
	return &f, nil
}

// TestBackgroundStreamEnds holds that the events of a stream which ends in its midst, since the gateway is stopped or has
// a defect, are numbered one after the other up to the last one.
func TestBackgroundStreamEnds(t *testing.T) {
	t.Parallel()
	for name, defect := range map[string]bool{"stopped": false, "a defect": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := stops{}
			s := New(Options{Store: newStore(t), Gateway: &ends, MaxChain: 10})
			defer s.Close()
			ends.end = func() error {
				if defect {
					panic("a defect")
				}
				s.runs.stop()
				return context.Canceled
			}
			d := detached(t, s, `{"model":"m","input":"x","background":true,"stream":true}`)
			s.Drain(t.Context())
			var all []byte
			for next, end := s.runs.find("", d.ID()).feed.from(0), error(nil); end == nil; {
				var piece []byte
				piece, end = next(t.Context())
				all = append(all, piece...)
			}
			n := 0
			for line := range strings.Lines(string(all)) {
				if strings.HasPrefix(line, "data: {") {
					if number := fmt.Sprintf(`"sequence_number":%d,`, n); !strings.Contains(line, number) {
						t.Errorf("got no %s in %s", number, line)
					}
					n++
				}
			}
			if n < 6 || !strings.Contains(string(all), "event: response.failed\n") {
				t.Errorf("got %d events: %s", n, all)
			}
		})
	}
}
