package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

// relaying is a gateway whose upstream's answer to a relayed request comes in pieces, and then breaks off.
type relaying struct {
	Chatter
	pieces []string
}

func (g relaying) Relay(context.Context, *gateway.Request, *gateway.Relay, bool) (*gateway.Response, error) {
	return &gateway.Response{Reply: &pieces{g.pieces}, Summary: &gateway.Summary{}, Status: http.StatusOK}, nil
}

type pieces struct{ left []string }

func (*pieces) Header() http.Header { return http.Header{"Content-Type": {"text/event-stream"}} }
func (*pieces) Streamed() bool      { return true }
func (*pieces) Close() error        { return nil }

func (p *pieces) Next() (*gateway.Frame, error) {
	if len(p.left) == 0 {
		return nil, &gateway.Error{Kind: gateway.Unavailable, Message: "The upstream's answer broke off."}
	}
	f := &gateway.Frame{Raw: []byte(p.left[0])}
	p.left = p.left[1:]
	return f, nil
}

// TestRelayBreaksOff holds that an error stands behind events that are whole, and that a stream which breaks
// off within one is not made to look like one that does not.
func TestRelayBreaksOff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pieces []string
		within bool
	}{
		{[]string{"data: {\"a\":1}\n\n"}, false},
		{[]string{"data: {\"a\":1}\n", "\n"}, false},
		{[]string{"data: {\"a\":1}\r\n\r\n"}, false},
		{[]string{"data: {\"a\":1}\n\n", "data: {\"a\":"}, true},
		{[]string{"event: delta\n"}, true},
	} {
		s, err := New(Config{Gateway: relaying{pieces: tt.pieces}})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(s)
		resp, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(`{"model":"m","prompt":"p"}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		server.Close()
		sent := strings.Join(tt.pieces, "")
		if tt.within && (string(got) != sent || !errors.Is(err, io.ErrUnexpectedEOF)) {
			t.Errorf("%q: got %q and %v, want the connection ended", tt.pieces, got, err)
		}
		if !tt.within && (err != nil || !strings.HasPrefix(string(got), sent+"data: {\"error\"")) {
			t.Errorf("%q: got %q and %v, want an error behind it", tt.pieces, got, err)
		}
	}
}
