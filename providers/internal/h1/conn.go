package h1

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// conn is a connection to the server. One request uses it at a time.
type conn struct {
	net.Conn
	transport *Transport
	reader    *bufio.Reader
	quiet     *quiet
	head      int64 // bytes of an answer's header that may still come; negative where none is read
	since     time.Time

	reused bool  // it has had an answer before
	base   int64 // what the kernel counted before the first byte
	wrote  int64 // in all
	before int64 // of which before the request at hand
	fault  error // that the request at hand has met, in writing or in front of its answer
}

func newConn(own net.Conn, t *Transport) *conn {
	c := &conn{Conn: own, transport: t, quiet: newQuiet(own), head: -1}
	c.base, _, _ = Acknowledged(own)
	c.reader = bufio.NewReaderSize(c, t.o.ReadBuffer)
	return c
}

var errHeader = errors.New("the answer's header is too long")

// Read implements io.Reader for the connection's buffer.
func (c *conn) Read(p []byte) (int, error) {
	if c.head < 0 {
		return c.Conn.Read(p)
	}
	if c.head == 0 {
		return 0, errHeader
	}
	n, err := c.Conn.Read(p[:min(int64(len(p)), c.head)])
	c.head -= int64(n)
	return n, err
}

// rests reports whether nothing has come since the last answer: no end, and nothing that nobody has asked
// for.
func (c *conn) rests() bool { return c.reader.Buffered() == 0 && c.quiet.now() }

func (c *conn) close() { _ = c.Close() } // nothing is lost that was not lost before

// exchange sends a request and reads the header of its answer. After an error the connection is to be
// closed.
func (c *conn) exchange(ctx context.Context, r *Request, target string) (*http.Response, error) {
	c.before, c.fault, c.head = c.wrote, nil, c.transport.o.MaxHeader
	room := messages.Get().(*[]byte)
	message, err := appendMessage((*room)[:0], r, target)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, c.close)
	n, err := c.Write(message)
	c.wrote += int64(n)
	if *room = message[:0]; cap(message) <= keptMessage {
		messages.Put(room)
	}
	var resp *http.Response
	if err == nil {
		resp, err = c.answer()
	}
	if err != nil {
		stop()
		c.fault = err
		return nil, err
	}
	b := &body{src: resp.Body, conn: c, stop: stop, keep: !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols}
	if resp.Body == http.NoBody {
		b.ended(io.EOF)
	}
	resp.Body = b
	return resp, nil
}

// answer reads the header of an answer. Interim answers (1xx) are passed over: the bound on the header
// holds for all of them together.
func (c *conn) answer() (*http.Response, error) {
	for {
		resp, err := http.ReadResponse(c.reader, nil)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.head = -1
			return resp, nil
		}
	}
}

// undelivered reports whether it is certain that the server has nothing of the request that has failed
// last: nothing of it was written; or the server has ended the connection, as the read in front of its
// answer has shown, and has not acknowledged a byte of the request. A reset proves nothing: it comes
// without having acknowledged what has been read a moment ago.
func (c *conn) undelivered() bool {
	if !c.reused || c.fault == nil {
		return false
	}
	if c.wrote == c.before {
		return true
	}
	if errors.Is(c.fault, syscall.EPIPE) { // behind the server's end, or behind a reset
		_, c.fault = c.reader.Peek(1)
	}
	if !errors.Is(c.fault, io.EOF) && !errors.Is(c.fault, io.ErrUnexpectedEOF) || c.reader.Buffered() > 0 || c.answered() {
		return false
	}
	n, _, ok := Acknowledged(c.Conn)
	return ok && n-c.base <= c.before
}

// answered reports whether anything of an answer has come.
func (c *conn) answered() bool { return c.head != c.transport.o.MaxHeader }

// body is that of an answer.
type body struct {
	src   io.Reader
	conn  *conn
	stop  func() bool // has the connection no longer end with the request's context
	keep  bool
	isEnd atomic.Bool
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if err != nil {
		b.ended(err)
	}
	return n, err
}

// Close implements io.Closer. It may be called while Read waits. What is left of the body is not read.
func (b *body) Close() error {
	b.ended(nil)
	return nil
}

// ended gives the connection back, or closes it if the body did not come to its end.
func (b *body) ended(err error) {
	if !b.isEnd.CompareAndSwap(false, true) {
		return
	}
	if b.stop() && err == io.EOF && b.keep {
		b.conn.transport.keep(b.conn)
		return
	}
	b.conn.close()
}
