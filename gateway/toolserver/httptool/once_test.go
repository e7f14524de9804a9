package httptool_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/httptool"
)

// TestOnce holds that a call whose server reads it and closes the connection is made once, also where the connection
// had been used before, and that it is said to have been sent, also where the server takes no other connection.
func TestOnce(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]httptool.Tool{
		"GET":                       {Method: "GET", Body: "none"},
		"POST":                      {Method: "POST", Body: "json"},
		"POST, an Idempotency-Key":  {Method: "POST", Body: "json", Headers: map[string]string{"idempotency-key": "1"}},
		"POST, its name with an X-": {Method: "POST", Body: "json", Headers: map[string]string{"X-Idempotency-Key": "1"}},
	} {
		for where, stays := range map[string]bool{"stays": true, "goes": false} {
			t.Run(name+", the server "+where, func(t *testing.T) {
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
							if !stays {
								l.Close()
							}
							return
						}
						_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok")
					}
				}
				go func() {
					for c, err := l.Accept(); err == nil; c, err = l.Accept() {
						go serve(c)
					}
				}()
				tool.Name, tool.URL = "t", "http://"+l.Addr().String()+"/x"
				s, err := httptool.Open("api", []httptool.Tool{tool})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if r, err := s.Call(t.Context(), "t", nil); err != nil || r.Text != "ok" {
					t.Fatalf("got %+v, %v", r, err)
				}
				_, err = s.Call(t.Context(), "t", nil)
				var e *toolserver.Error
				if !errors.As(err, &e) || !e.Sent || e.Hint != toolserver.Unsure {
					t.Errorf("got %+v, want an error of a call that was sent", err)
				}
				if n := got.Load(); n != 2 {
					t.Errorf("got %d requests for two calls", n)
				}
			})
		}
	}
}
