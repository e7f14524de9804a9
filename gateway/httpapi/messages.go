package httpapi

import (
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol/messages"
)

// The paths of Anthropic's Messages API. Clients add a query, which says nothing to us.
const (
	messagesPath = "/v1/messages"
	countPath    = messagesPath + "/count_tokens"
)

// routeMessages adds the paths of the Messages API.
func (s *Server) routeMessages() {
	s.echo.POST(messagesPath, s.exchange(messages.Parse), speaks(messages.Form), anthropicID, s.sameSite, s.authenticate)
	s.echo.POST(countPath, s.withBody(s.countTokens), tells(messages.Form), anthropicID, s.sameSite, s.authenticate)
	s.echo.Any("/", root)
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
		return tells(messages.Form)(anthropicID(next))(c)
	}
}

// model is one entry of GET /v1/models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModel(name string) model { return model{ID: name, Object: "model", OwnedBy: "callgate"} }

// modelsOf are the models that the client may ask for.
func (s *Server) modelsOf(c echo.Context) []string {
	return slices.DeleteFunc(slices.Clone(s.cfg.Gateway.Models(c.Request().Context())), func(name string) bool { return !clientOf(c).MayAsk(name) })
}

// models is GET /v1/models, in the form of the client's API.
func (s *Server) models(c echo.Context) error {
	names := s.modelsOf(c)
	if isAnthropic(c.Request().Header) {
		list, err := messages.Models(names, c.QueryParams())
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, list)
	}
	list := struct {
		Object string  `json:"object"`
		Data   []model `json:"data"`
	}{Object: "list", Data: []model{}}
	for _, name := range names {
		list.Data = append(list.Data, newModel(name))
	}
	return c.JSON(http.StatusOK, list)
}

// model is GET /v1/models/{id}, for every name that chat takes, listed or not. Names have slashes in
// them.
func (s *Server) model(c echo.Context) error {
	name := c.Param("*")
	switch {
	case !clientOf(c).MayAsk(name) || !s.cfg.Gateway.HasModel(c.Request().Context(), name):
		return &gateway.Error{Kind: gateway.NotFound, Code: "model_not_found", Param: "model",
			Message: "The model " + gateway.ExcerptOf(name, 80) + " does not exist. GET /v1/models lists the names that do."}
	case isAnthropic(c.Request().Header):
		return c.JSON(http.StatusOK, messages.NewModel(name))
	default:
		return c.JSON(http.StatusOK, newModel(name))
	}
}
