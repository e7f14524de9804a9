package httpapi

import (
	"net/http"
	"sync/atomic"

	"github.com/labstack/echo/v4"
)

// health says whether the server is to have more requests.
type health struct {
	draining atomic.Bool
	ready    func() error    // see Config.Ready
	notes    func() []string // see Config.Notes
}

// livez answers as long as the process runs.
func livez(c echo.Context) error { return c.String(http.StatusOK, "ok\n") }

// readyz says whether the server is to have requests: not while it drains, nor while Config.Ready is against
// it.
func (h *health) readyz(c echo.Context) error {
	if h.draining.Load() {
		return c.String(http.StatusServiceUnavailable, "shutting down\n")
	}
	if h.ready != nil {
		if err := h.ready(); err != nil {
			return c.String(http.StatusServiceUnavailable, err.Error()+"\n")
		}
	}
	text := "ok\n"
	if h.notes != nil {
		for _, note := range h.notes() {
			text += note + "\n"
		}
	}
	return c.String(http.StatusOK, text)
}

// endDraining ends the connection behind a request that comes while the server drains: its
// client is to find another one.
func (h *health) endDraining(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if h.draining.Load() {
			c.Response().Header().Set("connection", "close")
		}
		return next(c)
	}
}
