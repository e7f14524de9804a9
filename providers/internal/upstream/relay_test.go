package upstream_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// TestRelayOnce holds that a request which an upstream has read, and not answered, is not sent again, whatever its method
// is: net/http does so by itself where the connection had been used before.
func TestRelayOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"GET", "HEAD", "OPTIONS", "POST", "DELETE"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			var got atomic.Int32
			serve := func(c net.Conn) {
				defer c.Close()
				for r := bufio.NewReader(c); ; {
					req, err := http.ReadRequest(r)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					if got.Add(1) > 1 {
						return
					}
					_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				}
			}
			go func() {
				for c, err := l.Accept(); err == nil; c, err = l.Accept() {
					go serve(c)
				}
			}()
			p, err := upstream.New(upstream.Config{BaseURL: "http://" + l.Addr().String()})
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
