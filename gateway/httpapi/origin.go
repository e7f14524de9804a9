package httpapi

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/netaddr"
)

// onlyLoopback is what is said to a request that names another host.
const onlyLoopback = "No API keys are configured, so only loopback Host headers are accepted, not %.80q: use 127.0.0.1 or localhost, or configure keys."

// newProtection tells requests of other sites' pages, but for those of some origins. It is made once: Echo makes a
// route's middleware anew for each request.
func newProtection(origins []string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	for _, origin := range origins {
		if origin == anyOrigin { // only where keys are asked for, and then nobody asks p
			continue
		}
		if err := p.AddTrustedOrigin(origin); err != nil {
			return nil, err
		}
	}
	return p, nil
}

const (
	anyOrigin = "*"
	// preflightTime is for how many seconds browsers remember what a page may ask; Chromium's limit is two hours.
	preflightTime = 7200
)

// crossOrigin tells browsers that pages of some origins may ask, with any headers, and read the headers of answers. Keys
// are headers of the page's own: no cookie is allowed, and none would be of use.
func crossOrigin(origins []string) echo.MiddlewareFunc {
	return middleware.CORSWithConfig(middleware.CORSConfig{AllowOrigins: origins, ExposeHeaders: []string{"*"}, MaxAge: preflightTime})
}

// sameSite keeps web pages away from a gateway without keys. It listens on loopback
// only, but so does the browser of whoever runs it: any page could send a request
// there and spend the upstream's key, and with a name of its own that resolves to
// 127.0.0.1 it could read the answer too. With keys a page would have to know one.
func (a *access) sameSite(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if a.asksKey() {
			return next(c)
		}
		if err := a.protection.Check(acting(c.Request())); err != nil {
			return &gateway.Error{Kind: gateway.Forbidden, Err: err,
				Message: "No API keys are configured, so requests from web pages of other sites are refused."}
		}
		if !netaddr.LoopbackHeader(c.Request().Host) {
			return &gateway.Error{Kind: gateway.Forbidden, Param: "host",
				Message: fmt.Sprintf(onlyLoopback, c.Request().Host)}
		}
		return next(c)
	}
}

// acting is a request as it is to be judged. A GET only reads, and is let through: but a WebSocket begins
// with one too, and browsers let any page open it.
func acting(r *http.Request) *http.Request {
	if !isHandshake(r) {
		return r
	}
	r = r.WithContext(r.Context())
	r.Method = http.MethodPost
	return r
}
