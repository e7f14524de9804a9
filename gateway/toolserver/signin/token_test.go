package signin_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// shared is a token file that two gateways have, and where one of them asks for tokens.
type shared struct {
	file, server, tokens string

	mu    sync.Mutex
	asked []string // the refresh tokens

	answer func(refresh string) string // a token answer, "" for invalid_grant
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{file: filepath.Join(t.TempDir(), "token"), server: "http://127.0.0.1:1/mcp", answer: func(string) string { return "" }}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refresh := r.FormValue("refresh_token")
		s.mu.Lock()
		s.asked = append(s.asked, refresh)
		s.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if answer := s.answer(refresh); answer != "" {
			fmt.Fprint(w, answer)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
	}))
	t.Cleanup(h.Close)
	s.tokens = h.URL
	return s
}

// write is what another gateway does: a token of four characters and of a year, in a file whose time and size are
// always the same.
func (s *shared) write(t *testing.T, token string, year int) {
	t.Helper()
	text := fmt.Sprintf(`{"server":%q,"token_url":%q,"auth_style":1,"access_token":"access-%s","refresh_token":"%s","expiry":"%d-01-01T00:00:00Z"}`, s.server, s.tokens, token, token, year)
	if year == 0 {
		text = strings.Replace(text, `,"expiry":"0-01-01T00:00:00Z"`, "", 1)
	}
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(s.file, at, at); err != nil {
		t.Error(err)
	}
}

// open is a gate that has read the file.
func (s *shared) open(t *testing.T) *signin.Gate {
	t.Helper()
	at, _ := url.Parse(s.server)
	g, err := signin.Open(signin.Options{Name: "x", URL: at, File: s.file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	if _, err := g.TokenSource(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

func tokenOf(t *testing.T, g *signin.Gate) (string, error) {
	t.Helper()
	s, err := g.TokenSource(t.Context())
	if s == nil || err != nil {
		return "", err
	}
	token, err := s.Token()
	if err != nil {
		return "", err
	}
	return token.AccessToken, nil
}

// TestSharedFile has another gateway renew the token in a file whose time and size do not change by that: its
// token counts, be it found before the own refresh token is sent or behind its refusal, and a refresh token that
// was refused is sent once.
func TestSharedFile(t *testing.T) {
	t.Parallel()
	const past, future = 2001, 2999
	const third = `{"access_token":"access-third","token_type":"Bearer","refresh_token":"four","expires_in":3600}`
	for _, c := range []struct {
		name   string
		before func(s *shared) // the gate has read the file
		asked  func(s *shared, refresh string) string
		token  string
		sent   string
	}{
		{name: "renewed before", before: func(s *shared) { s.write(t, "two0", future) }, token: "access-two0"},
		{name: "renewed meanwhile", asked: func(s *shared, _ string) string { s.write(t, "two0", future); return "" }, token: "access-two0", sent: "one0"},
		{name: "renewed and ended", asked: func(s *shared, refresh string) string {
			s.write(t, "two0", past)
			return map[string]string{"two0": third}[refresh]
		}, token: "access-third", sent: "one0 two0"},
		{name: "never taken", asked: func(s *shared, _ string) string { s.write(t, fmt.Sprintf("n%03d", len(s.asked)), past); return "" }, sent: "one0 n001"},
		{name: "nobody renewed it", asked: func(*shared, string) string { return "" }, sent: "one0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t)
			s.write(t, "one0", past)
			g := s.open(t)
			if c.before != nil {
				c.before(s)
			}
			if c.asked != nil {
				s.answer = func(refresh string) string { return c.asked(s, refresh) }
			}
			token, err := tokenOf(t, g)
			if sent := strings.Join(s.asked, " "); token != c.token || sent != c.sent || (err == nil) != (c.token != "") {
				t.Errorf("got %q and %v with the refresh tokens %q, want %q with %q", token, err, sent, c.token, c.sent)
			}
		})
	}
}

// TestSharedFileAtOnce has several gateways renew the token of one file at once, at a server that takes each refresh
// token once: one asks, and all have what it was given.
func TestSharedFileAtOnce(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	taken, asked := "one0", new(atomic.Int64)
	var mu sync.Mutex
	s.answer = func(refresh string) string {
		asked.Add(1)
		mu.Lock()
		defer mu.Unlock()
		if refresh != taken {
			return ""
		}
		taken = "two0"
		time.Sleep(50 * time.Millisecond) // the others have long begun
		return `{"access_token":"access-two0","token_type":"Bearer","refresh_token":"two0","expires_in":3600}`
	}
	s.write(t, "one0", 2001)
	var gates []*signin.Gate
	for range 4 {
		gates = append(gates, s.open(t))
	}
	var all sync.WaitGroup
	for _, g := range gates {
		all.Go(func() {
			if token, err := tokenOf(t, g); token != "access-two0" || err != nil {
				t.Errorf("got %q and %v", token, err)
			}
		})
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("got %d requests for a token, want 1", n)
	}
}

// TestRefusedToken has a server take a token no more that has no end, or not yet: it is renewed without an operator,
// once, and where the server does not take that one either, an operator is asked for.
func TestRefusedToken(t *testing.T) {
	t.Parallel()
	for _, year := range []int{0, 2999} {
		s := newShared(t)
		s.answer = func(refresh string) string {
			return fmt.Sprintf(`{"access_token":"from-%s","token_type":"Bearer"}`, refresh)
		}
		s.write(t, "one0", year)
		g := s.open(t)
		refuse := func(status int, token string) error {
			req := httptest.NewRequest(http.MethodPost, s.server, http.NoBody)
			req.Header.Set("Authorization", "Bearer "+token)
			return g.Authorize(t.Context(), req, &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody})
		}
		if err := refuse(http.StatusForbidden, "access-one0"); err == nil || len(s.asked) > 0 {
			t.Errorf("too little for what is asked: got %v and %q", err, s.asked)
		}
		if err := refuse(http.StatusUnauthorized, "access-one0"); err != nil {
			t.Errorf("taken no more: got %v", err)
		}
		if token, err := tokenOf(t, g); token != "from-one0" || err != nil {
			t.Errorf("got %q and %v", token, err)
		}
		if err := refuse(http.StatusUnauthorized, "from-one0"); err == nil || !strings.Contains(err.Error(), "any more") || len(s.asked) != 1 {
			t.Errorf("the new one is not taken either: got %v and %q", err, s.asked)
		}
	}
}

// TestScrubWhileRenewing has a token be renewed at a server that does not answer: results of calls that have come
// do not wait for it.
func TestScrubWhileRenewing(t *testing.T) {
	t.Parallel()
	s := newShared(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	s.answer = func(string) string {
		close(asked)
		<-answer
		return `{"access_token":"access-next","token_type":"Bearer","expires_in":3600}`
	}
	s.write(t, "once", 2001)
	g := s.open(t)
	var token string
	var err error
	var renewal sync.WaitGroup
	renewal.Go(func() { token, err = tokenOf(t, g) })
	<-asked
	scrubbed := make(chan string, 1)
	go func() { scrubbed <- g.Scrub("it was access-once") }()
	select {
	case got := <-scrubbed:
		if got != "it was [redacted]" {
			t.Errorf("got %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("a result waits for the token")
	}
	close(answer)
	renewal.Wait()
	if token != "access-next" || err != nil {
		t.Errorf("got the token %q and %v", token, err)
	}
}
