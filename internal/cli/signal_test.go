package cli

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
)

// alone asks on a connection of its own, and says whether there was an answer.
func (g *gate) alone(r *http.Request) (result, bool) {
	g.t.Helper()
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}).Do(r)
	if err != nil {
		return result{err: err}, false
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return result{resp.StatusCode, resp.Header, string(body), err}, true
}

// TestHangup sends SIGHUP while a stream runs: the file is read again, the stream comes to its end, and the
// gateway goes on.
func TestHangup(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	g, process := spawn(t, fmt.Sprintf("{admin: {listen: \"off\"}, providers: {up: {type: openai, base_url: %q}}}", slowStream(t, more, longText)))
	resp, err := g.open(t.Context(), prompt("up/m", "hi", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	first := readEvent(t, body)
	for n := range 3 {
		process.Signal(syscall.SIGHUP)
		await(t, "a line of the log for each SIGHUP", func() bool {
			select {
			case status := <-g.exited:
				g.exited <- 0
				t.Fatalf("got exit status %d after SIGHUP, want a gateway that runs", status)
			default:
			}
			return strings.Count(g.stderr.String(), "configuration unchanged") > n
		})
	}
	close(more)
	rest, err := io.ReadAll(body)
	if got := streamed(t, first+string(rest)); err != nil || got.content != longText {
		t.Errorf("got text %q and error %v, want %q", got.content, err, longText)
	}
	if got := g.get("/readyz"); got.status != 200 {
		t.Errorf("got status %d after SIGHUP, want 200", got.status)
	}
}

// TestTerminateTwice sends SIGTERM: the gateway says at once that it is not ready, and takes
// requests all the same, so that nobody is turned away who has not heard of it yet. A second one
// ends it, though its delay is long and a stream runs.
func TestTerminateTwice(t *testing.T) {
	t.Parallel()
	up := newSite(t, func(w http.ResponseWriter, r received) {
		if strings.Contains(r.body, "hang") {
			w.Header().Set("content-type", events)
			send(w, role+delta("begin"))
			hangs(w, r)
			return
		}
		answerWith(w, r, healthyText)
	})
	g, process := spawn(t, fmt.Sprintf("{shutdown_delay: 10m, shutdown_timeout: 10m, providers: {up: {type: openai, base_url: %q}}}", up.url))
	resp, err := g.open(t.Context(), prompt("up/m", "hang", true))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	readEvent(t, bufio.NewReader(resp.Body))
	process.Signal(syscall.SIGTERM)
	await(t, "/readyz on a new connection says that it ends", func() bool {
		r, ok := g.alone(g.request("GET", "/readyz", ""))
		if !ok {
			t.Fatalf("got error %v from a new connection, want an answer", r.err)
		}
		return r.status == 503
	})
	for range 3 {
		r, ok := g.alone(g.request("POST", "/v1/chat/completions", prompt("up/m", "hi", false)))
		if !ok || r.status != 200 {
			t.Fatalf("got status %d and error %v while it drains, want an answer", r.status, r.err)
		}
	}
	if r := g.get("/livez"); r.status != 200 { // on a connection that would live on
		t.Errorf("got status %d from /livez, want 200", r.status)
	}
	c := g.dial(t)
	io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if answer, err := io.ReadAll(c); err != nil || !strings.Contains(string(answer), "Connection: close") {
		t.Errorf("got %q and error %v, want an answer that ends its connection", answer, err)
	}
	process.Signal(syscall.SIGTERM)
	g.wait()
	<-g.exited
	g.exited <- 0 // the status is the signal's
}

// TestInterrupt is Ctrl-C: nobody is waited for who might come.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	g, process := spawn(t, "{shutdown_delay: 10m, shutdown_timeout: 10m, providers: {demo: {type: demo}}}")
	process.Signal(os.Interrupt)
	if status := g.wait(); status != 0 {
		t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
	}
}

// TestMetricsNameNoModelOfAClient asks for many models that only a client has thought of: metrics
// count them by the entry of the configuration that they led to.
func TestMetricsNameNoModelOfAClient(t *testing.T) {
	t.Parallel()
	up := well(t)
	g := serve(t, fmt.Sprintf(`admin: {listen: "127.0.0.1:0"}
log: {level: error}
answer_store: {memory: 4MiB}
defaults: {answer_cache: memory}
providers: {up: {type: openai, base_url: %q}}
models:
  "*": {targets: [{provider: up}]}
  "made-gpt-*": {targets: [{provider: up}]}
  named: {targets: [{provider: up, model: real}]}
  plain: {targets: [{provider: up}]}
`, up.url))
	const names = 30
	for i := range names {
		for _, model := range []string{"made-%d", "made-gpt-%d", "up/made-%d"} {
			for range 2 { // the second time from the store
				if r := g.chat(prompt(fmt.Sprintf(model, i), "hi", i%2 == 0)); r.status != 200 {
					t.Fatalf("got status %d and %q, want 200", r.status, r.body)
				}
			}
		}
	}
	for _, model := range []string{"named", "plain"} {
		g.chat(prompt(model, "hi", false))
	}
	scrape := g.adminDo("GET", "/metrics").body
	for line := range strings.Lines(scrape) {
		if strings.Contains(line, "made-") && !strings.Contains(line, "made-gpt-*") {
			t.Fatalf("got %q in the metrics, want no name that only a client has", line)
		}
	}
	for _, want := range []string{
		`callgate_requests_total{code="ok",model="*",provider="up",route="*"} 60`,
		`callgate_requests_total{code="ok",model="made-gpt-*",provider="up",route="made-gpt-*"} 60`,
		`callgate_requests_total{code="ok",model="real",provider="up",route="named"} 1`,
		`callgate_requests_total{code="ok",model="plain",provider="up",route="plain"} 1`,
	} {
		if !strings.Contains(scrape, want+"\n") {
			t.Errorf("got no line %s", want)
		}
	}
	for line := range strings.Lines(scrape) {
		if t.Failed() && strings.HasPrefix(line, "callgate_requests_total") {
			t.Log(line)
		}
	}
}
