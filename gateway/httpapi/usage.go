package httpapi

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/billing"
)

const (
	usagePath = "/admin/usage"
	// cursorHeader is the cursor of the next page, also of formats that have no place for it.
	cursorHeader = "X-Callgate-Cursor"
)

// usage answers GET /admin/usage: rows of the ledger, or what they add up to. ask is AdminConfig.Usage.
func usage(ask func(context.Context, billing.Query) (billing.Answer, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		q, err := billing.ParseQuery(c.QueryParams(), time.Now())
		if err != nil {
			return usageError(err)
		}
		answer, err := ask(c.Request().Context(), q)
		if err != nil {
			return usageError(err)
		}
		var body bytes.Buffer
		if err := answer.Write(&body); err != nil {
			return err
		}
		if answer.Cursor != "" {
			c.Response().Header().Set(cursorHeader, answer.Cursor)
		}
		return c.Blob(http.StatusOK, billing.Types[q.Format], body.Bytes())
	}
}

// usageError names what is wrong with a query, or with the ledger.
func usageError(err error) error {
	if bad, ok := errors.AsType[*billing.QueryError](err); ok {
		return &gateway.Error{Kind: gateway.Invalid, Param: bad.Param, Message: bad.Message}
	}
	return &gateway.Error{Kind: gateway.Overloaded, Code: "usage_unavailable", Message: "The ledger of usage cannot be read now; the gateway's log says why.", Err: err}
}
