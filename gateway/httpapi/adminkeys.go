package httpapi

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/limit"
)

// The operator's paths for keys and teams.
const (
	keysPath  = "/admin/keys"
	teamsPath = "/admin/teams"
)

// Bounds on lists and bodies of keys.
const (
	maxKeysBody = 64 << 10
	keysPage    = 100
	maxKeysPage = 1000
)

// keysAdmin answers for the keys and teams of clients.
type keysAdmin struct {
	book    *keys.Book
	manager *keys.Manager // of the same
	log     *slog.Logger
}

// route adds the paths.
func (k keysAdmin) route(to *echo.Echo) {
	one, team := keysPath+"/:name", teamsPath+"/:name"
	to.GET(keysPath, k.list)
	to.POST(keysPath, k.create)
	to.GET(one, k.show)
	to.PATCH(one, k.edit)
	to.DELETE(one, k.delete)
	to.POST(one+"/rotate", k.rotate)
	to.POST(one+"/block", k.block(true))
	to.POST(one+"/unblock", k.block(false))
	to.GET(teamsPath, k.teams)
	to.POST(teamsPath, k.createTeam)
	to.GET(team, k.showTeam)
	to.PATCH(team, k.editTeam)
	to.DELETE(team, k.deleteTeam)
}

// KeyView is a key as the admin API shows it.
type KeyView struct {
	// Key is the key's text, where it was just made; nobody can find it out later.
	Key string `json:"key,omitempty"`
	keyFields
	// State is "active", "blocked", "expired", "hidden" (the configuration has another key with its
	// name) or "no_team" (its team is gone).
	State   string      `json:"state"`
	Origin  keys.Origin `json:"origin"`
	Created time.Time   `json:"created,omitzero"`
	// Texts are those that prove it, as far as may be shown.
	Texts []TextView `json:"texts,omitempty"`
}

// TextView is a text that proves a key.
type TextView struct {
	Public string    `json:"public"`
	Until  time.Time `json:"until,omitzero"`
}

// keyFields are what an operator sets of a key.
type keyFields struct {
	Name      string            `json:"name"`
	Team      string            `json:"team,omitempty"`
	Models    []string          `json:"models,omitzero"`
	Tools     []string          `json:"tools,omitzero"`
	CIDR      []string          `json:"cidr,omitzero"`
	MaxTokens *int              `json:"max_tokens,omitempty"`
	Expires   string            `json:"expires,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Arms      []string          `json:"arms,omitzero"`
	Limits    []limit.Spec      `json:"limits,omitzero"`
}

// fieldsOf are those of a key, as they are.
func fieldsOf(k *keys.Key) keyFields {
	f := keyFields{Name: k.Name, Team: k.Team, Models: k.Models, Tools: k.Tools, CIDR: k.CIDR, MaxTokens: some(k.MaxTokens), Labels: k.Labels, Arms: k.Arms, Limits: k.Limits}
	if !k.Expires.IsZero() {
		f.Expires = k.Expires.Format(time.RFC3339)
	}
	return f
}

// some is n as JSON has a field that may be missing: nil for 0.
func some(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}

// key is what was sent as a key.
func (f *keyFields) key() (k keys.Key, err error) {
	k = keys.Key{Name: f.Name, Team: f.Team, CIDR: f.CIDR, Arms: f.Arms}
	if k.Scope, err = scopeOf(f.Models, f.Tools, f.MaxTokens, f.Labels, f.Limits); err != nil || f.Expires == "" {
		return k, err
	}
	t, problem := keys.ParseTime(f.Expires)
	if problem != "" {
		return k, &keys.Error{Kind: keys.Invalid, Field: "expires", Message: "The field expires is wrong: " + problem + "."}
	}
	k.Expires = t
	return k, nil
}

// scopeOf is what keys and teams have in common. most is max_tokens, nil for no limit.
func scopeOf(models, tools []string, most *int, labels map[string]string, limits []limit.Spec) (s keys.Scope, err error) {
	s = keys.Scope{Models: models, Tools: tools, Labels: labels, Limits: limits}
	if most != nil {
		if s.MaxTokens = *most; *most < 1 {
			return s, &keys.Error{Kind: keys.Invalid, Field: "max_tokens", Message: fmt.Sprintf("The field max_tokens is wrong: %d is out of range; it may be from 1 to %d, or left out.", *most, keys.MaxTokens)}
		}
	}
	return s, nil
}

// view is a key for operators; text is its own, where it was just made, and else "".
func (k keysAdmin) view(e *keys.Entry, text string) KeyView {
	v := KeyView{Key: text, keyFields: fieldsOf(&e.Key), State: k.book.Status(e), Origin: e.Origin, Created: e.Created}
	for _, s := range e.Secrets {
		if s.Public != "" {
			v.Texts = append(v.Texts, TextView{s.Public, s.Until})
		}
	}
	return v
}

// list is GET /admin/keys?after=NAME&limit=N.
func (k keysAdmin) list(c echo.Context) error {
	limit := keysPage
	if text := c.QueryParam("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxKeysPage {
			return &gateway.Error{Kind: gateway.Invalid, Param: "limit", Message: fmt.Sprintf("The parameter limit must be a number from 1 to %d, not %.40q.", maxKeysPage, text)}
		}
		limit = n
	}
	page, more := k.book.List(c.QueryParam("after"), limit)
	out := struct {
		Keys []KeyView `json:"keys"`
		More bool      `json:"more"`
	}{Keys: []KeyView{}, More: more}
	for _, e := range page {
		out.Keys = append(out.Keys, k.view(e, ""))
	}
	return c.JSON(http.StatusOK, out)
}

// show is GET /admin/keys/{name}.
func (k keysAdmin) show(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	e := k.book.Key(name)
	if e == nil {
		return notThere("key", name, nil, keysPath)
	}
	return c.JSON(http.StatusOK, k.view(e, ""))
}

// create is POST /admin/keys. Its answer alone has the key's text.
func (k keysAdmin) create(c echo.Context) error {
	var f keyFields
	if err := readJSON(c, &f); err != nil {
		return err
	}
	key, err := f.key()
	if err != nil {
		return k.failed(c, err)
	}
	text, e, err := k.manager.Create(c.Request().Context(), key)
	if err != nil {
		return k.failed(c, err)
	}
	k.note(c, "key made by the operator", e.Name)
	return c.JSON(http.StatusCreated, k.view(e, text))
}

// edit is PATCH /admin/keys/{name}: it changes the fields that were sent; null takes one away.
func (k keysAdmin) edit(c echo.Context) error {
	name, change, err := patch(c)
	if err != nil {
		return err
	}
	e, err := k.manager.Edit(c.Request().Context(), name, func(key *keys.Key) error {
		var f keyFields
		if err := merged(fieldsOf(key), change, &f); err != nil {
			return err
		}
		changed, err := f.key()
		*key = changed
		return err
	})
	if err != nil {
		return k.failed(c, err)
	}
	k.note(c, "key changed by the operator", name)
	return c.JSON(http.StatusOK, k.view(e, ""))
}

// rotate is POST /admin/keys/{name}/rotate. Its answer alone has the new text.
func (k keysAdmin) rotate(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	var f struct {
		Overlap string `json:"overlap"`
	}
	if err := readJSON(c, &f); err != nil {
		return err
	}
	overlap := keys.Overlap
	if f.Overlap != "" {
		if overlap, err = time.ParseDuration(f.Overlap); err != nil {
			return &gateway.Error{Kind: gateway.Invalid, Param: "overlap", Message: fmt.Sprintf("The field overlap must be a time such as 24h, 30m or 0s, not %.40q.", f.Overlap)}
		}
	}
	text, e, err := k.manager.Rotate(c.Request().Context(), name, overlap)
	if err != nil {
		return k.failed(c, err)
	}
	k.note(c, "key rotated by the operator", name)
	return c.JSON(http.StatusOK, k.view(e, text))
}

// block is POST /admin/keys/{name}/block or …/unblock.
func (k keysAdmin) block(blocked bool) echo.HandlerFunc {
	said := "key unblocked by the operator"
	if blocked {
		said = "key blocked by the operator"
	}
	return func(c echo.Context) error {
		name, err := nameOf(c)
		if err != nil {
			return err
		}
		e, err := k.manager.Block(c.Request().Context(), name, blocked)
		if err != nil {
			return k.failed(c, err)
		}
		k.note(c, said, name)
		return c.JSON(http.StatusOK, k.view(e, ""))
	}
}

// delete is DELETE /admin/keys/{name}.
func (k keysAdmin) delete(c echo.Context) error {
	name, err := nameOf(c)
	if err != nil {
		return err
	}
	if err := k.manager.Delete(c.Request().Context(), name); err != nil {
		return k.failed(c, err)
	}
	k.note(c, "key deleted by the operator", name)
	return c.NoContent(http.StatusNoContent)
}

// note writes what an operator has done to the log.
func (k keysAdmin) note(c echo.Context, what, name string) {
	k.log.InfoContext(c.Request().Context(), what, "id", requestID(c), "name", name, "by", operatorOf(c))
}

// failed is an error of the manager's as an answer.
func (k keysAdmin) failed(c echo.Context, err error) error {
	e := gateway.AsError(err)
	if e.Kind != gateway.Internal {
		return e
	}
	var known *keys.Error
	if !errors.As(err, &known) {
		k.log.ErrorContext(c.Request().Context(), "keys cannot be changed", "id", requestID(c), "error", err)
		return &gateway.Error{Kind: gateway.Overloaded, Code: "store_away", Message: "The store of the keys does not answer; the log says why. Look whether the change was made before you try again.", Err: err}
	}
	out := &gateway.Error{Kind: gateway.Invalid, Param: known.Field, Message: known.Message}
	switch known.Kind {
	case keys.NotFound:
		out.Kind, out.Code = gateway.NotFound, "not_found_by_name"
	case keys.Taken, keys.Full:
		out.Status, out.Code = http.StatusConflict, "conflict"
	case keys.Fixed:
		out.Status, out.Code = http.StatusConflict, "in_configuration"
	case keys.Unkept:
		out.Status, out.Code = http.StatusConflict, "keys_not_kept"
	case keys.Invalid:
	}
	return out
}

// ofKeys reports whether a path takes bodies of keys and teams.
func ofKeys(path string) bool {
	return slices.ContainsFunc([]string{keysPath, teamsPath}, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}
