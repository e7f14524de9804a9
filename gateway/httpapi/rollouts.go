package httpapi

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/rollout"
)

const rolloutsPath = "/admin/rollouts"

// routeRollouts serves GET /admin/rollouts, and POST /admin/rollouts/{name}/stop and …/resume, which
// have the arm as ?arm=; without it all arms but the control are meant. The functions are those of
// AdminConfig.
func routeRollouts(to *echo.Echo, states func() []rollout.Snapshot, set setArm) {
	to.GET(rolloutsPath, func(c echo.Context) error {
		return c.JSON(http.StatusOK, map[string][]rollout.Snapshot{"rollouts": states()})
	})
	to.POST(rolloutsPath+"/:name/stop", func(c echo.Context) error { return set.answer(c, true) })
	to.POST(rolloutsPath+"/:name/resume", func(c echo.Context) error { return set.answer(c, false) })
}

// setArm is AdminConfig.SetArm.
type setArm func(name, arm string, stop bool) (state *rollout.Snapshot, what string, names []string)

// answer stops an arm or lets it go on, and answers with the state of the rollout.
func (set setArm) answer(c echo.Context, stop bool) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	arm := c.QueryParam("arm")
	state, what, names := set(name, arm, stop)
	switch {
	case state != nil:
		return c.JSON(http.StatusOK, state)
	case what == "control":
		return &gateway.Error{Kind: gateway.Invalid, Param: "arm", Message: fmt.Sprintf("The arm %q is the control, which gets what the others do not: it is never stopped. Name another arm, or set weights in the configuration.", arm)}
	case what == "arm":
		return notThere("arm", arm, names, rolloutsPath)
	}
	return notThere("rollout", name, names, rolloutsPath)
}
