package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
)

// bodies reads the bodies of requests.
type bodies struct {
	most   int64            // bytes of one
	memory *inflight.Budget // that all requests in progress share; nil has no bound
	limits gateway.Limits   // on what a body is made of
	serves bool             // the gateway runs tools of servers of its own
}

// answerBody answers a request of a client that has sent a body.
type answerBody func(c echo.Context, body []byte, from protocol.Client) error

// withBody answers a request of a client that has sent a body. The whole of it is read before
// anything is sent upstream: a POST whose answer outruns its body loses the answer in net/http
// (golang/go#40747).
func (b *bodies) withBody(answer answerBody) echo.HandlerFunc {
	return func(c echo.Context) error {
		room := b.memory.Claim()
		defer room.Close()
		body, err := b.read(c, room)
		if err != nil {
			return err
		}
		return answer(c, body, protocol.Client{Tenant: tenantOf(c), Key: clientOf(c), RequestID: requestID(c), Header: c.Request().Header, Limits: b.limits, Room: room, Serves: b.serves})
	}
}

// read reads the request's body up to the limit, and claims room for it as it comes.
func (b *bodies) read(c echo.Context, room *inflight.Claim) ([]byte, error) {
	r := c.Request()
	if r.ContentLength > b.most {
		return nil, b.tooLarge()
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, &gateway.Error{Kind: gateway.Invalid, Param: "content-encoding",
			Message: fmt.Sprintf("The request body has the content encoding %.40q; send it without one.", enc)}
	}
	conn, from := connectionOf(r.Context()), r.Body
	if r.ContentLength < 0 { // else net/http reads no more than was said
		from = http.MaxBytesReader(c.Response(), r.Body, b.most)
	}
	body, err := readAll(from, r.ContentLength, room)
	var limit *http.MaxBytesError
	var full *gateway.Error
	switch {
	case errors.As(err, &full):
		return nil, full
	case errors.As(err, &limit):
		return nil, b.tooLarge()
	case err != nil && r.Context().Err() != nil:
		return nil, &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
	case err != nil:
		return nil, &gateway.Error{Kind: gateway.Invalid, Message: "The request body could not be read to its end.", Err: err}
	}
	conn.endBody()
	return body, nil
}

// tooLarge is the error of a body that is longer than the limit.
func (b *bodies) tooLarge() *gateway.Error {
	return &gateway.Error{Kind: gateway.TooLarge, Message: fmt.Sprintf("The request body is larger than %d bytes (limits.body).", b.most)}
}

// firstPiece is how much of a body is made room for before anything of it has come, and growth
// how much more than has come there is room for later on: a length is believed as far as it has
// come true. All pieces together are at most 5/3 of a body that says how long it is.
const (
	firstPiece = 64 << 10
	growth     = 4
)

// readAll reads a body, whose length is declared unless that is negative. Room is claimed for the
// memory that is taken, before it is.
func readAll(r io.Reader, declared int64, room *inflight.Claim) ([]byte, error) {
	var body []byte
	for size := int64(firstPiece); ; size *= growth {
		if declared >= 0 {
			size = min(size, declared+1) // one more to see the end
		} else if body == nil {
			size = 8 << 10
		}
		if more := size - int64(cap(body)); more > 0 {
			if err := room.Grow(inflight.Body * more); err != nil {
				return nil, gateway.NoRoom(err, fmt.Sprintf("A request body of %d bytes and more needs more memory than one request may have (limits.memory).", len(body)))
			}
		}
		body = append(make([]byte, 0, size), body...)
		for len(body) < cap(body) {
			n, err := r.Read(body[len(body):cap(body)])
			body = body[:len(body)+n]
			if err == io.EOF {
				return body, nil
			}
			if err != nil {
				return nil, err
			}
		}
	}
}
