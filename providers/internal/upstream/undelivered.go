package upstream

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/callgate/callgate/providers/internal/h1"
)

// An upstream may close a connection that it keeps in the moment in which a request takes it. Such a
// request is sent again, on another connection, if it is certain that the upstream never had any
// of it, and only then: a completion that is made twice is paid twice. It is certain if nothing was
// written, or if the kernel knows that the upstream has closed its direction (its FIN is here) and
// has not acknowledged a byte of the request. What a program has read is acknowledged by the FIN
// that it sends later. A reset proves nothing: it comes without having acknowledged what has been
// read a moment ago. Of HTTP/2 net/http knows itself which streams the upstream has not begun.

// maxUndelivered is how often a request is sent again: as often it may meet a connection that has
// been closed.
const maxUndelivered = 3

// tracked is a connection to an upstream that knows what became of the bytes written.
type tracked struct {
	net.Conn
	wrote atomic.Int64
	base  int64        // what the kernel counted before the first byte
	acked atomic.Int64 // how many of the bytes the upstream had when this was closed; -1 if unknown

	ended  atomic.Bool // the upstream has closed its direction
	broken atomic.Bool // or something else has become of the connection
	over   sync.Once
	read   chan struct{} // closed when Read has come to an end of either sort
}

// track begins to watch a connection.
func track(c net.Conn) net.Conn {
	t := &tracked{Conn: c, read: make(chan struct{})}
	t.acked.Store(-1)
	t.base, _, _ = h1.Acknowledged(c)
	return t
}

// Read implements net.Conn. Behind a reset there is an end as well, for whoever has not been told
// of the reset: either Read or Write has.
func (t *tracked) Read(p []byte) (int, error) {
	n, err := t.Conn.Read(p)
	if err == io.EOF {
		t.ended.Store(true)
	} else if err != nil {
		t.broken.Store(true)
	}
	if err != nil {
		t.over.Do(func() { close(t.read) })
	}
	return n, err
}

// readEnds is how long a Write that has failed waits for the Read that net/http always makes: it
// says why, and says it as soon as its goroutine has its turn.
const readEnds = time.Second

// Write implements net.Conn.
func (t *tracked) Write(p []byte) (int, error) {
	t.wrote.Add(int64(len(p))) // before it is written: who finds none has nothing under way
	n, err := t.Conn.Write(p)
	t.wrote.Add(int64(n - len(p)))
	switch {
	case err == nil, errors.Is(err, net.ErrClosed): // the Read has said why before it was closed
	case errors.Is(err, syscall.EPIPE): // as behind the upstream's end
		select {
		case <-t.read:
		case <-time.After(readEnds):
		}
	default:
		t.broken.Store(true)
	}
	return n, err
}

// Close implements net.Conn. It is the last moment to ask the kernel.
func (t *tracked) Close() error {
	if n, ended, ok := h1.Acknowledged(t.Conn); ok {
		if ended { // TLS says so without a Read of ours
			t.ended.Store(true)
		}
		t.acked.Store(n - t.base)
	}
	return t.Conn.Close()
}

// sending is where an attempt to send a request has begun: behind how many bytes of which
// connection, which is nil for HTTP/2.
type sending struct {
	conn   *tracked
	reused bool
	behind int64
	unsent bool        // known without a look at the connection
	begun  atomic.Bool // its header, which comes first
}

// reset forgets the attempt before. unsent says that gotConn and begun will be told.
func (s *sending) reset(unsent bool) {
	s.conn, s.reused, s.behind, s.unsent = nil, false, 0, unsent
	s.begun.Store(!unsent)
}

// gotConn is called when a request has a connection.
func (s *sending) gotConn(info httptrace.GotConnInfo) {
	s.reset(true)
	s.unsent = false
	raw := info.Conn
	if secure, ok := raw.(*tls.Conn); ok {
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return
		}
		raw = secure.NetConn()
	}
	if t, ok := raw.(*tracked); ok {
		s.conn, s.reused, s.behind = t, info.Reused, t.wrote.Load()
	}
}

// nothing reports whether it is certain that nothing of a request was written that has failed: it had no
// connection, or what it had is closed by now.
func (s *sending) nothing() bool {
	return s.unsent || !s.begun.Load() || s.conn != nil && s.conn.wrote.Load() == s.behind
}

// undelivered reports whether it is certain that the upstream has nothing of the request. It is for
// a request that has failed, whose connection net/http has closed. A new connection was not closed by an
// upstream that was idle, and its request is not sent again.
func (s *sending) undelivered() bool {
	if s.conn == nil || !s.reused {
		return false
	}
	if s.conn.wrote.Load() == s.behind {
		return true
	}
	acked := s.conn.acked.Load()
	return acked >= 0 && acked <= s.behind && s.conn.ended.Load() && !s.conn.broken.Load()
}

// roundTrip sends the request, and again if it was not delivered.
func (c *call) roundTrip() (*http.Response, error) {
	if c.req == nil {
		resp, err := c.p.plain.Do(c.ctx, &c.plain)
		if _, unsent := errors.AsType[*h1.UnsentError](err); unsent {
			c.unsent = true
		}
		return resp, err
	}
	trace := &httptrace.ClientTrace{GotConn: c.gotConn, WroteHeaderField: func(string, []string) { c.begun.Store(true) }}
	req := c.req.WithContext(httptrace.WithClientTrace(c.ctx, trace))
	transport := c.p.transport
	if c.fresh && c.p.fresh != nil {
		transport = c.p.fresh
	}
	for again := 0; ; again++ {
		_, tells := transport.(*http.Transport)
		c.reset(tells)
		resp, err := transport.RoundTrip(req)
		if err == nil {
			return resp, nil
		}
		undelivered := c.undelivered()
		if again == maxUndelivered || req.GetBody == nil || !undelivered || c.interrupted() != nil {
			c.unsent = undelivered || c.nothing()
			return nil, err
		}
		body, lost := req.GetBody()
		if lost != nil { // it cannot be read a second time
			return nil, errors.Join(err, lost)
		}
		req.Body = body
	}
}
