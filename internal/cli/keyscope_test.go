package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/store/sqlite"
	"github.com/callgate/callgate/gateway/store/storetest"
)

// keptUpstream is an upstream that keeps what it is sent. A stream waits in its middle until go on.
type keptUpstream struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	heads  []http.Header
	middle chan struct{} // closed: a stream goes on
	more   string        // that it says then
}

func newKeptUpstream(t *testing.T) *keptUpstream {
	t.Helper()
	u := &keptUpstream{middle: make(chan struct{})}
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.bodies, u.heads = append(u.bodies, string(body)), append(u.heads, r.Header.Clone())
		u.mu.Unlock()
		switch {
		case strings.Contains(string(body), `"stream":true`):
			w.Header().Set("content-type", "text/event-stream")
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"begin \"}}]}\n\n")
			w.(http.Flusher).Flush()
			<-u.middle
			for range len(u.more) / 1000 {
				fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", u.more[:1000])
			}
			io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"end\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case strings.HasSuffix(r.URL.Path, "/responses"):
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`)
		default:
			w.Header().Set("content-type", "application/json")
			io.WriteString(w, `{"object":"list","data":[],"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(u.Close)
	return u
}

// last is the body of the latest request, and all is everything that it was sent.
func (u *keptUpstream) last() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.bodies) == 0 {
		return ""
	}
	return u.bodies[len(u.bodies)-1]
}

func (u *keptUpstream) all() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return fmt.Sprint(u.bodies, u.heads)
}

func (u *keptUpstream) count() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.bodies)
}

// ctl runs a command at the admin listener of a gateway.
func (g *gate) ctl(status int, args ...string) string {
	g.t.Helper()
	m := operatorsOn.FindStringSubmatch(g.stdout.String())
	got, stdout, stderr := command(g.t, "", append(args, "--admin", m[1])...)
	if got != status {
		g.t.Fatalf("%v: got status %d, %s%s, want %d", args, got, stdout, stderr, status)
	}
	return stdout + stderr
}

var keyText = regexp.MustCompile(`cg-[a-z2-7]{12}-[A-Za-z0-9_-]{43}`)

// make makes a key, and returns its text.
func (g *gate) make(args ...string) string {
	g.t.Helper()
	out := g.ctl(0, append([]string{"key"}, args...)...)
	text := keyText.FindString(out)
	if text == "" {
		g.t.Fatalf("%v: got no key in %s", args, out)
	}
	return text
}

func bearer(key string) []string { return []string{"authorization", "Bearer " + key} }

func hello(model, more string) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]%s}`, model, more)
}

// code is the code of an error, in either protocol's form.
func (r result) code() string {
	var e struct {
		Error struct{ Code, Type string }
	}
	_ = json.Unmarshal([]byte(r.body), &e)
	if e.Error.Code != "" {
		return e.Error.Code
	}
	return e.Error.Type
}

func keyGate(t *testing.T, u *keptUpstream, more string) *gate {
	t.Helper()
	return serve(t, keyConfig(u, more))
}

func keyConfig(u *keptUpstream, more string) string {
	return "admin: {listen: \"127.0.0.1:0\"}\nlog: {level: debug}\nproviders: {up: {type: openai, base_url: " + u.URL + "/v1}, native: {type: openai, base_url: " + u.URL + "/v1, responses: native}}\n" +
		"models: {fast: {targets: [{provider: up, model: m}]}, slow: {targets: [{provider: up, model: m}]}, whole: {targets: [{provider: native, model: m}]}}\npassthrough: {/v1/files: up}\n" + more
}

func lasting(t *testing.T) string {
	t.Helper()
	return "require_keys: true\nstore: {kind: sqlite, path: " + filepath.Join(t.TempDir(), "store.db") + "}\n"
}

// TestKeyCommands makes, lists, rotates, blocks and deletes a key as an operator does, and asks with it.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	g := keyGate(t, u, lasting(t))
	ask := func(key string) result { return g.chat(hello("fast", ""), bearer(key)...) }
	if r := g.chat(hello("fast", "")); r.status != 401 {
		t.Errorf("got status %d without a key, want 401", r.status)
	}
	g.ctl(0, "team", "create", "search", "--models", "fast", "--label", "cost_center=4711", "--label", "note=a;b")
	if r := g.adminDo("GET", "/admin/teams/search"); !strings.Contains(r.body, `"note":"a;b"`) {
		t.Errorf("got %s, want the label with its semicolon", r.body)
	}
	first := g.make("create", "app", "--team", "search", "--expires", "720h")
	if r := ask(first); r.status != 200 {
		t.Fatalf("got %d %s with a new key", r.status, r.body)
	}
	second := g.make("rotate", "app", "--overlap", "1h")
	if a, b := ask(first), ask(second); a.status != 200 || b.status != 200 {
		t.Errorf("got %d and %d behind a rotation, want both taken", a.status, b.status)
	}
	third := g.make("rotate", "app", "--overlap", "0s")
	if a, b, c := ask(first), ask(second), ask(third); a.status != 401 || b.status != 401 || c.status != 200 {
		t.Errorf("got %d, %d and %d behind a rotation without overlap", a.status, b.status, c.status)
	}
	g.ctl(0, "key", "block", "app")
	if r := ask(third); r.status != 401 || !strings.Contains(r.body, `The key \"app\" is blocked.`) || r.code() != "invalid_api_key" {
		t.Errorf("got %d %s of a blocked key", r.status, r.body)
	}
	if out := g.ctl(0, "key", "list"); !strings.Contains(out, "blocked") || !strings.Contains(out, third[:15]) || strings.Contains(out, third) {
		t.Errorf("got the list\n%s", out)
	}
	g.ctl(0, "key", "unblock", "app")
	if out := g.ctl(0, "key", "show", "app"); !strings.Contains(out, `"state": "active"`) || strings.Contains(out, third) || strings.Contains(out, "sha256") {
		t.Errorf("got %s", out)
	}
	if out := g.ctl(1, "team", "delete", "search"); !strings.Contains(out, "still has keys (1)") {
		t.Errorf("got %s", out)
	}
	if out := g.ctl(1, "key", "create", "app"); !strings.Contains(out, `There is a key "app" already.`) {
		t.Errorf("got %s", out)
	}
	g.ctl(0, "key", "delete", "app")
	g.ctl(0, "team", "delete", "search")
	if r := ask(third); r.status != 401 {
		t.Errorf("got status %d of a deleted key", r.status)
	}
	for _, key := range []string{first, second, third} {
		if strings.Contains(g.stderr.String(), key) || strings.Contains(u.all(), key) || strings.Contains(g.stderr.String(), hashOf(key)) {
			t.Error("got a key in the log or at the upstream")
		}
	}
	for _, want := range []string{"key made by the operator", "key rotated by the operator", "key blocked by the operator", `"by":"anybody on this machine"`} {
		if !strings.Contains(g.stderr.String(), want) {
			t.Errorf("got a log without %q", want)
		}
	}
}

// TestKeyMistakes sends the admin API what it refuses.
func TestKeyMistakes(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	g := keyGate(t, u, lasting(t)+"teams: {yaml: {}}\n")
	g.make("create", "app")
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
	}{
		"negative":          {"POST", "/admin/keys", `{"name":"n","max_tokens":-1}`, 400, "max_tokens is wrong"},
		"a slip":            {"POST", "/admin/keys", `{"nam":"n"}`, 400, `The field \"nam\" is not known here; did you mean \"name\"?`},
		"overflow":          {"POST", "/admin/keys", `{"name":"n","max_tokens":99999999999999999999}`, 400, "max_tokens"},
		"a network":         {"POST", "/admin/keys", `{"name":"n","cidr":["10.0.0.0/99"]}`, 400, "cidr[0] is wrong"},
		"no team":           {"POST", "/admin/keys", `{"name":"n","team":"none"}`, 400, `no team \"none\"`},
		"a long name":       {"POST", "/admin/keys", `{"name":"` + strings.Repeat("x", 65) + `"}`, 400, "1 to 64"},
		"taken":             {"POST", "/admin/keys", `{"name":"app"}`, 409, "already"},
		"over":              {"POST", "/admin/keys", `{"name":"n","expires":"2020-01-01"}`, 400, "is over"},
		"year 10000":        {"POST", "/admin/keys", `{"name":"n","expires":"9999-12-31T23:59:59-01:00"}`, 400, "expires is wrong"},
		"no time":           {"POST", "/admin/keys", `{"name":"n","expires":"soon"}`, 400, "expires is wrong"},
		"unknown field":     {"POST", "/admin/keys", `{"name":"n","max_token":1}`, 400, "max_token\\\" is not known"},
		"twice":             {"POST", "/admin/keys", `{"name":"n","name":"m"}`, 400, "is there twice"},
		"no object":         {"POST", "/admin/keys", `[]`, 400, "is a list, and must be one JSON object"},
		"nothing":           {"POST", "/admin/keys", ``, 400, "name is wrong"},
		"too long":          {"POST", "/admin/keys", `{"name":"` + strings.Repeat("x", 70000) + `"}`, 413, "65536 bytes"},
		"no key":            {"POST", "/admin/keys/none/block", "", 404, `no key \"none\"`},
		"the name":          {"PATCH", "/admin/keys/app", `{"name":"b"}`, 400, "cannot be changed"},
		"an edit":           {"PATCH", "/admin/keys/app", `{"models":["a","a"]}`, 400, "in the list twice"},
		"overlap":           {"POST", "/admin/keys/app/rotate", `{"overlap":"-1h"}`, 400, "overlap"},
		"overlap, no time":  {"POST", "/admin/keys/app/rotate", `{"overlap":"1 day"}`, 400, "overlap"},
		"configured":        {"DELETE", "/admin/teams/yaml", "", 409, "is in the configuration"},
		"limit":             {"GET", "/admin/keys?limit=0", "", 400, "limit"},
		"team, negative":    {"POST", "/admin/teams", `{"name":"t","max_tokens":0}`, 400, "max_tokens is wrong"},
		"team, not there":   {"PATCH", "/admin/teams/t", `{}`, 404, "no team"},
		"fine":              {"PATCH", "/admin/keys/app", `{"models":[],"max_tokens":5}`, 200, `"models":[]`},
		"a page from afar":  {"POST", "/admin/keys", `{"name":"n"}`, 403, "other sites"},
		"no method of this": {"PUT", "/admin/keys", `{}`, 405, "method"},
	} {
		m := operatorsOn.FindStringSubmatch(g.stdout.String())
		r, _ := http.NewRequestWithContext(t.Context(), c.method, m[1]+c.path, readerOf(c.body))
		if name == "a page from afar" {
			r.Header.Set("origin", "http://evil.example")
		}
		if got := g.do(r); got.status != c.status || !strings.Contains(got.body, c.says) {
			t.Errorf("%s: got %d %s, want %d and %q", name, got.status, got.body, c.status, c.says)
		}
	}
}

// TestKeysNeedStore says what is missing where keys cannot be kept, or nobody is asked for one.
func TestKeysNeedStore(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	for says, more := range map[string]string{
		"need a store that lasts":             "keys: [{name: a, hash: \"" + hashOf("cg-a") + "\"}]\n",
		"set require_keys: true":              "store: {kind: sqlite, path: " + filepath.Join(t.TempDir(), "store.db") + "}\n",
		`The key "a" is in the configuration`: "store: {kind: sqlite, path: " + filepath.Join(t.TempDir(), "b.db") + "}\nkeys: [{name: a, hash: \"" + hashOf("cg-a") + "\"}]\n",
	} {
		g := keyGate(t, u, more)
		args := []string{"key", "create", "n"}
		if strings.Contains(says, "configuration") {
			args = []string{"key", "block", "a"}
		}
		if out := g.ctl(1, args...); !strings.Contains(out, says) {
			t.Errorf("got %s, want %q", out, says)
		}
	}
}

// TestKeyScopes asks on every route with keys that may not.
func TestKeyScopes(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	key := func(name, more string) string {
		return "  - {name: " + name + ", hash: \"" + hashOf("cg-"+name) + "\", " + more + "}\n"
	}
	past, later := time.Now().Add(-time.Hour).Format(time.RFC3339), time.Now().Add(time.Hour).Format(time.RFC3339)
	g := keyGate(t, u, "teams: {small: {models: [fast, whole], max_tokens: 50}}\nkeys:\n"+
		key("fast", "models: [\"fa*\"]")+key("none", "models: []")+key("member", "team: small, models: [\"*\"], max_tokens: 100")+key("capped", "max_tokens: 100")+
		key("elsewhere", "cidr: [10.0.0.0/8]")+key("here", "cidr: [\"127.0.0.0/8\", \"::1\"]")+key("old", "expires: \""+past+"\"")+key("young", "expires: \""+later+"\"")+key("blocked", "blocked: true")+
		key("turned", "previous: [{hash: \""+hashOf("cg-turned-a")+"\", until: \""+later+"\"}, {hash: \""+hashOf("cg-turned-b")+"\", until: \""+past+"\"}]"))
	const some = `,"max_tokens":10`
	form := "--x\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nslow\r\n--x--\r\n"
	for _, c := range []struct {
		name, path, key, body string
		status                int
		code                  string
	}{
		{"its model", "/v1/chat/completions", "fast", hello("fast", ""), 200, ""},
		{"another model", "/v1/chat/completions", "fast", hello("slow", ""), 403, "model_not_found"},
		{"no such model", "/v1/chat/completions", "fast", hello("nothing", ""), 403, "model_not_found"},
		{"a provider's", "/v1/chat/completions", "fast", hello("up/m", ""), 403, "model_not_found"},
		{"none", "/v1/chat/completions", "none", hello("fast", ""), 403, "model_not_found"},
		{"the team's", "/v1/chat/completions", "member", hello("slow", ""), 403, "model_not_found"},
		{"responses", "/v1/responses", "fast", `{"model":"slow","input":"hi"}`, 403, "model_not_found"},
		{"compact", "/v1/responses/compact", "fast", `{"model":"slow","input":"hi"}`, 403, "model_not_found"},
		{"messages", "/v1/messages", "fast", hello("slow", some), 403, "permission_error"},
		{"embeddings", "/v1/embeddings", "fast", `{"model":"slow","input":"hi"}`, 403, "model_not_found"},
		{"completions", "/v1/completions", "fast", `{"model":"slow","prompt":"hi"}`, 403, "model_not_found"},
		{"a form", "/v1/audio/transcriptions", "fast", form, 403, "model_not_found"},
		{"passthrough", "/v1/files", "fast", `{}`, 403, "forbidden"},
		{"passthrough, capped", "/v1/files", "capped", `{}`, 403, "forbidden"},
		{"passthrough, free", "/v1/files", "here", `{}`, 200, ""},
		{"too many", "/v1/chat/completions", "capped", hello("fast", `,"max_tokens":101`), 400, "max_tokens_exceeded"},
		{"too many for the team", "/v1/chat/completions", "member", hello("fast", `,"max_completion_tokens":51`), 400, "max_tokens_exceeded"},
		{"too many, responses", "/v1/responses", "capped", `{"model":"fast","input":"hi","max_output_tokens":101}`, 400, "max_tokens_exceeded"},
		{"too many, messages", "/v1/messages", "capped", hello("fast", `,"max_tokens":101`), 400, "invalid_request_error"},
		{"too many, completions", "/v1/completions", "capped", `{"model":"fast","prompt":"hi","max_tokens":101}`, 400, "max_tokens_exceeded"},
		{"none, completions", "/v1/completions", "capped", `{"model":"fast","prompt":"hi"}`, 400, "max_tokens_exceeded"},
		{"enough, completions", "/v1/completions", "capped", `{"model":"fast","prompt":"hi","max_tokens":100}`, 200, ""},
		{"no text", "/v1/embeddings", "capped", `{"model":"fast","input":"hi"}`, 200, ""},
		{"elsewhere", "/v1/chat/completions", "elsewhere", hello("fast", ""), 403, "address_not_allowed"},
		{"here", "/v1/chat/completions", "here", hello("fast", ""), 200, ""},
		{"old", "/v1/chat/completions", "old", hello("fast", ""), 401, "invalid_api_key"},
		{"young", "/v1/chat/completions", "young", hello("fast", ""), 200, ""},
		{"blocked", "/v1/chat/completions", "blocked", hello("fast", ""), 401, "invalid_api_key"},
		{"turned", "/v1/chat/completions", "turned", hello("fast", ""), 200, ""},
		{"before it was turned", "/v1/chat/completions", "turned-a", hello("fast", ""), 200, ""},
		{"long before", "/v1/chat/completions", "turned-b", hello("fast", ""), 401, "invalid_api_key"},
	} {
		header := bearer("cg-" + c.key)
		if c.body == form {
			header = append(header, "content-type", "multipart/form-data; boundary=x")
		}
		before := u.count()
		r := g.do(g.request("POST", c.path, c.body, header...))
		if r.status != c.status || r.status != 200 && r.code() != c.code {
			t.Errorf("%s: got %d %s, want %d %s", c.name, r.status, r.body, c.status, c.code)
		}
		if own := map[string]string{"/v1/responses": "max_output_tokens", "/v1/messages": "max_tokens"}[c.path]; own != "" && strings.Contains(c.name, "too many") && !strings.Contains(r.body, `The field \"`+own+`\" is 101`) {
			t.Errorf("%s: got %s, want the client's own field", c.name, r.body)
		}
		if asked := u.count() > before; asked != (c.status == 200) {
			t.Errorf("%s: got an upstream that was asked: %v", c.name, asked)
		}
	}
	for key, want := range map[string]string{"fast": "fast", "none": "", "member": "fast whole"} {
		var list struct{ Data []struct{ ID string } }
		r := g.get("/v1/models", bearer("cg-"+key)...)
		_ = json.Unmarshal([]byte(r.body), &list)
		var got []string
		for _, m := range list.Data {
			if !strings.Contains(m.ID, "/") {
				got = append(got, m.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got the models %v, want %s", key, got, want)
		}
	}
	if r := g.get("/v1/models/slow", bearer("cg-fast")...); r.status != 404 {
		t.Errorf("got %d of a model that the key may not use, want 404", r.status)
	}
	text := g.operator("GET", "/metrics").body
	for _, want := range []string{`callgate_key_refusals_total{reason="address"} 1`, `callgate_key_refusals_total{reason="blocked"} 1`, `callgate_key_refusals_total{reason="expired"} 2`,
		`callgate_key_refusals_total{reason="passthrough"} 2`, `callgate_key_refusals_total{reason="max_tokens"} 6`, "callgate_keys 10", "callgate_teams 1"} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("got metrics without %s", want)
		}
	}
}

// TestKeyCap holds that a request without a limit gets the key's, on every route, and that its answer
// says so.
func TestKeyCap(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	g := keyGate(t, u, "keys: [{name: a, hash: \""+hashOf("cg-a")+"\", max_tokens: 100}]\n")
	for _, c := range []struct{ path, body, want, warns string }{
		{"/v1/chat/completions", hello("fast", ""), `"max_completion_tokens":100`, "max_tokens:100"},
		{"/v1/chat/completions", hello("fast", `,"n":4`), `"max_completion_tokens":25`, "max_tokens:25"},
		{"/v1/chat/completions", hello("fast", `,"max_tokens":7`), `"max_tokens":7`, ""},
		{"/v1/responses", `{"model":"fast","input":"hi"}`, `"max_completion_tokens":100`, "max_tokens:100"},
		{"/v1/responses", `{"model":"whole","input":"hi"}`, `"max_output_tokens":100`, "max_tokens:100"},
		{"/v1/responses", `{"model":"whole","input":"hi","max_output_tokens":null}`, `"max_output_tokens":100`, "max_tokens:100"},
		{"/v1/messages", hello("fast", `,"max_tokens":9`), `9`, ""},
	} {
		r := g.do(g.request("POST", c.path, c.body, bearer("cg-a")...))
		if r.status != 200 || !strings.Contains(u.last(), c.want) || r.header.Get("x-callgate-warnings") != c.warns {
			t.Errorf("%s: got %d, warnings %q, upstream %s, want %s and %q", c.body, r.status, r.header.Get("x-callgate-warnings"), u.last(), c.want, c.warns)
		}
	}
}

// TestKeyEndsInStream blocks a key in the middle of its stream: what runs may finish, and the next is
// refused.
func TestKeyEndsInStream(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	g := keyGate(t, u, lasting(t))
	key := g.make("create", "app")
	r := g.request("POST", "/v1/chat/completions", hello("fast", `,"stream":true`), bearer(key)...)
	resp, err := g.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "begin") {
		t.Fatalf("got %q, error %v", line, err)
	}
	g.ctl(0, "key", "block", "app")
	if r := g.chat(hello("fast", ""), bearer(key)...); r.status != 401 {
		t.Errorf("got status %d while the first stream runs, want 401", r.status)
	}
	close(u.middle)
	rest, err := io.ReadAll(lines)
	if err != nil || !strings.Contains(string(rest), "end") || !strings.HasSuffix(string(rest), "data: [DONE]\n\n") {
		t.Errorf("got %q, error %v, want the rest of the stream", rest, err)
	}
}

// TestKeysTwoGateways has two gateways with one store: what one makes and blocks holds at the other, and
// both have it after they were started anew.
func TestKeysTwoGateways(t *testing.T) {
	t.Parallel()
	u, more := newKeptUpstream(t), lasting(t)
	a, b := keyGate(t, u, more), keyGate(t, u, more)
	key := a.make("create", "app")
	until := func(g *gate, status int) {
		t.Helper()
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if r := g.chat(hello("fast", ""), bearer(key)...); r.status == status {
				return
			}
		}
		t.Fatalf("got no status %d", status)
	}
	until(b, 200)
	b.ctl(0, "key", "block", "app")
	until(a, 401)
	c := keyGate(t, u, more)
	if r := c.chat(hello("fast", ""), bearer(key)...); r.status != 401 || !strings.Contains(r.body, "is blocked") {
		t.Errorf("got %d %s at a gateway that came later", r.status, r.body)
	}
}

// TestKeyWithoutTeam has the team of a key made at run time go from the configuration: the key is
// refused, since what its team forbade would be allowed else.
func TestKeyWithoutTeam(t *testing.T) {
	t.Parallel()
	u, more := newKeptUpstream(t), lasting(t)
	a := keyGate(t, u, more+"teams: {search: {models: [fast]}}\n")
	key := a.make("create", "app", "--team", "search")
	a.cancel()
	a.wait()
	b := keyGate(t, u, more)
	if r := b.chat(hello("fast", ""), bearer(key)...); r.status != 401 || !strings.Contains(r.body, `The team \"search\" of the key \"app\" does not exist any more.`) {
		t.Errorf("got %d %s", r.status, r.body)
	}
	if out := b.ctl(0, "key", "list"); !strings.Contains(out, "no_team") {
		t.Errorf("got %s", out)
	}
}

// TestManyKeys has 10,000 keys in the store.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	u, file := newKeptUpstream(t), filepath.Join(t.TempDir(), "store.db")
	kept, err := sqlite.Open(t.Context(), file, storetest.Options())
	if err != nil {
		t.Fatal(err)
	}
	keeper := kept.(interface{ Keys() keys.Keeper }).Keys()
	for i := range 10_000 {
		name := fmt.Sprintf("key-%d", i)
		body, _ := json.Marshal(keys.Key{Name: name, Secrets: []keys.Secret{{Hash: hashOf("cg-" + name)}}})
		if err := keeper.PutKey(t.Context(), keys.Record{Kind: keys.KeyRecord, Name: name, Body: body}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := kept.Close(); err != nil {
		t.Fatal(err)
	}
	g := keyGate(t, u, "require_keys: true\nstore: {kind: sqlite, path: "+file+"}\n")
	for _, i := range []int{0, 5000, 9999} {
		if r := g.chat(hello("fast", ""), bearer(fmt.Sprintf("cg-key-%d", i))...); r.status != 200 {
			t.Errorf("got %d %s with key %d", r.status, r.body, i)
		}
	}
	if r := g.chat(hello("fast", ""), bearer("cg-key-10000")...); r.status != 401 {
		t.Errorf("got %d with a key that is not there", r.status)
	}
	if n := strings.Count(g.ctl(0, "key", "list"), "\nkey-"); n != 10_000 {
		t.Errorf("got %d keys in the list, want all", n)
	}
}

// TestKeyOfGatewaysOwn holds that what the gateway asks by itself for a client is asked with its key:
// a summary of a long conversation asks no model that the key may not, and a response in the background
// has its limit on tokens.
func TestKeyOfGatewaysOwn(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	g := keyGate(t, u, "require_keys: true\nstore: {kind: sqlite, path: "+filepath.Join(t.TempDir(), "store.db")+", compact_tokens: 20}\n")
	key := g.make("create", "app", "--max-tokens", "100")
	previous := ""
	for range 4 {
		r := g.do(g.request("POST", "/v1/responses", fmt.Sprintf(`{"model":"fast","input":%q,"previous_response_id":%s}`, strings.Repeat("a long story ", 20), cmp.Or(previous, "null")), bearer(key)...))
		var made struct{ ID string }
		_ = json.Unmarshal([]byte(r.body), &made)
		if previous = fmt.Sprintf("%q", made.ID); r.status != 200 || made.ID == "" {
			t.Fatalf("got %d %s", r.status, r.body)
		}
	}
	if n := u.count(); n < 5 {
		t.Fatalf("got %d requests upstream, want a summary among them", n)
	}
	m := operatorsOn.FindStringSubmatch(g.stdout.String())
	r, _ := http.NewRequestWithContext(t.Context(), "PATCH", m[1]+"/admin/keys/app", readerOf(`{"models":["fast"]}`))
	if got := g.do(r); got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	before := u.count()
	got := g.do(g.request("POST", "/v1/responses", `{"model":"slow","input":"go on","previous_response_id":`+previous+`}`, bearer(key)...))
	if got.status != 403 || got.code() != "model_not_found" || u.count() != before {
		t.Errorf("got %d %s and %d requests upstream, want 403 and none", got.status, got.body, u.count()-before)
	}
	got = g.do(g.request("POST", "/v1/responses", `{"model":"fast","input":"go on","background":true}`, bearer(key)...))
	if got.status != 200 {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	for end := time.Now().Add(patience); u.count() == before && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	if !strings.Contains(u.last(), `"max_completion_tokens":100`) {
		t.Errorf("got %s in the background, want the key's limit", u.last())
	}
}

// TestKeyReload takes a key out of the file, and gives another one less to do, while the gateway runs.
func TestKeyReload(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	config := func(keys string) string {
		return "admin: {listen: \"127.0.0.1:0\"}\nproviders: {up: {type: openai, base_url: " + u.URL + "/v1}}\nmodels: {fast: {targets: [{provider: up}]}, slow: {targets: [{provider: up}]}}\nkeys:\n" + keys
	}
	a, b := "  - {name: a, hash: \""+hashOf("cg-a")+"\"}\n", "  - {name: b, hash: \""+hashOf("cg-b")+"\"}\n"
	file := configFile(t, config(a+b))
	g := serve(t, "", "-c", file)
	if r := g.chat(hello("slow", ""), bearer("cg-a")...); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if err := os.WriteFile(file, []byte(config(strings.Replace(a, "}", ", models: [fast]}", 1))), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := g.operator("POST", "/admin/reload"); r.status != 200 {
		t.Fatalf("got %d %s", r.status, r.body)
	}
	if a, b := g.chat(hello("slow", ""), bearer("cg-a")...), g.chat(hello("fast", ""), bearer("cg-b")...); a.status != 403 || b.status != 401 {
		t.Errorf("got %d and %d behind a reload, want 403 and 401", a.status, b.status)
	}
	if r := g.chat(hello("fast", ""), bearer("cg-a")...); r.status != 200 {
		t.Errorf("got %d %s for what is left", r.status, r.body)
	}
}

// TestTrustedProxies has a key for one network be used through a proxy, by a client that makes addresses up, and
// past the proxy: who may say where a request comes from is configured, and a reload changes it.
func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	u := newKeptUpstream(t)
	config := "keys:\n  - {name: n, hash: \"" + hashOf("cg-n") + "\", cidr: [192.0.2.0/24]}\n"
	behind, open := keyGate(t, u, config+"trusted_proxies: [127.0.0.0/8, \"::1\"]\n"), keyGate(t, u, config)
	for _, c := range []struct {
		name      string
		gate      *gate
		forwarded string
		status    int
	}{
		{"its network, by the proxy", behind, "192.0.2.7", 200},
		{"its network behind what the client made up", behind, "198.51.100.1, 192.0.2.7", 200},
		{"made up", behind, "192.0.2.7, 198.51.100.1", 403},
		{"no address", behind, "192.0.2.7, unknown", 403},
		{"nothing forwarded", behind, "", 403},
		{"a proxy that nobody trusts", open, "192.0.2.7", 403},
	} {
		header := bearer("cg-n")
		if c.forwarded != "" {
			header = append(header, "x-forwarded-for", c.forwarded)
		}
		if r := c.gate.do(c.gate.request("POST", "/v1/chat/completions", hello("fast", ""), header...)); r.status != c.status || r.status != 200 && r.code() != "address_not_allowed" {
			t.Errorf("%s: got %d %s, want %d", c.name, r.status, r.body, c.status)
		}
	}
	for text, want := range map[string]string{"10.0.0.0/99": "trusted_proxies[0]: \"10.0.0.0/99\" is not a network", "0.0.0.0/0": "trusted_proxies[0]: \"0.0.0.0/0\" is everybody", "10.0.0.1/8": "trusted_proxies[0]: \"10.0.0.1/8\" has bits behind the prefix"} {
		status, _, stderr := command(t, "", "check", configFile(t, "trusted_proxies: [\""+text+"\"]\nproviders: {demo: {type: demo}}"))
		refused(t, status, "", stderr, want)
	}
}
