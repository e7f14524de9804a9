package signin

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/callgate/callgate/internal/wholefile"
)

const (
	maxKept = 1 << 20          // bytes of a file
	soon    = 30 * time.Second // a token that ends so soon is renewed
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

// version says whether a file is another one than before.
type version struct {
	at   time.Time
	size int64
}

// look is the version of the file that is there; the zero value for none.
func (g *Gate) look() version {
	if g.o.File == "" {
		return version{}
	}
	info, err := os.Stat(g.o.File)
	if err != nil {
		return version{}
	}
	return version{info.ModTime(), info.Size()}
}

// load takes what the file has, if it has changed: somebody has signed in, or another gateway has
// renewed the token. The caller holds mu.
func (g *Gate) load() {
	now := g.look()
	if now == g.seen || now == (version{}) {
		return
	}
	g.seen = now
	var k kept
	raw, err := os.ReadFile(g.o.File)
	if err == nil && len(raw) > maxKept {
		err = errors.New("it is too large")
	}
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	switch {
	case err != nil:
		g.o.Log.Warn("the file of a tool server's token cannot be read", "server", g.o.Name, "file", g.o.File, "error", err)
	case k.Server != g.o.URL.String():
		g.o.Log.Warn("the file of a tool server's token is for another server", "server", g.o.Name, "file", g.o.File)
	default:
		g.old, g.kept, g.lost = g.kept.Access, k, nil
	}
}

// keep takes what was given, and writes it.
func (g *Gate) keep(k kept) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.keepLocked(k)
}

func (g *Gate) keepLocked(k kept) {
	g.old, g.kept, g.lost = g.kept.Access, k, nil
	if g.o.File == "" || g.o.Machine {
		return
	}
	raw, err := json.MarshalIndent(k, "", "  ") //nolint:gosec // it is the file's purpose
	if err == nil {
		err = wholefile.Write(g.o.File, append(raw, '\n'), 0o700, 0o600)
	}
	if err != nil { // it is good until the gateway ends
		g.o.Log.Error("the token of a tool server cannot be kept", "server", g.o.Name, "file", g.o.File, "error", err)
	}
	g.seen = g.look()
}

// current is the token that the next request would have, "" for none, and why that one is not sent any more.
func (g *Gate) current() (token string, lost error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.o.Machine {
		g.load()
	}
	return g.kept.Access, g.lost
}

// Scrub takes the gateway's token out of what a server says.
func (g *Gate) Scrub(text string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, secret := range []string{g.kept.Access, g.old, g.kept.Refresh} {
		if len(secret) >= 8 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return text
}

// source gives the token of a gate, and renews it in time.
type source struct{ g *Gate }

// Token implements oauth2.TokenSource.
func (s source) Token() (*oauth2.Token, error) {
	g := s.g
	g.mu.Lock()
	defer g.mu.Unlock()
	g.load()
	if t := g.kept.token(); !t.Expiry.IsZero() && time.Until(t.Expiry) < soon && g.kept.Refresh != "" {
		if err := g.renew(); err != nil && time.Now().After(t.Expiry) {
			g.lost = err // the SDK asks the server without a token then, and tells nobody
			return nil, err
		}
	}
	return g.kept.token(), nil
}

func (k kept) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: k.Access, RefreshToken: k.Refresh, Expiry: k.Expiry, TokenType: "Bearer"}
}

// renew asks for a new token. Another gateway with the same file may have been first: then its token
// counts. The caller holds mu.
func (g *Gate) renew() error {
	k := g.kept
	c := &oauth2.Config{ClientID: k.ClientID, ClientSecret: k.ClientSecret, Scopes: k.Scopes, Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: oauth2.AuthStyle(k.AuthStyle)}}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, g.client) // of the gate, not of a request; the client has a limit
	t, err := c.TokenSource(ctx, &oauth2.Token{RefreshToken: k.Refresh}).Token()
	if err != nil {
		if g.load(); g.kept.Refresh != k.Refresh {
			return nil
		}
		var failed *oauth2.RetrieveError
		if errors.As(err, &failed) && failed.ErrorCode == "invalid_grant" {
			return &Error{Why: "does not take the gateway's token any more", Hint: "Run callgate tools login " + g.o.Name + ".", Err: err}
		}
		return &Error{Why: "does not renew the gateway's token: " + told(err), Hint: "It is tried again with the next call.", Err: err}
	}
	k.Access, k.Expiry = t.AccessToken, t.Expiry
	if t.RefreshToken != "" {
		k.Refresh = t.RefreshToken
	}
	g.keepLocked(k)
	return nil
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
	if now, _ := m.g.current(); t.AccessToken != now {
		m.g.keep(kept{Access: t.AccessToken, Expiry: t.Expiry})
	}
	return t, nil
}
