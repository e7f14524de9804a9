package httpapi

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
)

// TeamView is a team as the admin API shows it.
type TeamView struct {
	teamFields
	Origin  keys.Origin `json:"origin"`
	Hidden  bool        `json:"hidden,omitempty"`
	Keys    int         `json:"keys"`
	Created time.Time   `json:"created,omitzero"`
}

// teamFields are what an operator sets of a team.
type teamFields struct {
	Name      string            `json:"name"`
	Models    []string          `json:"models,omitzero"`
	Tools     []string          `json:"tools,omitzero"`
	MaxTokens *int              `json:"max_tokens,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Limits    []limit.Spec      `json:"limits,omitzero"`
}

// fieldsOfTeam are those of a team, as they are.
func fieldsOfTeam(t *keys.Team) teamFields {
	return teamFields{t.Name, t.Models, t.Tools, some(t.MaxTokens), t.Labels, t.Limits}
}

// team is what was sent as a team.
func (f *teamFields) team() (keys.Team, error) {
	scope, err := scopeOf(f.Models, f.Tools, f.MaxTokens, f.Labels, f.Limits)
	return keys.Team{Name: f.Name, Scope: scope}, err
}

// viewTeam is a team for operators.
func viewTeam(t *keys.TeamEntry) TeamView {
	return TeamView{teamFields: fieldsOfTeam(&t.Team), Origin: t.Origin, Hidden: t.Hidden, Keys: t.Keys, Created: t.Created}
}

// teams is GET /admin/teams.
func (k keysAdmin) teams(c echo.Context) error {
	out := struct {
		Teams []TeamView `json:"teams"`
	}{Teams: []TeamView{}}
	for _, t := range k.book.Teams() {
		out.Teams = append(out.Teams, viewTeam(t))
	}
	return c.JSON(http.StatusOK, out)
}

// showTeam is GET /admin/teams/{name}.
func (k keysAdmin) showTeam(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	t := k.book.Team(name)
	if t == nil {
		return notThere("team", name, nil, teamsPath)
	}
	return c.JSON(http.StatusOK, viewTeam(t))
}

// createTeam is POST /admin/teams.
func (k keysAdmin) createTeam(c echo.Context) error {
	var f teamFields
	if err := readJSON(c, &f); err != nil {
		return err
	}
	team, err := f.team()
	if err != nil {
		return k.failed(c, err)
	}
	t, err := k.manager.CreateTeam(c.Request().Context(), team)
	if err != nil {
		return k.failed(c, err)
	}
	k.note(c, "team made by the operator", t.Name)
	return c.JSON(http.StatusCreated, viewTeam(t))
}

// editTeam is PATCH /admin/teams/{name}: it changes the fields that were sent; null takes one away.
func (k keysAdmin) editTeam(c echo.Context) error {
	name, change, err := patch(c)
	if err != nil {
		return err
	}
	t, err := k.manager.EditTeam(c.Request().Context(), name, func(team *keys.Team) error {
		var f teamFields
		if err := merged(fieldsOfTeam(team), change, &f); err != nil {
			return err
		}
		changed, err := f.team()
		*team = changed
		return err
	})
	if err != nil {
		return k.failed(c, err)
	}
	k.note(c, "team changed by the operator", name)
	return c.JSON(http.StatusOK, viewTeam(t))
}

// deleteTeam is DELETE /admin/teams/{name}.
func (k keysAdmin) deleteTeam(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	if err := k.manager.DeleteTeam(c.Request().Context(), name); err != nil {
		return k.failed(c, err)
	}
	k.note(c, "team deleted by the operator", name)
	return c.NoContent(http.StatusNoContent)
}
