package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/store"
)

// shelf is the store, with what is said to clients of its failures.
type shelf struct {
	store  store.Store
	log    *slog.Logger
	record int // the largest response that it takes
}

// failed turns a store's error into the client's: missing where it says so.
func (s *shelf) failed(err error, what, id string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return missing(what, id)
	case errors.Is(err, store.ErrTooLarge):
		return &gateway.Error{Kind: gateway.TooLarge, Message: fmt.Sprintf("This is more than the %d bytes that are stored at once: send less.", s.record)}
	case errors.Is(err, store.ErrFull):
		return &gateway.Error{Kind: gateway.TooLarge, Status: http.StatusInsufficientStorage, Code: "store_full",
			Message: "There is no room left for what this key stores: delete conversations that are not needed any more."}
	case errors.Is(err, context.Canceled):
		return &gateway.Error{Kind: gateway.Canceled, Message: "The client closed the request.", Err: err}
	}
	s.log.Error("the store fails", "error", err)
	return &gateway.Error{Kind: gateway.Overloaded, Code: "store_unavailable", Message: "The gateway's store of responses does not work at the moment.", Err: err}
}
