package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/protocol/messages"
)

// The paths of Anthropic's Messages API. Clients add a query, which says nothing to us.
const (
	messagesPath    = "/v1/messages"
	countTokensPath = "/v1/messages/count_tokens"
)

// routeMessages adds the paths of the Messages API.
func (s *Server) routeMessages() {
	s.echo.POST(messagesPath, s.exchange(messages.Parse), speaks(messages.Form), anthropicID, s.sameSite, s.authenticate)
	s.echo.HEAD("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) }) // Claude Code looks whether we are here
}

// anthropicID gives the request's id the name that Anthropic's clients read too.
func anthropicID(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.Response().Header().Set("request-id", requestID(c))
		return next(c)
	}
}
