package httpapi

import (
	"context"
	"net"
	"sync"
	"time"
)

// A client that leaves ends its request, since net/http reads on while a handler runs. It reads
// one byte, and no more once it has that: a client that sends anything behind its body and then
// leaves would go unnoticed until the answer is written, and a whole answer is written at the
// end only. From that byte on the connection itself is asked, every lookEvery, whether the
// client has closed it. As for net/http, one that has closed only its own direction has left. So
// has one that has sent more than the system takes for us without a reader: its end could not come
// through. Whole requests behind one in progress are answered up to that size.

const (
	lookEvery  = 500 * time.Millisecond // how often a connection with such bytes is asked
	maxSurplus = 32 << 10               // bytes that wait; the smallest window of a system is twice that
)

// connection is a client's.
type connection struct {
	net.Conn
	tcp   *net.TCPConn       // the same; nil if it is none, as in tests
	leave context.CancelFunc // ends the requests of the connection; nil before it is served

	mu    sync.Mutex
	timer *time.Timer // nil while nobody looks

	stall stalling

	out      sync.Mutex
	buffer   *[gatherRoom]byte // what was written while it gathers; nil while it does not
	buffered int               // how many bytes of that there are
}

// listener gives connections that notice that their client has left, or takes or sends nothing any
// more.
type listener struct {
	net.Listener
	stall time.Duration // how long a client may
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp, _ := c.(*net.TCPConn)
	return &connection{Conn: c, tcp: tcp, stall: stalling{limit: l.stall}}, nil
}

// withLeave is the ConnContext of the server.
func withLeave(ctx context.Context, c net.Conn) context.Context {
	own, ok := c.(*connection)
	if !ok {
		return ctx
	}
	ctx, own.leave = context.WithCancel(context.WithValue(ctx, connectionKey{}, own))
	return ctx
}

// Read implements net.Conn. Only net/http's read behind a request's body asks for one byte.
func (c *connection) Read(p []byte) (int, error) {
	c.stopLooking()
	n, err := c.stall.read(c.Conn, p)
	if len(p) == 1 && n == 1 && c.tcp != nil {
		c.startLooking()
	}
	return n, err
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.stopLooking()
	if c.leave != nil {
		c.leave()
	}
	return c.Conn.Close()
}

// startLooking has the connection asked from now on whether its client has closed it.
func (c *connection) startLooking() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = time.AfterFunc(lookEvery, c.look)
}

// stopLooking ends that: the next request is read, or nothing more.
func (c *connection) stopLooking() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// look asks whether the client has closed the connection, and if so ends its requests. It runs by the timer.
func (c *connection) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.timer == nil: // it rests since this began
	case hasLeft(c.tcp):
		c.timer = nil
		c.leave()
	default:
		c.timer.Reset(lookEvery)
	}
}
