package socket

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
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
