package upstream

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
)

// preallocated is how much of an answer's declared length is believed before that much of it
// has come.
const preallocated = 1 << 20

var (
	errTooLarge   = errors.New("the answer is too large")
	errLongStream = errors.New("the stream is too long")
)

// decode returns the body of an answer without its compression.
func (c *call) decode(resp *http.Response) (io.Reader, error) {
	encoding := strings.Join(resp.Header.Values("Content-Encoding"), ", ")
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
		resp.ContentLength = -1 // it is not that of what is read
		return &gunzip{src: resp.Body, left: c.p.maxResponse}, nil
	}
	return nil, c.p.Errorf(gateway.Unavailable, CodeUpstream,
		"the upstream's answer has the content encoding %q, which nobody asked for.", c.p.cut(encoding, maxQuoted))
}

// gunzip decompresses src as it comes. More than left bytes are errTooLarge.
type gunzip struct {
	src  io.Reader
	z    *gzip.Reader
	left int64
}

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (n int, err error) {
	if g.z == nil {
		if g.z, err = gzip.NewReader(g.src); err != nil {
			return 0, err
		}
	}
	n, err = g.z.Read(p)
	if g.left -= int64(n); g.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// limited reads the body of a stream. More than left bytes are errLongStream.
type limited struct {
	src  io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.src.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errLongStream
	}
	return n, err
}

// read reads a whole body of at most limit bytes; more are errTooLarge. Room is claimed for the
// memory that is taken, before it is; it stays claimed until the attempt ends.
func read(body io.Reader, declared, limit int64, room *inflight.Claim) ([]byte, error) {
	if declared > limit {
		return nil, errTooLarge
	}
	if declared < 0 {
		return readParts(body, limit, room)
	}
	first := min(declared, preallocated)
	if err := room.Grow(inflight.Answer * first); err != nil {
		return nil, err
	}
	data := make([]byte, first)
	if _, err := io.ReadFull(body, data); err != nil || first == declared { // the transport gives no more
		return data, err
	}
	if err := room.Grow(inflight.Answer * (declared - first)); err != nil {
		return nil, err
	}
	data = append(make([]byte, 0, declared), data...)[:declared]
	_, err := io.ReadFull(body, data[first:])
	return data, err
}

// readParts reads a body whose length nobody has said. Each part is as long as all before it:
// one buffer that grows would be there twice whenever it does, with room left over.
func readParts(body io.Reader, limit int64, room *inflight.Claim) ([]byte, error) {
	var parts [][]byte
	for size, total := int64(4<<10), int64(0); ; size = total {
		if err := room.Grow(inflight.Answer * size); err != nil {
			return nil, err
		}
		var b bytes.Buffer
		b.Grow(int(size) + bytes.MinRead)
		n, err := b.ReadFrom(io.LimitReader(body, min(size, limit+1-total)))
		if total += n; err == nil && total > limit {
			err = errTooLarge
		}
		if err != nil {
			return nil, err
		}
		if parts = append(parts, b.Bytes()); n < size {
			room.Shrink(inflight.Answer * (size - n))
			return slices.Concat(parts...), nil
		}
	}
}

// isRoom reports whether an error says that there is no memory for an answer.
func isRoom(err error) bool {
	return errors.Is(err, inflight.ErrSpent) || errors.Is(err, inflight.ErrShare)
}

// noRoom is the error for an answer that there is no memory for.
func (p *Client) noRoom(err error) *gateway.Error {
	if errors.Is(err, inflight.ErrSpent) {
		return gateway.NoRoom(err, "")
	}
	return p.Errorf(gateway.Unusable, CodeUpstream, "the upstream's answer needs more memory than one request may have (limits.memory).")
}

// readJSON reads an answer that must be one JSON object, whatever its content
// type says.
func (c *call) readJSON(resp *http.Response, body io.Reader, limit int64) ([]byte, error) {
	data, err := read(body, resp.ContentLength, limit, c.room)
	if err != nil {
		if e := c.interrupted(); e != nil {
			return nil, e
		}
		if isRoom(err) {
			return nil, c.p.noRoom(err)
		}
		if errors.Is(err, errTooLarge) {
			return nil, c.p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's answer is larger than %d bytes.", limit)
		}
		e := c.p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's answer broke off.")
		e.Err = c.p.Safe(err)
		return nil, e
	}
	if wire.IsObject(data) {
		return data, nil
	}
	if !strings.HasSuffix(mediaType(resp.Header), "json") {
		return nil, c.p.Errorf(gateway.Unavailable, CodeUpstream,
			"the upstream's answer is not JSON; its content type is %q; check base_url.", c.p.cut(resp.Header.Get("Content-Type"), maxQuoted))
	}
	return nil, c.p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's answer is not valid JSON, or was cut.")
}
