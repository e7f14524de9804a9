package upstream

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/wire"
	"github.com/callgate/callgate/providers/internal/h1"
)

// Request is what an adapter asks its upstream.
type Request struct {
	// URL is made by [Client.URL]. It is not changed and may serve many requests.
	URL *url.URL
	// Body is the JSON to send, which is not changed.
	Body wire.Pieces
	// Header is the client's. What must not travel on is left out; it may be nil.
	Header http.Header
	// Stream says that a stream is asked for, so that the first token is awaited no
	// longer than the timer allows; else that of whole answers counts.
	Stream bool
	// Room is the memory for the answer, as far as it is held; nil has no bound.
	Room *inflight.Claim
}

// Response is an answer that means success: either a whole JSON object, in Data, or
// a stream.
type Response struct {
	// Header is what of the upstream's a client may see, and Withheld what was left out.
	Header   http.Header
	Withheld headers.Withheld
	// Data is the answer from end to end, if Stream is nil.
	Data []byte
	// Stream is the answer as it comes, which must be closed; nil for a whole one.
	// The upstream's content type decides which of the two it is.
	Stream *Stream
}

// Do posts r. It returns when the upstream has answered with a header, if the
// answer is a stream, and else with the whole answer. Every other outcome is a
// [*gateway.Error]. Cancelling ctx ends the upstream request, also while a stream
// is read.
func (p *Client) Do(ctx context.Context, r Request) (*Response, error) {
	c := p.begin(ctx)
	c.room = r.Room
	c.post(&r)
	if r.Stream {
		c.firstToken = c.after(p.timeouts.FirstToken, "no first token within", "first_token")
	} else {
		c.awaitWhole()
	}
	resp, err := c.do()
	if err != nil {
		c.end()
		return nil, err
	}
	return resp, nil
}

func (c *call) do() (*Response, error) {
	resp, body, err := c.send()
	if err != nil {
		return nil, err
	}
	if mediaType(resp.Header) == "text/event-stream" {
		// The timer of pauses counts only while somebody waits for the next chunk, else a slow
		// client would be taken for a slow upstream.
		stop(c.whole)
		c.idle = c.after(c.p.timeouts.Idle, "no further chunk for", "idle")
		c.idle.Stop()
		s := &Stream{c: c, body: resp.Body, blocks: wire.NewReader(&limited{body, c.p.maxStream}, maxChunk)}
		room := inflight.Hold{Of: c.room}
		s.blocks.Room = room.Fit
		h, held := c.p.headerRules.answer(resp.Header, true, false)
		return &Response{Header: h, Withheld: held, Stream: s}, nil
	}
	c.stopFirstToken()
	c.awaitWhole()
	defer resp.Body.Close()
	data, err := c.readJSON(resp, body, c.p.maxResponse)
	if err != nil {
		return nil, err
	}
	c.end()
	h, held := c.p.headerRules.answer(resp.Header, false, false)
	return &Response{Header: h, Withheld: held, Data: data}, nil
}

// send sends the request. It returns an answer that means success, and a reader of its
// decoded body.
func (c *call) send() (*http.Response, io.Reader, error) {
	resp, err := c.roundTrip()
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

// post makes the request. net/http sends a body that it knows to be in memory together with the header,
// and writes the header first of any other.
func (c *call) post(r *Request) {
	p, h, size := c.p, c.p.headerRules.request(r.Header), r.Body.Size()
	if size <= h1.MaxBody {
		r.Body = wire.Pieces{r.Body.Join()}
		if p.plain != nil {
			c.plain = h1.Request{Method: http.MethodPost, URL: r.URL, Host: p.host, Header: h, Body: r.Body[0]}
			return
		}
	}
	c.req = p.request(c.ctx, http.MethodPost, r.URL, h)
	c.req.ContentLength = int64(size)
	// With GetBody a request that was not delivered may take another connection, when
	// the idle one that it was given turns out to be closed.
	body := r.Body
	c.req.GetBody = func() (io.ReadCloser, error) {
		if len(body) == 1 {
			return io.NopCloser(bytes.NewReader(body[0])), nil
		}
		return io.NopCloser(body.Reader()), nil
	}
	c.req.Body, _ = c.req.GetBody()
}

func (p *Client) request(ctx context.Context, method string, u *url.URL, h http.Header) *http.Request {
	req := &http.Request{
		Method: method, URL: u, Host: p.host, Header: h,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return req.WithContext(ctx)
}

// mediaType is the content type without its parameters.
func mediaType(h http.Header) string {
	t, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(t))
}
