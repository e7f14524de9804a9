package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/protocol/messages"
)

// The paths of Anthropic's Messages API. Clients add a query, which says nothing to us.
const (
	messagesPath = "/v1/messages"
	countPath    = messagesPath + "/count_tokens"
)

// routeMessages adds the paths of the Messages API.
func routeMessages(to *echo.Echo, x *exchange, n *counter) {
	to.POST(messagesPath, x.handler(messages.Parse), x.access.middleware(answersAs(messages.Form), anthropicID)...)
	to.POST(countPath, x.bodies.withBody(n.answer), x.access.middleware(errorsAs(messages.Form), anthropicID)...)
	to.Any("/", root)
}

// root answers HEAD /, by which Claude Code looks whether anybody is here.
func root(c echo.Context) error {
	if c.Request().Method != http.MethodHead {
		return echo.ErrNotFound
	}
	return c.NoContent(http.StatusOK)
}

// anthropicID gives the request's id the name that Anthropic's clients read too.
func anthropicID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("request-id", requestID(c))
		return next(c)
	}
}

// isAnthropic reports whether a client speaks the Messages API, where a path is of OpenAI's API
// too.
func isAnthropic(h http.Header) bool { return h.Get("anthropic-version") != "" }

// anyForm has errors told in the form of the client's API.
func anyForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isAnthropic(c.Request().Header) {
			return next(c)
		}
		return errorsAs(messages.Form)(anthropicID(next))(c)
	}
}
