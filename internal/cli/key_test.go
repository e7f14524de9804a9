package cli

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

func hashOf(key string) string { return config.HashKey(key) }

// The canaries are secrets that must be seen nowhere.
const (
	clientKey1     = "cg-canary-of-the-client"
	wrongKey       = "cg-canary-that-is-wrong"
	upstreamKey    = "sk-canary-of-the-upstream"
	upstreamHeader = "canary-in-a-header-0123456789"
)

// TestRefusesOpenAddress listens for other machines without a key.
func TestRefusesOpenAddress(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1.nip.io:0"} {
		t.Run(addr, func(t *testing.T) {
			t.Parallel()
			status, stdout, stderr := command(t, "", "serve", "--listen", addr)
			refused(t, status, stdout, stderr, "keys", "listen")
		})
	}
}

// refused checks that a command ended with status 2, printed nothing, and said
// why in one line with these words.
func refused(t *testing.T, status int, stdout, stderr string, words ...string) {
	t.Helper()
	if status != 2 {
		t.Errorf("got exit status %d, want 2", status)
	}
	if stdout != "" {
		t.Errorf("got output %q, want none", stdout)
	}
	var lines []string
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, `{"time":`) { // the log
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "callgate: ") {
		t.Fatalf("got %q on standard error, want one line that begins with callgate:", lines)
	}
	for _, word := range words {
		if !strings.Contains(lines[0], word) {
			t.Errorf("got error %q, want %q in it", lines[0], word)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	g := serve(t, fmt.Sprintf("{providers: {demo: {type: demo}}, keys: [{name: other, hash: %q}, {name: dev, hash: %q}], listen: \"0.0.0.0:1\"}",
		hashOf("cg-another"), hashOf(clientKey1)))
	if strings.Contains(g.stdout.String(), "curl") {
		t.Errorf("got greeting %q, want none that shows a request which would be refused", g.stdout)
	}
	tests := []struct {
		name, authorization string
		want                int
	}{
		{"right", "Bearer " + clientKey1, 200},
		{"right, small letters", "bearer " + clientKey1, 200},
		{"right, large letters", "BEARER " + clientKey1, 200},
		{"the other", "Bearer cg-another", 200},
		{"none", "", 401},
		{"wrong", "Bearer " + wrongKey, 401},
		{"empty", "Bearer ", 401},
		{"scheme alone", "Bearer", 401},
		{"no scheme", clientKey1, 401},
		{"another scheme", "Basic " + clientKey1, 401},
		{"a part", "Bearer " + clientKey1[:len(clientKey1)-1], 401},
		{"more", "Bearer " + clientKey1 + "x", 401},
		{"the hash", "Bearer " + hashOf(clientKey1), 401},
		{"the name", "Bearer dev", 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for path, send := range map[string]func(path string, header ...string) result{
				"/v1/models": g.get,
				"/v1/chat/completions": func(_ string, header ...string) result {
					return g.chat(prompt("demo/hermes", "hello", false), header...)
				},
			} {
				var header []string
				if tt.authorization != "" {
					header = []string{"authorization", tt.authorization}
				}
				r := send(path, header...)
				if r.status != tt.want {
					t.Errorf("got status %d from %s, want %d", r.status, path, tt.want)
				}
				if r.status == 401 {
					failure{status: 401, code: "invalid_api_key", says: "Authorization: Bearer"}.check(t, r)
					hasHeader(t, r.header, map[string]string{"www-authenticate": "Bearer"})
				}
			}
		})
	}
	for _, path := range []string{"/livez", "/readyz"} {
		if r := g.get(path); r.status != 200 {
			t.Errorf("got status %d from %s without a key, want 200", r.status, path)
		}
	}
}

// TestSecretsStay has upstreams say the gateway's own key in every way, logs
// everything, and looks for the canaries in all that comes out.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	echo := func(status int) string {
		return upstream(t, func(w http.ResponseWriter, r received) {
			if r.Header.Get("authorization") != "Bearer "+upstreamKey || r.Header.Get("x-team-token") != upstreamHeader {
				t.Errorf("got header %v, want the keys of the configuration", r.Header)
			}
			w.Header().Set("x-echo", "you are "+upstreamKey)
			w.Header().Set("x-ratelimit-limit-"+upstreamHeader, "1")
			w.Header().Set("content-type", "application/json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect key %s and %s","type":"x","param":null,"code":"y"}}`, upstreamKey, upstreamHeader)
		})
	}
	providers := map[string]string{
		"down":    down(t),
		"noHost":  "http://no-such-host.invalid/v1",
		"notHTTP": raw(t, func(c *net.TCPConn, _ []byte) { io.WriteString(c, upstreamKey+"\r\n\r\n") }),
		"html":    static(t, 200, "text/html", "<html>"+upstreamKey),
		"typed":   static(t, 200, "text/"+upstreamKey, "x"),
		"cut": upstream(t, func(w http.ResponseWriter, _ received) {
			w.Header().Set("content-type", "text/event-stream")
			send(w, delta("a"))
		}),
		"redirect": static(t, 302, "text/html", "x", "location", "http://x/"+upstreamKey),
	}
	for _, status := range []int{400, 401, 403, 404, 422, 429, 500, 503} {
		providers[fmt.Sprintf("s%d", status)] = echo(status)
	}
	file := "log: {level: debug, format: text}\nkeys: [{name: dev, hash: \"" + hashOf(clientKey1) + "\"}]\nproviders:\n"
	for name, url := range providers {
		file += fmt.Sprintf("  %s: {type: openai, base_url: %q, api_key: %q, headers: {X-Team-Token: %q}, parser: auto}\n", name, url, upstreamKey, upstreamHeader)
	}
	g := serve(t, file)
	var seen strings.Builder
	ask := func(key, body string) {
		r := g.request("POST", "/v1/chat/completions", body, "authorization", "Bearer "+key, "api-key", clientKey1)
		resp, err := g.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		dump, err := httputil.DumpResponse(resp, true)
		if err != nil {
			t.Fatal(err)
		}
		seen.Write(dump)
	}
	for name := range providers {
		ask(clientKey1, prompt(name+"/m", "hi", false))
		ask(clientKey1, prompt(name+"/m", "hi", true))
	}
	ask(wrongKey, prompt("s400/m", "hi", false))
	ask(clientKey1, prompt("unknown", "hi", false))
	ask(clientKey1, "{")
	g.get("/v1/models", "authorization", "Bearer "+clientKey1)
	g.cancel()
	if status := g.wait(); status != 0 {
		t.Errorf("got exit status %d, want 0", status)
	}
	log := g.stdout.String() + g.stderr.String()
	if n := strings.Count(log, "msg=request"); n < 2*len(providers)+3 {
		t.Errorf("got %d requests in the log, want one line for each:\n%s", n, log)
	}
	for _, canary := range []string{clientKey1, wrongKey, upstreamKey, upstreamHeader, hashOf(clientKey1), "weather"} {
		if strings.Contains(log, canary) {
			t.Errorf("got %q in the log:\n%s", canary, log)
		}
		if strings.Contains(seen.String(), canary) {
			t.Errorf("got %q in the responses:\n%s", canary, &seen)
		}
	}
}
