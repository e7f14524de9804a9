package httpapi

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/sso"
)

// SSO signs operators in; *sso.Gate is one.
type SSO interface {
	Login(w http.ResponseWriter, r *http.Request) error
	Callback(w http.ResponseWriter, r *http.Request) error
	Logout(w http.ResponseWriter)
	Who(r *http.Request) *sso.Session
}

// The paths at which operators sign in and out. Nobody needs to be signed in for them.
const (
	ssoPath      = consolePath + "/oidc"
	contentPath  = consolePath + "/content/" // for operators alone, and every look is logged
	loginPath    = ssoPath + "/login"
	callbackPath = ssoPath + "/callback"
	logoutPath   = ssoPath + "/logout"
)

func (p *page) routeSSO(to *echo.Echo) {
	to.GET(loginPath, func(c echo.Context) error { return p.ssoFailed(c, p.sso.Login(c.Response(), c.Request())) })
	to.GET(callbackPath, func(c echo.Context) error { return p.ssoFailed(c, p.sso.Callback(c.Response(), c.Request())) })
	to.GET(logoutPath, func(c echo.Context) error {
		p.sso.Logout(c.Response())
		p.console.Refuse(c.Response(), c.Request(), http.StatusOK, "You are signed out here. The identity provider may still know you.")
		return nil
	})
}

// ofSSO reports whether a request is for signing in or out.
func (p *page) ofSSO(c echo.Context) bool {
	return p.sso != nil && (c.Path() == loginPath || c.Path() == callbackPath || c.Path() == logoutPath)
}

// ssoFailed is why somebody was not signed in, as a page.
func (p *page) ssoFailed(c echo.Context, err error) error {
	var known *sso.Error
	if err == nil || !errors.As(err, &known) {
		return err
	}
	p.log.WarnContext(c.Request().Context(), "an operator was not signed in", "id", requestID(c), "message", known.Message, "error", known.Err)
	kind := map[int]gateway.Kind{http.StatusForbidden: gateway.Forbidden, http.StatusBadGateway: gateway.Unavailable}[known.Status]
	if kind == gateway.Internal {
		kind = gateway.Invalid
	}
	return &gateway.Error{Kind: kind, Message: known.Message, Err: known.Err}
}

// signedIn lets a browser through whose operator is signed in, and sends one that is not to sign in. A
// viewer may look alone. What changes anything has to say where it comes from: a browser that is too old
// for that would send the cookie with the form of any page.
func (p *page) signedIn(c echo.Context) (in bool, err error) {
	r := c.Request()
	looks := r.Method == http.MethodGet || r.Method == http.MethodHead
	s := p.sso.Who(r)
	switch {
	case s == nil && looks:
		return false, c.Redirect(http.StatusSeeOther, loginPath+"?to="+url.QueryEscape(r.URL.RequestURI()))
	case s == nil:
		return false, &gateway.Error{Kind: gateway.Forbidden, Message: "You are not signed in any more: open the page again."}
	case strings.HasPrefix(r.URL.Path, contentPath) && s.Role != sso.Operator:
		return false, &gateway.Error{Kind: gateway.Forbidden, Message: "What requests and answers say is for operators: your role is viewer."}
	case !looks && s.Role != sso.Operator:
		return false, &gateway.Error{Kind: gateway.Forbidden, Message: "You may look, and change nothing: your role is viewer."}
	case !looks && r.Header.Get("sec-fetch-site") == "" && r.Header.Get("origin") == "":
		return false, &gateway.Error{Kind: gateway.Forbidden, Message: "This browser does not say where the request comes from, so it is refused."}
	}
	setClient(c, &gateway.Client{Key: s.Name})
	return true, nil
}
