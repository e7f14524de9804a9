package httpapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/keys"
	"github.com/callgate/callgate/gateway/protocol/messages"
	"github.com/callgate/callgate/internal/netaddr"
)

// clientOf is whose request it is; nil without keys.
func clientOf(c echo.Context) *gateway.Client {
	if o, ok := c.(*observed); ok {
		return o.client
	}
	return nil
}

// setClient notes whose request it is.
func setClient(c echo.Context, client *gateway.Client) {
	if o, ok := c.(*observed); ok { // as all requests are behind observe
		o.client = client
	}
}

// tenantOf is the name of the client's key, or "".
func tenantOf(c echo.Context) string {
	if client := clientOf(c); client != nil {
		return client.Key
	}
	return ""
}

// access decides which requests are let in: those with a known key, or, where none is asked for, those
// that do not come from another site's page.
type access struct {
	keys    *keys.Book     // may be nil: no key is asked for
	proxies []netip.Prefix // trusted to say where requests come from

	protection *http.CrossOriginProtection
}

// asksKey reports whether a request needs a key.
func (a *access) asksKey() bool { return a.keys != nil && a.keys.Required() }

// middleware is what stands before a path: marks, which say of which protocol it is, and then the checks of
// who asks.
func (a *access) middleware(marks ...echo.MiddlewareFunc) []echo.MiddlewareFunc {
	return append(marks, a.sameSite, a.authenticate)
}

// authenticate lets a request through that carries a known key.
func (a *access) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !a.asksKey() {
			return next(c)
		}
		client, refused := a.client(c.Request(), recordOf(c).form == messages.Form)
		if refused != nil {
			return a.refuse(c, refused)
		}
		setClient(c, client)
		return next(c)
	}
}

// refuse is the error of a key that is not taken.
func (a *access) refuse(c echo.Context, why *keys.Refusal) error {
	a.keys.Refuse(why.Reason)
	if why.Key != "" {
		recordOf(c).key = why.Key
	}
	if why.Reason == keys.Address {
		return &gateway.Error{Kind: gateway.Forbidden, Code: "address_not_allowed", Message: why.Message}
	}
	c.Response().Header().Set("www-authenticate", "Bearer")
	if why.Reason == keys.Unknown {
		headers := "\"Authorization: Bearer …\""
		if recordOf(c).form == messages.Form {
			headers = "\"x-api-key\" or " + headers
		}
		return &gateway.Error{Kind: gateway.InvalidKey, Message: "No valid key: send one of this gateway's keys as " + headers + "."}
	}
	return &gateway.Error{Kind: gateway.InvalidKey, Message: why.Message + " Ask this gateway's operator for another one."}
}

// client is whose key a request carries. Clients of the Messages API have it in x-api-key, some of
// them in both headers: one that is not ours does no harm, two of ours that differ do not say who
// asks.
func (a *access) client(r *http.Request, anthropic bool) (*gateway.Client, *keys.Refusal) {
	h := r.Header
	scheme, token, _ := strings.Cut(h.Get(echo.HeaderAuthorization), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		token = ""
	}
	client, refused := a.find(r, token)
	if !anthropic {
		return client, refused
	}
	other, otherRefused := a.find(r, h.Get("x-api-key"))
	switch {
	case client != nil && other != nil && client.Key != other.Key:
		return nil, &keys.Refusal{Reason: keys.Unknown}
	case client == nil && (other != nil || otherRefused.Reason != keys.Unknown):
		return other, otherRefused
	}
	return client, refused
}

// allows reports whether a request's key is taken, if one is asked for.
func (a *access) allows(r *http.Request) bool {
	if !a.asksKey() {
		return true
	}
	_, refused := a.client(r, false)
	return refused == nil
}

// find is whose key a text is.
func (a *access) find(r *http.Request, token string) (*gateway.Client, *keys.Refusal) {
	k, team, refused := a.keys.Find(token, func() netip.Addr {
		from, _ := netip.ParseAddrPort(r.RemoteAddr)
		return netaddr.Client(from.Addr(), r.Header.Values("x-forwarded-for"), a.proxies)
	})
	if refused != nil {
		return nil, refused
	}
	return newClient(k, team), nil
}

// newClient is what a request knows of its key. team is nil for none. The lists of patterns have their place beside it.
func newClient(k *keys.Entry, team *keys.TeamEntry) *gateway.Client {
	room := &struct {
		client        gateway.Client
		models, tools [2][]string
	}{models: [2][]string{k.Models}, tools: [2][]string{k.Tools}}
	out := &room.client
	*out = gateway.Client{Key: k.Name, Team: k.Team, Labels: k.Labels, MaxTokens: k.MaxTokens, Arms: k.Arms}
	if team == nil {
		out.Models, out.Tools = room.models[:1:1], room.tools[:1:1]
		return out
	}
	room.models[1], room.tools[1] = team.Models, team.Tools
	out.Models, out.Tools = room.models[:], room.tools[:]
	if most := team.MaxTokens; most > 0 && (out.MaxTokens == 0 || most < out.MaxTokens) {
		out.MaxTokens = most
	}
	if len(team.Labels) > 0 {
		out.Labels = maps.Clone(team.Labels)
		maps.Copy(out.Labels, k.Labels)
	}
	return out
}

// checkScope says why a key does not allow a request for a model. Its client is set.
func (a *access) checkScope(req *gateway.Request) error {
	if e := req.From.Client.CheckModel(req.Model); e != nil {
		a.keys.Refuse(keys.Model)
		return e
	}
	return nil
}

// capped is gateway.Request.Capped, counted.
func (a *access) capped(req *gateway.Request) (*gateway.Request, error) {
	out, err := req.Capped()
	a.countCap(err)
	return out, err
}

// countCap counts a refusal for a number of output tokens, if err is one.
func (a *access) countCap(err error) {
	if err != nil && gateway.AsError(err).Code == gateway.CodeTokenCap {
		a.keys.Refuse(keys.Tokens)
	}
}

// wholeProvider says why a key may not have its requests sent to a provider as they are, with whatever
// model they name: it may use some models alone, or so many tokens.
func (a *access) wholeProvider(c echo.Context) error {
	client := clientOf(c)
	if client == nil || client.MaxTokens == 0 && !client.Restricts() {
		return nil
	}
	a.keys.Refuse(keys.Passthrough)
	return &gateway.Error{Kind: gateway.Forbidden, Param: "path",
		Message: fmt.Sprintf("The key %q is limited to some models or to a number of output tokens, and what goes to this path is not looked at: use a key without models and max_tokens.", client.Key)}
}

// operatorOf is who has sent a request to the admin listener, for the log.
func operatorOf(c echo.Context) string {
	if name := tenantOf(c); name != "" {
		return name
	}
	return "anybody on this machine"
}
