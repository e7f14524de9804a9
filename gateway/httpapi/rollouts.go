package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/rollout"
)

const rolloutsPath = "/admin/rollouts"

// mountRollouts serves GET /admin/rollouts, and POST /admin/rollouts/{name}/stop and …/resume, which
// have the arm as ?arm=; without it all arms but the control are meant.
func (a *Admin) mountRollouts() {
	a.echo.GET(rolloutsPath, func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string][]rollout.Snapshot{"rollouts": a.cfg.Rollouts()})
	})
	a.echo.POST(rolloutsPath+"/:name/stop", func(c echo.Context) error { return a.setArm(c, true) })
	a.echo.POST(rolloutsPath+"/:name/resume", func(c echo.Context) error { return a.setArm(c, false) })
}

// setArm stops an arm or lets it go on, and answers with the state of the rollout.
func (a *Admin) setArm(c echo.Context, stop bool) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	arm := c.QueryParam("arm")
	state, what, names := a.cfg.SetArm(name, arm, stop)
	switch {
	case state != nil:
		return c.JSON(http.StatusOK, state)
	case what == "arm":
		return notThere("arm", arm, names, rolloutsPath)
	}
	return notThere(what, name, names, rolloutsPath)
}
