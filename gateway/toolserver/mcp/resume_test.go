package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver"
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

// TestStreamResumedBound holds that an answer which goes on in one stream after the other has the bound of one.
func TestStreamResumedBound(t *testing.T) {
	t.Parallel()
	s := toolservertest.New(t)
	s.Legacy = true
	var id json.RawMessage
	s.On["tools/call"] = func(c *toolservertest.Call) {
		id = c.ID
		c.Stream()
		fmt.Fprint(c.W, "id: 1\nretry: 1\ndata: \n\n")
	}
	var resumed int
	s.Get = func(w http.ResponseWriter, _ *http.Request) {
		resumed++
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %d\nretry: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"%s\"}}\n\n", resumed+1, strings.Repeat("x", 1<<20))
		if resumed == 8 {
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}}\n\n", id)
		}
	}
	_, e := call(within(t, time.Minute), open(t, s, nil), "echo", `{}`)
	if e == nil || e.Kind != toolserver.TooLarge || !e.Sent {
		t.Errorf("got %+v, want too large, sent", e)
	}
}
