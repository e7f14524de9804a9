package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/responses"
)

// responsesPath is that of OpenAI's Responses API.
const responsesPath = "/v1/responses"

// routeResponses adds the paths of the Responses API.
func (s *Server) routeResponses() {
	parse := responses.Stateless(responses.Options{Sealer: s.cfg.Sealer})
	s.echo.POST(responsesPath, s.exchange(parse), speaks(responses.Form), s.sameSite, s.authenticate)
	s.echo.POST(responsesPath+"/input_tokens", s.countResponse(parse), tells(responses.Form), s.sameSite, s.authenticate)
}

// countResponse estimates the tokens of a request.
func (s *Server) countResponse(parse protocol.Parser) echo.HandlerFunc {
	return func(c echo.Context) error {
		body, err := s.readBody(c)
		if err != nil {
			return err
		}
		tenant, _ := c.Get(clientKey).(string)
		front, err := parse(c.Request().Context(), body, protocol.Client{Tenant: tenant, RequestID: requestID(c), Header: c.Request().Header})
		if err != nil {
			return err
		}
		return c.JSONBlob(http.StatusOK, front.(*responses.Request).CountTokens())
	}
}
