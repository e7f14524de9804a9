package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// heard is an upstream that keeps the bytes of every POST.
func heard(t *testing.T) (url string, requests chan string) {
	t.Helper()
	requests = make(chan string, 100)
	url = raw(t, func(c *net.TCPConn, request []byte) {
		if bytes.HasPrefix(request, []byte("POST")) {
			requests <- string(request)
		}
		body := completion(healthyText)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body)
	})
	return url, requests
}

// exchange sends bytes and returns the statuses of all that comes back, until the
// gateway closes the connection.
func (g *gate) exchange(t *testing.T, request string) (statuses []int) {
	t.Helper()
	c := g.dial(t)
	io.WriteString(c, request)
	r := bufio.NewReader(c)
	for {
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return statuses
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		statuses = append(statuses, resp.StatusCode)
	}
}

// TestFaultSuitePaths writes paths in ways that lead somewhere else in some servers. On
// the admin listener none of them leads past its key.
func TestFaultSuitePaths(t *testing.T) {
	t.Parallel()
	const key = "cg-operator-canary"
	g := serve(t, "admin: {listen: \"127.0.0.1:0\", key_hash: \""+hashed(key)+"\"}\nproviders: {demo: {type: demo}}\n")
	admin := &gate{t: t, addr: adminOn.FindStringSubmatch(g.stdout.String())[1]}
	for _, path := range []string{
		"//admin", "//admin/breakers", "/v1/%2e%2e/admin", "/v1/../admin/breakers", "/v1/%2e%2e/admin/breakers", "/admin%2fbreakers", "/%61dmin/breakers",
		"/admin/breakers/", "/admin//breakers", "/admin/./breakers", "/ADMIN/breakers", "/admin/breakers;a=b", "/admin/breakers%00", "/admin/breakers%20",
		"/admin/breakers?x=/livez", "/livez/../admin/breakers", "/livez/%2e%2e/admin/breakers", "/livez%2f..%2fadmin%2fbreakers", "/admin\\breakers",
		"http://localhost/admin/breakers", "/metrics/../admin/breakers", "/metrics", "/admin/breakers/demo/reset",
	} {
		for _, method := range []string{"GET", "POST", "HEAD"} {
			request := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
			if got := g.exchange(t, request); len(got) != 1 || got[0] != 404 && got[0] != 400 {
				t.Errorf("%s %s: got statuses %d from the clients' listener, want 404 or 400", method, path, got)
			}
			if got := admin.exchange(t, request); len(got) != 1 || got[0] != 401 && got[0] != 400 {
				t.Errorf("%s %s: got statuses %d from the admin listener, want 401 or 400", method, path, got)
			}
		}
	}
}

// TestFaultSuiteManyHeaders sends as many tiny header lines as the limit on their bytes
// allows.
func TestFaultSuiteManyHeaders(t *testing.T) {
	t.Parallel()
	url, requests := heard(t)
	g := serve(t, fmt.Sprintf("{providers: {up: {type: openai, base_url: %q}}}", url))
	const body = `{"model":"up/m"}`
	for name, line := range map[string]func(i int) string{
		"one name":   func(int) string { return "a:\r\n" },
		"many names": func(i int) string { return fmt.Sprintf("a%x:\r\n", i) },
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			fmt.Fprintf(&b, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n", len(body))
			for i := range 10_000 {
				b.WriteString(line(i))
			}
			got := g.exchange(t, b.String()+"\r\n"+body)
			if len(got) != 1 || got[0] != 200 && got[0] != 400 && got[0] != 431 {
				t.Errorf("got statuses %d, want one of 200, 400, 431", got)
			}
			if len(requests) > 0 {
				if n := len(<-requests); n > 128<<10 {
					t.Errorf("got a request of %d bytes at the upstream, want no more than came", n)
				}
			}
		})
	}
	if r := g.get("/livez"); r.status != 200 {
		t.Errorf("got status %d from /livez behind them, want 200", r.status)
	}
}
