package httpapi

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/netaddr"
)

// Console is the operator's page, for browsers.
type Console interface {
	http.Handler
	// Refuse answers with a page that says why there is nothing else.
	Refuse(w http.ResponseWriter, r *http.Request, status int, message string)
}

// consolePath is where the page is; its other paths are below.
const consolePath = "/ui"

func (a *Admin) mountConsole() {
	if a.cfg.SSO != nil {
		a.mountSSO()
	}
	serve := echo.WrapHandler(a.cfg.Console)
	a.echo.Any(consolePath, serve)
	a.echo.Any(consolePath+"/*", serve)
}

// ofConsole reports whether a request is for the page, as Echo has read its path.
func (a *Admin) ofConsole(c echo.Context) bool {
	return a.cfg.Console != nil && (c.Path() == consolePath || c.Path() == consolePath+"/*" || a.ofSSO(c))
}

// guardConsole is guard for browsers, which send no bearer keys: they ask who sits there,
// and send a name and a password with every request from then on, also one that another
// page led them to. So what changes anything has to come from the page itself, key or no
// key. The page bounds its bodies by itself.
func (a *Admin) guardConsole(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		r := c.Request()
		if a.ofSSO(c) {
			return next(c)
		}
		if a.cfg.SSO != nil && r.Header.Get(echo.HeaderAuthorization) == "" {
			if in, err := a.signedIn(c); !in {
				return err
			}
			return a.fromHere(protection, next, c)
		}
		if !a.api.asksKey() && !netaddr.LoopbackHeader(r.Host) {
			return &gateway.Error{Kind: gateway.Forbidden, Param: "host",
				Message: fmt.Sprintf(onlyLoopback, r.Host)}
		}
		if _, password, _ := r.BasicAuth(); a.api.asksKey() {
			client, refused := a.api.find(c, password)
			if refused != nil {
				c.Response().Header().Set("www-authenticate", `Basic realm="callgate", charset="UTF-8"`)
				return &gateway.Error{Kind: gateway.InvalidKey}
			}
			setClient(c, client)
		}
		return a.fromHere(protection, next, c)
	}
}

// fromHere refuses what another site's page sends.
func (a *Admin) fromHere(protection *http.CrossOriginProtection, next echo.HandlerFunc, c echo.Context) error {
	if err := protection.Check(c.Request()); err != nil {
		return &gateway.Error{Kind: gateway.Forbidden, Err: err, Message: "Requests from web pages of other sites are refused."}
	}
	return next(c)
}

// failConsole answers with an error as a page.
func (a *Admin) failConsole(e *gateway.Error, c echo.Context) {
	recordOf(c).err = e
	message := e.Message
	if e.Kind == gateway.InvalidKey {
		message = "No valid key: the password is the operator's key, and the name can be anything. Clients' keys are not accepted here."
	}
	a.cfg.Console.Refuse(c.Response(), c.Request(), e.HTTPStatus(), message)
}
