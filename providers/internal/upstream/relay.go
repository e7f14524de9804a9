package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
)

// maxPiece is how many bytes of an answer are read at a time.
const maxPiece = 32 << 10

// Relay sends a request on and gives back what comes, whatever it is, under the timer of the
// whole attempt. Errors are as those of Do.
func (p *Client) Relay(ctx context.Context, u *url.URL, model string, r *gateway.Relay) (gateway.Relayed, error) {
	body, size, err := r.Body(model)
	if err != nil {
		return nil, err
	}
	c := p.begin(ctx)
	c.req = p.request(c.ctx, r.Method, u, p.headerRules.request(r.Header))
	c.fresh = repeats(r.Method)
	c.req.Body, c.req.ContentLength = body, size
	c.req.GetBody = func() (io.ReadCloser, error) {
		again, _, err := r.Body(model)
		return again, err
	}
	if r.Header.Get("Content-Type") == "" {
		c.req.Header.Del("Content-Type") // of a body that there is not
	}
	if r.Query != "" {
		address := *u
		if address.RawQuery != "" {
			address.RawQuery += "&"
		}
		address.RawQuery += r.Query
		c.req.URL = &address
	}
	resp, content, err := c.send() //nolint:bodyclose // relayed.Close does
	if err != nil {
		c.end()
		return nil, err
	}
	answer := &relayed{call: c, resp: resp, body: &limited{content, p.maxStream}, piece: make([]byte, maxPiece)}
	answer.header, answer.held = p.headerRules.opaque(resp.Header)
	return answer, nil
}

// repeats reports whether net/http sends a request of a method again by itself, where a connection that had been used
// before breaks behind it.
func repeats(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// relayed is an answer that nobody looks into.
type relayed struct {
	call   *call
	resp   *http.Response
	header http.Header
	held   headers.Withheld
	body   io.Reader
	piece  []byte
	err    error
	done   bool
}

// Header implements [gateway.Reply].
func (r *relayed) Header() http.Header { return r.header }

// Withheld is what of the header the client does not get.
func (r *relayed) Withheld() headers.Withheld { return r.held }

// Status is the answer's, one of success.
func (r *relayed) Status() int { return r.resp.StatusCode }

// Streamed implements [gateway.Reply].
func (r *relayed) Streamed() bool { return true }

// Next implements [gateway.Reply].
func (r *relayed) Next() (*gateway.Frame, error) {
	for r.err == nil {
		var n int
		if n, r.err = r.body.Read(r.piece); n > 0 {
			return &gateway.Frame{Raw: r.piece[:n]}, nil
		}
	}
	switch {
	case r.err != io.EOF:
		if e := r.call.interrupted(); e != nil {
			return nil, e
		}
		if errors.Is(r.err, errLongStream) {
			return nil, r.call.p.errLong()
		}
		e := r.call.p.Errorf(gateway.Unavailable, CodeCut, "the upstream's answer broke off.")
		e.Err = r.call.p.Safe(r.err)
		return nil, e
	case r.done:
		return nil, io.EOF
	}
	r.done = true
	return &gateway.Frame{Done: true}, nil
}

// Close implements [gateway.Reply].
func (r *relayed) Close() error {
	r.call.end()
	return r.resp.Body.Close()
}
