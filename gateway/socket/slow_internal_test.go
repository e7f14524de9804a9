package socket

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// pipes is a listener whose connections have no buffers: who writes waits for who reads.
type pipes struct {
	to   chan net.Conn
	over chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.to:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// slowly has a client at the other end of a connection whose messages h answers, with a clock of its own.
func slowly(t *testing.T, h http.HandlerFunc, client func(t *testing.T, s *Sockets, ws *websocket.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(h, slog.New(slog.DiscardHandler))
		l := pipes{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = s.Accept(w, r, Settings{Path: "/", MaxMessage: 8 << 20})
		})}
		go func() { _ = server.Serve(l) }()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			l.to <- far
			return near, nil
		}}
		ws, _, err := websocket.Dial(t.Context(), "ws://gateway/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		ws.SetReadLimit(-1)
		client(t, s, ws)
		_ = ws.CloseNow()
		if err := s.Shutdown(t.Context()); err != nil || s.Open() != 0 || s.taken != 0 {
			t.Errorf("got %v, %d connections, %d taken", err, s.Open(), s.taken)
		}
		_ = server.Close()
		transport.CloseIdleConnections()
	})
}

// TestSlowWriter holds that a message that takes half an hour is answered though its client reads nothing
// meanwhile, and so answers no ping.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	slowly(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Count(string(body), "x") == 180*8<<10 {
			_, _ = io.WriteString(w, "data: {}\n\n")
		}
	}, func(t *testing.T, _ *Sockets, ws *websocket.Conn) {
		w, err := ws.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, `{"type":"response.create","input":"`)
		for range 180 {
			time.Sleep(10 * time.Second)
			if _, err := io.WriteString(w, strings.Repeat("x", 8<<10)); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = io.WriteString(w, `"}`)
		_ = w.Close()
		if _, data, err := ws.Read(t.Context()); err != nil || string(data) != `{"headers":{}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// TestSlowReader holds that an event waits for a client that reads nothing for a while, and for one that has
// left no longer than a minute.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{50 * time.Second, 2 * time.Minute} {
		slowly(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
		}, func(t *testing.T, s *Sockets, ws *websocket.Conn) {
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if left := wait > time.Minute; left {
				if n := s.Open(); n != 0 {
					t.Errorf("%d connections are open to a client that reads nothing", n)
				}
				return
			}
			if _, data, err := ws.Read(t.Context()); err != nil || string(data) != `{"headers":{}}` {
				t.Errorf("got %s, %v", data, err)
			}
		})
	}
}
