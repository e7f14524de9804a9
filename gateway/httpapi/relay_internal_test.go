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

// TestFormWithTwoBoundaries has forms in which an upstream could find another model than the gateway: it is told of
// two boundaries.
func TestFormWithTwoBoundaries(t *testing.T) {
	t.Parallel()
	s, err := New(Config{Gateway: relaying{pieces: []string{"data: {}\n\n"}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	const form = "--b\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--b--\r\n--c\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nn\r\n--c--\r\n"
	for _, tt := range []struct {
		types  []string
		status int
	}{
		{[]string{"multipart/form-data; boundary=c; boundary*=utf-8''b"}, http.StatusBadRequest},
		{[]string{"multipart/form-data; boundary=b", "multipart/form-data; boundary=c"}, http.StatusBadRequest},
		{[]string{"multipart/form-data; boundary=b"}, http.StatusOK},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/audio/transcriptions", strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		r.Header["Content-Type"] = tt.types
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body) // the answer breaks off
		_ = resp.Body.Close()
		if resp.StatusCode != tt.status {
			t.Errorf("%q: got the status %d and %s, want %d", tt.types, resp.StatusCode, body, tt.status)
		}
	}
}
