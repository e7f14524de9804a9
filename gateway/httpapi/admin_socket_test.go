package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/internal/logtest"
)

// serve listens for real, with the limits of HTTP.
func serve(t *testing.T, s *httpapi.Admin) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := s.HTTP()
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return listener.Addr().String()
}

// raw sends bytes and returns all that comes back.
func raw(t *testing.T, addr, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%v behind %q", err, answer)
	}
	return string(answer)
}

// statuses returns those of the answers in text, in order.
func statuses(text string) string {
	var list []string
	for line := range strings.Lines(text) {
		if status, ok := strings.CutPrefix(line, "HTTP/1.1 "); ok {
			list = append(list, status[:3])
		}
	}
	return strings.Join(list, " ")
}

// TestAdminPathTricks holds that however a path is written, nothing but /livez is
// reached without the key. The bytes go over a socket as they are here: a client
// library would tidy them.
func TestAdminPathTricks(t *testing.T) {
	t.Parallel()
	s := newStation(t, hashOf(operatorKey), "p")
	addr := serve(t, s.Admin)
	for _, target := range []string{
		"GET /metrics", "GET /metrics/", "GET //metrics", "GET /./metrics", "GET /METRICS", "GET /%6detrics", "GET /metrics%00", "GET /metrics%2f",
		"GET /admin/breakers", "GET //admin/breakers", "GET //admin//breakers", "GET /admin/../metrics", "GET /admin/%2e%2e/metrics",
		"GET /admin/%2E%2E%2Fmetrics", "GET /admin%2fbreakers", "GET /admin/./breakers", "GET /admin;x/breakers", `GET /admin\breakers`, "GET /admin/",
		"GET /livez/../metrics", "GET /livez/../admin/breakers", "GET /livez/%2e%2e/admin/breakers", "GET /livez%2f..%2fmetrics", "GET /livez/..%2fmetrics",
		"GET /livez/..;/metrics", "GET /livez;/../metrics", "GET /livez/metrics", "GET /livez%3f/../metrics", "GET /livez%00/../metrics", "GET /livez//",
		"GET http://localhost/metrics", "GET http://localhost/livez/../metrics", "GET http://localhost//livez/..//metrics",
		"POST /admin/breakers/p/reset", "POST //admin/breakers/p/reset", "POST /livez/../admin/breakers/p/reset", "POST /admin/breakers/%2e%2e/reset",
		"POST /admin/breakers/../breakers/p/reset", "POST /livez", "PUT /metrics", "HEAD /metrics", "OPTIONS /metrics", "TRACE /metrics", "BREW /metrics",
		"PRI *", "CONNECT /metrics", "CONNECT localhost:80", "GET *", "GET metrics",
	} {
		for _, header := range []string{
			"", "X-Original-URL: /livez\r\n", "X-HTTP-Method-Override: GET\r\n", "X-Forwarded-For: 127.0.0.1\r\n",
			"Authorization: Bearer x\r\nAuthorization: Bearer " + operatorKey + "\r\n",
		} {
			answer := raw(t, addr, target+" HTTP/1.1\r\nHost: localhost\r\n"+header+"Connection: close\r\n\r\n")
			if reached := s.took(); len(reached) > 0 {
				t.Errorf("%s with %q reaches %q", target, header, reached)
			}
			// 400 is net/http's own. A 404 would tell what there is.
			if status := statuses(answer); status != "400" && status != "401" && (status != "405" || target != "POST /livez") {
				t.Errorf("%s with %q: got %q", target, header, answer)
			}
		}
	}
	for target, want := range map[string]string{ // the ways that are open
		"GET /livez":     "HTTP/1.1 200",
		"GET /livez?x=/": "HTTP/1.1 200",
		"OPTIONS /livez": "HTTP/1.1 204",
		"OPTIONS *":      "HTTP/1.1 200", // net/http answers this one itself
	} {
		if answer := raw(t, addr, target+" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); !strings.HasPrefix(answer, want) {
			t.Errorf("%s: got %q, want %s", target, answer, want)
		}
	}
	if answer := raw(t, addr, "GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+operatorKey+"\r\nConnection: close\r\n\r\n"); !strings.Contains(answer, "up 1") {
		t.Errorf("with the key: got %q", answer)
	}
}

// TestAdminOneConnection holds that what one request may does not open the door for
// the next on the same connection, nor for one hidden in a body.
func TestAdminOneConnection(t *testing.T) {
	t.Parallel()
	s := newStation(t, hashOf(operatorKey), "p")
	addr := serve(t, s.Admin)
	const hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
	for _, c := range []struct {
		name, first, want string
	}{
		{"after /livez", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 401"},
		{"after the key", "GET /admin/breakers HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + operatorKey + "\r\n\r\n", "200 401"},
		{"in a body", fmt.Sprintf("GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n", len(hidden)), "200"},
		{"behind two lengths", "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nContent-Length: 0\r\n\r\n", "400"},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := raw(t, addr, c.first+hidden)
			got := statuses(answer)
			if reached := s.took(); got != c.want || slices.Contains(reached, "metrics") {
				t.Errorf("got %s and reached %q, want %s: %q", got, reached, c.want, answer)
			}
		})
	}
}

func TestAdminLimits(t *testing.T) {
	t.Parallel()
	s := newStation(t, hashOf(operatorKey), "p")
	addr := serve(t, s.Admin)
	answer := raw(t, addr, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 24<<10)+"\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 431") {
		t.Errorf("a long header: got %.200q, want 431", answer)
	}
	body := strings.Repeat("x", 5000)
	answer = raw(t, addr, fmt.Sprintf("POST /admin/breakers/p/reset HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		operatorKey, len(body), body))
	if !strings.HasPrefix(answer, "HTTP/1.1 413") || len(s.took()) > 0 {
		t.Errorf("a long body: got %.200q, want 413", answer)
	}
	if server := s.HTTP(); server.ReadTimeout <= 0 || server.WriteTimeout <= 0 || server.IdleTimeout <= 0 {
		t.Errorf("got timeouts of %s, %s and %s", server.ReadTimeout, server.WriteTimeout, server.IdleTimeout)
	}
}

// TestAdminPanic holds that a panic gives an error and a line in the log, and that an
// answer which it cuts off does not look whole.
func TestAdminPanic(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	a, err := httpapi.NewAdmin(httpapi.AdminConfig{
		Breakers: func() []breaker.Snapshot { panic("secret") },
		Reset:    func(string) bool { return true },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintln(w, "up 1")
			_ = http.NewResponseController(w).Flush()
			panic("secret")
		}),
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	addr := serve(t, a)
	get := func(path string) (*http.Response, []byte, error) {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return resp, body, err
	}
	resp, body, err := get("/admin/breakers")
	if _, code := errorOf(t, body); err != nil || resp.StatusCode != 500 || code != "internal_error" || bytes.Contains(body, []byte("secret")) {
		t.Errorf("got %d %s and %v, want 500 without the cause", resp.StatusCode, body, err)
	}
	if resp, body, err = get("/metrics"); err == nil {
		t.Errorf("an answer that was cut off looks whole: %d %q", resp.StatusCode, body)
	}
	if strings.Count(log.String(), "panic=secret") != 2 || strings.Count(log.String(), "admin request") != 2 {
		t.Errorf("got this log: %s", log.String())
	}
}
