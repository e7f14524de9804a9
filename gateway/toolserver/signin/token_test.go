package signin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/toolserver/signin"
)

// TestFile holds what a gate makes of its file: nothing of one that is broken or another server's, and what
// another gateway has renewed where its own refresh token is taken no more.
func TestFile(t *testing.T) {
	t.Parallel()
	server, _ := url.Parse("http://127.0.0.1:1/mcp")
	file := filepath.Join(t.TempDir(), "token")
	var asked atomic.Int64
	renewed := `{"server":%q,"token_url":%q,"access_token":"second-token","refresh_token":"second","expiry":"2999-01-01T00:00:00Z"}`
	var tokens *httptest.Server
	tokens = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		text := fmt.Sprintf(renewed, server, tokens.URL) // another gateway was first
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
	}))
	t.Cleanup(tokens.Close)
	for _, c := range []struct{ name, text, token string }{
		{"none", "", ""},
		{"broken", `{"server":`, ""},
		{"another server's", fmt.Sprintf(`{"server":"https://other.example/mcp","access_token":%q}`, "stolen-token"), ""},
		{"good", fmt.Sprintf(`{"server":%q,"access_token":"first-token","expiry":"2999-01-01T00:00:00Z"}`, server), "first-token"},
		{"renewed by another", fmt.Sprintf(`{"server":%q,"token_url":%q,"auth_style":1,"access_token":"first-token","refresh_token":"first","expiry":"2001-01-01T00:00:00Z"}`, server, tokens.URL), "second-token"},
	} {
		if c.text != "" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-time.Hour) // so that whatever is written later is newer
			if err := os.Chtimes(file, old, old); err != nil {
				t.Fatal(err)
			}
		}
		g, err := signin.Open(signin.Options{Name: "x", URL: server, File: file})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		s, err := g.TokenSource(t.Context())
		if s != nil {
			if token, failed := s.Token(); failed != nil {
				err = failed
			} else {
				got = token.AccessToken
			}
		}
		if got != c.token || err != nil {
			t.Errorf("%s: got %q and %v, want %q", c.name, got, err, c.token)
		}
		if said := g.Scrub("a " + c.token + " b"); c.token != "" && said != "a [redacted] b" {
			t.Errorf("%s: got %q", c.name, said)
		}
		g.Close()
	}
	if asked.Load() != 1 {
		t.Errorf("got %d requests for a token, want 1", asked.Load())
	}
}
