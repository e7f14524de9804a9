package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// Chat implements [gateway.Provider]. It returns when the upstream has answered
// with a header, if the answer is a stream, and else with the whole answer, which
// it has read and found to be JSON.
func (p *Provider) Chat(ctx context.Context, model string, req *gateway.Request) (gateway.Reply, error) {
	c, ctx := p.begin(ctx)
	c.req = p.chatRequest(ctx, p.body(model, req), req.Header)
	if req.Stream {
		c.awaitFirstToken()
	}
	reply, err := c.chat()
	if err != nil {
		c.end()
		return nil, err
	}
	return reply, nil
}

func (c *call) chat() (gateway.Reply, error) {
	resp, body, err := c.send()
	if err != nil {
		return nil, err
	}
	if isEventStream(resp.Header) {
		return newStream(c, resp, body), nil
	}
	c.stopFirstToken()
	defer resp.Body.Close()
	data, err := c.readJSON(resp, body, c.p.maxResponse)
	if err != nil {
		return nil, err
	}
	c.end()
	return &whole{header: resp.Header, data: data}, nil
}

// send sends the request. It returns an answer that means success, with its header
// as the client may see it and a reader of its decoded body.
func (c *call) send() (*http.Response, io.Reader, error) {
	resp, err := c.p.transport.RoundTrip(c.req)
	if err != nil {
		return nil, nil, c.connectionError(err)
	}
	body, err := c.decode(resp)
	if err == nil && resp.StatusCode/100 != 2 {
		err = c.statusError(resp, body)
	}
	if err != nil {
		resp.Body.Close()
		return nil, nil, err
	}
	return resp, body, nil
}

func (p *Provider) chatRequest(ctx context.Context, body []byte, client http.Header) *http.Request {
	req := p.request(ctx, http.MethodPost, p.chatURL, p.requestHeader(client))
	req.ContentLength = int64(len(body))
	// With GetBody a request that did not leave yet may take another connection,
	// when the idle one that it was given turns out to be closed.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return req
}

func (p *Provider) request(ctx context.Context, method string, u *url.URL, h http.Header) *http.Request {
	req := &http.Request{
		Method: method, URL: u, Host: p.host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	if p.hostHeader != "" {
		req.Host = p.hostHeader
	}
	return req.WithContext(ctx)
}

func isEventStream(h http.Header) bool { return mediaType(h) == "text/event-stream" }

// mediaType is the content type without its parameters.
func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// whole is a reply that has been read.
type whole struct {
	header http.Header
	data   []byte
	given  bool
}

var _ gateway.Reply = (*whole)(nil)

// Header implements [gateway.Reply].
func (w *whole) Header() http.Header { return w.header }

// Streamed implements [gateway.Reply].
func (w *whole) Streamed() bool { return false }

// Next implements [gateway.Reply].
func (w *whole) Next() (gateway.Frame, error) {
	if w.given {
		return gateway.Frame{}, io.EOF
	}
	w.given = true
	return gateway.Frame{Raw: w.data, Data: w.data}, nil
}

// Close implements [gateway.Reply].
func (w *whole) Close() error { return nil }
