package mcp_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// TestStreamNotResumed holds that a call whose answer breaks off, in a stream that can be resumed and then is not,
// is no call that has not run: it is not sent again, and not said to be safe to repeat.
func TestStreamNotResumed(t *testing.T) {
	t.Parallel()
	for name, resume := range map[string]func(w http.ResponseWriter){
		"the session is forgotten": func(w http.ResponseWriter) { http.Error(w, "no such session", http.StatusNotFound) },
		"an error":                 func(w http.ResponseWriter) { http.Error(w, "no", http.StatusBadRequest) },
		"too many":                 func(w http.ResponseWriter) { http.Error(w, "slow down", http.StatusTooManyRequests) },
		"not let in":               func(w http.ResponseWriter) { http.Error(w, "who", http.StatusUnauthorized) },
		"fails":                    func(w http.ResponseWriter) { http.Error(w, "oh", http.StatusBadGateway) },
		"breaks off":               func(http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"another origin": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"away": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := toolservertest.New(t)
			s.Legacy = true
			var ran atomic.Int32
			s.On["tools/call"] = func(c *toolservertest.Call) {
				ran.Add(1)
				c.Stream()
				fmt.Fprint(c.W, "id: 1\nretry: 1\ndata: \n\n")
				c.W.(http.Flusher).Flush()
				if resume == nil {
					s.Refuse()
					panic(http.ErrAbortHandler)
				}
			}
			s.Get = func(w http.ResponseWriter, _ *http.Request) { resume(w) }
			client := open(t, s, nil)
			_, e := call(within(t, time.Minute), client, "echo", `{}`)
			if e == nil || !e.Sent {
				t.Errorf("got %+v, want an error of a call that was sent", e)
			}
			if n := ran.Load(); n != 1 {
				t.Errorf("got %d runs, want 1", n)
			}
		})
	}
}
