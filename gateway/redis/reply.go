package redis

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"github.com/redis/go-redis/v9"
)

// The library believes a server: it makes room for all that a reply announces, and goes as deep as a
// reply nests. A server that somebody else has taken over, or what answers in its place, would so
// take all memory of a gateway. So replies are looked at before the library sees them.

// Bounds of a reply.
const (
	// DefaultMaxReply is that of Options.
	DefaultMaxReply = 8 << 20
	maxLine         = 4 << 10  // bytes of an error, and of any other line
	maxElements     = 64 << 10 // of all arrays of a reply, as they are announced
	maxDepth        = 8        // of arrays in arrays; streams have 5
)

// What a reply is refused with. The connection is closed then.
var (
	errLarge    = errors.New("the reply is larger than this gateway reads")
	errNoReply  = errors.New("the server sent what is no reply of RESP2")
	errLeftover = errors.New("a reply was not read to its end")
)

// dialer is the library's, whose connections read no more than replies of so many bytes.
func dialer(o *redis.Options, maxReply int) func(ctx context.Context, network, addr string) (net.Conn, error) {
	plain := &net.Dialer{Timeout: o.DialTimeout}
	dial := plain.DialContext
	if o.TLSConfig != nil { // the library's own would not end with its context
		dial = (&tls.Dialer{NetDialer: plain, Config: o.TLSConfig}).DialContext
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		under, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: under, replies: replies{most: maxReply}}
		if raw, ok := under.(syscall.Conn); ok { // by which the library sees that a connection was closed
			return &rawConn{c, raw}, nil
		}
		return c, nil
	}
}

// conn is a connection to a server that is not believed. It is used by one goroutine at a time.
type conn struct {
	net.Conn
	replies replies
}

type rawConn struct {
	*conn
	syscall.Conn
}

// Read implements net.Conn. Nothing of a reply that is refused is given on, as far as it has not been yet.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if refused := c.replies.read(p[:n]); refused != nil {
		return 0, refused
	}
	return n, err
}

// Write implements net.Conn. A command is not sent behind a reply of which the library has left some: what is left
// would be read as the reply to it.
func (c *conn) Write(p []byte) (int, error) {
	if !c.replies.between() {
		return 0, errLeftover
	}
	return c.Conn.Write(p)
}

// replies follows the replies that come, which are RESP2, in pieces of any size.
type replies struct {
	most     int // bytes of one
	size     int // bytes of the one that is read
	elements int // that its arrays have announced
	line     []byte
	skip     int   // bytes of a string that are still to come, and of the end of its line
	open     []int // how many elements the arrays that are open still have, the outermost first
	refused  error
}

// between reports whether the last reply was read to its end.
func (r *replies) between() bool {
	return r.refused == nil && r.skip == 0 && len(r.line) == 0 && len(r.open) == 0
}

// read reads what has come. An error is final.
func (r *replies) read(text []byte) error {
	for len(text) > 0 && r.refused == nil {
		if r.skip > 0 {
			n := min(r.skip, len(text))
			for k, end := range []byte("\r\n") {
				if at := r.skip - 2 + k; 0 <= at && at < n && text[at] != end {
					r.refused = errNoReply
					return r.refused
				}
			}
			text = text[n:]
			if r.skip -= n; r.skip == 0 {
				r.ended()
			}
			continue
		}
		n := bytes.IndexByte(text, '\n') + 1
		if n == 0 {
			n = len(text)
		}
		if len(r.line)+n > maxLine {
			r.refused = errLarge
			break
		}
		r.line, text = append(r.line, text[:n]...), text[n:]
		if r.line[len(r.line)-1] == '\n' {
			r.refused = r.header(r.line)
			r.line = r.line[:0]
		}
	}
	return r.refused
}

// header reads a line: a value, or the announcement of a string or an array.
func (r *replies) header(line []byte) error {
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return errNoReply
	}
	if r.size += len(line); r.size > r.most {
		return errLarge
	}
	switch line[0] {
	case '+', '-', ':':
		r.ended()
		return nil
	case '$', '*':
	default:
		return errNoReply
	}
	n, err := strconv.Atoi(string(line[1 : len(line)-2]))
	switch {
	case err != nil || n < -1:
		return errNoReply
	case n == -1:
		r.ended()
	case line[0] == '$':
		if n > r.most-r.size-len("\r\n") {
			return errLarge
		}
		r.skip = n + len("\r\n")
		r.size += r.skip
	case n == 0:
		r.ended()
	default:
		if n > maxElements-r.elements || len(r.open) == maxDepth {
			return errLarge
		}
		r.elements += n
		r.open = append(r.open, n)
	}
	return nil
}

// ended notes that a value has ended, and with it the arrays whose last one it was.
func (r *replies) ended() {
	for last := len(r.open) - 1; last >= 0; last-- {
		if r.open[last]--; r.open[last] > 0 {
			return
		}
		r.open = r.open[:last]
	}
	r.size, r.elements = 0, 0
}

// unwanted says what is wrong with a server that sends too much or no replies.
func unwanted(err error) error {
	for _, known := range [...]error{errLarge, errNoReply, errLeftover} {
		if errors.Is(err, known) {
			return fmt.Errorf("redis: %w", known)
		}
	}
	return nil
}
