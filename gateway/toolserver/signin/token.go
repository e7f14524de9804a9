package signin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"golang.org/x/oauth2"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/internal/filelock"
	"github.com/callgate/callgate/internal/plainfile"
	"github.com/callgate/callgate/internal/redact"
	"github.com/callgate/callgate/internal/wholefile"
)

const (
	maxKept = 1 << 20          // bytes of a file
	soon    = 30 * time.Second // a token that ends so soon is renewed
	often   = time.Minute      // tokens that the server refuses are not renewed oftener

	lookEvery      = 20 * time.Millisecond // whether another process has renewed the token
	longestRenewal = 30 * time.Second      // of another process, which has asked a server that does not answer
)

// kept is what a file has: a token, and what it takes to renew it.
type kept struct {
	Server       string    `json:"server"` // whose tools it is for
	TokenURL     string    `json:"token_url"`
	AuthStyle    int       `json:"auth_style"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	Scopes       []string  `json:"scopes,omitempty"`
	Access       string    `json:"access_token"`
	Refresh      string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
}

// load is what was given. It takes what the file has, if that has changed: somebody has signed in, or
// another gateway has renewed the token.
func (g *Gate) load() kept {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.o.Machine {
		return g.kept
	}
	now, err := g.read()
	if now == g.seen {
		return g.kept
	}
	g.seen = now
	var k kept
	if err == nil {
		err = json.Unmarshal([]byte(now), &k)
	}
	switch {
	case err != nil:
		g.o.Log.Warn("the file of a tool server's token cannot be read", "server", g.o.Name, "file", g.o.File, "error", err)
	case k.Server != g.o.URL.String():
		g.o.Log.Warn("the file of a tool server's token is for another server", "server", g.o.Name, "file", g.o.File)
	default:
		g.old, g.kept = g.kept.Access, k
	}
	return g.kept
}

// read is what the file has now, or why it cannot be read. A file that is not there changes nothing.
func (g *Gate) read() (string, error) {
	if g.o.File == "" {
		return g.seen, nil
	}
	raw, err := plainfile.Read(g.o.File, maxKept)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return g.seen, nil
	case err != nil:
		return err.Error(), err
	}
	return string(raw), nil
}

// keep takes what was given, and writes it.
func (g *Gate) keep(k kept) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.old, g.kept = g.kept.Access, k
	if g.o.File == "" || g.o.Machine {
		return
	}
	raw, err := json.MarshalIndent(k, "", "  ") //nolint:gosec // it is the file's purpose
	raw = append(raw, '\n')
	if err == nil {
		err = wholefile.Write(g.o.File, raw, 0o700, 0o600)
	}
	if err != nil { // it is good until the gateway ends, or the file changes
		g.o.Log.Error("the token of a tool server cannot be kept", "server", g.o.Name, "file", g.o.File, "error", err)
		return
	}
	g.seen = string(raw)
}

// Scrub takes the gateway's token out of what a server says.
func (g *Gate) Scrub(text string) string {
	g.mu.Lock()
	var list []string
	for _, secret := range []string{g.kept.Access, g.old, g.kept.Refresh} {
		if len(secret) >= 8 {
			list = append(list, secret)
		}
	}
	g.mu.Unlock()
	return toolserver.Scrub(redact.New(list), text)
}

// source gives the token of a gate, and renews it in time.
type source struct{ g *Gate }

// Token implements oauth2.TokenSource.
func (s source) Token() (*oauth2.Token, error) {
	s.g.renewing.Lock()
	defer s.g.renewing.Unlock()
	k := s.g.load()
	if k.ends() && k.Refresh != "" {
		now, err := s.g.renew(k)
		if err != nil && time.Now().After(k.Expiry) {
			return nil, err
		}
		k = now
	}
	return k.token(), nil
}

func (k kept) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: k.Access, RefreshToken: k.Refresh, Expiry: k.Expiry, TokenType: "Bearer"}
}

// ends says that the token is to be renewed.
func (k kept) ends() bool { return !k.Expiry.IsZero() && time.Until(k.Expiry) < soon }

// renew asks for a new token in the place of one, and returns what there is then, also with an error.
// Another gateway with the same file may have been first: then its token counts, and is renewed once if
// it has ended, too. The caller holds renewing.
//
// One at a time does so, with the file: a server that takes a refresh token once would refuse the second, and
// may take back what the first was given (RFC 9700, 4.14.2).
func (g *Gate) renew(before kept) (kept, error) {
	defer g.lock()()
	k := g.load()
	if k.Access != before.Access && !k.ends() {
		return k, nil
	}
	t, err := g.ask(k)
	if err != nil {
		if now := g.load(); now.Access != k.Access {
			if k = now; !k.ends() {
				return k, nil
			}
			t, err = g.ask(k)
		}
	}
	var failed *oauth2.RetrieveError
	switch {
	case err == nil:
	case errors.As(err, &failed) && failed.ErrorCode == "invalid_grant": // without its cause, for which the SDK would ask the server without a token
		return k, &Error{Why: "does not take the gateway's token any more", Hint: "Run callgate tools login " + g.o.Name + "."}
	default:
		return k, &Error{Why: "does not renew the gateway's token: " + told(err), Hint: "It is tried again with the next call.", Err: err}
	}
	k.Access, k.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		k.Refresh = t.RefreshToken
	}
	g.keep(k)
	return k, nil
}

// lock waits until no other process renews the token of the file, and returns what ends that. If it has to wait
// too long, or there can be no lock, the token is renewed without.
func (g *Gate) lock() (unlock func()) {
	if g.o.File == "" {
		return func() {}
	}
	for began := time.Now(); ; time.Sleep(lookEvery) {
		f, held, err := filelock.Try(g.o.File+".lock", 0o600)
		switch {
		case err != nil || held && time.Since(began) > longestRenewal:
			g.o.Log.Warn("the token of a tool server is renewed without a lock on its file", "server", g.o.Name, "file", g.o.File, "held", held, "error", err)
			return func() {}
		case !held:
			return func() { _ = filelock.LetGo(f) }
		}
	}
}

// ask asks for a token in the place of k's.
func (g *Gate) ask(k kept) (*oauth2.Token, error) {
	c := &oauth2.Config{ClientID: k.ClientID, ClientSecret: k.ClientSecret, Scopes: k.Scopes, Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: oauth2.AuthStyle(k.AuthStyle)}}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, g.client) // of the gate, not of a request; the client has a limit
	return c.TokenSource(ctx, &oauth2.Token{RefreshToken: k.Refresh}).Token()
}

// noteMachine notes the token of client credentials. The caller holds signing.
func (g *Gate) noteMachine(ctx context.Context) {
	s, err := g.inner.TokenSource(ctx)
	if s == nil || err != nil {
		return
	}
	if t, err := s.Token(); err == nil {
		g.keep(kept{Access: t.AccessToken, Expiry: t.Expiry})
	}
}

// machine gives the token of client credentials, which the SDK asks for anew in time.
type machine struct {
	g *Gate
	s oauth2.TokenSource
}

// Token implements oauth2.TokenSource.
func (m machine) Token() (*oauth2.Token, error) {
	t, err := m.s.Token()
	if err != nil {
		return nil, &Error{Why: "does not renew the gateway's token: " + told(err), Hint: "It is tried again with the next call.", Err: err}
	}
	if t.AccessToken != m.g.load().Access {
		m.g.keep(kept{Access: t.AccessToken, Expiry: t.Expiry})
	}
	return t, nil
}
