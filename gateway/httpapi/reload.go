package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// Reloaded is what became of a configuration that was read while the gateway runs, as POST
// /admin/reload answers.
type Reloaded struct {
	// Outcome is one of the words below.
	Outcome string `json:"outcome"`
	// SHA256 is the hash of the file that is in force, as sha256sum prints it.
	SHA256 string `json:"sha256"`
	// Changed are the keys that have other values now, or would have.
	Changed []string `json:"changed"`
	// Restart are keys of the file that keep the values of the start until the gateway is
	// restarted.
	Restart []string `json:"needs_restart"`
	// Error says why the configuration was refused. That before is in force.
	Error string `json:"error,omitempty"`
}

// The outcomes.
const (
	Applied   = "applied"
	Unchanged = "unchanged"
	Refused   = "refused"
)

const reloadPath = "/admin/reload"

// reload has the configuration read again. What is refused is no good configuration, and the answer
// 422.
func reload(read func() (Reloaded, error)) echo.HandlerFunc {
	return func(c echo.Context) error {
		out, err := read()
		if err != nil {
			return err
		}
		status := http.StatusOK
		if out.Outcome == Refused {
			status = http.StatusUnprocessableEntity
		}
		return c.JSON(status, out)
	}
}
