package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/config"
)

// canary is the key that every provider of the suite has. It must never come out.
const canary = "sk-canary"

// site is an upstream that counts the requests it is asked.
type site struct {
	url   string
	asked atomic.Int64
}

// newSite serves requests by h.
func newSite(t *testing.T, h func(w http.ResponseWriter, r received)) *site {
	t.Helper()
	s := &site{}
	s.url = upstream(t, func(w http.ResponseWriter, r received) {
		s.asked.Add(1)
		h(w, r)
	})
	return s
}

// newRawSite serves one request a connection by a script.
func newRawSite(t *testing.T, script func(c *net.TCPConn)) *site {
	t.Helper()
	s := &site{}
	s.url = serveConns(t, func(c *net.TCPConn, next func() bool) {
		if next() {
			s.asked.Add(1)
			script(c)
		}
	})
	return s
}

// says answers with these bytes and closes the connection.
func says(t *testing.T, text string) *site {
	t.Helper()
	return newRawSite(t, func(c *net.TCPConn) { io.WriteString(c, text) })
}

const healthyText = "I am well."

// well answers every request.
func well(t *testing.T) *site {
	t.Helper()
	return newSite(t, func(w http.ResponseWriter, r received) { answerWith(w, r, healthyText) })
}

// answerWith gives a whole answer, or a stream that begins with the role.
func answerWith(w http.ResponseWriter, r received, text string) {
	if !r.wantsStream() {
		w.Header().Set("content-type", "application/json")
		io.WriteString(w, completion(text))
		return
	}
	w.Header().Set("content-type", events)
	send(w, role+stream(text))
}

// role is the first block of most streams. It says nothing.
const role = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"up","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"

// setup is a configuration in the making.
type setup struct{ head, providers, models strings.Builder }

// provider adds one, with further keys in the form "a: 1, b: {c: 2}".
func (s *setup) provider(name, url, keys string) {
	if keys != "" {
		keys = ", " + keys
	}
	fmt.Fprintf(&s.providers, "  %s: {type: openai, base_url: %q, api_key: %s%s}\n", name, url, canary, keys)
}

// model adds a route over these providers.
func (s *setup) model(name string, providers ...string) {
	fmt.Fprintf(&s.models, "  %s: {targets: [", name)
	for _, p := range providers {
		fmt.Fprintf(&s.models, "{provider: %s, model: up}, ", p)
	}
	s.models.WriteString("]}\n")
}

// String is the file.
func (s *setup) String() string {
	text := s.head.String() + "admin: {listen: \"127.0.0.1:0\"}\nlog: {level: error}\nproviders:\n" + s.providers.String()
	if s.models.Len() > 0 {
		text += "models:\n" + s.models.String()
	}
	return text
}

var adminOn = regexp.MustCompile(`http://(\S+)/metrics`)

// adminDo sends a request to the admin listener.
func (g *gate) adminDo(method, path string, header ...string) result {
	g.t.Helper()
	m := adminOn.FindStringSubmatch(g.stdout.String())
	if m == nil {
		g.t.Fatalf("got no admin listener in %q", g.stdout)
	}
	r, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+m[1]+path, nil)
	if err != nil {
		panic(err) // the tests' own paths are good
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	return g.do(r)
}

// breaker is the state of a provider's breaker, as the operator sees it.
func (g *gate) breaker(name string) breaker.Snapshot {
	g.t.Helper()
	r := g.adminDo("GET", "/admin/breakers")
	var list struct{ Breakers []breaker.Snapshot }
	if err := json.Unmarshal([]byte(r.body), &list); err != nil {
		g.t.Fatalf("got breakers %q, want a list: %v", r.body, err)
	}
	for _, b := range list.Breakers {
		if b.Name == name {
			return b
		}
	}
	g.t.Fatalf("got breakers %q, want %s among them", r.body, name)
	return breaker.Snapshot{}
}

// awaitBreaker waits until the breaker is as it should be: the last result of an
// answer may come after the client has read its end.
func (g *gate) awaitBreaker(name, what string, ok func(breaker.Snapshot) bool) breaker.Snapshot {
	g.t.Helper()
	var b breaker.Snapshot
	await(g.t, "breaker "+name+": "+what, func() bool {
		b = g.breaker(name)
		return ok(b)
	})
	return b
}

// await waits until something has become true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// clean checks what must be true of every answer: it came to its end, and nothing of
// the gateway's own is in it.
func clean(t *testing.T, r result) {
	t.Helper()
	if r.err != nil {
		t.Errorf("got error %v at the end of %q, want an answer that ends well", r.err, cut(r.body, 0, 400))
	}
	all := r.body + fmt.Sprint(r.header)
	for _, secret := range []string{canary, "127.0.0.1:0", "goroutine ", "runtime error"} {
		if strings.Contains(all, secret) {
			t.Errorf("got %q in %q", secret, cut(all, 0, 2000))
		}
	}
}

// spawn runs the gateway as a process of its own, with the environment given: for what
// the environment decides, for real signals, and for its memory. It is told to end,
// and must exit with status 0, when the test ends.
func spawn(t *testing.T, file string, environment ...string) (g *gate, process *os.Process) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM")
	}
	c := exec.Command("callgate", "serve", "--listen", "127.0.0.1:0", "-c", configFile(t, file)) // TestMain has put it into the path
	g = &gate{t: t, stdout: &buffer{}, stderr: &buffer{}, exited: make(chan int, 1)}
	c.Stdout, c.Stderr, c.Env = g.stdout, g.stderr, append(os.Environ(), environment...)
	transport := &http.Transport{DisableCompression: true}
	g.client = &http.Client{Transport: transport, Timeout: patience}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		c.Wait()
		g.exited <- c.ProcessState.ExitCode()
	}()
	g.cancel = func() { c.Process.Signal(syscall.SIGTERM) }
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		c.Process.Signal(os.Interrupt) // nobody else comes, so there is nobody to wait for
		defer c.Process.Kill()
		if status := g.wait(); status != 0 {
			t.Errorf("got exit status %d, want 0; stderr:\n%s", status, g.stderr)
		}
	})
	g.await()
	return g, c.Process
}

// hashed is the hash of a key, as the configuration has it.
func hashed(key string) string { return config.HashKey(key) }

// serveConns serves connections by h until the test ends, which closes those that
// somebody keeps: next reads one request, and says whether there was one.
func serveConns(t *testing.T, h func(c *net.TCPConn, next func() bool)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(t.Context(), func() { c.Close() })
			all.Go(func() {
				defer stop()
				defer c.Close()
				reader := bufio.NewReader(c)
				h(c.(*net.TCPConn), func() bool {
					r, err := http.ReadRequest(reader)
					if err == nil {
						_, err = io.Copy(io.Discard, r.Body)
					}
					return err == nil
				})
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return fmt.Sprintf("http://%s/v1", l.Addr())
}

// pace yields every few milliseconds until ctx ends.
func pace(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if !yield(n) {
					return
				}
			}
		}
	}
}

// memoryOf is a figure of a process's memory in bytes, as Linux names it.
func memoryOf(t *testing.T, pid int, field string) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	_, rest, _ := strings.Cut(string(status), field+":")
	if _, err := fmt.Sscan(rest, &n); err != nil {
		t.Fatalf("got status %q, want %s in it", status, field)
	}
	return n << 10
}
