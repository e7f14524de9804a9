package httpapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/flow"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/socket"
)

// socketBody is the largest message.
const socketBody = 8 << 20

// overWS is a client's side of a WebSocket, and what serves it.
type overWS struct {
	of     *socket.Sockets
	ws     *websocket.Conn
	raw    net.Conn // that of ws
	memory *inflight.Budget
}

// overSocket has a client of a WebSocket whose messages h answers, with a clock of its own. Nothing between the two
// has a buffer: who writes waits for who reads. For frames that the library does not send the client has its
// connection too.
func overSocket(t *testing.T, h http.HandlerFunc, client func(t *testing.T, o overWS)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		memory := inflight.New(1 << 30)
		g, err := flow.New(flow.Options{Providers: map[string]gateway.Provider{"p": &endless{}}, Routes: map[string][]gateway.Target{"m": {{Provider: "p"}}}})
		if err != nil {
			t.Fatal(err)
		}
		sockets := socket.New(h, slog.New(slog.DiscardHandler))
		sockets.SetMaxMessage(socketBody)
		s, err := New(Config{Gateway: g, Sockets: sockets, Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		listener, stop := onPipes(s)
		defer stop()
		var raw net.Conn
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			raw = listener.dial()
			return raw, nil
		}}
		defer transport.CloseIdleConnections()
		ws, _, err := websocket.Dial(t.Context(), "ws://127.0.0.1"+responsesPath, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		client(t, overWS{sockets, ws, raw, memory})
		_ = ws.CloseNow()
		if err := sockets.Shutdown(t.Context()); err != nil || sockets.Open() != 0 || memory.Stats().Taken != 0 {
			t.Errorf("got %v, %d connections, and %d bytes that are still claimed", err, sockets.Open(), memory.Stats().Taken)
		}
	})
}

// hears answers a request that has so many x in it.
func hears(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Count(string(body), "x") == n {
			_, _ = io.WriteString(w, "data: {}\n\n")
		}
	}
}

// TestSlowSocketWriter holds that a message that takes half an hour is answered though its client reads nothing
// meanwhile, and so answers no ping.
func TestSlowSocketWriter(t *testing.T) {
	t.Parallel()
	const pieces, size = 180, 8 << 10
	overSocket(t, hears(pieces*size), func(t *testing.T, o overWS) {
		w, err := o.ws.Writer(t.Context(), websocket.MessageText)
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
		if _, data, err := o.ws.Read(t.Context()); err != nil || string(data) != `{"headers":{}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// TestSlowSocketReader holds that an event waits for a client that reads nothing for a while, and for one that has
// left no longer than a minute, whenever it has been written. What waits behind it then is not asked.
func TestSlowSocketReader(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ begin, wait time.Duration }{
		{25 * time.Second, 50 * time.Second}, {25 * time.Second, 2 * time.Minute},
		{0, 50 * time.Second}, {0, stallLimit + time.Second}, // soon behind the handshake
	} {
		wait := row.wait
		var asked atomic.Int32
		overSocket(t, func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			time.Sleep(row.begin)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {}\n\n")
		}, func(t *testing.T, o overWS) {
			messages := 1
			if wait > stallLimit {
				messages = 3
			}
			for range messages {
				if err := o.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(wait)
			if wait > stallLimit {
				if n := o.of.Open(); n != 0 || asked.Load() != 1 {
					t.Errorf("%d connections are open to a client that reads nothing, and %d of its messages were asked", n, asked.Load())
				}
				return
			}
			if _, data, err := o.ws.Read(t.Context()); err != nil || string(data) != `{"headers":{}}` {
				t.Errorf("got %s, %v", data, err)
			}
		})
	}
}

// frame is a client's frame of so many bytes, masked with zeros, as far as its payload is given.
func frame(first byte, size int, payload string) []byte {
	const long, masked = 127, 0x80
	b := binary.BigEndian.AppendUint64([]byte{first, masked | long}, uint64(size))
	if size < 126 { //nolint:mnd // of the protocol
		b = []byte{first, masked | byte(size)}
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

const textFrame, pingFrame = 0x81, 0x89

// TestSlowSocketFrame holds that a client that sends its message as one frame, as they do, may be as slow as it
// likes.
func TestSlowSocketFrame(t *testing.T) {
	t.Parallel()
	const pieces, size = 60, 64 << 10
	overSocket(t, hears(pieces*size), func(t *testing.T, o overWS) {
		const begin, end = `{"type":"response.create","input":"`, `"}`
		_, _ = o.raw.Write(frame(textFrame, len(begin)+pieces*size+len(end), begin))
		for range pieces {
			time.Sleep(10 * time.Second)
			if _, err := io.WriteString(o.raw, strings.Repeat("x", size)); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = io.WriteString(o.raw, end)
		if _, data, err := o.ws.Read(t.Context()); err != nil || string(data) != `{"headers":{}}` {
			t.Errorf("got %s, %v", data, err)
		}
	})
}

// TestSocketSilentPastLimit holds that a client that has sent too much of a message, and says no more of it, is
// waited for only as long as for the answer to a close frame.
func TestSocketSilentPastLimit(t *testing.T) {
	t.Parallel()
	overSocket(t, nil, func(t *testing.T, o overWS) {
		go func() { _, _ = o.raw.Write(frame(textFrame, 1<<40, strings.Repeat("x", socketBody+8<<10))) }()
		_, data, err := o.ws.Read(t.Context())
		if err != nil || !bytes.Contains(data, []byte(`"code":"request_too_large"`)) {
			t.Errorf("got %s, %v", data, err)
		}
		if _, err := io.ReadFull(o.raw, make([]byte, 2)); err != nil { // the close frame begins
			t.Error(err)
		}
		go func() { _, _ = io.Copy(io.Discard, o.raw) }()
		time.Sleep(time.Minute)
		if n := o.of.Open(); n != 0 {
			t.Errorf("%d connections are open to a client that is silent", n)
		}
	})
}

// TestSocketPings holds that pings of the client's are answered behind the event that is on its way out, however
// long the client takes for that within its bound: many send pings by themselves, whether they read or not.
func TestSocketPings(t *testing.T) {
	t.Parallel()
	overSocket(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\ndata: {}\n\n")
	}, func(t *testing.T, o overWS) {
		if err := o.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"a", "b"} {
			time.Sleep(20 * time.Second)
			if _, err := o.raw.Write(frame(pingFrame, len(text), text)); err != nil {
				t.Fatal(err)
			}
		}
		frames := []string{"\x81\x0e{\"headers\":{}}", "\x81\x02{}", "\x8a\x01a", "\x8a\x01b"}
		got := make([]byte, len(strings.Join(frames, "")))
		_, err := io.ReadFull(o.raw, got)
		for _, want := range frames {
			if err != nil || !bytes.Contains(got, []byte(want)) {
				t.Errorf("got %q, %v, want %q in it", got, err, want)
			}
		}
	})
}

// TestSocketSteerMemory holds that what is sent back to a client has its memory counted until the client has taken
// it.
func TestSocketSteerMemory(t *testing.T) {
	t.Parallel()
	overSocket(t, nil, func(t *testing.T, o overWS) {
		const size = 1 << 20
		if err := o.ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.steer","input":"`+strings.Repeat("x", size)+`"}`)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if taken := o.memory.Stats().Taken; taken < 2*size {
			t.Errorf("%d bytes are claimed while a message of %d and its answer are held", taken, size)
		}
	})
}
