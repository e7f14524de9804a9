// Package h1 asks a server over HTTP/1.1 without TLS, in the goroutine of the caller. net/http's
// transport has two goroutines for each connection, and wakes both for each request; for a gateway in
// front of servers of its own network that is a fifth of what a request costs.
//
// It is for the plain case alone: one address, no proxy, a request that fits into memory and into the
// socket. All else is net/http's transport's. What servers answer is parsed by net/http here too.
//
// A request is sent once, unless it took a kept connection that the server had closed and it is certain
// that the server has nothing of it; see [Acknowledged].
package h1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Options are what a Transport is made of. All are needed.
type Options struct {
	// Dial connects to the server.
	Dial func(ctx context.Context) (net.Conn, error)
	// MaxIdle is how many connections are kept for the next request, and IdleTime how long.
	MaxIdle  int
	IdleTime time.Duration
	// MaxHeader is how many bytes the header of an answer may have, and ReadBuffer how many one read
	// takes. Each connection has such a buffer.
	MaxHeader  int64
	ReadBuffer int
}

// MaxBody is how long a request's body may be. A server that answers before it has read the request waits
// for nobody up to here: what it has not read is in its socket and in ours.
const MaxBody = 64 << 10

// Request is a request.
type Request struct {
	Method string
	URL    *url.URL // it is not changed
	Host   string
	Header http.Header // canonical names; those that frame the body are not among them
	Body   []byte      // of at most MaxBody bytes
}

// Transport keeps connections to one server. It may be used by many goroutines.
type Transport struct {
	o       Options
	targets targets

	mu    sync.Mutex
	idle  []*conn     // the one that was used last comes last
	sweep *time.Timer // closes those that have been idle for too long; nil while there are none
}

// New returns a transport without connections.
func New(o Options) *Transport { return &Transport{o: o} }

// maxUndelivered is how often a request is sent again: as often it may meet a connection that has been
// closed.
const maxUndelivered = 3

// UnsentError is the error of a request of which the server has nothing, which is certain.
type UnsentError struct{ Err error }

// Error implements error.
func (e *UnsentError) Error() string { return e.Err.Error() }

// Unwrap returns what has kept it from being sent.
func (e *UnsentError) Unwrap() error { return e.Err }

// Do sends a request and returns the answer once its header is there. When ctx ends, the connection is
// closed: until the answer's body was read to its end or closed, one of which has to be done. Where the server has nothing of
// a request that has failed, the error is an [*UnsentError].
func (t *Transport) Do(ctx context.Context, r *Request) (*http.Response, error) {
	if len(r.Body) > MaxBody {
		return nil, errors.New("the request is too long for this transport")
	}
	target := t.targets.of(r.URL)
	for again := 0; ; again++ {
		if err := ctx.Err(); err != nil { // else it might be sent nevertheless, before the connection is closed
			return nil, &UnsentError{err}
		}
		c, err := t.take(ctx)
		if err != nil {
			return nil, &UnsentError{err}
		}
		resp, err := c.exchange(ctx, r, target)
		if err == nil {
			return resp, nil
		}
		unsent := c.wrote == c.before
		undelivered := c.undelivered()
		c.close()
		switch {
		case !undelivered && !unsent:
			return nil, err
		case !undelivered || again == maxUndelivered || ctx.Err() != nil:
			return nil, &UnsentError{err}
		}
	}
}

// take returns a kept connection, or a new one.
func (t *Transport) take(ctx context.Context) (*conn, error) {
	for c := t.kept(); c != nil; c = t.kept() {
		if c.rests() {
			return c, nil
		}
		c.close()
	}
	own, err := t.o.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(own, t), nil
}

// kept returns the connection that was used last, nil if there is none.
func (t *Transport) kept() *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.idle) - 1
	if n < 0 {
		return nil
	}
	c := t.idle[n]
	t.idle[n] = nil
	t.idle = t.idle[:n]
	return c
}

// keep keeps a connection for the next request, unless more has come than the answer.
func (t *Transport) keep(c *conn) {
	if c.reader.Buffered() > 0 {
		c.close()
		return
	}
	c.since, c.reused = time.Now(), true
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) >= t.o.MaxIdle {
		c.close()
		return
	}
	t.idle = append(t.idle, c)
	if t.sweep == nil {
		t.sweep = time.AfterFunc(t.o.IdleTime, t.expire)
	}
}

// expire closes connections that have been idle for too long.
func (t *Transport) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	over := 0
	for ; over < len(t.idle) && time.Since(t.idle[over].since) >= t.o.IdleTime; over++ {
		t.idle[over].close()
	}
	t.idle = append(t.idle[:0], t.idle[over:]...)
	clear(t.idle[len(t.idle):cap(t.idle)])
	t.sweep = nil
	if len(t.idle) > 0 {
		t.sweep = time.AfterFunc(t.o.IdleTime-time.Since(t.idle[0].since), t.expire)
	}
}

// CloseIdleConnections closes the connections that no request is using.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.idle {
		c.close()
	}
	t.idle = nil
	if t.sweep != nil {
		t.sweep.Stop()
		t.sweep = nil
	}
}
