package providertest

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway"
)

func cutCases() []testCase {
	return []testCase{
		{"cut before the header", "A connection that ends without an answer makes the upstream unavailable.", cutEarly},
		{"cut whole answer", "A whole answer that is shorter than declared is unusable.", cutWhole},
		{"cut stream", "A stream that ends in its middle is an error, behind the frames that were whole.", cutStream},
		{"cut stream behind a finish reason", "A stream that lacks only its end marker is complete.", cutFinished},
	}
}

// ends are the two ways in which a connection can end.
var ends = map[string]bool{"closed": false, "reset": true}

const streamHeader = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

func cutEarly(t *testing.T, f Factory) {
	for _, text := range []string{"", "HTTP/1.1 200 OK\r\nContent-Ty", "220 mail ready\r\n", "HTTP/1.1 2xx\r\n\r\n"} {
		for name, reset := range ends {
			p := open(t, f, Settings{BaseURL: raw(t, script(text, reset))})
			_, err := ask(t, p, plainRequest(t))
			e := wantError(t, err, gateway.Unavailable, "upstream_error", "127.0.0.1")
			if e.Err == nil {
				t.Errorf("%s behind %q: got no cause, want one for the log", name, text)
			}
		}
	}
}

func cutWhole(t *testing.T, f Factory) {
	header := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(wholeAnswer)+5)
	for _, text := range []string{header, header + wholeAnswer[:9], header + wholeAnswer,
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"} {
		for name, reset := range ends {
			p := open(t, f, Settings{BaseURL: raw(t, script(text, reset))})
			_, err := ask(t, p, plainRequest(t))
			if err == nil {
				t.Fatalf("%s behind %q: got no error", name, text)
			}
			wantError(t, err, gateway.Unavailable, "upstream_error")
		}
	}
}

func cutStream(t *testing.T, f Factory) {
	chunked := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	const whole = "data: " + chunk1 + "\n\n"
	half := "data: " + chunk2[:40]
	for _, tt := range []struct{ name, text, want string }{
		{"no frame, clean end", streamHeader + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
		{"no frame", streamHeader + "\r\n", ""},
		{"only a comment", streamHeader + "\r\n: ping\n\n", ": ping\n\n"},
		{"clean end", streamHeader + "Transfer-Encoding: chunked\r\n\r\n" + chunked(whole) + "0\r\n\r\n", whole},
		{"end of the connection", streamHeader + "\r\n" + whole, whole},
		{"between frames", streamHeader + "Transfer-Encoding: chunked\r\n\r\n" + chunked(whole), whole},
		{"in a frame, clean end", streamHeader + "\r\n" + whole + half, whole},
		{"in a frame", streamHeader + "Transfer-Encoding: chunked\r\n\r\n" + chunked(whole+half), whole},
		{"short of the declared length", streamHeader + "Content-Length: 9999\r\n\r\n" + whole + half, whole},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := open(t, f, Settings{BaseURL: raw(t, script(tt.text, false))})
			reply := chat(t.Context(), t, p, streamRequest(t))
			got := drain(reply)
			if got.raw != tt.want || got.done {
				t.Errorf("got %q, end marker %v, want %q and none", got.raw, got.done, tt.want)
			}
			texts := []string{"in mid-stream"}
			if !strings.Contains(tt.want, "data") {
				texts = []string{"before its first chunk"}
			}
			wantError(t, got.err, gateway.Unavailable, "upstream_cut", texts...)
			if _, err := reply.Next(); err != got.err {
				t.Errorf("Next behind the error: got %v, want the same again", err)
			}
		})
	}
	t.Run("reset", func(t *testing.T) {
		t.Parallel()
		read := make(chan struct{})
		p := open(t, f, Settings{BaseURL: raw(t, func(c *net.TCPConn) {
			io.WriteString(c, streamHeader+"\r\n"+whole)
			<-read // a reset overtakes what was not read
			c.SetLinger(0)
		})})
		reply := chat(t.Context(), t, p, streamRequest(t))
		frame, err := reply.Next()
		close(read)
		if err != nil || string(frame.Raw) != whole {
			t.Fatalf("got %q, %v, want %q", frame.Raw, err, whole)
		}
		wantError(t, drain(reply).err, gateway.Unavailable, "upstream_cut", "in mid-stream")
	})
}

func cutFinished(t *testing.T, f Factory) {
	const want = "data: " + chunk1 + "\n\ndata: " + last + "\n\n"
	for _, text := range []string{streamHeader + "\r\n" + want, streamHeader + "Content-Length: 9999\r\n\r\n" + want} {
		p := open(t, f, Settings{BaseURL: raw(t, script(text, false))})
		wantStream(t, chat(t.Context(), t, p, streamRequest(t)), want, []string{chunk1, last}, false)
	}
}
