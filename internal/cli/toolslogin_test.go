package cli

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// loginServer is a tool server that wants OAuth, with its own authorization server: it lets clients register,
// sends every browser back at once, and gives tokens that end at once, with a new refresh token each time.
type loginServer struct {
	*httptest.Server
	mcp *toolservertest.Server

	mu        sync.Mutex
	life      int    // of tokens, in seconds
	access    string // the token that is taken now
	refresh   string
	challenge string
	given     int // tokens
	agreed    int // in a browser
	elsewhere string
}

func newLoginServer(t *testing.T) *loginServer {
	t.Helper()
	s := &loginServer{mcp: toolservertest.New(t), life: 1}
	s.mcp.On["tools/call"] = func(c *toolservertest.Call) {
		if _, arguments := c.Tool(); strings.Contains(string(arguments), "fail") {
			c.Error(http.StatusOK, -32000, "bad credentials: "+c.Header.Get("Authorization"))
			return
		}
		c.Text("you sent " + c.Header.Get("Authorization"))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		known := s.access != "" && r.Header.Get("Authorization") == "Bearer "+s.access
		s.mu.Unlock()
		if !known {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", s.URL+"/.well-known/oauth-protected-resource/mcp"))
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		s.mcp.ServeHTTP(w, r)
	})
	say := func(path string, what func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(what())
		})
	}
	say("/.well-known/oauth-protected-resource/mcp", func() map[string]any {
		at := s.URL
		if s.elsewhere != "" {
			at = s.elsewhere
		}
		return map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{at}}
	})
	say("/.well-known/oauth-authorization-server", func() map[string]any {
		return map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}}
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var m map[string]any
		_ = json.NewDecoder(r.Body).Decode(&m)
		m["client_id"], m["token_endpoint_auth_method"] = "made", "none"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(m)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		s.mu.Lock()
		s.challenge, s.agreed = q.Get("code_challenge"), s.agreed+1
		s.mu.Unlock()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", s.token)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// token gives one for the code with its proof, for the last refresh token, or for the client's secret.
func (s *loginServer) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
	var ok bool
	switch r.Form.Get("grant_type") {
	case "authorization_code":
		ok = r.Form.Get("code") == "the-code" && base64.RawURLEncoding.EncodeToString(sum[:]) == s.challenge
	case "refresh_token":
		ok = r.Form.Get("refresh_token") == s.refresh && s.refresh != ""
	case "client_credentials":
		ok = r.Form.Get("client_id") == "gate" && r.Form.Get("client_secret") == "sk-machine-0123456789"
	}
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"error":"invalid_grant"}`)
		return
	}
	s.given++
	s.access, s.refresh = fmt.Sprintf("access-canary-%04d", s.given), fmt.Sprintf("refresh-canary-%04d", s.given)
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","refresh_token":%q,"expires_in":%d}`, s.access, s.refresh, s.life)
}

func (s *loginServer) counts() (given, agreed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given, s.agreed
}

// TestToolsLogin has an operator sign in at a tool server while a gateway runs, which then has its tools, renews
// the token, keeps the new one, and lets nobody see either. A server that takes the token no more is missing again.
func TestToolsLogin(t *testing.T) {
	t.Parallel()
	s := newLoginServer(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "far.token")
	config := fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
providers: {demo: {type: demo}}
tool_servers:
  far: {type: mcp, url: %q, refresh: 1s, oauth: {grant: authorization_code, file: %q}}
`, s.URL+"/mcp", file)
	out, _ := scripted(t, config, "tools", "list")
	if !strings.Contains(out, `missing: far: Tool server "far" wants an operator to sign in. Run callgate tools login far.`) {
		t.Errorf("before: got %s", out)
	}
	g := serve(t, config)
	up := func(want string) func() bool {
		return func() bool {
			return strings.Contains(g.adminDo(http.MethodGet, "/metrics").body, `callgate_tool_server_up{server="far"} `+want+"\n")
		}
	}
	await(t, "the server without a token", up("0"))

	var said buffer
	done := make(chan int, 1)
	go func() {
		done <- run(t.Context(), []string{"tools", "login", "far", "-c", configFile(t, config)}, readerOf(""), &said, &said)
	}()
	address := ""
	await(t, "an address to open", func() bool {
		address = regexp.MustCompile(`http://\S+/authorize\S+`).FindString(said.String())
		return address != ""
	})
	resp, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if status := <-done; status != 0 || resp.StatusCode != http.StatusOK || !strings.Contains(said.String(), "the server lists 1 tool.") {
		t.Fatalf("got status %d, page %d: %s", status, resp.StatusCode, said.String())
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got the file %v, %v", info, err)
	}
	await(t, "the server with a token", up("1"))

	// The tokens end at once: each of these has a new one, and needs nobody to agree again.
	given, _ := s.counts()
	for range 2 {
		out, status := scripted(t, config, "tools", "call", "far__echo", "{}")
		if status != 0 || !strings.Contains(out, "you sent Bearer [redacted]") || strings.Contains(out, "canary") {
			t.Errorf("got status %d: %s", status, out)
		}
	}
	if after, agreed := s.counts(); after < given+2 || agreed != 1 {
		t.Errorf("got %d tokens after %d, and %d who agreed", after, given, agreed)
	}
	if out, status := scripted(t, config, "tools", "call", "far__echo", `{"do":"fail"}`); status == 0 || !strings.Contains(out, "bad credentials: Bearer [redacted]") || strings.Contains(out, "canary") {
		t.Errorf("an error of the server: got status %d: %s", status, out)
	}
	if text := g.stdout.String() + g.stderr.String() + g.adminDo(http.MethodGet, "/ui/tools").body + said.String(); strings.Contains(text, "canary") {
		t.Errorf("got a token in what is said:\n%s", text)
	}

	s.mu.Lock()
	s.access, s.refresh = "", ""
	s.mu.Unlock()
	await(t, "the server whose token is taken no more", up("0"))
	if got := g.adminDo(http.MethodGet, "/admin/tools").body; !strings.Contains(got, "does not take the gateway's token any more. Run callgate tools login far.") {
		t.Errorf("got %s, want what an operator is to do", got)
	}
}

// TestToolsMachineLogin holds that the gateway signs in alone with client credentials, anew when the token is
// taken no more, and nowhere but where the configuration says.
func TestToolsMachineLogin(t *testing.T) {
	t.Parallel()
	s := newLoginServer(t)
	s.life = 3600
	config := func(secret string) string {
		return fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
providers: {demo: {type: demo}}
tool_servers:
  far: {type: mcp, url: %q, refresh: 1s, oauth: {grant: client_credentials, client_id: gate, client_secret: %s}}
`, s.URL+"/mcp", secret)
	}
	if out, _ := scripted(t, config("sk-wrong"), "tools", "list"); !strings.Contains(out, `does not let the gateway sign in: it answers "invalid_grant" to the request for a token`) {
		t.Errorf("a wrong secret: got %s", out)
	}
	good := config("sk-machine-0123456789")
	if out, status := scripted(t, good, "tools", "call", "far__echo", "{}"); status != 0 || !strings.Contains(out, "you sent Bearer [redacted]") {
		t.Errorf("got status %d: %s", status, out)
	}
	g := serve(t, good)
	await(t, "the server", func() bool {
		return strings.Contains(g.adminDo(http.MethodGet, "/metrics").body, `callgate_tool_server_up{server="far"} 1`+"\n")
	})
	before, _ := s.counts()
	s.mu.Lock()
	s.access = "" // the server forgets it
	s.mu.Unlock()
	await(t, "a new token", func() bool { after, _ := s.counts(); return after > before })
	if text := g.stdout.String() + g.stderr.String() + g.adminDo(http.MethodGet, "/admin/tools").body; strings.Contains(text, "canary") || strings.Contains(text, "sk-machine") {
		t.Errorf("got a credential in what is said:\n%s", text)
	}

	s.elsewhere = "https://login.elsewhere.example"
	given, _ := s.counts()
	out, _ := scripted(t, good, "tools", "list")
	if !strings.Contains(out, "wants the gateway to sign in at https://login.elsewhere.example:443. If that is meant, add https://login.elsewhere.example:443 to oauth.servers.") {
		t.Errorf("another origin: got %s", out)
	}
	if after, _ := s.counts(); after != given {
		t.Errorf("got %d tokens, want %d", after, given)
	}
	if out, status := scripted(t, good, "tools", "login", "far"); status == 0 || !strings.Contains(out, "has no oauth with grant: authorization_code") {
		t.Errorf("got status %d: %s", status, out)
	}
}

// TestToolsCallExplained holds that a call by hand which cannot be made says why, and what may have been meant, and
// that other servers than the tool's own are not asked.
func TestToolsCallExplained(t *testing.T) {
	t.Parallel()
	const config = `
tool_servers:
  away: {type: mcp, url: "http://127.0.0.1:1/mcp"}
  web:
    type: http
    private_network: true
    requests: [{name: forecast, description: Weather., url: "http://127.0.0.1:1/"}]
`
	for name, want := range map[string]string{
		"web__forecast": `unavailable: Tool server "web" does not answer: connect: connection refused.`,
		"web__forcast":  `There is no tool "web__forcast". Similar names: web__forecast.`,
		"away__x":       `unavailable: Tool server "away" does not answer: connect: connection refused`,
		"forecasts":     `the servers are away, web. callgate tools list prints their tools.`,
	} {
		out, status := scripted(t, config, "tools", "call", name)
		if status != exitFailed || !strings.Contains(out, want) {
			t.Errorf("%s: got status %d, %s; want %s", name, status, out, want)
		}
		if strings.HasPrefix(name, "web__") && strings.Contains(out, "server=away") {
			t.Errorf("%s: got %s, want nothing of the other server", name, out)
		}
	}
	if out, _ := scripted(t, config, "tools", "list"); !strings.Contains(out, `missing: away: Tool server "away" does not answer: connect: connection refused`) {
		t.Errorf("got %s, want why a server is missing", out)
	}
}
