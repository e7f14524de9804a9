package httpapi

import (
	"fmt"
	"log/slog"
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

// page is what answers and guards the console. A nil one is none.
type page struct {
	console Console
	sso     SSO     // may be nil: see AdminConfig
	access  *access // for the operator's key
	log     *slog.Logger
}

// route adds the paths.
func (p *page) route(to *echo.Echo) {
	if p.sso != nil {
		p.routeSSO(to)
	}
	serve := echo.WrapHandler(p.console)
	to.Any(consolePath, serve)
	to.Any(consolePath+"/*", serve)
}

// has reports whether a request is for the page, as Echo has read its path.
func (p *page) has(c echo.Context) bool {
	return p != nil && (c.Path() == consolePath || c.Path() == consolePath+"/*" || p.ofSSO(c))
}

// guard is Admin.guard for browsers, which send no bearer keys: they ask who sits there,
// and send a name and a password with every request from then on, also one that another
// page led them to. So what changes anything has to come from the page itself, key or no
// key. The page bounds its bodies by itself.
func (p *page) guard(next echo.HandlerFunc) echo.HandlerFunc {
	protection := http.NewCrossOriginProtection()
	return func(c echo.Context) error {
		r := c.Request()
		if p.ofSSO(c) {
			return next(c)
		}
		if p.sso != nil && r.Header.Get(echo.HeaderAuthorization) == "" {
			if in, err := p.signedIn(c); !in {
				return err
			}
			return sameOrigin(protection, next, c)
		}
		if !p.access.asksKey() && !netaddr.LoopbackHeader(r.Host) {
			return &gateway.Error{Kind: gateway.Forbidden, Param: "host",
				Message: fmt.Sprintf(onlyLoopback, r.Host)}
		}
		if _, password, _ := r.BasicAuth(); p.access.asksKey() {
			client, refused := p.access.find(c.Request(), password)
			if refused != nil {
				c.Response().Header().Set("www-authenticate", `Basic realm="callgate", charset="UTF-8"`)
				return &gateway.Error{Kind: gateway.InvalidKey}
			}
			setClient(c, client)
		}
		return sameOrigin(protection, next, c)
	}
}

// sameOrigin refuses what another site's page sends.
func sameOrigin(protection *http.CrossOriginProtection, next echo.HandlerFunc, c echo.Context) error {
	if err := protection.Check(c.Request()); err != nil {
		return &gateway.Error{Kind: gateway.Forbidden, Err: err, Message: "Requests from web pages of other sites are refused."}
	}
	return next(c)
}

// fail answers with an error as a page.
func (p *page) fail(e *gateway.Error, c echo.Context) {
	recordOf(c).err = e
	message := e.Message
	if e.Kind == gateway.InvalidKey {
		message = "No valid key: the password is the operator's key, and the name can be anything. Clients' keys are not accepted here."
	}
	p.console.Refuse(c.Response(), c.Request(), e.HTTPStatus(), message)
}
