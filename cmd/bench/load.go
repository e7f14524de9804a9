package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxAnswer bounds what a client reads for one answer.
const maxAnswer = 4 * largeAnswer

// client sends the same request again and again over one connection.
type client struct {
	conn    net.Conn
	r       *bufio.Reader
	request []byte
	stream  bool
	speaks  *protocol
	want    int // length of a right body; 0 if it is not known yet
	body    []byte
	took    []float64 // µs
}

// dial connects to a server.
func dial(ctx context.Context, address string, q question) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	head := "POST " + q.speaks.path + " HTTP/1.1\r\nHost: " + address + "\r\nContent-Type: application/json\r\n" +
		"Authorization: Bearer none\r\nContent-Length: " + strconv.Itoa(len(q.body)) + "\r\n\r\n"
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 32<<10), request: append([]byte(head), q.body...), stream: q.stream, speaks: q.speaks}, nil
}

// do sends the request and reads the whole answer into c.body, which must be as
// long as it should be and, if it is a stream, have its end.
func (c *client) do() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return err
	}
	status := strings.TrimSpace(string(line))
	size, err := readHead(c.r)
	if err != nil {
		return err
	}
	c.body = c.body[:0]
	if size == chunkedBody {
		err = c.readChunks()
	} else {
		err = c.readBytes(size)
	}
	switch {
	case err != nil:
		return err
	case !strings.HasPrefix(status, "HTTP/1.1 200"):
		return fmt.Errorf("%s: %.300s", status, c.body)
	case c.want > 0 && len(c.body) != c.want:
		return fmt.Errorf("the answer has %d bytes, want %d: %.300s", len(c.body), c.want, c.body)
	case c.stream && !bytes.HasSuffix(c.body, []byte(c.speaks.end)):
		return fmt.Errorf("the stream does not end with %q", c.speaks.end)
	}
	return nil
}

// readChunks reads a body in HTTP chunks.
func (c *client) readChunks() error {
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		n, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if err := c.readBytes(int(n)); err != nil {
			return err
		}
		if _, err := c.r.Discard(len("\r\n")); err != nil || n == 0 {
			return err
		}
	}
}

// readBytes appends n bytes to the body.
func (c *client) readBytes(n int) error {
	from := len(c.body)
	if from+n > maxAnswer {
		return errors.New("the answer is too long")
	}
	c.body = slices.Grow(c.body, n)[:from+n]
	_, err := io.ReadFull(c.r, c.body[from:])
	return err
}

// question is what clients ask, and what the answer must say.
type question struct {
	speaks *protocol
	body   []byte
	stream bool
	want   received
}

// load is a number of clients that ask one server.
type load []*client

// newLoad connects clients, and checks with one request that the server answers as
// it should. All further answers must be as long as that one.
func newLoad(ctx context.Context, address string, clients int, q question) (load, error) {
	var l load
	for range clients {
		c, err := dial(ctx, address, q)
		if err != nil {
			l.close()
			return nil, err
		}
		l = append(l, c)
	}
	size, err := l[0].check(ctx, q.want)
	if err != nil {
		l.close()
		return nil, err
	}
	for _, c := range l {
		c.want = size
	}
	return l, nil
}

// check asks once, and returns the length of the answer if it says what it should.
func (c *client) check(ctx context.Context, want received) (int, error) {
	c.allow(ctx, 0)
	if err := c.do(); err != nil {
		return 0, err
	}
	got, err := c.speaks.read(c.body, c.stream)
	if err == nil && got != want {
		err = fmt.Errorf("wrong answer: got %+v, want %+v", got, want)
	}
	return len(c.body), err
}

// allow bounds the client's waiting: to the time d and a while for the last answer.
func (c *client) allow(ctx context.Context, d time.Duration) {
	deadline := time.Now().Add(d + 30*time.Second)
	if limit, ok := ctx.Deadline(); ok && limit.Before(deadline) {
		deadline = limit
	}
	_ = c.conn.SetDeadline(deadline) // of a TCP connection
}

// run lets all clients ask for the time d, one request after the other, and
// returns how long the answers took in µs. What has begun is ended.
func (l load) run(ctx context.Context, d time.Duration) ([]float64, error) {
	var over atomic.Bool
	timer := time.AfterFunc(d, func() { over.Store(true) })
	defer timer.Stop()
	err := l.each(ctx, d, func(c *client) error {
		err := c.repeat(&over)
		if err != nil {
			over.Store(true)
		}
		return err
	})
	var took []float64
	for _, c := range l {
		took = append(took, c.took...)
	}
	return took, err
}

// each lets all clients do the same at once, for about the time d.
func (l load) each(ctx context.Context, d time.Duration, f func(*client) error) error {
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	errs := make([]error, len(l))
	var group sync.WaitGroup
	for i, c := range l {
		c.allow(ctx, d)
		group.Go(func() { errs[i] = f(c) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// repeat asks until it is over, and once at least: a busy machine may take all of the time
// before the first question.
func (c *client) repeat(over *atomic.Bool) error {
	c.took = c.took[:0]
	for len(c.took) == 0 || !over.Load() {
		began := time.Now()
		if err := c.do(); err != nil {
			return err
		}
		c.took = append(c.took, micros(time.Since(began)))
	}
	return nil
}

func (l load) close() {
	for _, c := range l {
		_ = c.conn.Close() // nothing is lost
	}
}
