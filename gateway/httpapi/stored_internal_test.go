package httpapi

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
)

// TestReplayFails replays events of which none comes: the client gets the error's status, and no
// stream. Behind the first event the error is told in the stream.
func TestReplayFails(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first  string // event
		status int
		kind   string
	}{
		"at once":         {"", http.StatusBadGateway, "application/json"},
		"behind an event": {"event: x\ndata: {}\n\n", http.StatusOK, "text/event-stream"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := New(Config{})
			if err != nil {
				t.Fatal(err)
			}
			s.echo.GET("/events", func(c echo.Context) error {
				first := row.first
				return replay(c, func(context.Context) ([]byte, error) {
					if piece := first; piece != "" {
						first = ""
						return []byte(piece), nil
					}
					return nil, &gateway.Error{Kind: gateway.Unavailable, Message: "The events are gone."}
				}, 0)
			})
			server := httptest.NewServer(s)
			defer server.Close()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/events", http.NoBody)
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != row.status || !strings.HasPrefix(resp.Header.Get("content-type"), row.kind) || !strings.HasPrefix(string(body), row.first) || !strings.Contains(string(body), "The events are gone.") {
				t.Errorf("got status %d, %s: %s", resp.StatusCode, resp.Header.Get("content-type"), body)
			}
		})
	}
}
