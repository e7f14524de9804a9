package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/inflight"
)

// dial opens a connection.
func dial(t *testing.T, url string) *websocket.Conn {
	t.Helper()
	ws, resp, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
	return ws
}

// TestAge holds that an old connection ends behind its answers, and says why.
func TestAge(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.age = time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = s.Accept(w, r, Settings{}) }))
	defer server.Close()
	ws := dial(t, server.URL)
	_, data, err := ws.Read(t.Context())
	if want := string(tooOld.event); err != nil || string(data) != want {
		t.Errorf("got %s, %v, want %s", data, err, want)
	}
	if _, _, err = ws.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
		t.Errorf("got %v, want the end", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestKeyGone holds that a connection whose key is not taken any more ends behind its answers, and says why.
func TestKeyGone(t *testing.T) {
	t.Parallel()
	var blocked atomic.Bool
	begun, goOn := make(chan struct{}), make(chan struct{})
	s := New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(begun)
		<-goOn
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {}\n\n")
	}), slog.New(slog.DiscardHandler))
	s.every = time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.Accept(w, r, Settings{Path: "/", Allowed: func(*http.Request) bool { return !blocked.Load() }})
	}))
	defer server.Close()
	ws := dial(t, server.URL)
	if err := ws.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create"}`)); err != nil {
		t.Fatal(err)
	}
	<-begun
	got, ended := make(chan string, 8), make(chan error, 1)
	go func() { // it answers pings too
		for {
			_, data, err := ws.Read(context.Background())
			if err != nil {
				ended <- err
				return
			}
			got <- string(data)
		}
	}()
	blocked.Store(true)
	for left := false; !left; runtime.Gosched() { // it has been seen
		s.each(func(c *connection) {
			c.mu.Lock()
			defer c.mu.Unlock()
			left = c.leaving == shutOut
		})
	}
	close(goOn)
	for _, want := range []string{`{"headers":{}}`, string(shutOut.event)} {
		if event := <-got; event != want {
			t.Errorf("got %s, want %s", event, want)
		}
	}
	if err := <-ended; websocket.CloseStatus(err) != websocket.StatusPolicyViolation {
		t.Errorf("got %v, want the end", err)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestSilentEnd holds that a client that rests, and does not answer the close frame, is waited for no longer than it may
// take for that, which the log says, and is nothing that was cut at the end of a shutdown.
func TestSilentEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		part time.Duration
		over bool // the time to shut down
		want string
	}{
		{"in time", time.Millisecond, false, "the client does not answer the close frame"},
		{"no time", time.Hour, true, "the time to shut down is over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			s := New(http.NotFoundHandler(), slog.New(slog.NewTextHandler(&said, nil)))
			s.part = c.part
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = s.Accept(w, r, Settings{}) }))
			defer server.Close()
			dial(t, server.URL) // it reads nothing, so it answers nothing
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.over {
				cancel()
			}
			if err := s.Shutdown(ctx); err != nil {
				t.Errorf("got %v, though nothing was asked", err)
			}
			if !strings.Contains(said.String(), c.want) {
				t.Errorf("got the log %q, want %q in it", &said, c.want)
			}
		})
	}
}

// TestStall holds that a client that stops within a message does not keep its memory.
func TestStall(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.stall = time.Millisecond
	memory := inflight.New(1 << 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.Accept(w, r, Settings{Memory: memory})
	}))
	defer server.Close()
	ws := dial(t, server.URL)
	w, err := ws.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(make([]byte, 64<<10)) // it may end meanwhile
	if _, _, err = ws.Read(t.Context()); err == nil {
		t.Error("the connection goes on")
	}
	if err := s.Shutdown(t.Context()); err != nil || memory.Stats().Taken != 0 {
		t.Errorf("got %v, and %d bytes that are still claimed", err, memory.Stats().Taken)
	}
}

// TestShare holds that a key has as many connections as are left for all others at most, and gets places back with
// connections that end and handshakes that fail.
func TestShare(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.most = 8
	refused := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.Accept(w, r, Settings{Key: r.Header.Get("Key")}); err != nil {
			refused <- err
			if _, ok := errors.AsType[*ShareError](err); ok || errors.Is(err, ErrBusy) {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}
	}))
	defer server.Close()
	dial := func(key string) (*websocket.Conn, error) {
		ws, resp, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPHeader: http.Header{"Key": {key}}})
		if resp != nil && resp.Body != nil {
			_ = resp.Body.Close()
		}
		if err != nil {
			return nil, <-refused
		}
		return ws, nil
	}
	take := func(key string, n int) (last *websocket.Conn) {
		t.Helper()
		for range n {
			var err error
			if last, err = dial(key); err != nil {
				t.Fatalf("%q: %v", key, err)
			}
		}
		return last
	}
	wantShare := func(key string, has int) {
		t.Helper()
		_, err := dial(key)
		if share, ok := errors.AsType[*ShareError](err); !ok || *share != (ShareError{has, 8}) {
			t.Errorf("%q: got %v, want that it has its share", key, err)
		}
	}
	last := take("a", 4)
	wantShare("a", 4)
	for range 8 { // each would be one of b's
		resp, err := http.DefaultClient.Do(&http.Request{Method: http.MethodGet, URL: must(url.Parse(server.URL)), Header: http.Header{"Key": {"b"}}})
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		<-refused
	}
	take("b", 2)
	wantShare("b", 2)
	_ = last.CloseNow()
	for {
		s.mu.Lock()
		n := s.taken
		s.mu.Unlock()
		if n == 5 {
			break
		}
		runtime.Gosched()
	}
	take("b", 1)
	wantShare("a", 3)
	take("", 2) // those of nobody's share
	if _, err := dial(""); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want that all are taken", err)
	}
	if _, err := dial("c"); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want that all are taken", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = s.Shutdown(ctx)
	if n := s.Stats().Refused[tooManyConnections]; n != 5 {
		t.Errorf("%d refusals are counted, want 5", n)
	}
	if s.taken != 0 || len(s.byKey) != 0 {
		t.Errorf("%d places are taken, %v", s.taken, s.byKey)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
