package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
	"github.com/callgate/callgate/gateway/socket"
	"github.com/callgate/callgate/gateway/wire"
)

// sockets takes WebSockets of the Responses API.
type sockets struct {
	to       *socket.Sockets
	access   *access
	settings socket.Settings
}

// route adds the path.
func (s *sockets) route(to *echo.Echo) {
	to.GET(responsesPath, s.accept, s.access.middleware(errorsAs(responses.Form), upgrades)...)
}

// isHandshake reports whether a request asks for a WebSocket.
func isHandshake(r *http.Request) bool {
	return hasToken(r.Header["Upgrade"], "websocket")
}

// hasToken reports whether a list in a header has a word.
func hasToken(lines []string, word string) bool {
	for _, line := range lines {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), word) {
				return true
			}
		}
	}
	return false
}

// webSocketVersion is that of RFC 6455, the only one.
const webSocketVersion = "13"

// wrongHandshake says what is wrong with a handshake; "" if nothing is. A body would be read before the
// connection is taken over, however long that takes.
func wrongHandshake(r *http.Request) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-Websocket-Key")))
	switch {
	case r.ContentLength != 0:
		return "it has a body."
	case !r.ProtoAtLeast(1, 1):
		return "it needs HTTP/1.1."
	case !hasToken(r.Header["Connection"], "upgrade"):
		return "the header connection does not name upgrade; does a proxy in between pass it on?"
	case r.Header.Get("Sec-Websocket-Version") != webSocketVersion:
		return "sec-websocket-version must be " + webSocketVersion + "."
	case err != nil || len(key) != 16 || len(r.Header["Sec-Websocket-Key"]) != 1:
		return "sec-websocket-key must be 16 bytes in base64."
	}
	return ""
}

// upgrades lets a handshake through. Any other GET has no place here.
func upgrades(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isHandshake(c.Request()) {
			c.Response().Header().Set("allow", http.MethodPost)
			return echo.ErrMethodNotAllowed
		}
		return next(c)
	}
}

// accept takes a connection over.
func (s *sockets) accept(c echo.Context) error {
	if wrong := wrongHandshake(c.Request()); wrong != "" {
		c.Response().Header().Set("sec-websocket-version", webSocketVersion)
		return &gateway.Error{Kind: gateway.Invalid, Message: "This is no handshake of a WebSocket: " + wrong}
	}
	settings := s.settings
	settings.Key = tenantOf(c)
	err := s.to.Accept(c.Response(), c.Request(), settings)
	if share, ok := errors.AsType[*socket.ShareError](err); ok {
		return &gateway.Error{Kind: gateway.RequestLimit, Code: "too_many_connections", RetryAfter: time.Second,
			Message: fmt.Sprintf("The key %q has %d WebSockets open, and no more than that are left of this gateway's %d for all others: close some, ask by POST %s, or try again later.",
				settings.Key, share.Has, share.Of, responsesPath)}
	}
	if errors.Is(err, socket.ErrBusy) {
		return &gateway.Error{Kind: gateway.Overloaded, Code: "too_many_connections", RetryAfter: time.Second,
			Message: "This gateway takes no more WebSockets at the moment: ask by POST " + responsesPath + ", or try again later."}
	}
	return nil // what was wrong with the handshake has been said
}

// stopped is what becomes of a request that a shutdown cuts: each has its own, to which more is noted.
func stopped() error {
	return &gateway.Error{Kind: gateway.Overloaded, Message: "The gateway is being stopped."}
}

// newSession begins what a connection remembers.
func newSession(memory *inflight.Budget) func(context.Context) (context.Context, func()) {
	return func(ctx context.Context) (context.Context, func()) {
		s := state.NewSession(memory)
		// The connection is the WebSocket's now, and no answer gathers in it.
		return state.WithSession(context.WithValue(ctx, connectionKey{}, (*connection)(nil)), s), s.Close
	}
}

// orPrepare has a request that is to be noted, and not answered, served by another handler.
func orPrepare(answer, prepare echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if socket.Prepares(c.Request().Context()) {
			return prepare(c)
		}
		return answer(c)
	}
}

// silent is an exchange that asks nobody: answers have nothing in them.
func (x *exchange) silent() *exchange {
	other := *x
	other.gateway = silence{x.gateway}
	return &other
}

// silence answers each chat with nothing, if the client may ask for the model.
type silence struct{ Chatter }

// Chat implements Chatter.
func (silence) Chat(_ context.Context, r *gateway.Request) (*gateway.Response, error) {
	if err := r.From.Client.CheckModel(r.Model); err != nil {
		return nil, err
	}
	return &gateway.Response{Reply: new(nothing), Summary: &gateway.Summary{}}, nil
}

// nothing is a stream without any text.
type nothing struct{ at int }

func (n *nothing) Header() http.Header { return http.Header{"Content-Type": {"text/event-stream"}} }
func (n *nothing) Streamed() bool      { return true }
func (n *nothing) Close() error        { return nil }

func (n *nothing) Next() (*wire.Frame, error) {
	n.at++
	var f wire.Frame
	switch n.at {
	case 1:
		f = wire.Event([]byte(`{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}}`))
	case 2:
		f = wire.Done()
	default:
		return nil, io.EOF
	}
	return &f, nil
}
