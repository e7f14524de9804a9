// Package sso signs operators in at an identity provider that speaks OpenID Connect, and keeps who they
// are and what they may do in a cookie. It is the only importer of go-oidc.
//
// The code flow with PKCE and a nonce is used. The cookies are encrypted and authenticated with a key
// of the gateway's: nothing is kept on the server, so a session ends with its time, with Logout in its
// browser, or for all with another secret.
package sso

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
)

// Role is what somebody may do.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // may look
	Operator Role = "operator" // may change things too
)

// Options are what a Gate is made of.
type Options struct {
	// Issuer is the provider's URL, as its tokens have it.
	Issuer, ClientID, ClientSecret string
	// RedirectURL is where the provider sends browsers back to: Callback is mounted there.
	RedirectURL string
	// Scopes are asked for beside openid.
	Scopes []string
	// Claim is the claim of the ID token that Viewers and Operators are values of; with dots it may
	// stand within others.
	Claim              string
	Viewers, Operators []string
	// Session is how long somebody stays signed in.
	Session time.Duration
	// Secret is what the cookies' key is derived from; gateways behind one address have the same.
	Secret []byte
	// Now is the time; nil is time.Now.
	Now func() time.Time
}

// Gate signs operators in. All its methods may be called by many goroutines.
type Gate struct {
	o      Options
	aead   cipher.AEAD
	secure bool
	client *http.Client

	provider atomic.Pointer[oidc.Provider] // nil until it has answered
	asking   singleflight.Group            // those who come meanwhile share what comes of it
}

// Session is somebody who is signed in.
type Session struct {
	Subject string    `json:"sub"`
	Name    string    `json:"name"`
	Role    Role      `json:"role"`
	Expires time.Time `json:"exp"`
}

// attempt is what is remembered of a browser that was sent to the provider.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	To       string    `json:"to"`
	Expires  time.Time `json:"exp"`
}

// Bounds on what takes part.
const (
	attemptTime = 10 * time.Minute
	askTime     = 10 * time.Second
	maxAnswer   = 1 << 20
	maxTo       = 512
	maxName     = 128
)

// Error is why somebody is not let in, with a sentence for them. Err may hold more, for the log.
type Error struct {
	// Status is 400 for what cannot be, 403 for somebody without a role, and 502 where the provider
	// does not answer.
	Status  int
	Message string
	Err     error
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// New makes a gate. It asks nobody yet.
func New(o Options) (*Gate, error) {
	redirect, err := url.Parse(o.RedirectURL)
	if err != nil || redirect.Host == "" {
		return nil, errors.New("sso: the redirect URL is none")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	key, err := hkdf.Key(sha256.New, o.Secret, nil, "callgate operators' sessions", 32) //nolint:mnd // AES-256
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Gate{o: o, aead: aead, secure: redirect.Scheme == "https", client: &http.Client{Timeout: askTime, Transport: bounded{http.DefaultTransport}}}, nil
}

// bounded reads no answer that is longer than maxAnswer.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

// find asks the provider who it is, once it answers.
func (g *Gate) find(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	_, err, _ := g.asking.Do("", func() (any, error) {
		if g.provider.Load() != nil {
			return nil, nil
		}
		// The provider keeps the context for as long as it fetches keys; the client bounds each request.
		p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), g.client), g.o.Issuer)
		if err == nil {
			g.provider.Store(p)
		}
		return nil, err
	})
	if err != nil {
		return nil, nil, &Error{http.StatusBadGateway, "The identity provider does not answer (admin.oidc.issuer); the log says why.", err}
	}
	p := g.provider.Load()
	return p, &oauth2.Config{ClientID: g.o.ClientID, ClientSecret: g.o.ClientSecret, Endpoint: p.Endpoint(), RedirectURL: g.o.RedirectURL,
		Scopes: append([]string{oidc.ScopeOpenID}, slices.DeleteFunc(slices.Clone(g.o.Scopes), func(s string) bool { return s == oidc.ScopeOpenID })...)}, nil
}

// Check asks the provider who it is, and says why it does not answer.
func (g *Gate) Check(ctx context.Context) error {
	_, _, err := g.find(ctx)
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Err
	}
	return err
}

// Login sends a browser to the provider. The query's "to" is where it wants to be then.
func (g *Gate) Login(w http.ResponseWriter, r *http.Request) error {
	_, config, err := g.find(r.Context())
	if err != nil {
		return err
	}
	a := attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: own(r.URL.Query().Get("to")), Expires: g.o.Now().Add(attemptTime)}
	if err := g.set(w, "login", a, attemptTime); err != nil {
		return err
	}
	http.Redirect(w, r, config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), http.StatusSeeOther)
	return nil
}

// own is a path of ours, for whoever was sent here by a link.
func own(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > maxTo || u.Scheme != "" || u.Host != "" || u.User != nil || to != "/ui" && !strings.HasPrefix(to, "/ui/") && !strings.HasPrefix(to, "/ui?") || strings.ContainsAny(to, "\\\r\n") {
		return "/ui"
	}
	return to
}

// Callback takes a browser that the provider has sent back, and signs it in.
func (g *Gate) Callback(w http.ResponseWriter, r *http.Request) error {
	var a attempt
	q := r.URL.Query()
	if !g.get(r, "login", &a) || g.o.Now().After(a.Expires) || q.Get("state") == "" || q.Get("state") != a.State {
		return &Error{http.StatusBadRequest, "This sign-in has expired, or was begun in another browser: open the page again.", nil}
	}
	g.drop(w, "login")
	if refused := q.Get("error"); refused != "" {
		return &Error{http.StatusForbidden, "The identity provider has refused the sign-in; the log says why.", fmt.Errorf("%.80q: %.200q", refused, q.Get("error_description"))}
	}
	s, err := g.exchange(r.Context(), q.Get("code"), a)
	if err != nil {
		return err
	}
	if err := g.set(w, "session", s, g.o.Session); err != nil {
		return err
	}
	http.Redirect(w, r, a.To, http.StatusSeeOther)
	return nil
}

// exchange asks the provider who has come.
func (g *Gate) exchange(ctx context.Context, code string, a attempt) (*Session, error) {
	provider, config, err := g.find(ctx)
	if err != nil {
		return nil, err
	}
	ctx = oidc.ClientContext(ctx, g.client)
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return nil, &Error{http.StatusBadGateway, "The identity provider did not confirm the sign-in; the log says why.", withoutBody(err)}
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: g.o.ClientID, Now: g.o.Now}).Verify(ctx, raw)
	if err != nil {
		return nil, &Error{http.StatusBadGateway, "The identity provider's token is not valid; the log says why.", err}
	}
	if id.Nonce != a.Nonce {
		return nil, &Error{http.StatusBadRequest, "The identity provider's token is of another sign-in.", nil}
	}
	claims := map[string]any{}
	if err := id.Claims(&claims); err != nil {
		return nil, &Error{http.StatusBadGateway, "The identity provider's token cannot be read; the log says why.", err}
	}
	s := &Session{Subject: id.Subject, Name: nameOf(claims, id.Subject), Role: g.role(claims), Expires: g.o.Now().Add(g.o.Session)}
	if s.Role == "" {
		return nil, &Error{http.StatusForbidden, "You are signed in, but have no role here: ask who runs this gateway (admin.oidc.roles).", fmt.Errorf("%.128q has none of the values of the claim %q", s.Name, g.o.Claim)}
	}
	return s, nil
}

// withoutBody is an error of the token endpoint without what it has answered, which may hold tokens.
func withoutBody(err error) error {
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return fmt.Errorf("the token endpoint answered with status %d, error %.80q", e.Response.StatusCode, e.ErrorCode)
	}
	return err
}

// nameOf is what somebody is called in the log.
func nameOf(claims map[string]any, subject string) string {
	for _, claim := range []string{"email", "preferred_username"} {
		if name, _ := claims[claim].(string); name != "" && len(name) <= maxName {
			return name
		}
	}
	return subject[:min(len(subject), maxName)]
}

// role is the highest that the claim's values give. An address that the provider has not verified
// gives none: anybody may have typed it (OpenID Connect Core, 5.7).
func (g *Gate) role(claims map[string]any) Role {
	if g.o.Claim == "email" && (claims["email_verified"] == false || claims["email_verified"] == "false") {
		return ""
	}
	values := valuesOf(claims, g.o.Claim)
	has := func(list []string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return slices.Contains(list, v) })
	}
	switch {
	case has(g.o.Operators):
		return Operator
	case has(g.o.Viewers):
		return Viewer
	}
	return ""
}

// valuesOf are the texts of a claim, one or a list.
func valuesOf(claims map[string]any, name string) (out []string) {
	value, there := claims[name]
	if outer, inner, dotted := strings.Cut(name, "."); !there && dotted {
		within, _ := claims[outer].(map[string]any)
		return valuesOf(within, inner)
	}
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			if text, ok := x.(string); ok {
				out = append(out, text)
			}
		}
	}
	return out
}

// Who is who has sent a request; nil for nobody that is signed in.
func (g *Gate) Who(r *http.Request) *Session {
	var s Session
	if !g.get(r, "session", &s) || !g.o.Now().Before(s.Expires) || s.Role != Viewer && s.Role != Operator {
		return nil
	}
	return &s
}

// Logout ends the session in its browser.
func (g *Gate) Logout(w http.ResponseWriter) { g.drop(w, "session") }

// cookie is one of ours. With TLS its name keeps other hosts of the domain from setting it.
func (g *Gate) cookie(what string) *http.Cookie {
	c := &http.Cookie{Name: "callgate-" + what, Path: "/ui", HttpOnly: true, Secure: g.secure, SameSite: http.SameSiteLaxMode} //nolint:gosec // Secure with https; Strict would not come back from the provider
	if g.secure {
		c.Name, c.Path = "__Host-"+c.Name, "/"
	}
	return c
}

func (g *Gate) set(w http.ResponseWriter, what string, value any, lasts time.Duration) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	c := g.cookie(what)                                 //nolint:gosec // it has all attributes
	sealed := g.aead.Seal(nil, nil, text, []byte(what)) //nolint:gosec // the cipher makes a nonce of its own
	c.Value, c.MaxAge = base64.RawURLEncoding.EncodeToString(sealed), int(lasts.Seconds())
	http.SetCookie(w, c)
	return nil
}

// get reads a cookie that we have set for the same purpose.
func (g *Gate) get(r *http.Request, what string, into any) bool {
	c, err := r.Cookie(g.cookie(what).Name)
	if err != nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(c.Value)
	if err != nil {
		return false
	}
	text, err := g.aead.Open(nil, nil, sealed, []byte(what))
	return err == nil && json.Unmarshal(text, into) == nil
}

func (g *Gate) drop(w http.ResponseWriter, what string) {
	c := g.cookie(what) //nolint:gosec // it has all attributes
	c.MaxAge = -1
	http.SetCookie(w, c)
}
