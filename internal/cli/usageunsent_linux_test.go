package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// greeted takes connections, tells of each when the gateway has begun the handshake of TLS, and answers none.
func greeted(t *testing.T) (url string, came chan struct{}) {
	t.Helper()
	came = make(chan struct{}, 100)
	return strings.Replace(serveConns(t, func(c *net.TCPConn, _ func() bool) {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			came <- struct{}{}
		}
		_, _ = io.Copy(io.Discard, c)
	}), "http://", "https://", 1), came
}

// crowded is the address of a socket that takes no connection: its queue is full, and the kernel answers nobody who wants in.
// queued returns when the gateway does.
func crowded(t *testing.T) (url string, queued func()) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := at.(*syscall.SockaddrInet4).Port
	first, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)) // a queue of 0 has room for one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { first.Close() })
	wanting := fmt.Sprintf("0100007F:%04X 02 ", port) // SYN-SENT
	return fmt.Sprintf("http://127.0.0.1:%d/v1", port), func() {
		await(t, "a connection that is not answered", func() bool {
			list, err := os.ReadFile("/proc/net/tcp")
			return err == nil && strings.Contains(string(list), wanting)
		})
	}
}

// unasked are requests over each protocol, and those that are relayed, for a model.
var unasked = map[string]string{ //nolint:gochecknoglobals // cases
	"/v1/chat/completions": `{"model":"%s","messages":[{"role":"user","content":"hi"}]}`,
	"/v1/responses":        `{"model":"%s","stream":true,"input":"hi"}`,
	"/v1/messages":         `{"model":"%s","stream":true,"max_tokens":99,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/completions":      `{"model":"%s","prompt":"hi","max_tokens":9}`,
	"/v1/embeddings":       `{"model":"%s","input":"hi"}`,
}

// TestUsageUnsent holds that a request of which no upstream has had a byte is no row of the ledger and no part of a
// budget: the client has left, or a timer has run out, while the gateway connects. One that may have been sent is
// a row, with an estimate.
func TestUsageUnsent(t *testing.T) {
	t.Parallel()
	muteTLS, greeting := greeted(t)
	asked := make(chan struct{}, 100)
	silent := upstream(t, func(_ http.ResponseWriter, r received) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	full, queued := crowded(t)
	prices := writePrices(t, t.TempDir())
	g := serve(t, fmt.Sprintf(`
admin: {listen: "127.0.0.1:0"}
prices: %q
key_limits: [{usd: 100, per: total}]
usage: {store: sqlite, path: %q}
providers:
  greeting: {type: openai, base_url: %[3]q, api_key: k, circuit_breaker: {failure_threshold: 1000}}
  hasty: {type: openai, base_url: %[3]q, api_key: k, circuit_breaker: {failure_threshold: 1000}, timeouts: {connect: 50ms}}
  late: {type: openai, base_url: %[3]q, api_key: k, circuit_breaker: {failure_threshold: 1000}, timeouts: {connect: 1m, first_token: 50ms, whole: 50ms, total: 50ms}}
  full: {type: openai, base_url: %[4]q, api_key: k, circuit_breaker: {failure_threshold: 1000}}
  silent: {type: openai, base_url: %[5]q, api_key: k, circuit_breaker: {failure_threshold: 1000}}
models:
  greeting: {targets: [{provider: greeting, model: real}]}
  hasty: {targets: [{provider: hasty, model: real}]}
  late: {targets: [{provider: late, model: real}]}
  full: {targets: [{provider: full, model: real}]}
  silent: {targets: [{provider: silent, model: real}]}
  dear: {targets: [{provider: silent, model: dear}]}
`, prices, filepath.Join(t.TempDir(), "usage.db"), muteTLS, full, silent))
	settled := func() usageSum {
		t.Helper()
		await(t, "the end of all holds", func() bool { return strings.Contains(g.adminDo("GET", "/metrics").body, "callgate_limit_holds 0\n") })
		for _, s := range g.usage("group=total") {
			return s
		}
		return usageSum{}
	}
	for path, body := range unasked {
		for _, model := range []string{"hasty", "late"} {
			if r := g.do(g.request("POST", path, fmt.Sprintf(body, model))); !strings.Contains(r.body, "upstream_timeout") && !strings.Contains(r.body, "timeout_error") && !strings.Contains(r.body, "timeouts.") {
				t.Errorf("%s, %s: got %d %.300s, want a timeout", path, model, r.status, r.body)
			}
		}
		for model, came := range map[string]func(){"greeting": func() { <-greeting }, "full": queued} {
			ctx, leave := context.WithCancel(t.Context())
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				resp, err := g.client.Do(g.request("POST", path, fmt.Sprintf(body, model)).WithContext(ctx))
				if err == nil { // the heartbeat of a stream has begun it
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}()
			for len(greeting) > 0 { // those of the timers
				<-greeting
			}
			came()
			leave()
			<-gone
		}
		if s := settled(); s.Answers != 0 || g.budget() != "0 USD" {
			t.Errorf("%s: the ledger has %+v, and the budget has spent %s; want nothing, since nothing was sent", path, s, g.budget())
		}
	}
	n := int64(0)
	for path, body := range unasked {
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if resp, err := g.client.Do(g.request("POST", path, fmt.Sprintf(body, "silent")).WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
		}()
		<-asked
		leave()
		<-gone
		n++
		if s := settled(); s.Answers != n || s.Estimated != n || s.Nano == 0 {
			t.Errorf("%s: the ledger has %+v of requests that were sent, want an estimate for %d", path, s, n)
		}
	}
}
