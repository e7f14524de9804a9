package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/inflight"
	"github.com/callgate/callgate/gateway/internal/upload"
)

// uploads reads bodies that may be long.
type uploads struct {
	most          int64            // bytes of one
	memory, files *inflight.Budget // that all in progress share
}

// read reads a body.
func (u *uploads) read(c echo.Context) (*upload.Body, error) {
	conn := connectionOf(c.Request().Context())
	from := http.MaxBytesReader(c.Response(), c.Request().Body, u.most)
	body, err := upload.Read(from, u.most, upload.Room{Memory: u.memory.Claim(), Files: u.files.Claim()})
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit), errors.Is(err, upload.ErrTooLarge):
		return nil, &gateway.Error{Kind: gateway.TooLarge, Message: fmt.Sprintf("The request body is larger than %d bytes (limits.upload).", u.most)}
	case errors.Is(err, inflight.ErrSpent), errors.Is(err, inflight.ErrShare):
		full := gateway.NoRoom(err, "The request body needs more room than one may have (limits.memory, limits.uploads).")
		if full.Kind == gateway.MemorySpent {
			full.Message = "The uploads in progress have taken the room that there is for them (limits.uploads, limits.memory). Try again in a moment."
		}
		return nil, full
	case err != nil && c.Request().Context().Err() != nil:
		return nil, &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
	case err != nil:
		return nil, &gateway.Error{Kind: gateway.Invalid, Message: "The request body could not be read to its end.", Err: err}
	}
	conn.endBody()
	return body, nil
}
