package httpapi

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
)

// stallLimit is how long a client may take no byte of its answer, or send none of its
// body. It may be slow for as long as it likes.
const stallLimit = 60 * time.Second

// writeAtOnce is how many bytes of a write a client has to take within the limit.
const writeAtOnce = 256 << 10

// stalling ends reads and writes of a connection that make no progress. It sets the deadlines where
// bytes are really read from the system and written to it: most bodies are here with their header.
type stalling struct {
	limit time.Duration

	mu     sync.Mutex // of the deadline of reads
	body   bool       // a request's body is being read, by a handler or by net/http behind it
	waited bool       // for some of it, under a deadline that has to be taken back

	written time.Time // when the deadline of writes was last set; used by one write at a time
}

// read reads. Reads between requests have net/http's own deadlines, and the one that waits for a client
// to leave has none.
func (s *stalling) read(c net.Conn, p []byte) (int, error) {
	if !s.awaitsBody(c, len(p)) {
		return c.Read(p)
	}
	n, err := c.Read(p)
	if err != nil { // and so does every further read: net/http wants the rest of the body
		s.mu.Lock()
		defer s.mu.Unlock()
		s.body = false
	}
	return n, err
}

// awaitsBody reports whether a read of so many bytes is for a body, and sets its deadline. One byte is what
// net/http waits for behind a body (see [connection.Read]): the body has come.
func (s *stalling) awaitsBody(c net.Conn, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.body && size == 1 {
		s.bodyRead(c)
	}
	if s.body {
		s.waited = true
		_ = c.SetReadDeadline(time.Now().Add(s.limit)) // of an open connection it cannot fail
	}
	return s.body
}

// bodyRead notes that the body was read, so that the connection may rest. s.mu is held.
func (s *stalling) bodyRead(c net.Conn) {
	if s.waited {
		_ = c.SetReadDeadline(time.Time{})
	}
	s.body, s.waited = false, false
}

// write writes p. The deadline is set anew when a quarter of it is over, which spares most chunks of a
// stream the cost.
func (s *stalling) write(c net.Conn, p []byte) (n int, err error) {
	for {
		if now := time.Now(); now.Sub(s.written) > s.limit/4 {
			s.written = now
			_ = c.SetWriteDeadline(now.Add(s.limit))
		}
		piece := p[n:min(n+writeAtOnce, len(p))]
		wrote, err := c.Write(piece)
		if n += wrote; err != nil || n == len(p) {
			return n, err
		}
	}
}

// awaitBodies says that a request's body is read from now on, whether its handler reads it or answers without:
// net/http reads what is left of it in front of the answer.
func awaitBodies(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if r := c.Request(); r.ContentLength != 0 {
			connectionOf(r.Context()).beginBody()
		}
		return next(c)
	}
}

// beginBody says that a request's body is read from now on. It may be called for nil.
func (c *connection) beginBody() {
	if c != nil {
		c.stall.mu.Lock()
		defer c.stall.mu.Unlock()
		c.stall.body = true
	}
}

// endBody says that the body was read. After an error it is not called: net/http reads what is left of the
// body. It may be called for nil.
func (c *connection) endBody() {
	if c != nil {
		c.stall.mu.Lock()
		defer c.stall.mu.Unlock()
		c.stall.bodyRead(c.Conn)
	}
}

// SetReadDeadline implements net.Conn. net/http calls it between requests, and to end its read behind a body:
// what is read from then on is no body, and the deadline is not taken back.
func (c *connection) SetReadDeadline(t time.Time) error {
	c.stall.mu.Lock()
	defer c.stall.mu.Unlock()
	c.stall.body, c.stall.waited = false, false
	return c.Conn.SetReadDeadline(t)
}

// SetDeadline implements net.Conn. net/http calls it for a connection that a WebSocket takes over, and would take back
// the deadline of writes, which the next ones believe to be set.
func (c *connection) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetWriteDeadline implements net.Conn. Writes have deadlines of their own, which net/http need not
// take back behind each answer.
func (c *connection) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}
