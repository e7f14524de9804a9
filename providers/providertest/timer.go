package providertest

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway"
)

func timerCases() []testCase {
	return []testCase{
		{"timer connect", "A connection that is not made in time is a timeout that names its timer.", timerConnect},
		{"timer first token", "A stream without data in time is a timeout that names its timer; comments are no data.", timerFirstToken},
		{"timer first token of a whole answer", "A whole answer has no first token to wait for.", timerWholeIsSlow},
		{"timer idle", "A stream that pauses too long is a timeout that names its timer.", timerIdle},
		{"timer idle of a slow client", "A pause of the client's is none of the upstream's.", timerSlowClient},
		{"timer total", "A request that takes too long is a timeout that names its timer.", timerTotal},
	}
}

func timerConnect(t *testing.T, f Factory) {
	addr := listen(t, func(c *net.TCPConn) { io.Copy(io.Discard, c) }) // takes the handshake and says nothing
	p := open(t, f, Settings{BaseURL: "https://" + addr + "/v1", Connect: short})
	_, err := ask(t, p, plainRequest(t))
	wantError(t, err, gateway.Timeout, "upstream_timeout", "no connection within "+short.String(), "(timeouts.connect)")
}

func timerFirstToken(t *testing.T, f Factory) {
	for _, contentType := range []string{"", "text/event-stream"} {
		for reached := false; !reached; { // a busy machine may take all of the time to connect
			url, started, left := hang(t, contentType, ": ping\n\n", "data: ha")
			if contentType == "" {
				url, started, left = hang(t, contentType)
			}
			p := open(t, f, Settings{BaseURL: url, FirstToken: short})
			_, err := ask(t, p, streamRequest(t))
			wantError(t, err, gateway.Timeout, "upstream_timeout", "no first token within "+short.String(), "(timeouts.first_token)")
			select {
			case <-started:
				reached = true
				<-left
			default:
			}
		}
	}
}

func timerWholeIsSlow(t *testing.T, f Factory) {
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		body := wholeAnswer
		if contentType == "text/event-stream" {
			body = "data: " + last + "\n\n"
		}
		url := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(3 * short):
			case <-r.Context().Done():
			}
			w.Header().Set("Content-Type", contentType)
			io.WriteString(w, body)
		})
		p := open(t, f, Settings{BaseURL: url, FirstToken: short, Idle: short})
		if d, err := ask(t, p, plainRequest(t)); err != nil || d.raw != body {
			t.Errorf("got %q, %v, want the answer", d.raw, err)
		}
	}
}

func timerIdle(t *testing.T, f Factory) {
	url, _, left := hang(t, "text/event-stream", "data: "+chunk1+"\n\n", ": ping\n\n", "data: ha")
	p := open(t, f, Settings{BaseURL: url, Idle: short})
	d, err := ask(t, p, streamRequest(t))
	wantError(t, err, gateway.Timeout, "upstream_timeout", "no further chunk for "+short.String(), "(timeouts.idle)")
	<-left
	if want := "data: " + chunk1 + "\n\n: ping\n\n"; d.raw != want {
		t.Errorf("got %q before the timeout, want %q", d.raw, want)
	}
}

func timerSlowClient(t *testing.T, f Factory) {
	url, started, _ := hang(t, "text/event-stream", "data: "+chunk1+"\n\n", "data: "+chunk2+"\n\n", "data: "+last+"\n\n", "data: [DONE]\n\n")
	reply := chat(t.Context(), t, open(t, f, Settings{BaseURL: url, Idle: short, FirstToken: slow}), streamRequest(t))
	<-started
	for range 3 {
		if _, err := reply.Next(); err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * short)
	}
	if d := drain(reply); d.err != io.EOF || !d.done {
		t.Errorf("got %v, end marker %v, want EOF and an end marker", d.err, d.done)
	}
}

func timerTotal(t *testing.T, f Factory) {
	ticking := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			io.WriteString(w, "data: "+chunk1+"\n\n")
			w.(http.Flusher).Flush()
			<-time.After(time.Millisecond)
		}
	})
	pending, _, _ := hang(t, "application/json", wholeAnswer[:9])
	silent, _, _ := hang(t, "")
	for _, tt := range []struct {
		url string
		req *gateway.Request
	}{{ticking, streamRequest(t)}, {pending, plainRequest(t)}, {silent, plainRequest(t)}} {
		p := open(t, f, Settings{BaseURL: tt.url, Total: short})
		_, err := ask(t, p, tt.req)
		wantError(t, err, gateway.Timeout, "upstream_timeout", "no complete answer within "+short.String(), "(timeouts.total)")
	}
}
