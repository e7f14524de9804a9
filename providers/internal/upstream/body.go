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
	"github.com/callgate/callgate/gateway/wire"
)

// preallocated is how much of an answer's declared length is believed before that much of it
// has come.
const preallocated = 1 << 20

var errTooLarge = errors.New("the answer is too large")

// decode returns the body of an answer without its compression.
func (c *call) decode(resp *http.Response) (io.Reader, error) {
	encoding := strings.Join(resp.Header.Values("Content-Encoding"), ", ")
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return resp.Body, nil
	case "gzip", "x-gzip":
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

// read reads a whole body of at most limit bytes; more are errTooLarge.
func read(body io.Reader, declared, limit int64) ([]byte, error) {
	if declared > limit {
		return nil, errTooLarge
	}
	if declared < 0 {
		return readParts(body, limit)
	}
	var b bytes.Buffer
	b.Grow(int(min(declared, preallocated)) + bytes.MinRead)
	if declared > preallocated {
		if _, err := b.ReadFrom(io.LimitReader(body, preallocated)); err != nil {
			return nil, err
		}
		b.Grow(int(declared) - b.Len() + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(body, limit+1-int64(b.Len()))); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, errTooLarge
	}
	return b.Bytes(), nil
}

// readParts reads a body whose length nobody has said. Each part is as long as all before it:
// one buffer that grows would be there twice whenever it does, with room left over.
func readParts(body io.Reader, limit int64) ([]byte, error) {
	var parts [][]byte
	for size, total := int64(4<<10), int64(0); ; size = total {
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
			return slices.Concat(parts...), nil
		}
	}
}

// readJSON reads an answer that must be one JSON object, whatever its content
// type says.
func (c *call) readJSON(resp *http.Response, body io.Reader, limit int64) ([]byte, error) {
	data, err := read(body, resp.ContentLength, limit)
	if err != nil {
		if e := c.interrupted(); e != nil {
			return nil, e
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
			"the upstream's answer is not JSON; its content type is %q.", c.p.cut(resp.Header.Get("Content-Type"), maxQuoted))
	}
	return nil, c.p.Errorf(gateway.Unavailable, CodeUpstream, "the upstream's answer is not valid JSON, or was cut.")
}
