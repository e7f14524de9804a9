package cli

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/keys"
)

// secretOf is a value of the environment that nobody may see. Its end is such that its forms in URLs, JSON and base64 differ.
func secretOf(name string) string { return "canary-" + name + "-Zm9v/+=&<0123456789" }

// TestSecretsLeak has a gateway with secrets in all places where there may be one be used well and badly, by clients that send
// texts of their own, against upstreams that repeat what they were sent, and holds that neither the log nor a span has any of
// it.
func TestSecretsLeak(t *testing.T) { //nolint:paralleltest // it sets variables of the environment
	names := []string{"PROVIDER", "HEADER", "REDIS", "DSN", "SALT", "TOOL", "MCP", "PROCESS", "TRACE", "OIDC", "SESSION"}
	hidden := map[string]string{}
	for _, name := range names {
		value := secretOf(name)
		hidden[name] = value
		t.Setenv("SECRET_"+name, value)
		t.Setenv("SECRET_"+name+"_IN_URL", url.QueryEscape(value))
	}
	client, _ := keys.NewSecret()
	operator, _ := keys.NewSecret()
	hidden["client's key"], hidden["operator's key"], hidden["wrong key"] = client, operator, "cg-canary-wrong-0123456789"
	for _, text := range []string{"prompt", "answer", "argument", "result", "user", "session", "title", "baggage", "system"} {
		hidden[text] = "canary of the " + text
	}
	collector := newReceiver(t)
	echo := upstream(t, func(w http.ResponseWriter, r received) {
		said := fmt.Sprintf("You sent %q with %v", r.body, r.Header)
		switch {
		case strings.Contains(r.body, "fail 400"):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error"}}`, said)
		case strings.Contains(r.body, "fail 401"):
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, said)
		case strings.Contains(r.body, "fail 500"):
			w.WriteHeader(http.StatusInternalServerError)
			io.WriteString(w, "<html>"+said)
		case strings.Contains(r.body, "fail stream"):
			w.Header().Set("content-type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"error\":{\"message\":%q,\"code\":%q,\"type\":%q}}\n\n", said, r.Header.Get("Authorization"), r.Header.Get("X-Team-Token"))
		case strings.Contains(r.body, "fail odd"):
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, said)
		case strings.Contains(r.body, "call it") && !strings.Contains(r.body, `"role":"tool"`):
			w.Header().Set("content-type", "application/json")
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"shop__search","arguments":%q}}]},"finish_reason":"tool_calls"}]}`,
				`{"q":"`+hidden["argument"]+`"}`)
		case r.wantsStream():
			w.Header().Set("content-type", "text/event-stream")
			send(w, delta(hidden["answer"]), finish, done)
		default:
			w.Header().Set("content-type", "application/json")
			w.Header().Set("x-request-id", r.Header.Get("Authorization"))
			fmt.Fprintf(w, `{"id":"c","object":"chat.completion","data":[],"choices":[{"index":0,"text":%[1]q,"message":{"role":"assistant","content":%[1]q},"finish_reason":"stop"}]}`, hidden["answer"])
		}
	})
	shop := newToolShop(t)
	shop.do = func(w http.ResponseWriter, r *http.Request, _ string) {
		if strings.Contains(r.URL.RawQuery, "q=") {
			w.WriteHeader(http.StatusBadGateway)
		}
		fmt.Fprintf(w, "%s %v", hidden["result"], r.Header)
	}
	config := fmt.Sprintf(`
admin: {listen: "127.0.0.1:0", key_hash: %q}
log: {level: debug}
cache_salt: ${SECRET_SALT}
keys: [{name: app, hash: %q}]
tracing: {endpoint: %q, headers: {x-api-key: "${SECRET_TRACE}"}}
redis: {url: "redis://someone:${SECRET_REDIS_IN_URL}@127.0.0.1:1/0"}
usage: {store: sqlite, path: %q}
providers:
  up: {type: openai, base_url: %[5]q, api_key: "${SECRET_PROVIDER}", headers: {X-Team-Token: "${SECRET_HEADER}"}, retry: {max_retries: 1, base_delay: 1ms}, circuit_breaker: {failure_threshold: 1000}}
  down: {type: openai, base_url: "http://127.0.0.1:1/v1", api_key: "${SECRET_PROVIDER}", circuit_breaker: {failure_threshold: 1000}}
  secure: {type: openai, base_url: "https://127.0.0.1:1/v1", api_key: "${SECRET_PROVIDER}", circuit_breaker: {failure_threshold: 1000}}
models:
  m: {targets: [{provider: down, model: m}, {provider: up, model: m}], tools: {servers: [shop]}, routing: prefix}
  gone: {targets: [{provider: down, model: m}, {provider: secure, model: m}]}
passthrough: {/v1/files: up}
tool_servers:
  shop:
    type: http
    private_network: true
    headers: {X-Shop: "${SECRET_TOOL}"}
    requests: [{name: search, description: Searches., parameters: {type: object, properties: {q: {type: string}}, required: [q]}, url: "%[6]s/search?q={q}"}]
  remote: {type: mcp, url: "http://127.0.0.1:1/mcp", headers: {Authorization: "Bearer ${SECRET_MCP}"}}
  local: {type: mcp, command: [sh, -c, 'echo "my token is $TOKEN" >&2; echo "$TOKEN"; exit 3'], env: {TOKEN: "${SECRET_PROCESS}"}}
`, hashed(operator), hashed(client), collector.URL, filepath.Join(t.TempDir(), "usage.db"), echo, shop.URL)
	file := configFile(t, config)
	g := serve(t, "", "-c", file)
	header := []string{"authorization", "Bearer " + client, "x-api-key", client, "cookie", "key=" + client, "baggage", "user=" + hidden["baggage"], "x-title", hidden["title"], "traceparent", "00-" + spansTrace + "-00f067aa0ba902b7-01"}
	ask := func(path, body string, header ...string) {
		t.Helper()
		g.do(g.request("POST", path, body, header...))
	}
	for _, model := range []string{"m", "gone"} {
		for _, what := range []string{"fine", "fail 400", "fail 401", "fail 500", "fail stream", "fail odd", "call it"} {
			for _, stream := range []string{"", `,"stream":true`} {
				said := fmt.Sprintf("%s, %s", hidden["prompt"], what)
				more := fmt.Sprintf(`,"user":%q,"metadata":{"session":%q}`, hidden["user"], hidden["session"]) + stream
				ask("/v1/chat/completions?key="+client, fmt.Sprintf(`{"model":%q,"messages":[{"role":"system","content":%q},{"role":"user","content":%q}],"tools":[{"type":"mcp","server_label":"shop"}]%s}`, model, hidden["system"], said, more), header...)
				ask("/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":99,"system":%q,"messages":[{"role":"user","content":%q}],"metadata":{"user_id":%q}%s}`, model, hidden["system"], said, hidden["user"], stream), header...)
				ask("/v1/responses", fmt.Sprintf(`{"model":%q,"instructions":%q,"input":%q%s}`, model, hidden["system"], said, more), header...)
				ask("/v1/completions", fmt.Sprintf(`{"model":%q,"prompt":%q,"max_tokens":5%s}`, model, said, stream), header...)
				ask("/v1/embeddings", fmt.Sprintf(`{"model":%q,"input":%q}`, model, said), header...)
				ask("/v1/files?key="+client, said, header...)
			}
		}
	}
	ask("/v1/chat/completions", `{"model":"m"}`, "authorization", "Bearer "+hidden["wrong key"])
	ask("/v1/messages", `{"model":"m"}`, "x-api-key", hidden["wrong key"])
	ask("/v1/chat/completions", `{"model":"m","messages":"`+hidden["prompt"], header...)
	ask("/v1/none?key="+client, `{}`, header...)
	ask("/v1/none/"+client+"/x", `{}`, header...)
	ask("/v1/files/../"+client, `{}`, header...)
	for _, key := range []string{operator, hidden["wrong key"]} {
		for _, path := range []string{"/metrics", "/admin/usage?key=" + operator, "/ui/none?key=" + operator, "/ui/" + operator} {
			g.operator("GET", path, "authorization", "Bearer "+key)
		}
	}
	for _, broken := range []string{
		`providers: {up: {type: openai, base_url: "http://someone:${SECRET_PROVIDER_IN_URL}@host/v1"}}`, `providers: {up: {type: openai, base_url: "${SECRET_PROVIDER}"}}`,
		`redis: {url: "redis://someone:${SECRET_REDIS_IN_URL}@127.0.0.1:none/0"}`, `store: {kind: postgres, url: "postgres://someone:${SECRET_DSN}@127.0.0.1:none/x"}`,
		`tracing: {endpoint: "http://someone:${SECRET_TRACE_IN_URL}@127.0.0.1"}`, `limits: {body: "${SECRET_PROCESS}"}`, `admin: {key_hash: "${SECRET_OIDC}"}`, `keys: [{name: x, hash: "${SECRET_OIDC}"}]`,
		`admin: {oidc: {issuer: "${SECRET_OIDC}", client_id: x, client_secret: "${SECRET_OIDC}", session_secret: "${SECRET_SESSION}"}}`, `tool_servers: {x: {type: mcp, url: "http://a:${SECRET_MCP_IN_URL}@h/mcp"}}`,
		`"${SECRET_PROVIDER}": 1`, `models: {m: {targets: [{provider: "${SECRET_PROVIDER}"}]}}`,
	} {
		if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := g.operator("POST", "/admin/reload", "authorization", "Bearer "+operator); r.status != http.StatusUnprocessableEntity && r.status != http.StatusBadRequest {
			t.Errorf("%s: got %d %s, want a refusal", broken, r.status, r.body)
		}
	}
	g.cancel()
	g.wait()
	out := map[string]string{"the log": g.stderr.String(), "what it prints": g.stdout.String(), "the spans": collector.all()}
	for where, text := range out {
		for what, value := range hidden {
			for _, form := range []string{value, url.QueryEscape(value), url.PathEscape(value), strings.Trim(fmt.Sprintf("%q", value), `"`), strings.Trim(string(marshal(t, value)), `"`), base64.StdEncoding.EncodeToString([]byte(value)), "canary-" + what} {
				if at := strings.Index(text, form); at >= 0 {
					t.Errorf("%s has the %s: %s", where, what, text[max(0, at-200):min(len(text), at+200)])
					break
				}
			}
		}
	}
	t.Logf("%d bytes of log, %d of spans", len(out["the log"]), len(out["the spans"]))
	if !strings.Contains(out["the log"], "upstream_auth_error") || !strings.Contains(out["the spans"], "upstream_auth_error") {
		t.Error("the failures are not in the log and the spans")
	}
}
