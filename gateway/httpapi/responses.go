package httpapi

import (
	"context"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
	"github.com/callgate/callgate/gateway/protocol/responses/state"
)

// responsesPath is that of OpenAI's Responses API.
const responsesPath = "/v1/responses"

// routeResponses adds the paths of the Responses API.
func (s *Server) routeResponses() {
	parse := responses.Stateless(responses.Options{Sealer: s.cfg.Sealer, Limits: s.cfg.Limits})
	count := parse
	compact := responses.StatelessCompaction(responses.Options{Sealer: s.cfg.Sealer, Limits: s.cfg.Limits})
	if s.cfg.State != nil {
		parse, count, compact = s.cfg.State.Parse, s.cfg.State.ParseCount, s.cfg.State.ParseCompact
	}
	tell := []echo.MiddlewareFunc{tells(responses.Form), s.sameSite, s.authenticate}
	s.echo.POST(responsesPath, s.exchange(parse), speaks(responses.Form), s.sameSite, s.authenticate)
	s.echo.POST(responsesPath+"/input_tokens", s.countResponse(count), tell...)
	s.echo.POST(responsesPath+"/compact", s.exchange(compact), speaks(responses.Form), s.sameSite, s.authenticate)
	state := s.cfg.State
	s.echo.GET(responsesPath+"/:id", s.getResponse, tell...)
	s.echo.DELETE(responsesPath+"/:id", s.stored(state.DeleteResponse), tell...)
	s.echo.POST(responsesPath+"/:id/cancel", s.stored(state.CancelResponse), tell...)
	s.echo.GET(responsesPath+"/:id/input_items", s.stored(state.InputItems), tell...)
}

// countResponse estimates the tokens of a request.
func (s *Server) countResponse(parse protocol.Parser) echo.HandlerFunc {
	return s.withBody(func(c echo.Context, body []byte, from protocol.Client) error {
		front, err := parse(c.Request().Context(), body, from)
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, front.(interface{ CountTokens() []byte }).CountTokens())
	})
}

// stored answers a request for something stored.
func (s *Server) stored(answer func(context.Context, state.Call) ([]byte, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		room := s.cfg.Memory.Claim()
		defer room.Close()
		call, err := s.call(c, room)
		if err != nil {
			return err
		}
		body, err := answer(c.Request().Context(), call)
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
func (s *Server) call(c echo.Context, room *inflight.Claim) (call state.Call, err error) {
	if s.cfg.State == nil {
		return call, &gateway.Error{Kind: gateway.NotFound, Message: "This gateway keeps no responses and no conversations (store.kind: off): send the whole conversation as input."}
	}
	call.Tenant = tenantOf(c)
	call.ID, call.Item, call.Query = c.Param("id"), c.Param("item"), c.QueryParams()
	call.Limits, call.Room = s.cfg.Limits, room
	if c.Request().Method == http.MethodPost {
		call.Body, err = s.readBody(c, call.Room)
	}
	return call, err
}

// getResponse answers with a stored response, or with its events.
func (s *Server) getResponse(c echo.Context) error {
	if c.QueryParam("stream") != "true" || s.cfg.State == nil {
		return s.stored(s.cfg.State.GetResponse)(c)
	}
	room := s.cfg.Memory.Claim()
	defer room.Close()
	call, err := s.call(c, room)
	if err != nil {
		return err
	}
	events, err := s.cfg.State.Replay(c.Request().Context(), call)
	if err != nil {
		return err
	}
	return s.replay(c, events)
}

// detach begins a response in the background.
func (s *Server) detach(c echo.Context, front protocol.Detached, req *gateway.Request) error {
	recordOf(c).asks = false   // it is told of when it is over
	req.Room = req.Room.Move() // what the request holds is held until the response is over
	d, err := front.Detach(c.Request().Context(), req)
	if err != nil {
		req.Room.Close()
		return err
	}
	if d.Events == nil {
		return c.JSONBlob(http.StatusOK, d.Body)
	}
	return s.replay(c, d.Events)
}

// replay writes events until there are no more.
func (s *Server) replay(c echo.Context, events protocol.Events) error {
	w := c.Response()
	w.Header().Set("content-type", "text/event-stream")
	streamHeader(w.Header())
	beat := s.newHeartbeat(c, recordOf(c).form.Ping, true)
	defer beat.stop()
	for {
		piece, err := events(c.Request().Context())
		if werr := beat.write(piece, true); werr != nil {
			return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: werr}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
