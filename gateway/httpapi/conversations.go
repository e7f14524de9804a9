package httpapi

import (
	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/protocol/responses"
)

// conversationsPath is that of OpenAI's Conversations API.
const conversationsPath = "/v1/conversations"

// routeConversations adds the paths of the Conversations API.
func (s *Server) routeConversations() {
	tell := []echo.MiddlewareFunc{tells(responses.Form), s.sameSite, s.authenticate}
	state, one, items := s.cfg.State, conversationsPath+"/:id", conversationsPath+"/:id/items"
	s.echo.POST(conversationsPath, s.stored(state.CreateConversation), tell...)
	s.echo.GET(one, s.stored(state.GetConversation), tell...)
	s.echo.POST(one, s.stored(state.UpdateConversation), tell...)
	s.echo.DELETE(one, s.stored(state.DeleteConversation), tell...)
	s.echo.POST(items, s.stored(state.AddItems), tell...)
	s.echo.GET(items, s.stored(state.ListItems), tell...)
	s.echo.GET(items+"/:item", s.stored(state.GetItem), tell...)
	s.echo.DELETE(items+"/:item", s.stored(state.DeleteItem), tell...)
}
