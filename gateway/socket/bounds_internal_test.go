package socket

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/callgate/callgate/gateway/inflight"
)

// TestAge holds that an old connection ends behind its answers, and says why.
func TestAge(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.age = time.Millisecond
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = s.Accept(w, r, Settings{MaxMessage: 1 << 10}) }))
	defer server.Close()
	ws, resp, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
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

// TestStall holds that a client that stops within a message does not keep its memory.
func TestStall(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	s.stall = time.Millisecond
	memory := inflight.New(1 << 20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = s.Accept(w, r, Settings{MaxMessage: 1 << 20, Memory: memory})
	}))
	defer server.Close()
	ws, resp, err := websocket.Dial(t.Context(), server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.Body != nil {
		_ = resp.Body.Close()
	}
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
