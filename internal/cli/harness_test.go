package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/internal/logtest"
)

// patience is how long a test waits for what must come before it says what hangs. No test
// depends on how fast the machine is, which others use too.
const patience = 5 * time.Minute

// buffer is what commands write.
type buffer = logtest.Buffer

func readerOf(s string) io.Reader { return strings.NewReader(s) }

// gate is a running "callgate serve".
type gate struct {
	t              *testing.T
	addr           string // host:port
	stdout, stderr *buffer
	cancel         context.CancelFunc // as SIGTERM
	exited         chan int
	client         *http.Client
}

// configFile writes a configuration file.
func configFile(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "callgate.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// serve starts the gateway with a configuration and waits until it is ready. It is
// stopped, and must exit with status 0, when the test ends, unless the test has
// stopped it.
func serve(t *testing.T, config string, args ...string) *gate {
	t.Helper()
	g := launch(t, config, args...)
	g.await()
	return g
}

// launch is serve that does not wait.
func launch(t *testing.T, config string, args ...string) *gate {
	t.Helper()
	return launchIn(t, t.Context(), config, args...)
}

// launchIn is launch with the values of a context.
func launchIn(t *testing.T, values context.Context, config string, args ...string) *gate {
	t.Helper()
	args = append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)
	if config != "" {
		args = append(args, "-c", configFile(t, config))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(values)) // it runs until the test has cleaned up
	g := &gate{t: t, stdout: &buffer{}, stderr: &buffer{}, cancel: cancel, exited: make(chan int, 1)}
	transport := &http.Transport{DisableCompression: true}
	g.client = &http.Client{Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	go func() { g.exited <- run(ctx, args, readerOf(""), g.stdout, g.stderr) }()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		g.cancel()
		if status := g.wait(); status != 0 {
			t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
		}
	})
	return g
}

var listensOn = regexp.MustCompile(`(?m)^callgate listens on http://(\S+) `)

// listens says whether the gateway listens yet.
func (g *gate) listens() bool {
	if m := listensOn.FindStringSubmatch(g.stdout.String()); m != nil {
		g.addr = m[1]
	}
	return g.addr != ""
}

// await waits until the gateway is ready.
func (g *gate) await() {
	g.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		select {
		case status := <-g.exited:
			g.exited <- 0
			g.t.Fatalf("got exit status %d from serve, want it to run; stderr:\n%s", status, g.stderr)
		default:
		}
		if g.listens() && g.get("/readyz").status == http.StatusOK {
			return
		}
	}
	g.t.Fatalf("got no ready gateway within %v; stderr:\n%s", patience, g.stderr)
}

// wait waits for the end and returns the exit status, each time it is asked.
func (g *gate) wait() int {
	g.t.Helper()
	select {
	case status := <-g.exited:
		g.exited <- status
		return status
	case <-time.After(patience):
		g.t.Fatalf("got a gateway that still runs %v after its end, want it to exit; stderr:\n%s", patience, g.stderr)
		return -1
	}
}

// result is a whole response.
type result struct {
	status int
	header http.Header
	body   string
	err    error // that ended the body
}

// do sends a request and reads the response to its end.
func (g *gate) do(r *http.Request) result {
	g.t.Helper()
	resp, err := g.client.Do(r)
	if err != nil {
		g.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return result{header: http.Header{}}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	checkNames(g.t, resp.Header, string(body))
	return result{resp.StatusCode, resp.Header, string(body), err}
}

func (g *gate) request(method, path, body string, header ...string) *http.Request {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+g.addr+path, readerOf(body))
	if err != nil {
		panic(err) // the tests' own paths are good
	}
	if body != "" {
		r.Header.Set("content-type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func (g *gate) get(path string, header ...string) result {
	g.t.Helper()
	return g.do(g.request("GET", path, "", header...))
}

// chat posts a body to the chat completions.
func (g *gate) chat(body string, header ...string) result {
	g.t.Helper()
	return g.do(g.request("POST", "/v1/chat/completions", body, header...))
}

// open starts a chat and returns its response when the header is here.
func (g *gate) open(ctx context.Context, body string) (*http.Response, error) {
	r := g.request("POST", "/v1/chat/completions", body)
	return g.client.Do(r.WithContext(ctx))
}

// dial opens a connection to the gateway for bytes of one's own.
func (g *gate) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", g.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// prompt is the body of a request, with two tools.
func prompt(model, text string, stream bool) string {
	b, _ := json.Marshal(map[string]any{ // its types cannot fail
		"model": model, "stream": stream, "tools": json.RawMessage(twoTools),
		"messages": []map[string]string{{"role": "user", "content": text}},
	})
	return string(b)
}

const twoTools = `[
  {"type": "function", "function": {"name": "get_weather", "parameters":
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}}}}]`

// adminForm sends a form to the operator's page.
func (g *gate) adminForm(path, form string) result {
	g.t.Helper()
	m := adminOn.FindStringSubmatch(g.stdout.String())
	r, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, "http://"+m[1]+path, strings.NewReader(form))
	if err != nil {
		panic(err) // the tests' own paths are good
	}
	r.Header.Set("content-type", "application/x-www-form-urlencoded")
	return g.do(r)
}
