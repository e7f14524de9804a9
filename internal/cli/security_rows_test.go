package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callgate/callgate/plugins/pluginstest"
)

// securityKeys has keys that are equal in their first bytes: whoever looks for a key by a
// part of it takes one client for another.
func securityKeys(t *testing.T) {
	t.Parallel()
	config := "providers: {demo: {type: demo}}\nadmin: {listen: \"off\"}\nkeys:\n"
	lengths := []int{20, 32, 64, 72, 128, 256, 500}
	key := func(length int, end string) string { return "cg-" + strings.Repeat("k", length-3) + end }
	for _, n := range lengths {
		for _, end := range []string{"a", "b"} {
			config += fmt.Sprintf("- {name: of-%d-%s, hash: %q}\n", n, end, hashed(key(n, end)))
		}
	}
	g := serve(t, config)
	for _, n := range lengths {
		for end, want := range map[string]int{"a": 200, "b": 200, "c": 401, "": 401, "aa": 401, "A": 401} {
			r := g.get("/v1/models", "authorization", "Bearer "+key(n, end), "x-request-id", fmt.Sprintf("ask-%d-%s", n, end))
			if r.status != want {
				t.Errorf("%d equal bytes and %q: got status %d, want %d", n, end, r.status, want)
			}
		}
	}
	for _, n := range lengths { // the log says whose request it was
		for _, end := range []string{"a", "b"} {
			id, name := fmt.Sprintf(`"id":"ask-%d-%s"`, n, end), fmt.Sprintf(`"key":"of-%d-%s"`, n, end)
			await(t, "the line of "+id, func() bool { return strings.Contains(g.stderr.String(), id) })
			for line := range strings.Lines(g.stderr.String()) {
				if strings.Contains(line, id) && !strings.Contains(line, name) {
					t.Errorf("got line %s, want %s in it", line, name)
				}
			}
		}
	}
}

// securitySandbox has a plugin look for files, arguments, an environment and the date, and
// a prompt that templates would run.
func securitySandbox(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.wasm"), pluginstest.Build(t, "../../plugins/testdata/goguest"), 0o600); err != nil {
		t.Fatal(err)
	}
	var command, heard atomic.Value
	url := newSite(t, func(w http.ResponseWriter, r received) {
		heard.Store(r.body)
		answerWith(w, r, fmt.Sprint("<go>!", command.Load()))
	}).url
	var s setup
	fmt.Fprintf(&s.head, "plugins: {dir: %q}\n", dir)
	s.provider("up", url, "parser: [go]")
	g := serve(t, s.String())
	for ask, want := range map[string]string{"files": "nothing", "clock": "runs"} {
		command.Store(ask)
		got, warnings := understood(t, g.chat(prompt("up/m", "hi", false)), false)
		if got.content != want || warnings != "" {
			t.Errorf("%s: got %q and warnings %q from the plugin, want %q", ask, got.content, warnings, want)
		}
	}
	const template = `{{7*7}} ${7*7} #{7*7} <%= 7*7 %> {% import os %}{{''.__class__}} ${jndi:ldap://x} $(id) %s%n {0}`
	body := fmt.Sprintf(`{"model":"up/m","messages":[{"role":"user","content":%q}]}`, template)
	g.chat(body)
	equalBytes(t, "prompts", heard.Load().(string), strings.Replace(body, "up/m", "m", 1))
}

// securityRedirects has an upstream send the gateway elsewhere, with its key.
func securityRedirects(t *testing.T) {
	t.Parallel()
	var trapped atomic.Int64
	trap := raw(t, func(*net.TCPConn, []byte) { trapped.Add(1) })
	for _, to := range []string{trap, strings.Replace(trap, "127.0.0.1", "localhost", 1), strings.Replace(trap, "127.0.0.1", "0.0.0.0", 1),
		strings.Replace(trap, "127.0.0.1", "[::ffff:127.0.0.1]", 1), strings.Replace(trap, "127.0.0.1", "127.1", 1), strings.Replace(trap, "127.0.0.1", "2130706433", 1),
		"//" + strings.TrimPrefix(trap, "http://"), "http://169.254.169.254/latest/meta-data/", "file:///etc/passwd", "/elsewhere"} {
		var s setup
		asked := map[string]*site{}
		for _, status := range []int{301, 302, 303, 307, 308} {
			name := fmt.Sprint("s", status)
			asked[name] = newSite(t, func(w http.ResponseWriter, _ received) {
				w.Header().Set("location", to)
				w.Header().Set("refresh", "0; url="+to)
				w.WriteHeader(status)
			})
			s.provider(name, asked[name].url, "retry: {max_retries: 0}")
		}
		g := serve(t, s.String())
		for name, site := range asked {
			for _, stream := range []bool{false, true} {
				r := g.chat(prompt(name+"/m", "hi", stream))
				clean(t, r)
				failure{status: 502, code: "upstream_error", retry: "true", says: "redirect"}.check(t, r)
				if got := r.header.Get("location") + r.header.Get("refresh"); got != "" {
					t.Errorf("%s to %s: got it passed on: %q", name, to, got)
				}
			}
			if n := site.asked.Load(); n != 2 {
				t.Errorf("%s to %s: got %d requests, want 2", name, to, n)
			}
		}
	}
	if n := trapped.Load(); n != 0 {
		t.Errorf("got %d connections to where a redirect led, want none", n)
	}
}

// securityOpen starts gateways that everybody could use.
func securityOpen(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]string{
		"no keys":           "listen: \"0.0.0.0:0\"\nproviders: {demo: {type: demo}}\n",
		"no keys, IPv6":     "listen: \"[::]:0\"\nproviders: {demo: {type: demo}}\n",
		"empty keys":        "listen: \"0.0.0.0:0\"\nkeys: []\nproviders: {demo: {type: demo}}\n",
		"operator":          "listen: \"127.0.0.1:0\"\nadmin: {listen: \"0.0.0.0:0\"}\nproviders: {demo: {type: demo}}\n",
		"operator, by keys": fmt.Sprintf("listen: \"127.0.0.1:0\"\nkeys: [{name: a, hash: %q}]\nadmin: {listen: \":0\"}\nproviders: {demo: {type: demo}}\n", hashed("a")),
	} {
		status, stdout, stderr := command(t, "", "serve", "-c", configFile(t, config))
		if status != 2 || stdout != "" || !strings.Contains(stderr, "listen") {
			t.Errorf("%s: got status %d, output %q, error %q, want 2 and the key that is wrong", name, status, stdout, stderr)
		}
	}
}

// securityEmpty configures secrets that are empty, which would let everybody in.
func securityEmpty(t *testing.T) {
	t.Parallel()
	for _, hash := range []string{"", " ", "sha256:", hashed(""), strings.ToUpper(hashed("")), "sha256:" + strings.Repeat("0", 63), "${CALLGATE_TEST_NOT_SET}"} {
		for key, config := range map[string]string{
			"keys":  fmt.Sprintf("keys: [{name: a, hash: %q}]\n", hash),
			"admin": fmt.Sprintf("admin: {listen: \"0.0.0.0:0\", key_hash: %q}\n", hash),
		} {
			status, stdout, stderr := command(t, "", "serve", "--listen", "127.0.0.1:0", "-c", configFile(t, config+"providers: {demo: {type: demo}}\n"))
			if status != 2 || stdout != "" || !strings.Contains(stderr, key) {
				t.Errorf("%s %q: got status %d, output %q, error %q, want 2 and the key that is wrong", key, hash, status, stdout, stderr)
			}
		}
	}
}

// securityDefaults tries keys that are built into other gateways, and holds that the
// secret which keeps clients apart is another one in each gateway that was given none.
func securityDefaults(t *testing.T) {
	t.Parallel()
	var cacheKeys []string
	for range 2 {
		body := make(chan string, 1)
		url := newSite(t, func(w http.ResponseWriter, r received) {
			body <- r.body
			answerWith(w, r, healthyText)
		}).url
		g := serve(t, fmt.Sprintf("{admin: {listen: \"127.0.0.1:0\", key_hash: %q}, providers: {up: {type: openai, base_url: %q, prompt_cache_hints: key}}, models: {m: {targets: [{provider: up}], cache_hints: set, routing: prefix}}, keys: [{name: k, hash: %q}]}",
			hashed(operatorKey), url, hashed(securityKey)))
		for _, key := range []string{"sk-1234", "secret-api-key", "admin", "callgate", "changeme", "password", "test", "demo", "cg-...", "anything", "null", "0"} {
			if r := g.get("/v1/models", "authorization", "Bearer "+key); r.status != 401 {
				t.Errorf("got status %d for the key %q, want 401", r.status, key)
			}
			if r := g.adminDo("GET", "/metrics", "authorization", "Bearer "+key); r.status != 401 {
				t.Errorf("got status %d for the operator's key %q, want 401", r.status, key)
			}
		}
		cacheKeys = append(cacheKeys, g.cacheKey(securityKey, body))
	}
	if cacheKeys[0] == cacheKeys[1] {
		t.Errorf("got the key %q from two gateways that were given no salt, want two", cacheKeys[0])
	}
}

// cacheKey asks with a long prompt and returns the key that the upstream's cache gets.
func (g *gate) cacheKey(key string, bodies chan string) string {
	g.t.Helper()
	r := g.chat(fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":%q},{"role":"user","content":"hi"}]}`, strings.Repeat("Be kind. ", 600)), "authorization", "Bearer "+key)
	if r.status != http.StatusOK {
		g.t.Fatalf("got status %d, %s", r.status, r.body)
	}
	var body struct {
		Key string `json:"prompt_cache_key"`
	}
	if err := json.Unmarshal([]byte(<-bodies), &body); err != nil || body.Key == "" {
		g.t.Fatalf("got key %q, %v, want one", body.Key, err)
	}
	return body.Key
}

// securityAmounts has upstreams count tokens in ways that overflow or pay back.
func securityAmounts(t *testing.T) {
	t.Parallel()
	amounts := []string{"-1", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e308", "1e999", "-0", "0.5", `"12"`, "null", "[]", "true"}
	var next atomic.Int64
	url := newSite(t, func(w http.ResponseWriter, r received) {
		n := amounts[int(next.Add(1)-1)%len(amounts)]
		usage := fmt.Sprintf(`"usage":{"prompt_tokens":%s,"completion_tokens":%[1]s,"total_tokens":%[1]s,"prompt_tokens_details":{"cached_tokens":%[1]s}}`, n)
		if !r.wantsStream() {
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, strings.TrimSuffix(completion(healthyText), "}")+","+usage+"}")
			return
		}
		w.Header().Set("content-type", events)
		send(w, role, delta(healthyText), finish, `data: {"choices":[],`+usage+"}\n\n", done)
	}).url
	var s setup
	s.provider("up", url, "")
	g := serve(t, s.String())
	for i := range 4 * len(amounts) {
		r := g.chat(prompt("up/m", "hi", i >= 2*len(amounts)))
		clean(t, r)
		if n := amounts[i%len(amounts)]; r.status != http.StatusOK || !strings.Contains(r.body, `"prompt_tokens":`+n) {
			t.Errorf("%s: got status %d, %s, want the answer as it came", n, r.status, r.body)
		}
	}
	metrics := g.adminDo("GET", "/metrics").body
	counted := 0
	for line := range strings.Lines(metrics) {
		if !strings.HasPrefix(line, "callgate_") || !strings.Contains(line, "token") && !strings.Contains(line, "saved") && !strings.Contains(line, "cost") {
			continue
		}
		counted++
		value := strings.TrimSpace(line[strings.LastIndexByte(line, ' '):])
		// Sums of what can be, with room: 52 answers of 2^31 tokens.
		if n, err := strconv.ParseFloat(value, 64); err != nil || !(n >= 0) || n > 1e12 || math.IsInf(n, 0) {
			t.Errorf("got %s, want a number that somebody can have used", line)
		}
	}
	if counted == 0 {
		t.Error("got no metrics of tokens")
	}
	var accounts any
	if r := g.adminDo("GET", "/admin/prefix"); json.Unmarshal([]byte(r.body), &accounts) != nil || strings.Contains(r.body, ":-") {
		t.Errorf("got accounts %s, want JSON without negative numbers", r.body)
	}
}

// passOn asks at another address what an upstream was asked, and answers with what comes.
func passOn(w http.ResponseWriter, r received, method, url string) {
	out, err := http.NewRequestWithContext(r.Context(), method, url, strings.NewReader(r.body))
	if err != nil {
		panic(err)
	}
	out.Header = r.Header.Clone()
	resp, err := http.DefaultClient.Do(out)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer resp.Body.Close()
	w.Header().Set("content-type", resp.Header.Get("content-type"))
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

// securityLoop has the provider of a gateway lead back to the gateway itself.
func securityLoop(t *testing.T) {
	t.Parallel()
	var addr atomic.Pointer[string]
	var asked atomic.Int64
	back := upstream(t, func(w http.ResponseWriter, r received) {
		asked.Add(1)
		passOn(w, r, http.MethodPost, "http://"+*addr.Load()+"/v1/chat/completions")
	})
	g := serve(t, fmt.Sprintf("{admin: {listen: \"off\"}, providers: {up: {type: openai, base_url: %q}}, models: {m: {targets: [{provider: up}]}}}", back))
	addr.Store(&g.addr)
	for i, stream := range []bool{false, true} {
		r := g.chat(prompt("m", "hi", stream))
		if r.status != http.StatusBadRequest || !strings.Contains(r.body, "request_loop") {
			t.Errorf("got status %d, %s, want 400 request_loop", r.status, r.body)
		}
		if got, want := asked.Load(), int64(5*(i+1)); got != want {
			t.Errorf("got %d requests on the way round, want %d", got, want)
		}
	}
}

// securitySupply puts a plugin that nobody has signed where signed ones are required.
func securitySupply(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "hand.wasm"), pluginstest.Guest{}.Wasm(), 0o600); err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("plugins: {dir: %q, require: pin}\nproviders: {demo: {type: demo, parser: hand}}\n", dir)
	if status, _, stderr := command(t, "", "serve", "--listen", "127.0.0.1:0", "-c", configFile(t, config)); status != 2 || !strings.Contains(stderr, "there are no plugins.pins") {
		t.Errorf("got status %d and %q, want a mistake of the configuration", status, stderr)
	}
	for require, says := range map[string]string{
		"require: pin, pins: {other.wasm: \"sha256:" + strings.Repeat("0", 64) + "\"}": "pin",
		"pins: {hand.wasm: \"sha256:" + strings.Repeat("0", 64) + "\"}":                "hand.wasm",
	} {
		config := fmt.Sprintf("plugins: {dir: %q, %s}\nadmin: {listen: \"off\"}\nproviders: {demo: {type: demo, parser: hand}}\n", dir, require)
		g := launch(t, config)
		await(t, "/readyz that names the file", func() bool {
			if !g.listens() {
				return false
			}
			r := g.get("/readyz")
			return r.status == http.StatusServiceUnavailable && strings.Contains(r.body, "hand.wasm is refused: ") && strings.Contains(r.body, says)
		})
		if r := g.chat(prompt("demo/hermes", "hi", false)); r.status != http.StatusServiceUnavailable || !strings.Contains(r.body, "plugin_error") {
			t.Errorf("%s: got %d %s, want the request refused", require, r.status, r.body)
		}
	}
}
