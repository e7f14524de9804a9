package upstream_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/testserver"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// TestRelayOnce holds that a request which an upstream has read, and not answered, is not sent again, whatever its method
// is: net/http does so by itself where the connection had been used before.
func TestRelayOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			address, got := testserver.ReadsOn(t, "HTTP/1.1 204 No Content\r\n\r\n", false)
			p, err := upstream.New(upstream.Config{BaseURL: "http://" + address})
			if err != nil {
				t.Fatal(err)
			}
			defer p.CloseIdleConnections()
			relay := &gateway.Relay{Method: method, Body: func(string) (io.ReadCloser, int64, error) { return http.NoBody, 0, nil }}
			first, err := p.Relay(t.Context(), p.URL("batches"), "", relay)
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, err = first.Next()
			}
			if first.Close(); err != io.EOF {
				t.Fatal(err)
			}
			second, err := p.Relay(t.Context(), p.URL("batches"), "", relay)
			if err == nil {
				second.Close()
				t.Error("got an answer to a request that had none")
			} else if gateway.AsError(err).Unsent {
				t.Errorf("got %v, told as not sent", err)
			}
			if n := got.Load(); n != 2 {
				t.Errorf("got %d requests for two", n)
			}
		})
	}
}
