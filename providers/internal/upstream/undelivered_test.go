package upstream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// kept serves connections of which each begins with a good answer, written by first, and goes on
// with then, which may be nil. asked counts all requests that it has read to their end.
func kept(t *testing.T, first, then func(c *net.TCPConn, r *bufio.Reader)) (p *upstream.Client, asked *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = &atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				reader := bufio.NewReader(c)
				if takes(reader) {
					asked.Add(1)
					first(c.(*net.TCPConn), reader)
					if then != nil {
						then(c.(*net.TCPConn), reader)
					}
				}
			}()
		}
	}()
	p, err = upstream.New(upstream.Config{BaseURL: "http://" + l.Addr().String(), Timeouts: upstream.Timeouts{Total: 20 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.CloseIdleConnections()
		l.Close()
		<-done
	})
	return p, asked
}

// takes reads a request to its end.
func takes(reader *bufio.Reader) bool {
	r, err := http.ReadRequest(reader)
	if err == nil {
		_, err = io.Copy(io.Discard, r.Body)
	}
	return err == nil
}

const goodAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"

// TestRequestOnceOnKeptConnection has an upstream take the second request of a connection, whole or
// in part, and close the connection in one of the ways there are: the request is not sent again.
func TestRequestOnceOnKeptConnection(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *net.TCPConn){
		"closed": func(*net.TCPConn) {},
		"reset":  func(c *net.TCPConn) { c.SetLinger(0) },
		"half":   func(c *net.TCPConn) { c.CloseWrite(); time.Sleep(time.Millisecond) },
		"later":  func(*net.TCPConn) { time.Sleep(60 * time.Millisecond) },
	} {
		for _, part := range []bool{false, true} {
			for _, size := range []int{2, 100_000} {
				t.Run(fmt.Sprintf("%s/part=%v/%d", name, part, size), func(t *testing.T) {
					t.Parallel()
					var second atomic.Int64
					p, asked := kept(t, func(c *net.TCPConn, _ *bufio.Reader) { io.WriteString(c, goodAnswer) }, func(c *net.TCPConn, r *bufio.Reader) {
						if part {
							if _, err := r.ReadByte(); err == nil {
								second.Add(1)
							}
						} else if takes(r) {
							second.Add(1)
						}
						end(c)
					})
					sent, failed := int64(0), int64(0)
					for second.Load() < 20 && sent < 2000 { // most are the second of a connection, or the first of another
						if _, err := p.Do(t.Context(), upstream.Request{URL: p.URL("chat"), Body: wire.Pieces{make([]byte, size)}}); err != nil {
							failed++
						}
						sent++
					}
					if n := second.Load(); n < 20 || failed != n || asked.Load()+n != sent {
						t.Errorf("got %d first and %d second requests of %d, of which %d failed; want each once, and those failed that were the second", asked.Load(), n, sent, failed)
					}
				})
			}
		}
	}
}
