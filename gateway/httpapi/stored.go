package httpapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
)

// storedAPI answers for what is stored of the Responses API.
type storedAPI struct {
	state     *state.Service // nil: nothing is
	bodies    *bodies
	heartbeat time.Duration // as of an exchange
}

// route adds the paths of what is stored: of the Responses API, and of the Conversations API.
func (l *storedAPI) route(to *echo.Echo, a *access) {
	before := a.middleware(errorsAs(responses.Form))
	one, items := responsesPath+"/:id", responsesPath+"/:id/input_items"
	to.GET(one, l.getResponse, before...)
	to.DELETE(one, l.stored((*state.Service).DeleteResponse), before...)
	to.POST(one+"/cancel", l.stored((*state.Service).CancelResponse), before...)
	to.GET(items, l.stored((*state.Service).InputItems), before...)
	one, items = conversationsPath+"/:id", conversationsPath+"/:id/items"
	to.POST(conversationsPath, l.stored((*state.Service).CreateConversation), before...)
	to.GET(one, l.stored((*state.Service).GetConversation), before...)
	to.POST(one, l.stored((*state.Service).UpdateConversation), before...)
	to.DELETE(one, l.stored((*state.Service).DeleteConversation), before...)
	to.POST(items, l.stored((*state.Service).AddItems), before...)
	to.GET(items, l.stored((*state.Service).ListItems), before...)
	to.GET(items+"/:item", l.stored((*state.Service).GetItem), before...)
	to.DELETE(items+"/:item", l.stored((*state.Service).DeleteItem), before...)
}

// stored answers a request for something stored.
func (l *storedAPI) stored(answer func(*state.Service, context.Context, state.Call) ([]byte, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		room := l.bodies.memory.Claim()
		defer room.Close()
		call, err := l.call(c, room)
		if err != nil {
			return err
		}
		body, err := answer(l.state, c.Request().Context(), call)
		if err != nil {
			return err
		}
		// A client that is slow to take it does not have it for nothing.
		if err := call.Room.Grow(int64(len(body))); err != nil {
			return gateway.NoRoom(err, "What is stored there needs more memory than one request may have (limits.memory): ask for fewer items.")
		}
		return c.JSONBlob(http.StatusOK, body)
	}
}

// call reads a request for something stored.
func (l *storedAPI) call(c echo.Context, room *inflight.Claim) (call state.Call, err error) {
	if l.state == nil {
		return call, &gateway.Error{Kind: gateway.NotFound, Message: "This gateway keeps no responses and no conversations (store.kind: off): send the whole conversation as input."}
	}
	call.Tenant = tenantOf(c)
	call.ID, call.Item, call.Query = c.Param("id"), c.Param("item"), c.QueryParams()
	call.Limits, call.Room = l.bodies.limits, room
	if c.Request().Method == http.MethodPost {
		call.Body, err = l.bodies.read(c, call.Room)
	}
	return call, err
}

// getResponse answers with a stored response, or with its events.
func (l *storedAPI) getResponse(c echo.Context) error {
	if c.QueryParam("stream") != "true" || l.state == nil {
		return l.stored((*state.Service).GetResponse)(c)
	}
	room := l.bodies.memory.Claim()
	defer room.Close()
	call, err := l.call(c, room)
	if err != nil {
		return err
	}
	events, err := l.state.Replay(c.Request().Context(), call)
	if err != nil {
		return err
	}
	return replay(c, events, l.heartbeat)
}

// replay writes events until there are no more, and signs of life between them.
func replay(c echo.Context, events protocol.Events, heartbeat time.Duration) error {
	beat := newHeartbeat(c, recordOf(c).form.Ping, heartbeat, true)
	defer beat.stop()
	for {
		piece, err := events(c.Request().Context())
		if err != nil && err != io.EOF { // before the first event it has a status of its own
			return err
		}
		if werr := beat.write(piece, true); werr != nil {
			return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: werr}
		}
		if err == io.EOF {
			return nil
		}
	}
}
