package httptool_test

import (
	"errors"
	"testing"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/httptool"
	"github.com/callgate/callgate/internal/testserver"
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
				address, got := testserver.ReadsOn(t, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok", !stays)
				tool.Name, tool.URL = "t", "http://"+address+"/x"
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
