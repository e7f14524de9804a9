package upstream

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// another is a transport that is not net/http's own.
type another struct{ http.RoundTripper }

// TestUnsent holds that an error says of a request that it was not sent only if the upstream has nothing of it, over
// each kind of connection, new and kept: its client has left before, there is no connection, or it was taken.
func TestUnsent(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"plain", "net/http", "TLS", "HTTP/2", "another transport"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 10)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				switch string(body) {
				case `"stay"`:
					asked <- struct{}{}
					<-r.Context().Done()
					panic(http.ErrAbortHandler) // else an answer might come before the client has closed
				case `"break"`:
					asked <- struct{}{}
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, "{}")
			}))
			s.EnableHTTP2 = kind == "HTTP/2"
			if kind == "TLS" || kind == "HTTP/2" {
				s.StartTLS()
			} else {
				s.Start()
			}
			defer s.Close()
			p, err := New(Config{Name: "up", BaseURL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			defer p.CloseIdleConnections()
			if kind == "net/http" {
				p.plain = nil
			}
			if kind == "another transport" {
				p.plain, p.transport = nil, another{p.transport}
			}
			if s.TLS != nil {
				roots := x509.NewCertPool()
				roots.AddCert(s.Certificate())
				p.transport.(*http.Transport).TLSClientConfig.RootCAs = roots
			}
			ask := func(ctx context.Context, do string) error {
				_, err := p.Do(ctx, Request{URL: p.URL("chat"), Body: wire.Pieces{[]byte(`"` + do + `"`)}})
				return err
			}
			unsent := func(where string, err error, want bool) {
				t.Helper()
				want = want && kind != "another transport" // of which nobody knows
				if e, ok := errors.AsType[*gateway.Error](err); !ok || e.Unsent != want {
					t.Errorf("%s: got %+v, want an error that says unsent: %v", where, err, want)
				}
			}
			left, leave := context.WithCancel(t.Context())
			leave()
			for _, connection := range []string{"new", "kept"} {
				for range 20 { // some meet the moment in which the connection is taken
					unsent("a client that has left, "+connection, ask(left, "answer"), true)
				}
				for _, do := range []string{"stay", "break"} {
					ctx, cancel := context.WithCancel(t.Context())
					done := make(chan error, 1)
					go func() { done <- ask(ctx, do) }()
					select {
					case <-asked:
					case err := <-done:
						t.Fatalf("%s: got %v, want that it is taken", do, err)
					}
					if do == "stay" {
						cancel()
					}
					unsent("one that was taken ("+do+"), "+connection, <-done, false)
					cancel()
				}
				if err := ask(t.Context(), "answer"); err != nil { // whose connection is kept
					t.Fatal(err)
				}
			}
			s.Close()
			p.CloseIdleConnections()
			for err = ask(t.Context(), "answer"); err != nil && !strings.Contains(err.Error(), "refused the connection"); {
				err = ask(t.Context(), "answer") // the end of a connection of HTTP/2 was not noticed yet
			}
			unsent("nobody listens", err, true)
		})
	}
}
