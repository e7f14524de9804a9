package httpapi

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

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/socket"
)

// overSocket has a client of a WebSocket whose messages h answers, with a clock of its own. Nothing between the two
// has a buffer: who writes waits for who reads.
func overSocket(t *testing.T, h http.HandlerFunc, client func(t *testing.T, of *socket.Sockets, ws *websocket.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": &endless{}}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}})
		if err != nil {
			t.Fatal(err)
		}
		sockets := socket.New(h, slog.New(slog.DiscardHandler))
		s, err := New(Config{Gateway: g, Sockets: sockets, MaxBody: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		listener, stop := onPipes(s)
		defer stop()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return listener.dial(), nil }}
		defer transport.CloseIdleConnections()
		ws, _, err := websocket.Dial(t.Context(), "ws://127.0.0.1"+responsesPath, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		client(t, sockets, ws)
		_ = ws.CloseNow()
		if err := sockets.Shutdown(t.Context()); err != nil || sockets.Open() != 0 {
			t.Errorf("got %v, and %d connections", err, sockets.Open())
		}
	})
}

// TestSlowSocketWriter holds that a message that takes half an hour is answered though its client reads nothing
// meanwhile, and so answers no ping.
func TestSlowSocketWriter(t *testing.T) {
	t.Parallel()
	const pieces, size = 180, 8 << 10
	overSocket(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Count(string(body), "x") == pieces*size {
			_, _ = io.WriteString(w, "data: {}\n\n")
		}
	}, func(t *testing.T, _ *socket.Sockets, ws *websocket.Conn) {
		w, err := ws.Writer(t.Context(), websocket.MessageText)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, `{"type":"response.create","input":"`)
		for range pieces {
			time.Sleep(10 * time.Second)
			if _, err := io.WriteString(w, strings.Repeat("x", size)); err != nil {
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

// TestSlowSocketReader holds that an event waits for a client that reads nothing for a while, and for one that has
// left no longer than a minute.
func TestSlowSocketReader(t *testing.T) {
	t.Parallel()
	for _, wait := range []time.Duration{50 * time.Second, 2 * time.Minute} {
		overSocket(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(25 * time.Second)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
		}, func(t *testing.T, of *socket.Sockets, ws *websocket.Conn) {
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(wait)
			if wait > stallLimit {
				if n := of.Open(); n != 0 {
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
