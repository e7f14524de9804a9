package upstream_test

import (
	"bufio"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// corked writes the answer so that it leaves together with the end of the connection, both of its directions: were one
// left open, the kernel would take the next request, and say so, and nobody would read it. It counts when that may not
// have come about: the kernel sends what is corked by itself after 200 ms, which a goroutine that has to wait for its
// turn may take.
func corked(late *atomic.Int64) func(c *net.TCPConn, _ *bufio.Reader) {
	return func(c *net.TCPConn, _ *bufio.Reader) {
		raw, err := c.SyscallConn()
		if err != nil {
			return
		}
		began := time.Now()
		_ = raw.Control(func(fd uintptr) {
			if unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1) == nil {
				_, _ = unix.Write(int(fd), []byte(goodAnswer))
			}
		})
		_ = c.Close()
		if time.Since(began) > 100*time.Millisecond {
			late.Add(1)
		}
	}
}

// TestUndeliveredRequest has an upstream close each connection together with its answer, and says
// nothing of it. The next request often takes that connection before the end of it is noticed: it
// was not delivered, so it is sent on another one, and none fails. Each is taken once.
func TestUndeliveredRequest(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"small": 2, "large": 100_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var late atomic.Int64
			p, asked := kept(t, corked(&late), nil)
			const requests = 2000
			failed, body := int64(0), make([]byte, size)
			var last error
			for range requests {
				if _, err := p.Do(t.Context(), upstream.Request{URL: p.URL("chat"), Body: wire.Pieces{body}}); err != nil {
					failed, last = failed+1, err
				}
			}
			if n := asked.Load(); failed > late.Load() || n != requests-failed {
				t.Errorf("got %d of %d requests that failed and %d that were taken, want none, but for %d answers that may have come alone, and each once; the last error is %v",
					failed, requests, n, late.Load(), last)
			}
		})
	}
}
