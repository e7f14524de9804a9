package httpapi

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/breaker"
)

// breakers answers for circuit breakers: see AdminConfig.
type breakers struct {
	states func() []breaker.Snapshot
	reset  func(name string) bool
	log    *slog.Logger
}

func (b breakers) list(c echo.Context) error {
	list := struct {
		Breakers []breaker.Snapshot `json:"breakers"`
	}{b.states()}
	if list.Breakers == nil {
		list.Breakers = []breaker.Snapshot{}
	}
	return c.JSON(http.StatusOK, list)
}

// close closes a breaker and answers with its state.
func (b breakers) close(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	if !b.reset(name) {
		return b.unknown(name)
	}
	b.log.InfoContext(c.Request().Context(), "breaker reset by the operator", "id", requestID(c), "breaker", name)
	for _, s := range b.states() {
		if s.Name == name {
			return c.JSON(http.StatusOK, s)
		}
	}
	return fmt.Errorf("the breaker %q was reset but is not in the list", name)
}

// unknown says that there is no such breaker, and which ones may be meant.
func (b breakers) unknown(name string) error {
	var names []string
	for _, s := range b.states() {
		names = append(names, s.Name)
	}
	return notThere("breaker", name, names, breakersPath)
}
