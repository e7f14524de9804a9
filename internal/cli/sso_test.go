package cli

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/testserver"
)

// issuer is an identity provider: it lets everybody in who comes, as who the test says.
type issuer struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu     sync.Mutex
	claims map[string]any    // of the next token, over the usual ones
	codes  map[string]string // to nonce and challenge
	broken string            // what is wrong with the next token
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &issuer{key: key, codes: map[string]string{}}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("content-type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
			"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{"RS256"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("/auth", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		code := fmt.Sprintf("code-%d", time.Now().UnixNano())
		p.mu.Lock()
		p.codes[code] = q.Get("nonce") + " " + q.Get("code_challenge")
		p.mu.Unlock()
		back := url.Values{"code": {code}, "state": {q.Get("state")}}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		p.mu.Lock()
		defer p.mu.Unlock()
		nonce, challenge, known := strings.Cut(p.codes[r.Form.Get("code")], " ")
		delete(p.codes, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		if user, secret, _ := r.BasicAuth(); !known || challenge != base64.RawURLEncoding.EncodeToString(sum[:]) || user != "callgate" || secret != "sk-oidc-canary" {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]string{"error": "invalid_grant"})
			return
		}
		answer(w, map[string]any{"access_token": "canary-access", "token_type": "Bearer", "id_token": p.token(nonce)})
	})
	return p
}

// token is a signed ID token. The lock is held.
func (p *issuer) token(nonce string) string {
	claims := map[string]any{"iss": p.URL, "aud": "callgate", "sub": "u-1", "email": "ada@example.com", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "nonce": nonce}
	maps.Copy(claims, p.claims)
	switch p.broken {
	case "issuer":
		claims["iss"] = "https://evil.example"
	case "audience":
		claims["aud"] = "another"
	case "expired":
		claims["exp"] = time.Now().Add(-time.Hour).Unix()
	case "nonce":
		claims["nonce"] = "another"
	}
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	head := map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"}
	if p.broken == "unsigned" {
		return part(map[string]string{"alg": "none"}) + "." + part(claims) + "."
	}
	text := part(head) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	signature, _ := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if p.broken == "signature" {
		signature[0] ^= 1
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (p *issuer) next(broken string, claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken, p.claims = broken, claims
}

// ssoGate is a gateway with an identity provider, at an admin address that is known before.
func ssoGate(t *testing.T, p *issuer) (g *gate, base string) {
	t.Helper()
	base = "http://" + testserver.Refusing(t) // until the gateway listens there
	g = serve(t, "admin:\n  listen: "+strings.TrimPrefix(base, "http://")+"\n  key_hash: \""+hashOf("cg-operators-key")+"\"\n  oidc:\n    issuer: "+p.URL+"\n    client_id: callgate\n    client_secret: sk-oidc-canary\n    redirect_url: "+base+"/ui/oidc/callback\n    role_claim: realm.roles\n    roles: {viewer: [engineering], operator: [platform]}\n"+
		"providers: {demo: {type: demo}}\nrequire_keys: true\nstore: {kind: sqlite, path: "+filepath.Join(t.TempDir(), "store.db")+"}\nlog: {level: debug}\n")
	return g, base
}

// browser is a client that keeps cookies and follows redirects.
func browser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, Timeout: patience}
}

func visit(t *testing.T, c *http.Client, method, address, form string, header ...string) result {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	if form != "" {
		r.Header.Set("content-type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return result{resp.StatusCode, resp.Header, string(body), err}
}

func roles(list ...string) map[string]any {
	return map[string]any{"realm": map[string]any{"roles": list}}
}

// TestSSO signs in as an operator, a viewer and a stranger.
func TestSSO(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	g, base := ssoGate(t, p)
	p.next("", roles("x", "platform"))
	operator := browser(t)
	if r := visit(t, operator, "GET", base+"/ui/keys", ""); r.status != 200 || !strings.Contains(r.body, "Make a key") {
		t.Fatalf("got %d %s for an operator, want the page that was asked for", r.status, r.body)
	}
	if r := visit(t, operator, "POST", base+"/ui/keys", "name=app", "origin", base); r.status != 200 || keyText.FindString(r.body) == "" {
		t.Errorf("got %d %s for an operator, want a key", r.status, r.body)
	}
	for name, header := range map[string][]string{"another site": {"origin", "http://evil.example"}, "another site, new": {"sec-fetch-site", "cross-site"}, "an old browser": nil} {
		if r := visit(t, operator, "POST", base+"/ui/keys", "name=evil", header...); r.status != 403 || strings.Contains(r.body, "cg-") {
			t.Errorf("%s: got %d, want 403", name, r.status)
		}
	}
	if r := visit(t, operator, "GET", base+"/admin/keys", ""); r.status != 401 {
		t.Errorf("got %d from the admin API with a session, want 401: it takes the key", r.status)
	}
	p.next("", roles("engineering"))
	viewer := browser(t)
	if r := visit(t, viewer, "GET", base+"/ui/keys", ""); r.status != 200 {
		t.Errorf("got %d for a viewer", r.status)
	}
	for _, path := range []string{"/ui/keys", "/ui/keys/block", "/ui/breakers/reset"} {
		if r := visit(t, viewer, "POST", base+path, "name=app", "origin", base); r.status != 403 || !strings.Contains(r.body, "your role is viewer") {
			t.Errorf("%s: got %d %s for a viewer, want 403", path, r.status, r.body)
		}
	}
	p.next("", roles("sales"))
	if r := visit(t, browser(t), "GET", base+"/ui", ""); r.status != 403 || !strings.Contains(r.body, "no role here") {
		t.Errorf("got %d %s for a stranger, want 403", r.status, r.body)
	}
	if r := visit(t, operator, "GET", base+"/ui/oidc/logout", ""); r.status != 200 || !strings.Contains(r.body, "signed out") {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if r := visit(t, operator, "POST", base+"/ui/keys", "name=late", "origin", base); r.status != 403 {
		t.Errorf("got %d behind a sign-out, want 403", r.status)
	}
	plain := browser(t)
	plain.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/ui", http.NoBody)
	r.SetBasicAuth("operator", "cg-operators-key")
	if got := g.do(r); got.status != 200 {
		t.Errorf("got %d with the operator's key, want 200: it goes on to work", got.status)
	}
	if !strings.Contains(g.stderr.String(), `"key":"ada@example.com"`) {
		t.Error("got a log that does not say who it was")
	}
	for _, secret := range []string{"sk-oidc-canary", "canary-access", "code-1"} {
		if strings.Contains(g.stderr.String(), secret) {
			t.Errorf("got %q in the log", secret)
		}
	}
}

// TestSSORefused has tokens that are not valid, and browsers that did not begin what they end.
func TestSSORefused(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	_, base := ssoGate(t, p)
	for _, broken := range []string{"issuer", "audience", "expired", "nonce", "signature", "unsigned"} {
		p.next(broken, roles("platform"))
		c := browser(t)
		if r := visit(t, c, "GET", base+"/ui", ""); r.status < 400 || strings.Contains(r.body, "<nav") && r.status == 200 {
			t.Errorf("%s: got %d %s, want that nobody is let in", broken, r.status, r.body)
		}
		if r := visit(t, c, "POST", base+"/ui/keys", "name=x", "origin", base); r.status != 403 {
			t.Errorf("%s: got %d behind it, want 403", broken, r.status)
		}
	}
	p.next("", roles("platform"))
	stop := browser(t)
	stop.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	begun := visit(t, stop, "GET", base+"/ui/oidc/login?to=//evil.example/ui", "")
	if begun.status != 303 || !strings.HasPrefix(begun.header.Get("location"), p.URL+"/auth?") {
		t.Fatalf("got %d %s", begun.status, begun.header.Get("location"))
	}
	cookie := begun.header.Get("set-cookie")
	if !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("got the cookie %q", cookie)
	}
	back := visit(t, stop, "GET", begun.header.Get("location"), "").header.Get("location")
	if r := visit(t, browser(t), "GET", back, ""); r.status != 400 {
		t.Errorf("got %d in another browser, want 400", r.status)
	}
	if r := visit(t, stop, "GET", strings.Replace(back, "state=", "state=x", 1), ""); r.status != 400 {
		t.Errorf("got %d with another state, want 400", r.status)
	}
	if r := visit(t, stop, "GET", back, ""); r.status != 303 || r.header.Get("location") != "/ui" {
		t.Errorf("got %d to %q, want the page and no other host", r.status, r.header.Get("location"))
	}
	at, _ := url.Parse(base + "/ui")
	for _, c := range stop.Jar.Cookies(at) {
		if c.Name == "callgate-session" {
			changed := "A" + c.Value[1:]
			if changed == c.Value {
				changed = "B" + c.Value[1:]
			}
			other := browser(t)
			other.CheckRedirect = stop.CheckRedirect
			if r := visit(t, other, "GET", base+"/ui", "", "cookie", "callgate-session="+changed); r.status != 303 {
				t.Errorf("got %d with a changed cookie, want to be sent to sign in", r.status)
			}
			if r := visit(t, other, "GET", base+"/ui", "", "cookie", "callgate-session="+c.Value); r.status != 200 {
				t.Errorf("got %d with the cookie itself", r.status)
			}
			if r := visit(t, other, "GET", base+"/ui/oidc/callback?state=x&code=y", "", "cookie", "callgate-login="+c.Value); r.status != 400 {
				t.Errorf("got %d with a session in the place of a sign-in, want 400", r.status)
			}
		}
	}
	p.Close()
	if r := visit(t, stop, "GET", base+"/ui/oidc/login", ""); r.status != 303 {
		t.Errorf("got %d while the provider is away, whose addresses are known", r.status)
	}
}

// TestSSOAway has a provider that does not answer: the page says so, and the gateway serves.
func TestSSOAway(t *testing.T) {
	t.Parallel()
	p := newIssuer(t)
	p.Close()
	g, base := ssoGate(t, p)
	if r := visit(t, browser(t), "GET", base+"/ui", ""); r.status != 502 || !strings.Contains(r.body, "identity provider does not answer") {
		t.Errorf("got %d %s, want 502 and why", r.status, r.body)
	}
	if r := g.get("/readyz"); r.status != 200 {
		t.Errorf("got %d, want a gateway that serves", r.status)
	}
}
