// Package signin signs the gateway in at tool servers that want OAuth: as a machine, with the client
// credentials that an operator has written, or as an operator who has agreed once in a browser. The
// protocol is the official SDK's; this package asks only those whom the configuration names, keeps what
// it was given in one file, and renews it.
package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/callgate/callgate/internal/plaintext"
)

// Options say where the gateway signs in, and as whom.
type Options struct {
	Name    string   // of the tool server, for messages
	URL     *url.URL // of the tool server
	Private bool     // reach.Options.Private, of whom is asked for a token
	// Origins are those that may be asked for a token, beside the server's own. A server on this
	// machine may name any other of this machine.
	Origins []*url.URL
	// Machine is the grant client_credentials; else somebody agrees in a browser.
	Machine bool
	// ClientID and ClientSecret are those of a client that is registered. Document is the address of
	// one that describes itself. With neither, a client registers itself when somebody signs in.
	ClientID, ClientSecret, Document string
	// Scopes are asked for instead of those that the server names.
	Scopes []string
	// File keeps what was given. "" keeps it in memory.
	File string
	// Ask shows somebody an address to agree at, and gives the parameters of the address that they are
	// sent back to, which begins with Redirect. nil: nobody is there, as in a gateway that serves.
	Ask      func(ctx context.Context, address string) (url.Values, error)
	Redirect string
	// Anew forgets what File has: somebody signs in again.
	Anew bool
	Log  *slog.Logger // nil: none
}

// Error is why the gateway is not signed in. Why ends a sentence about the server, and is fit for an
// operator, Hint says what to do.
type Error struct {
	Why, Hint string
	Err       error
}

// Error implements error.
func (e *Error) Error() string { return e.Why }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Gate gives the credentials for one tool server. It may be used by several goroutines.
type Gate struct {
	o      Options
	client *http.Client
	net    *origins
	inner  auth.OAuthHandler // nil: nobody to ask, and nothing to do alone

	signing sync.Mutex // one signs in at a time

	renewing sync.Mutex // one renews the token at a time
	renewed  time.Time  // when the server had refused a token; under renewing

	mu   sync.Mutex // nobody is asked under it: results wait for it
	kept kept       // what was given; the zero value for nothing
	seen string     // what the file had
	old  string     // the token before, which may still be in answers
}

// Open makes a gate. It asks nobody yet, and takes what File has when it is first needed. Its owner
// must Close it.
func Open(o Options) (*Gate, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &Gate{o: o, net: newOrigins(o)}
	g.client = g.net.client()
	var client *oauthex.ClientCredentials
	if o.ClientID != "" {
		client = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			client.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	}
	var err error
	switch {
	case o.Machine:
		g.inner, err = extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{Credentials: client, HTTPClient: g.client})
	case o.Ask != nil:
		g.inner, err = g.asking(client)
	}
	if err != nil {
		return nil, fmt.Errorf("tool server %q: oauth: %w", o.Name, err)
	}
	if o.Anew {
		g.seen, _ = g.read()
	}
	return g, nil
}

// asking is the SDK's way of asking somebody.
func (g *Gate) asking(client *oauthex.ClientCredentials) (auth.OAuthHandler, error) {
	c := &auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: client, RedirectURL: g.o.Redirect, RequestRefreshToken: true, Client: g.client,
		AuthorizationCodeFetcher: g.fetch, NewTokenSource: g.given,
	}
	if g.o.Document != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: g.o.Document}
	}
	if client == nil {
		c.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "Callgate", RedirectURIs: []string{g.o.Redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	if len(g.o.Scopes) > 0 {
		c.ScopeFilter = func([]string) []string { return slices.Clone(g.o.Scopes) }
	}
	return auth.NewAuthorizationCodeHandler(c)
}

// Close ends idle connections.
func (g *Gate) Close() { g.net.close() }

// fetch has somebody agree.
func (g *Gate) fetch(ctx context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	if at, err := url.Parse(a.URL); err != nil || g.net.check(at) != nil {
		return nil, g.net.refusal(at)
	}
	back, err := g.o.Ask(ctx, a.URL)
	if err != nil {
		return nil, err
	}
	if why := back.Get("error"); why != "" {
		return nil, &Error{Why: fmt.Sprintf("was not agreed to: %.100q", cmp.Or(back.Get("error_description"), why)), Hint: "Sign in again."}
	}
	return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
}

// given keeps what somebody has agreed to.
func (g *Gate) given(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	g.keep(kept{
		Server: g.o.URL.String(), TokenURL: c.Endpoint.TokenURL, AuthStyle: int(c.Endpoint.AuthStyle), ClientID: c.ClientID, ClientSecret: c.ClientSecret, Scopes: c.Scopes,
		Access: t.AccessToken, Refresh: t.RefreshToken, Expiry: t.Expiry,
	})
	return source{g}, nil
}

// TokenSource implements auth.OAuthHandler: what goes with the next request, nil for nothing.
func (g *Gate) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if g.o.Machine {
		g.signing.Lock()
		defer g.signing.Unlock()
		s, err := g.inner.TokenSource(ctx)
		if s == nil || err != nil {
			return nil, err
		}
		return machine{g, s}, nil
	}
	if g.load().Access == "" {
		return nil, nil
	}
	return source{g}, nil
}

// Authorize implements auth.OAuthHandler: the server wants credentials, or others.
func (g *Gate) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	g.signing.Lock()
	defer g.signing.Unlock()
	sent := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	if now := g.load().Access; now != "" && now != sent {
		resp.Body.Close()
		return nil // another request has signed in meanwhile
	}
	if g.inner == nil {
		resp.Body.Close()
		return g.alone(resp.StatusCode, sent != "")
	}
	if g.o.Machine {
		ctx = context.WithoutCancel(ctx) // the source that comes of it outlives the request; the client has a limit of its own
	}
	g.net.forget()
	if err := g.inner.Authorize(ctx, req, resp); err != nil {
		if refused := g.net.refused(); refused != nil {
			return refused
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return err
		}
		return &Error{Why: "does not let the gateway sign in: " + told(err), Hint: "Look at oauth of the server in the configuration.", Err: err}
	}
	if g.o.Machine {
		g.noteMachine(ctx)
	}
	return nil
}

// SignIn signs in before the server has asked for it.
func (g *Gate) SignIn(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.o.URL.String(), http.NoBody)
	if err != nil {
		return err
	}
	return g.Authorize(ctx, req, &http.Response{StatusCode: http.StatusUnauthorized, Header: http.Header{}, Body: http.NoBody})
}

// alone renews a token that the server has refused before its end, or else says that an operator has to
// sign in.
func (g *Gate) alone(status int, had bool) error {
	g.renewing.Lock()
	defer g.renewing.Unlock()
	if k := g.load(); status == http.StatusUnauthorized && k.Refresh != "" && time.Since(g.renewed) > often {
		g.renewed = time.Now()
		_, err := g.renew(k)
		return err
	}
	return g.nobody(status, had)
}

// nobody says that an operator has to sign in.
func (g *Gate) nobody(status int, had bool) error {
	e := &Error{Why: "wants an operator to sign in", Hint: "Run callgate tools login " + g.o.Name + "."}
	switch {
	case status == http.StatusForbidden && had:
		e.Why = "wants more than the gateway was given (HTTP 403)"
		e.Hint = "Add what it wants to oauth.scopes, and run callgate tools login " + g.o.Name + "."
	case had:
		e.Why = "does not take the gateway's token any more"
	}
	return e
}

// told is what of an error may be shown: it has no token, and quotes what others wrote in a bounded length.
func told(err error) string {
	if failed, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Sprintf("it answers %.60q to the request for a token", cmp.Or(failed.ErrorCode, failed.Response.Status))
	}
	return plaintext.Excerpt(plaintext.Line(err.Error()), 200)
}
