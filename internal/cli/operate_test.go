package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

var operatorsOn = regexp.MustCompile(`(?m)^metrics and circuit breakers: (http://\S+)/metrics,`)

// operator asks a gateway's admin listener.
func (g *gate) operator(method, path string, header ...string) result {
	g.t.Helper()
	m := operatorsOn.FindStringSubmatch(g.stdout.String())
	if m == nil {
		g.t.Fatalf("got no admin listener in %s", g.stdout)
	}
	r := g.request(method, path, "", header...)
	u, err := r.URL.Parse(m[1] + path)
	if err != nil {
		g.t.Fatal(err)
	}
	r.URL, r.Host = u, u.Host
	return g.do(r)
}

// TestOperating asks for a broken call, a call in text and a failure, and looks for
// them where an operator would: in the metrics and in the log.
func TestOperating(t *testing.T) {
	t.Parallel()
	const secret = "canary-of-the-prompt"
	g := serve(t, "admin: {listen: \"127.0.0.1:0\"}\nproviders: {demo: {type: demo}}\nmodels: {m: {targets: [{provider: demo, model: unavailable}, {provider: demo, model: broken_args}]}}\n")
	for _, model := range []string{"demo/hermes", "m"} {
		if r := g.chat(prompt(model, "What is the weather in Oslo? "+secret, true)); r.status != http.StatusOK {
			t.Fatalf("%s: got status %d, %s", model, r.status, r.body)
		}
	}
	text := g.operator("GET", "/metrics").body
	for _, want := range []string{
		`callgate_requests_total{code="ok",model="broken_args",provider="demo",route="m"} 1`,
		`callgate_upstream_attempts_total{outcome="upstream_error",provider="demo",reason="first"} 1`,
		`callgate_upstream_attempts_total{outcome="ok",provider="demo",reason="fallback"} 1`,
		`callgate_fallbacks_total{from="demo",to="demo"} 1`,
		`callgate_tool_faults_total{class="invalid_json"} 1`,
		`callgate_tool_repairs_total{kind="args_json"} 1`,
		`callgate_tool_calls_total{model="demo/*",outcome="text"} 1`,
		`callgate_plugin_duration_seconds_count{plugin="hermes"} 1`,
		`callgate_circuit_state{provider="demo"} 0`,
		`callgate_requests_in_flight 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("got metrics without %s", want)
		}
	}
	if strings.Contains(text, secret) || strings.Contains(g.stderr.String(), secret) {
		t.Error("got the prompt in the metrics or in the log")
	}
	for line := range strings.Lines(g.stderr.String()) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("got a line of the log that is no JSON: %s", line)
		}
		if entry["model"] == "m" && (entry["attempts"] != "demo first upstream_error, demo fallback ok" || entry["faults"] != "invalid_json=1" || entry["id"] == "") {
			t.Errorf("got the line %s, want what was tried and repaired", line)
		}
	}
}

// TestOperatorsAddress holds that the admin listener has a key of its own, that a
// default which is taken only warns, and that one which was asked for is an error.
func TestOperatorsAddress(t *testing.T) {
	t.Parallel()
	key, hash := "cg-operators-key", config.HashKey("cg-operators-key")
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hash+"\"}\nproviders: {demo: {type: demo}}\n")
	if r := g.operator("GET", "/metrics"); r.status != http.StatusUnauthorized {
		t.Errorf("got status %d without the key, want 401", r.status)
	}
	if r := g.operator("POST", "/admin/breakers/demo/reset", "authorization", "Bearer "+key); r.status != http.StatusOK || !strings.Contains(r.body, `"name":"demo"`) {
		t.Errorf("got %d %s, want the breaker that was reset", r.status, r.body)
	}
	if r := g.get("/metrics"); r.status != http.StatusNotFound {
		t.Errorf("got status %d for the metrics at the clients' listener, want 404", r.status)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := configFile(t, "admin: {listen: \""+taken.Addr().String()+"\"}\nproviders: {demo: {type: demo}}\n")
	stderr := &buffer{}
	if status := run(t.Context(), []string{"serve", "--listen", "127.0.0.1:0", "-c", file}, readerOf(""), io.Discard, stderr); status != exitUsage || !strings.Contains(stderr.String(), "admin.listen") {
		t.Errorf("got status %d, %s, want 2 and the key that names the address", status, stderr)
	}
	stderr = &buffer{}
	if status := run(t.Context(), []string{"serve", "--listen", taken.Addr().String()}, readerOf(""), io.Discard, stderr); status != exitUsage || !strings.Contains(stderr.String(), "set another address (--listen)") ||
		strings.Count(stderr.String(), taken.Addr().String()) != 1 {
		t.Errorf("got status %d, %s, want 2, the address once, and what to do", status, stderr)
	}
}

// TestTraces sends spans to a collector: one for the request, whose parent the client
// named, and one for each attempt, which the upstream's request names.
func TestTraces(t *testing.T) {
	t.Parallel()
	var parents buffer
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(&parents, r.Header.Get("traceparent")+"\n")
		w.Header().Set("content-type", "application/json")
		if strings.Count(parents.String(), "\n") == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		io.WriteString(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	spans := make(chan struct{}, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/traces" {
			spans <- struct{}{}
		}
	}))
	defer collector.Close()
	g := serve(t, "admin: {listen: \"off\"}\ntracing: {endpoint: "+collector.URL+"}\nproviders: {up: {type: openai, base_url: "+upstream.URL+"/v1, retry: {max_retries: 1, base_delay: 1ms}}}\nmodels: {m: {targets: [{provider: up}]}}\n")
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	r := g.chat(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	if r.status != http.StatusOK || r.header.Get("x-callgate-attempts") != "2" {
		t.Fatalf("got %d, %s, %s", r.status, r.header, r.body)
	}
	lines := strings.Fields(parents.String())
	if len(lines) != 2 || lines[0] == lines[1] || slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "00-"+trace+"-") }) {
		t.Errorf("got the upstream's traceparents %q, want two spans of the client's trace", lines)
	}
	g.cancel()
	g.wait()
	if len(spans) == 0 {
		t.Error("got no spans at the collector when the gateway ended")
	}
}
