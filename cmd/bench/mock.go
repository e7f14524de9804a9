package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// mockCommand makes this program the upstream. The size of its large answers follows.
const mockCommand = "mock"

// listen listens on loopback and says where.
func listen(ctx context.Context, out io.Writer) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err == nil {
		fmt.Fprintf(out, "http://%s\n", l.Addr())
	}
	return l, err
}

// serveMock is an upstream that answers at once, with bytes made beforehand. It
// speaks just enough HTTP by hand to cost far less than what stands before it.
func serveMock(ctx context.Context, out io.Writer, large int) error {
	l, err := listen(ctx, out)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	answers := newAnswers(large)
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 32<<10)
			for serveOne(conn, r, answers) == nil { // it ends when the peer leaves
			}
		}()
	}
}

// bodyHead is how much of a request's body is looked at.
const bodyHead = 128

// serveOne answers one request.
func serveOne(w io.Writer, r *bufio.Reader, answers map[string]func() *answer) error {
	size, err := readHead(r)
	if err != nil {
		return err
	}
	head, err := r.Peek(min(size, bodyHead))
	if err != nil {
		return err
	}
	stream := bytes.Contains(head, []byte(`"stream":true`))
	find := answers[string(modelOf(head))]
	if _, err := r.Discard(size); err != nil {
		return err
	}
	switch {
	case find == nil:
		_, err = io.WriteString(w, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
	case !stream:
		_, err = w.Write(find().whole)
	default:
		err = find().stream(w)
	}
	return err
}

// stream writes the answer with a write for each chunk, as it would come.
func (a *answer) stream(w io.Writer) error {
	if _, err := w.Write(a.head); err != nil {
		return err
	}
	for _, f := range a.frames {
		if a.pause > 0 {
			time.Sleep(a.pause)
		}
		if _, err := w.Write(f); err != nil {
			return err
		}
	}
	return nil
}

// modelOf is the value of the first "model" in a body.
func modelOf(body []byte) []byte {
	_, rest, _ := bytes.Cut(body, []byte(`"model":"`))
	model, _, _ := bytes.Cut(rest, []byte(`"`))
	return model
}

// readHead reads the header of a request or response and gives the length of its
// body, or chunkedBody.
func readHead(r *bufio.Reader) (size int, err error) {
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return size, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || size < 0 {
				return 0, errors.New("bad content-length")
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			size = chunkedBody
		}
	}
}

// chunkedBody is the size of a body in HTTP chunks.
const chunkedBody = -1
