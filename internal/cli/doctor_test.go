package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callgate/callgate/internal/postgrestest"
	"github.com/callgate/callgate/internal/redistest"
)

// TestDoctor holds that what is printed for a server is a configuration with which its model
// calls tools.
func TestDoctor(t *testing.T) {
	t.Parallel()
	offers := func(body map[string]any) bool { return body["tools"] != nil }
	for name, row := range map[string]struct {
		refusal, says string
		status        int
		refuses       func(map[string]any) bool
	}{
		"text": {refuses: func(map[string]any) bool { return false }, says: "as text, in the format hermes"},
		"raw": {status: 400, refusal: `{"error":{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}}`,
			refuses: func(b map[string]any) bool { return b["tools"] != nil && b["tool_choice"] != "none" }, says: "asked for its own text"},
		"prompted": {status: 500, refusal: `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, refuses: offers, says: "must go into the prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plainServer{status: row.status, refusal: row.refusal, refuses: row.refuses}
			base := upstream(t, func(w http.ResponseWriter, r received) {
				switch r.URL.Path {
				case "/v1/models":
					io.WriteString(w, `{"object":"list","data":[{"id":"Qwen/Qwen3-8B","object":"model"}]}`)
				case "/v1/chat/completions":
					p.answer(w, r)
				default:
					http.NotFound(w, r.Request)
				}
			})
			var out, errs bytes.Buffer
			if status := run(t.Context(), []string{"doctor", base}, nil, &out, &errs); status != exitOK || !strings.Contains(out.String(), row.says) {
				t.Fatalf("got status %d, %s%s", status, &out, &errs)
			}
			_, file, found := strings.Cut(out.String(), "\n\n")
			if !found {
				t.Fatalf("there is no configuration in\n%s", &out)
			}
			g := serve(t, file)
			got := g.do(g.request("POST", "/v1/chat/completions", `{"model":"Qwen/Qwen3-8B","messages":[{"role":"user","content":"Weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}}]}`))
			if got.status != http.StatusOK || !strings.Contains(got.body, `"get_weather"`) || strings.Contains(got.body, "<tool_call>") {
				t.Errorf("with\n%s\ngot status %d and %s, want a call", file, got.status, got.body)
			}
			if strings.Contains(got.header.Get("x-callgate-warnings"), "tools_") {
				t.Errorf("got the warnings %q, want none: it is configured", got.header.Get("x-callgate-warnings"))
			}
		})
	}
}

// TestDoctorConfiguration holds that a provider that does not answer is named, and makes the exit
// status 1.
func TestDoctorConfiguration(t *testing.T) {
	t.Parallel()
	good := static(t, 200, "application/json", `{"object":"list","data":[{"id":"m"}]}`)
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	config := "providers:\n  good: {type: openai, base_url: " + good + "}\n  gone: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}\nmodels: {m: {targets: [{provider: good}]}}\n"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"doctor", "-c", file}, nil, &out, &errs)
	if status != exitFailed || !strings.Contains(out.String(), "✓ provider good") || !strings.Contains(out.String(), "✗ provider gone") || !strings.Contains(out.String(), "✓ store") {
		t.Errorf("got status %d,\n%s%s", status, &out, &errs)
	}
	if status := run(t.Context(), []string{"doctor"}, nil, &out, &errs); status != exitUsage {
		t.Errorf("without an argument: got status %d", status)
	}
}

// findings are the lines that the doctor prints of a configuration, with its status.
func findings(t *testing.T, config string) (status int, said string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), []string{"doctor", "-c", configFile(t, config)}, nil, &out, &errs)
	return status, out.String() + errs.String()
}

// TestDoctorFinds holds that the doctor names what is wrong with everything that a configuration
// names, says what to do, ends with status 1 where something does not work, and shows no secret.
func TestDoctorFinds(t *testing.T) {
	t.Parallel()
	models := static(t, 200, "application/json", `{"object":"list","data":[{"id":"qwen3"}]}`)
	refusing := static(t, 401, "application/json", `{"error":{"message":"no"}}`)
	nothing := static(t, 404, "application/json", `{"detail":"Not Found"}`)
	loading := static(t, 503, "application/json", `{"error":{"message":"Loading model"}}`)
	signed := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(signed.Close)
	signed.Config.ErrorLog = log.New(io.Discard, "", 0)
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	if err := os.WriteFile(prices, []byte("models: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	noFile := filepath.Join(dir, "file")
	if err := os.WriteFile(noFile, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const hash = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	const demo = "providers: {demo: {type: demo}}\n"
	for name, c := range map[string]struct {
		config, says, do string
		status           int
	}{
		"all is well":          {demo, "✓ open files", "", exitOK},
		"redis away":           {demo + "cache_salt: a-long-text-that-nobody-knows\nredis: {url: \"redis://u:geheim@127.0.0.1:1\"}\n", "✗ redis", "start it, or correct redis.url", exitFailed},
		"short salt":           {demo + "cache_salt: geheim\nredis: {url: \"redis://127.0.0.1:1\"}\n", "! cache_salt", "openssl rand", exitFailed},
		"a slip in the demo":   {demo + "models: {m: {targets: [{provider: demo, model: hermess}]}}\n", "! provider demo            does not list the model hermess", "it has hermes, ", exitOK},
		"postgres away":        {demo + "store: {kind: postgres, url: \"postgres://u:geheim@127.0.0.1:1/d\"}\n", "✗ store", "start it, or correct store.url", exitFailed},
		"no folder":            {demo + "store: {kind: sqlite, path: " + filepath.Join(dir, "none", "callgate.db") + "}\n", "✗ store", "mkdir -p " + filepath.Join(dir, "none"), exitFailed},
		"no database":          {demo + "store: {kind: sqlite, path: " + prices + "}\n", "✗ store", "whether it is the gateway's own file", exitFailed},
		"new database":         {demo + "store: {kind: sqlite, path: " + filepath.Join(dir, "new.db") + "}\n", "✓ store", "", exitOK},
		"no journal":           {demo + "usage: {store: sqlite, path: " + filepath.Join(dir, "usage.db") + ", journal: " + filepath.Join(noFile, "journal") + "}\n", "✗ usage", "set usage.journal", exitFailed},
		"ledger away":          {demo + "usage: {store: postgres, url: \"postgres://u:geheim@127.0.0.1:1/d\"}\n", "✗ usage", "correct the URL", exitFailed},
		"prices":               {demo + "prices: " + prices + "\n", "✗ prices", "correct the file", exitFailed},
		"cost not known":       {"providers: {p: {type: openai, base_url: " + models + "}}\nmodels: {qwen3: {targets: [{provider: p}]}}\nkey_limits: [{usd: 1, per: day}]\n", "✗ configuration", "callgate check", exitFailed},
		"no such parser":       {"providers: {p: {type: openai, base_url: " + models + "}}\nmodels: {qwen3: {targets: [{provider: p, parser: nope}]}}\n", "✗ configuration", "callgate check", exitFailed},
		"one model":            {"providers: {p: {type: openai, base_url: " + models + "}}\nmodels: {qwen3: {targets: [{provider: p}]}}\n", "✓ provider p               answers, 1 model\n", "", exitOK},
		"no cache":             {demo + "plugins: {cache_dir: " + filepath.Join(noFile, "cache") + "}\n", "! compiled parsers", "XDG_CACHE_HOME", exitOK},
		"no plugins":           {demo + "plugins: {dir: /no/such}\n", "✗ configuration            plugins.dir: there is no directory \"/no/such\"", "make it, correct the path", exitFailed},
		"no folder but a file": {demo + "plugins: {dir: " + noFile + "}\n", "is not a directory", "that has the *.wasm files", exitFailed},
		"the default folder":   {demo + "plugins: {dir: plugins.d}\n", "✓ open files", "", exitOK},
		"tools away":           {demo + "tool_servers: {notes: {type: mcp, url: \"http://127.0.0.1:1/mcp\"}}\n", "✗ tool server notes", "start it, or correct its url", exitFailed},
		"command fails":        {demo + "tool_servers: {notes: {type: mcp, command: [sh, -c, \"echo no database >&2; exit 3\"]}}\n", "does not answer: the command ended with exit status 3; its last words: no database", "correct its command", exitFailed},
		"no command":           {demo + "tool_servers: {notes: {type: mcp, command: [no-such-program]}}\n", "executable file not found in $PATH", "correct its command", exitFailed},
		"no directory":         {demo + "tool_servers: {notes: {type: mcp, command: [ls], directory: /no/such}}\n", "its directory: stat /no/such: no such file", "directory; until", exitFailed},
		"sign-in away":         {demo + "admin: {key_hash: \"" + hash + "\", oidc: {issuer: \"http://127.0.0.1:1\", client_id: c, client_secret: geheim, redirect_url: \"http://127.0.0.1:8081/ui/oidc/callback\", roles: {operator: [platform]}}}\n", "✗ admin.oidc", "admin.oidc.issuer", exitFailed},
		"traces away":          {demo + "tracing: {endpoint: \"http://127.0.0.1:1\"}\n", "! tracing", "correct tracing.endpoint", exitOK},
		"traces":               {demo + "tracing: {endpoint: \"" + models + "\"}\n", "✓ tracing", "", exitOK},
		"admin exposed":        {demo + "admin: {listen: \"0.0.0.0:0\", key_hash: \"" + hash + "\"}\n", "! admin", "NetworkPolicy", exitOK},
		"admin off":            {demo + "admin: {listen: off}\n", "! admin", "127.0.0.1:8081", exitOK},
		"expired":              {demo + "keys: [{name: old, hash: \"" + hash + "\", expires: 2020-01-01}]\n", "! key old", "callgate key", exitFailed},
		"blocked":              {demo + "keys: [{name: old, hash: \"" + hash + "\", blocked: true}]\n", "✗ keys", "callgate key", exitFailed},
		"key refused":          {"providers: {p: {type: openai, base_url: " + refusing + ", api_key: geheim}}\n", "✗ provider p", "api_key is wrong", exitFailed},
		"away":                 {"providers: {p: {type: openai, base_url: \"http://127.0.0.1:1/v1\"}}\n", "✗ provider p               127.0.0.1:1 refused the connection: dial tcp", "correct its base_url", exitFailed},
		"no such API":          {"providers: {p: {type: openai, base_url: " + strings.TrimSuffix(nothing, "/v1") + "}}\n", "✗ provider p               the upstream refused the request with status 404", "→ correct its base_url: nearly every base URL ends in /v1", exitFailed},
		"no API at /v1":        {"providers: {p: {type: openai, base_url: " + nothing + "}}\n", "✗ provider p               the upstream refused the request with status 404", "→ correct its base_url: callgate doctor http", exitFailed},
		"loading":              {"providers: {p: {type: openai, base_url: " + loading + "}}\n", "✗ provider p", "→ it fails, or loads its model yet", exitFailed},
		"no TLS":               {"providers: {p: {type: openai, base_url: " + strings.Replace(models, "http:", "https:", 1) + "}}\n", "does not speak TLS", "write http://", exitFailed},
		"no such host":         {"providers: {p: {type: openai, base_url: \"http://no-such-host.invalid/v1\"}}\n", "cannot be resolved", "correct the name of the host", exitFailed},
		"own certificate":      {"providers: {p: {type: openai, base_url: " + signed.URL + "}}\n", "is not accepted", "SSL_CERT_FILE", exitFailed},
		"no such model":        {"providers: {p: {type: openai, base_url: " + models + "}}\nmodels: {qwen: {targets: [{provider: p}]}}\n", "! provider p", "it has qwen3", exitOK},
		"placeholder":          {"providers: {p: {type: openai, base_url: " + models + ", api_key: x}}\nmodels: {qwen3: {targets: [{provider: p}]}}\n", "! provider p               api_key is too short to be a secret, with 1 of at least 4 characters", "leave api_key out", exitOK},
		"such a model":         {"providers: {p: {type: openai, base_url: " + models + "}}\nmodels: {qwen3: {targets: [{provider: p}]}}\n", "✓ provider p", "", exitOK},
		"in the clear":         {"providers: {p: {type: openai, base_url: \"http://0.0.0.0:1/v1\", api_key: geheim}}\n", "! provider p", "use https:", exitFailed},
		"listener taken":       {demo + "listen: " + strings.TrimPrefix(strings.TrimSuffix(models, "/v1"), "http://") + "\n", "! listen", "choose another address", exitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, said := findings(t, c.config)
			if status != c.status || !strings.Contains(said, c.says) || !strings.Contains(said, c.do) {
				t.Errorf("got status %d and\n%s\nwant %d, %q and %q", status, said, c.status, c.says, c.do)
			}
			if strings.Contains(said, "geheim") || strings.Contains(said, hash) {
				t.Errorf("a secret is shown:\n%s", said)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(filepath.Join(dir, "new.db")); err == nil {
			t.Error("the doctor made a database")
		}
	})
}

// TestDoctorStores holds that stores which are there are found good, over the real ones.
func TestDoctorStores(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	status, said := findings(t, fmt.Sprintf("providers: {demo: {type: demo}}\ncache_salt: a-long-text-that-nobody-knows\nredis: {url: %q, key_prefix: %q}\nstore: {kind: postgres, url: %q}\n",
		redis.URL(), redis.KeyPrefix(), postgrestest.Database(t)))
	if status != exitOK || !strings.Contains(said, "✓ redis") || !strings.Contains(said, "✓ store") || !strings.Contains(said, "✓ usage") {
		t.Errorf("got status %d and\n%s", status, said)
	}
}

// TestDoctorRemedies holds that what is said of a server that does not answer fits its mistake.
func TestDoctorRemedies(t *testing.T) {
	t.Parallel()
	wantsKey := static(t, 401, "application/json", `{"error":{"message":"no"}}`)
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		var out, errs bytes.Buffer
		if status := run(t.Context(), []string{"doctor", wantsKey}, nil, &out, &errs); status != exitFailed || !strings.Contains(errs.String(), "--key-env NAME") || strings.Contains(errs.String(), "start the server") {
			t.Errorf("got status %d and %q, want how to give a key", status, errs.String())
		}
	})
	for name, row := range map[string]struct{ url, says, do string }{
		"no API":      {static(t, 404, "application/json", `{"detail":"Not Found"}`), "/v1/models answers with status 404", "\nthe server runs, but has no OpenAI-compatible API at this address"},
		"not running": {"http://127.0.0.1:1/v1", "connection refused", "\nstart the server, or correct the host and the port of the address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errs bytes.Buffer
			if status := run(t.Context(), []string{"doctor", row.url}, nil, &out, &errs); status != exitFailed || !strings.Contains(errs.String(), row.says) || !strings.Contains(errs.String(), row.do) || strings.Count(errs.String(), "\n") != 2 {
				t.Errorf("got status %d and %q, want %q and %q", status, errs.String(), row.says, row.do)
			}
		})
	}
	for want, err := range map[string]error{
		"NO_PROXY": &net.OpError{Op: "proxyconnect", Net: "tcp", Err: syscall.ECONNREFUSED},
		"https://": &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET},
		"clock":    &tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}},
		"names":    &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "host.example"}},
	} {
		if got := connectRemedy(fmt.Errorf("wrapped: %w", err)); !strings.Contains(got, want) {
			t.Errorf("%v: got %q, want %q in it", err, got, want)
		}
	}
}
