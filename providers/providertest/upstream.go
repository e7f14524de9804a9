package providertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/callgate/callgate/internal/testserver"
)

// upstream serves every request by h until the test ends. A handler must end when
// its request's context does.
func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// answer serves one answer.
func answer(t *testing.T, status int, header map[string]string, body string) string {
	t.Helper()
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for name, value := range header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	})
}

// events serves a stream whose pieces are flushed one by one.
func events(t *testing.T, pieces ...string) string {
	t.Helper()
	return upstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for _, piece := range pieces {
			io.WriteString(w, piece)
			w.(http.Flusher).Flush()
		}
	})
}

// hang serves a stream that sends pieces and then waits. left is closed when the
// provider has gone.
func hang(t *testing.T, contentType string, pieces ...string) (url string, started, left chan struct{}) {
	t.Helper()
	started, left = make(chan struct{}), make(chan struct{})
	var once sync.Once
	url = upstream(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(http.StatusOK)
			io.WriteString(w, strings.Join(pieces, "")) // at once, or a timer might run out in between
			w.(http.Flusher).Flush()
		}
		once.Do(func() { close(started) })
		<-r.Context().Done()
		close(left)
	})
	return url, started, left
}

// raw serves connections by a script that is run when a request has been read.
// The connection is closed behind it.
func raw(t *testing.T, script func(c *net.TCPConn)) string {
	t.Helper()
	return "http://" + listen(t, func(c *net.TCPConn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		script(c)
	}) + "/v1"
}

// listen serves connections by f, one goroutine each, and returns the address.
func listen(t *testing.T, f func(c *net.TCPConn)) string {
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
			all.Go(func() {
				defer c.Close()
				f(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// script writes text and closes, or resets the connection.
func script(text string, reset bool) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		io.WriteString(c, text)
		if reset {
			c.SetLinger(0)
		}
	}
}

// closedPort is an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	return fmt.Sprintf("http://%s/v1", testserver.Refusing(t))
}
