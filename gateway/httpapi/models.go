package httpapi

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/gateway/protocol/messages"
)

// model is one entry of GET /v1/models.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModel(name string) model { return model{ID: name, Object: "model", OwnedBy: "callgate"} }

// models tells which models there are.
type models struct{ gateway Chatter }

// route adds the paths.
func (m models) route(to *echo.Echo, a *access) {
	to.GET("/v1/models", counted(m.list), a.middleware(anyForm)...)
	to.GET("/v1/models/*", counted(m.show), a.middleware(anyForm)...)
}

// counted notes how many gateways the request has passed: upstreams are asked for their models, and one
// of them may be this gateway.
func counted(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		hops, err := hopsOf(r.Header)
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(headers.WithHops(r.Context(), hops)))
		return next(c)
	}
}

// allowed are those that the client may ask for.
func (m models) allowed(c echo.Context) []string {
	return slices.DeleteFunc(slices.Clone(m.gateway.Models(c.Request().Context())), func(name string) bool { return !clientOf(c).MayAsk(name) })
}

// list is GET /v1/models, in the form of the client's API.
func (m models) list(c echo.Context) error {
	names := m.allowed(c)
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

// show is GET /v1/models/{id}, for every name that chat takes, listed or not. Names have slashes in
// them.
func (m models) show(c echo.Context) error {
	name := c.Param("*")
	switch {
	case !clientOf(c).MayAsk(name) || !m.gateway.HasModel(c.Request().Context(), name):
		return &gateway.Error{Kind: gateway.NotFound, Code: "model_not_found", Param: "model",
			Message: fmt.Sprintf("The model %q does not exist. GET /v1/models lists the names that do.", gateway.ExcerptOf(name, 80))}
	case isAnthropic(c.Request().Header):
		return c.JSON(http.StatusOK, messages.NewModel(name))
	default:
		return c.JSON(http.StatusOK, newModel(name))
	}
}
