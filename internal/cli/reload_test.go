package cli

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/toolserver/toolservertest"
)

// changing is a gateway whose file the test changes.
type changing struct {
	*gate
	file string
}

// serveChanging starts a gateway that listens for operators too.
func serveChanging(t *testing.T, text string, args ...string) *changing {
	t.Helper()
	file := configFile(t, text)
	return &changing{serve(t, "", append([]string{"--admin", "127.0.0.1:0", "-c", file}, args...)...), file}
}

// write puts another text into the file.
func (g *changing) write(text string) {
	g.t.Helper()
	if err := os.WriteFile(g.file, []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// reload asks the admin API for it.
func (g *changing) reload(text string) (out httpapi.Reloaded, status int) {
	g.t.Helper()
	g.write(text)
	r := g.adminDo("POST", "/admin/reload")
	if err := json.Unmarshal([]byte(r.body), &out); err != nil {
		g.t.Fatalf("got status %d, %q, want a JSON object: %v", r.status, r.body, err)
	}
	return out, r.status
}

// applied is reload that must change these keys.
func (g *changing) applied(text string, keys ...string) {
	g.t.Helper()
	out, status := g.reload(text)
	if status != 200 || out.Outcome != httpapi.Applied || !slices.Equal(out.Changed, keys) {
		g.t.Fatalf("got status %d, %+v, want the changes %q", status, out, keys)
	}
}

// metric is the value of a line of the metrics, NaN without it.
func (g *gate) metric(name string) float64 {
	g.t.Helper()
	for line := range strings.Lines(g.adminDo("GET", "/metrics").body) {
		if rest, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
			if err != nil {
				g.t.Fatal(err)
			}
			return n
		}
	}
	return math.NaN()
}

func (g *gate) wantMetric(name string, want float64) {
	g.t.Helper()
	if got := g.metric(name); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
		g.t.Errorf("got %s %v, want %v", name, got, want)
	}
}

func infoOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return `callgate_config_info{sha256="` + hex.EncodeToString(sum[:]) + `"}`
}

// TestReload changes a file: what is good is used for the next request, what is bad is refused
// and said in the answer, the log and the metrics, and what needs a restart is named.
func TestReload(t *testing.T) {
	t.Parallel()
	one, two := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "one") }), newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "two") })
	ann, bob := "key-of-ann", "key-of-bob"
	file := func(url, more string, keys ...string) string {
		text := fmt.Sprintf("providers: {up: {type: openai, base_url: %q, api_key: %s}}\nmodels: {m: {targets: [{provider: up, model: up}]}}\nkeys:\n", url, canary)
		for _, k := range keys {
			text += fmt.Sprintf("- {name: %s, hash: %q}\n", strings.TrimPrefix(k, "key-of-"), config.HashKey(k))
		}
		return text + more
	}
	first := file(one.url, "", ann)
	g := serveChanging(t, first)
	ask := func(key string) result {
		return g.chat(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "authorization", "Bearer "+key)
	}
	want := func(key string, status int, text string) {
		t.Helper()
		if r := ask(key); r.status != status || !strings.Contains(r.body, text) {
			t.Errorf("got status %d, %q, want %d and %q", r.status, r.body, status, text)
		}
	}
	want(ann, 200, "one")
	want(bob, 401, "")
	g.wantMetric(infoOf(first), 1)
	g.wantMetric("callgate_config_last_reload_success", 1)

	second := file(one.url, "", bob)
	g.applied(second, "keys.ann (removed)", "keys.bob (added)")
	want(ann, 401, "")
	want(bob, 200, "one")
	g.wantMetric(infoOf(second), 1)
	g.wantMetric(infoOf(first), math.NaN())

	third := file(two.url, "limits: {body: 1KiB}\n", bob)
	g.applied(third, "limits.body", "providers.up.base_url")
	want(bob, 200, "two")
	if r := g.chat(`{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("x", 2000)+`"}]}`, "authorization", "Bearer "+bob); r.status != 413 {
		t.Errorf("got status %d for a body over the new limit, want 413", r.status)
	}

	if out, status := g.reload(third); status != 200 || out.Outcome != httpapi.Unchanged || len(out.Changed) > 0 {
		t.Errorf("got status %d, %+v for the same file, want it unchanged", status, out)
	}

	for _, row := range []struct{ name, text, says string }{
		{"no YAML", "providers: [", "callgate.yaml:1"},
		{"nothing", "", "callgate.yaml is empty"},
		{"nothing but a comment", "# providers\n", "callgate.yaml is empty"},
		{"unknown key", file(two.url, "limts: {}\n", bob), `did you mean "limits"`},
		{"unset variable", file(two.url, "cache_salt: ${CALLGATE_TEST_UNSET}\n", bob), "CALLGATE_TEST_UNSET is not set"},
		{"no such parser", strings.Replace(third, "provider: up, ", "provider: up, parser: nope, ", 1), `there is no parser "nope"`},
		{"no such provider", strings.Replace(third, "provider: up, ", "provider: down, ", 1), "down"},
		{"no such prices", third + "prices: /nowhere/prices.yaml\n", "prices: there is no file \"/nowhere/prices.yaml\""},
		{"no such template", third + "parsers: {mine: {response_template: /nowhere/template.json}}\n", "parsers.mine.response_template"},
		{"settings that make no format", third + "parsers: {mine: {start: \"<\", end: \">\", body: name_json, separator: \"\"}}\n", "parsers.mine"},
		{"Redis away, and an answer cache in it", third + "redis: {url: \"redis://127.0.0.1:6379\"}\ncache_salt: x\ndefaults: {answer_cache: redis}\n", "can be changed by a restart only"},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := g.metric(`callgate_config_reloads_total{outcome="refused"}`)
			out, status := g.reload(row.text)
			if status != 422 || out.Outcome != httpapi.Refused || !strings.Contains(out.Error, row.says) {
				t.Errorf("got status %d, %+v, want it refused with %q", status, out, row.says)
			}
			if log := g.stderr.String(); !strings.Contains(log, "configuration refused") || !strings.Contains(log, out.SHA256) {
				t.Errorf("got no line of the log about it")
			}
			want(bob, 200, "two")
			g.wantMetric("callgate_config_last_reload_success", 0)
			g.wantMetric(`callgate_config_reloads_total{outcome="refused"}`, before+1)
			g.wantMetric(infoOf(third), 1)
		})
	}

	fourth := file(one.url, "limits: {body: 1KiB}\nlisten: 127.0.0.1:1\ncache_salt: pepper\nstore: {ttl: 5m}\ntracing: {sample: 0.5}\nplugins: {watch: false}\n", bob)
	out, status := g.reload(fourth)
	if want := []string{"cache_salt", "store.ttl", "plugins.watch", "tracing.sample"}; status != 200 || out.Outcome != httpapi.Applied || !slices.Equal(out.Restart, want) || !slices.Equal(out.Changed, []string{"providers.up.base_url"}) {
		t.Errorf("got status %d, %+v, want it applied but for %q", status, out, want)
	}
	want(bob, 200, "one")
	g.wantMetric("callgate_config_last_reload_success", 1)
	g.wantMetric("callgate_config_restart_needed", 1)
	if !strings.Contains(g.stderr.String(), `"needs_restart":["cache_salt","store.ttl","plugins.watch","tracing.sample"]`) {
		t.Errorf("got no line of the log with what needs a restart")
	}
	g.applied(third, "providers.up.base_url")
	g.wantMetric("callgate_config_restart_needed", 0)
	for _, secret := range []string{canary, ann, bob, hashed(ann), hashed(bob)} {
		if strings.Contains(g.stderr.String(), secret) {
			t.Errorf("got %q in the log", secret)
		}
	}
}

// TestReloadOff holds that reload: off is obeyed, by the admin API too.
func TestReloadOff(t *testing.T) {
	t.Parallel()
	g := serveChanging(t, "{reload: \"off\", providers: {demo: {type: demo}}}")
	g.write("{providers: {demo: {type: demo}}, models: {new: {targets: [{provider: demo}]}}}")
	if r := g.adminDo("POST", "/admin/reload"); r.status != 400 || !strings.Contains(r.body, "reload: off") {
		t.Errorf("got status %d, %q, want 400", r.status, r.body)
	}
	if r := g.get("/v1/models"); strings.Contains(r.body, `"new"`) {
		t.Errorf("got the models %s, want those of the start", r.body)
	}
}

// TestReloadEnvironment holds that variables of the file are read again, and are no reason to
// tell their values.
func TestReloadEnvironment(t *testing.T) {
	one, two := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "one") }), newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "two") })
	t.Setenv("CALLGATE_TEST_UP", one.url)
	const text = "{providers: {up: {type: openai, base_url: \"${CALLGATE_TEST_UP}\"}}}"
	g := serveChanging(t, text)
	t.Setenv("CALLGATE_TEST_UP", two.url)
	g.applied(text, "providers.up.base_url")
	if r := g.chat(prompt("up/m", "hi", false)); !strings.Contains(r.body, "two") {
		t.Errorf("got status %d, %q, want the answer of the other upstream", r.status, r.body)
	}
}

// TestReloadStreams changes the file while 200 streams run, the provider that they come from among
// it: every stream comes to its end, with all of its text, and the editions that they had go.
func TestReloadStreams(t *testing.T) {
	t.Parallel()
	const streams, reloads = 200, 10
	more := make(chan struct{})
	old := slowStream(t, more, longText)
	other := newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, "other") })
	file := func(url string, n int) string {
		return fmt.Sprintf("{heartbeat: %ds, providers: {up: {type: openai, base_url: %q}}, defaults: {routing: prefix}, models: {m: {targets: [{provider: up, model: a}, {provider: up, model: b}]}}}", n+1, url)
	}
	g := serveChanging(t, file(old, 0))
	var all sync.WaitGroup
	begun, ends := make(chan struct{}, streams), make(chan string, streams)
	for range streams {
		all.Go(func() {
			resp, err := g.open(t.Context(), prompt("m", "hi", true))
			if err != nil {
				ends <- err.Error()
				begun <- struct{}{}
				return
			}
			defer resp.Body.Close()
			body := bufio.NewReader(resp.Body)
			first, _ := body.ReadString('\n')
			begun <- struct{}{}
			rest, err := io.ReadAll(body)
			if got := streamed(t, first+string(rest)); err != nil || got.content != longText {
				ends <- fmt.Sprintf("got text %q and error %v, want %q", got.content, err, longText)
				return
			}
			ends <- ""
		})
	}
	for range streams {
		<-begun
	}
	for n := range reloads {
		url := old
		if n == reloads-1 {
			url = other.url
		}
		if out, status := g.reload(file(url, n+1)); status != 200 || out.Outcome != httpapi.Applied {
			t.Fatalf("got status %d, %+v", status, out)
		}
	}
	if r := g.chat(prompt("m", "hi", false)); !strings.Contains(r.body, "other") {
		t.Errorf("got status %d, %q for a new request, want the new provider", r.status, r.body)
	}
	if got := g.metric("callgate_config_draining"); got < 1 {
		t.Errorf("got %v editions that drain, want that of the streams", got)
	}
	close(more)
	all.Wait()
	for range streams {
		if problem := <-ends; problem != "" {
			t.Fatal(problem)
		}
	}
	await(t, "the end of all earlier editions", func() bool { return g.metric("callgate_config_draining") == 0 })
}

// TestReloadLeaks changes the file 1,000 times, in a process of its own, with requests between:
// goroutines, files and memory stay what they are.
func TestReloadLeaks(t *testing.T) {
	t.Parallel()
	up := well(t)
	tools := toolservertest.New(t)
	file := func(n int) string {
		return fmt.Sprintf(`{reload: signal, admin: {listen: "127.0.0.1:0"}, log: {level: error}, heartbeat: %ds, defaults: {routing: prefix, answer_cache: memory},
providers: {up: {type: openai, base_url: %q, timeouts: {connect: %ds}}, stays: {type: openai, base_url: %q}},
tool_servers: {stays: {type: mcp, url: %q}, moves: {type: mcp, url: %q, concurrency: %d}},
parsers: {mine: {start: "<<a", end: ">>", priority: %d}},
models: {m: {targets: [{provider: up, model: up}, {provider: stays, model: up}], rules: [{when: {language: [de]}, targets: [{provider: stays, model: up}]}]}}}`,
			1+n%7, up.url, 1+n%5, up.url, tools.URL, tools.URL, 1+n%2, 1+n%3)
	}
	gate, process := spawn(t, file(0))
	g := &changing{gate: gate}
	g.await()
	g.file = commandFile(t, process.Pid)
	type figures struct{ goroutines, files, heap float64 }
	least := func() figures { return figures{math.Inf(1), math.Inf(1), math.Inf(1)} }
	window := func(from, to int) figures {
		low := least()
		for n := from; n < to; n++ {
			if out, status := g.reload(file(n)); status != 200 || out.Outcome != httpapi.Applied {
				t.Fatalf("got status %d, %+v for reload %d", status, out, n)
			}
			if n%10 != 0 {
				continue
			}
			if r := g.chat(prompt("m", "hi "+strconv.Itoa(n), n%20 == 0)); r.status != 200 {
				t.Fatalf("got status %d, %q", r.status, r.body)
			}
			low.goroutines, low.files, low.heap = min(low.goroutines, g.metric("go_goroutines")), min(low.files, g.metric("process_open_fds")), min(low.heap, g.metric("go_memstats_heap_alloc_bytes"))
		}
		return low
	}
	window(1, 101)
	early := window(101, 301)
	window(301, 801)
	late := window(801, 1001)
	t.Logf("least of reloads 101 to 300: %+v; of 801 to 1000: %+v", early, late)
	if late.goroutines > early.goroutines+10 {
		t.Errorf("got %v goroutines after 1,000 reloads, want about %v", late.goroutines, early.goroutines)
	}
	if late.files > early.files+5 {
		t.Errorf("got %v open files after 1,000 reloads, want about %v", late.files, early.files)
	}
	if late.heap > early.heap*1.2+4e6 {
		t.Errorf("got %v bytes of heap after 1,000 reloads, want about %v", late.heap, early.heap)
	}
	await(t, "the end of all earlier editions", func() bool { return g.metric("callgate_config_draining") == 0 })
	g.wantMetric(`callgate_config_reloads_total{outcome="applied"}`, 1000)
}

// commandFile is the configuration file of a process's command line.
func commandFile(t *testing.T, pid int) string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		t.Skip(err)
	}
	args := strings.Split(string(data), "\x00")
	return args[slices.Index(args, "-c")+1]
}

// TestReloadConfigMap swaps the link ..data as a kubelet does: the new file is used, and one that
// is bad is not.
func TestReloadConfigMap(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(version, text string) {
		t.Helper()
		old, _ := os.Readlink(filepath.Join(dir, "..data"))
		if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, version, "callgate.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(version, filepath.Join(dir, "..data_tmp")); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
		if old != "" {
			os.RemoveAll(filepath.Join(dir, old))
		}
	}
	file := func(model string) string {
		return "{providers: {demo: {type: demo}}, models: {" + model + ": {targets: [{provider: demo}]}}}"
	}
	put("..2026_11_23_1", file("first"))
	if err := os.Symlink(filepath.Join("..data", "callgate.yaml"), filepath.Join(dir, "callgate.yaml")); err != nil {
		t.Fatal(err)
	}
	g := serve(t, "", "--admin", "127.0.0.1:0", "-c", filepath.Join(dir, "callgate.yaml"))
	put("..2026_11_23_2", file("second"))
	await(t, "the new model", func() bool { return strings.Contains(g.get("/v1/models").body, `"second"`) })
	put("..2026_11_23_3", "models: {")
	await(t, "the refusal", func() bool { return g.metric("callgate_config_last_reload_success") == 0 })
	if r := g.get("/v1/models"); !strings.Contains(r.body, `"second"`) {
		t.Errorf("got the models %s, want those of the last good file", r.body)
	}
	put("..2026_11_23_4", file("third"))
	await(t, "the third model", func() bool { return strings.Contains(g.get("/v1/models").body, `"third"`) })
	await(t, "the metric", func() bool { return g.metric("callgate_config_last_reload_success") == 1 }) // it is told behind the swap
	g.wantMetric(`callgate_config_reloads_total{outcome="refused"}`, 1)
	g.wantMetric(`callgate_config_reloads_total{outcome="applied"}`, 2)
}

// TestReloadFiles changes a file that the configuration names.
func TestReloadFiles(t *testing.T) {
	t.Parallel()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	put := func(date string) {
		t.Helper()
		if err := os.WriteFile(prices, []byte("date: "+date+"\ncurrency: USD\nprices: [{model: m, input: 1}]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("2026-01-01")
	g := serveChanging(t, fmt.Sprintf("{prices: %q, providers: {demo: {type: demo}}}", prices))
	has := func(date string) func() bool {
		return func() bool {
			return strings.Contains(g.adminDo("GET", "/admin/prefix").body, `"prices_date":"`+date+`"`)
		}
	}
	await(t, "the prices of the start", has("2026-01-01"))
	put("2026-02-02")
	await(t, "the new prices", has("2026-02-02"))
}

// TestReloadSignal sends SIGHUP to a gateway that does not look at the file by itself.
func TestReloadSignal(t *testing.T) {
	t.Parallel()
	file := func(model string) string {
		return "{reload: signal, admin: {listen: \"127.0.0.1:0\"}, providers: {demo: {type: demo}}, models: {" + model + ": {targets: [{provider: demo}]}}}"
	}
	gate, process := spawn(t, file("first"))
	g := &changing{gate: gate}
	g.await()
	g.file = commandFile(t, process.Pid)
	g.write(file("second"))
	process.Signal(syscall.SIGHUP)
	await(t, "the new model", func() bool { return strings.Contains(g.get("/v1/models").body, `"second"`) })
	await(t, "the log's line with its cause", func() bool { return strings.Contains(g.stderr.String(), `"cause":"SIGHUP"`) })
}

// TestReloadKeeps holds that what is learned goes on where the configuration has not changed: an
// open breaker stays open, stored answers are found, the prefix index knows what it knew, counters
// count on, and a tool server keeps its session. What has changed begins anew.
func TestReloadKeeps(t *testing.T) {
	t.Parallel()
	bad := newSite(t, func(w http.ResponseWriter, _ received) { w.WriteHeader(500) })
	good := well(t)
	stays, moves := toolservertest.New(t), toolservertest.New(t)
	file := func(timeout, heartbeat int) string {
		return fmt.Sprintf(`providers:
  bad: {type: openai, base_url: %q, retry: {max_retries: 0}, circuit_breaker: {failure_threshold: 2, open_timeout: 1h}, timeouts: {connect: %ds}}
  good: {type: openai, base_url: %q}
  also: {type: openai, base_url: %q}
tool_servers: {stays: {type: mcp, url: %q}, moves: {type: mcp, url: %q, concurrency: %d}}
models:
  kept: {targets: [{provider: good, model: up}], answer_cache: memory}
  near: {targets: [{provider: good, model: up}, {provider: also, model: up}], routing: prefix}
heartbeat: %ds
`, bad.url, timeout, good.url, good.url, stays.URL, moves.URL, timeout, heartbeat)
	}
	g := serveChanging(t, file(1, 5))
	const lists = "tools/list"
	await(t, "the tools of both servers", func() bool { return stays.Count(lists) == 1 && moves.Count(lists) == 1 })
	for range 3 {
		g.chat(prompt("bad/m", "hi", false))
	}
	if b := g.breaker("bad"); b.State != "open" {
		t.Fatalf("got the breaker %+v, want it open", b)
	}
	ask := `{"model":"kept","messages":[{"role":"user","content":"hi"}],"temperature":0,"seed":1}`
	if r := g.chat(ask); r.header.Get("x-callgate-cache") != "miss" {
		t.Fatalf("got status %d, %v, want a miss", r.status, r.header)
	}
	long := prompt("near", strings.Repeat("A long beginning that is sent again. ", 100), false)
	g.chat(long)
	blocks := g.metric(`callgate_prefix_blocks{model="up",provider="good"}`) + g.metric(`callgate_prefix_blocks{model="up",provider="also"}`)
	if !(blocks > 0) {
		t.Fatalf("got %v blocks, want some", blocks)
	}
	counted := g.metric(`callgate_circuit_failures_total{provider="bad"}`)

	g.applied(file(1, 6), "heartbeat")
	if b := g.breaker("bad"); b.State != "open" {
		t.Errorf("got the breaker %+v, want it open", b)
	}
	asked := bad.asked.Load()
	if r := g.chat(prompt("bad/m", "hi", false)); r.status != 503 || bad.asked.Load() != asked {
		t.Errorf("got status %d and %d requests upstream, want 503 and none", r.status, bad.asked.Load()-asked)
	}
	if r := g.chat(ask); r.header.Get("x-callgate-cache") != "hit" {
		t.Errorf("got status %d, %v, want a hit", r.status, r.header)
	}
	if got := g.metric(`callgate_prefix_blocks{model="up",provider="good"}`) + g.metric(`callgate_prefix_blocks{model="up",provider="also"}`); got != blocks {
		t.Errorf("got %v blocks, want %v", got, blocks)
	}
	g.wantMetric(`callgate_circuit_failures_total{provider="bad"}`, counted)
	if tools := g.adminDo("GET", "/admin/tools"); strings.Count(tools.body, `"up":true`) != 2 {
		t.Errorf("got the tool servers %s, want both up", tools.body)
	}

	g.applied(file(2, 6), "providers.bad.timeouts.connect", "tool_servers.moves.concurrency")
	if b := g.breaker("bad"); b.State != "closed" || b.Totals.Failures != 0 {
		t.Errorf("got the breaker %+v, want a new one", b)
	}
	await(t, "the tools of the server that has changed", func() bool { return moves.Count(lists) == 2 })
	if got := stays.Count(lists); got != 1 {
		t.Errorf("got %d lists from the tool server that has not changed, want 1", got)
	}
	for range 3 {
		g.chat(prompt("bad/m", "hi", false))
	}
	if b := g.breaker("bad"); b.State != "open" {
		t.Errorf("got the breaker %+v, want it open", b)
	}
	g.wantMetric(`callgate_circuit_transitions_total{provider="bad",to="open"}`, 2)
}

// TestReloadLearned holds that what a target was found to refuse is known behind a reload, and
// forgotten with the provider's settings.
func TestReloadLearned(t *testing.T) {
	t.Parallel()
	p := &plainServer{status: 400, refusal: `{"error":{"message":"registry.ollama.ai/library/gemma3:4b does not support tools","type":"api_error","param":null,"code":null}}`,
		refuses: func(body map[string]any) bool { return body["tools"] != nil }}
	url := upstream(t, p.answer)
	file := func(connect, heartbeat int) string {
		return fmt.Sprintf("{heartbeat: %ds, providers: {up: {type: openai, base_url: %q, parser: auto, tools: auto, timeouts: {connect: %ds}}}}", heartbeat, url, connect)
	}
	g := serveChanging(t, file(1, 5))
	ask := func(sent int) {
		t.Helper()
		r := g.chat(`{"model":"up/Qwen/Qwen3-8B","messages":[{"role":"user","content":"Weather in Oslo?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]}`)
		p.mu.Lock()
		defer p.mu.Unlock()
		if r.status != 200 || !strings.Contains(r.body, `"get_weather"`) || len(p.sent) != sent {
			t.Errorf("got status %d, %s and %d requests upstream, want a call and %d", r.status, r.body, len(p.sent), sent)
		}
	}
	ask(2)
	g.applied(file(1, 6), "heartbeat")
	ask(3)
	g.applied(file(2, 6), "providers.up.timeouts.connect")
	ask(5)
}

// TestReloadRun takes a tool server away while it runs a call: the request that has made it gets
// its result and its answer, and the next one has no such tools.
func TestReloadRun(t *testing.T) {
	t.Parallel()
	shop := newToolShop(t)
	calling, end := make(chan struct{}), make(chan struct{})
	shop.do = func(w http.ResponseWriter, _ *http.Request, _ string) {
		close(calling)
		<-end
		io.WriteString(w, `{"found":"a blue one"}`)
	}
	up := newSite(t, func(w http.ResponseWriter, r received) {
		w.Header().Set("content-type", "application/json")
		if strings.Contains(r.body, "a blue one") || !strings.Contains(r.body, "shop__search") {
			io.WriteString(w, turnOf(r, "native", "There is a bicycle."))
			return
		}
		io.WriteString(w, turnOf(r, "native", "", modelCall{"c1", "shop__search", `{"q":"bicycle"}`}))
	})
	with := strings.Replace(shop.config(up.url, "m", "none", "    tools: {servers: [shop]}\n"), `admin: {listen: "off"}`, "", 1)
	without := fmt.Sprintf("{providers: {up: {type: openai, base_url: %q, parser: none}}, models: {m: {targets: [{provider: up}]}}}", up.url)
	g := serveChanging(t, with)
	answer := make(chan result, 1)
	go func() { answer <- g.chat(`{"model":"m","messages":[{"role":"user","content":"Is there a bicycle?"}]}`) }()
	select {
	case <-calling:
	case r := <-answer:
		t.Fatalf("got status %d, %s, want a call of the tool first", r.status, r.body)
	}
	g.applied(without, "models.m.tools.servers", "tool_servers.shop (removed)")
	if r := g.chat(`{"model":"m","messages":[{"role":"user","content":"Is there one?"}]}`); r.status != 200 || r.header.Get("x-callgate-tool-run") != "" {
		t.Errorf("got status %d and the run %q, want an answer without tools", r.status, r.header.Get("x-callgate-tool-run"))
	}
	close(end)
	if r := <-answer; r.status != 200 || !strings.Contains(r.body, "There is a bicycle.") || !strings.Contains(r.header.Get("x-callgate-tool-run"), "calls=1") {
		t.Errorf("got status %d, %s and the run %q, want the answer with the tool's result", r.status, r.body, r.header.Get("x-callgate-tool-run"))
	}
	if got := len(shop.made()); got != 1 {
		t.Errorf("got %d calls, want 1", got)
	}
	await(t, "the end of the earlier edition", func() bool { return g.metric("callgate_config_draining") == 0 })
}

// TestReloadShutdown ends the gateway while an earlier edition has a stream: it comes to its end.
func TestReloadShutdown(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	url := slowStream(t, more, longText)
	g := serveChanging(t, fmt.Sprintf("{heartbeat: 5s, providers: {up: {type: openai, base_url: %q}}}", url))
	resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first := readEvent(t, body)
	g.applied("{providers: {demo: {type: demo}}}", "heartbeat", "providers.up (removed)")
	g.cancel()
	await(t, "the end of the listener", func() bool { return strings.Contains(g.stderr.String(), "shutting down") })
	close(more)
	rest, err := io.ReadAll(body)
	if got := streamed(t, first+string(rest)); err != nil || got.content != longText {
		t.Errorf("got text %q and error %v, want %q", got.content, err, longText)
	}
	if status := g.wait(); status != 0 {
		t.Errorf("got exit status %d, want 0", status)
	}
}
