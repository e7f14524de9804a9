package config

import (
	"net"
	"net/url"

	"github.com/callgate/callgate/internal/netaddr"
)

// OIDC signs operators in at an identity provider, for the page /ui.
type OIDC struct {
	// Issuer is the provider's URL, as its tokens have it. Without one nobody signs in.
	Issuer string `yaml:"issuer" omit:"true" eg:"https://login.example" doc:"URL of an identity provider that speaks OpenID Connect, as its tokens have it: operators sign in there for /ui. Default: none."`
	// ClientID is what the provider knows the gateway by.
	ClientID string `yaml:"client_id" omit:"true" eg:"callgate" doc:"What the provider knows the gateway by."`
	// ClientSecret is the gateway's secret there. Default: none.
	ClientSecret Secret `yaml:"client_secret" omit:"true" eg:"${CALLGATE_OIDC_SECRET}" doc:"The gateway's secret at the provider; a public client has none, since PKCE is used."`
	// RedirectURL is where the provider sends browsers back to: its path is /ui/oidc/callback.
	RedirectURL string `yaml:"redirect_url" omit:"true" eg:"https://callgate.example/ui/oidc/callback" doc:"Where the provider sends browsers back to, as they reach the admin listener; its path is /ui/oidc/callback."`
	// Scopes are asked for beside openid. Default: profile and email.
	Scopes []string `yaml:"scopes" omit:"true" eg:"[profile, email, groups]" doc:"Scopes to ask for beside openid. Default: profile and email."`
	// RoleClaim is the claim of the ID token that Roles are values of. Default "groups".
	RoleClaim string `yaml:"role_claim" omit:"true" eg:"realm_access.roles" doc:"Claim of the ID token, one text or a list, that roles are values of; with dots it stands within others. Default: groups."`
	// Roles are who may look, and who may change things.
	Roles OIDCRoles `yaml:"roles" omit:"true" eg:"{operator: [platform], viewer: [engineering]}" doc:"Who may do what. Somebody with none of them is not let in."`
	// Session is how long somebody stays signed in, 1m to 168h. Default: 8h.
	Session Duration `yaml:"session" omit:"true" eg:"8h" min:"1m" max:"168h" doc:"How long somebody stays signed in. A role that is taken away ends with it. Default: 8h."`
	// SessionSecret is what the key of the cookies is derived from. Default: CacheSalt, else one made
	// at the start.
	SessionSecret Secret `yaml:"session_secret" omit:"true" eg:"${CALLGATE_SESSION_SECRET}" doc:"Secret that protects the cookies, at least 16 characters; gateways behind one address have the same. Default: cache_salt, else one made at the start, so sessions end with the gateway."`
}

// OIDCRoles are values of [OIDC.RoleClaim].
type OIDCRoles struct {
	// Viewer may look at all pages.
	Viewer []string `yaml:"viewer" omit:"true" eg:"[engineering]" doc:"Values of the claim that let somebody look."`
	// Operator may also make and block keys, reset breakers and the like.
	Operator []string `yaml:"operator" omit:"true" eg:"[platform]" doc:"Values of the claim that let somebody change things too."`
}

// OIDCCallback is the path of [OIDC.RedirectURL].
const OIDCCallback = "/ui/oidc/callback"

const minSessionSecret = 16

func (c *Config) checkOIDC(r *report) {
	const p = path("admin.oidc")
	o := c.Admin.OIDC
	if o.Issuer == "" {
		if r.written(p) && !r.hasBad(p) {
			r.add(p, "it needs an issuer; write for example issuer: https://login.example")
		}
		return
	}
	if problem := checkOwnURL(o.Issuer); problem != "" {
		r.add(p.Key("issuer"), "%s", problem)
	}
	if o.ClientID == "" {
		r.add(p.Key("client_id"), "a value is required; write for example client_id: callgate")
	}
	checkRedirect(r, p.Key("redirect_url"), o.RedirectURL)
	if len(o.Roles.Viewer) == 0 && len(o.Roles.Operator) == 0 {
		r.add(p.Key("roles"), "nobody would be let in; write for example roles: {operator: [platform]}")
	}
	if c.Admin.KeyHash.IsZero() && !r.isBad("admin.key_hash") {
		r.add(p, "it guards the page alone, and the admin API and the metrics need a key; add admin.key_hash")
	}
	if secret := o.SessionSecret.Reveal(); secret != "" && len(secret) < minSessionSecret {
		r.add(p.Key("session_secret"), "it has to have at least %d characters", minSessionSecret)
	}
}

func checkRedirect(r *report, p path, text string) {
	u, err := url.Parse(text)
	switch problem := checkOwnURL(text); {
	case problem != "":
		r.add(p, "%s", problem)
	case err != nil || u.Path != OIDCCallback || u.RawQuery != "":
		r.add(p, "its path has to be %s", OIDCCallback)
	}
}

// checkOwnURL wants a URL that is encrypted, unless it stays on this machine.
func checkOwnURL(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return "the value is no URL; write for example https://login.example"
	}
	host, _, err := net.SplitHostPort(u.Host)
	if err != nil {
		host = u.Host
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !netaddr.LoopbackListener(host)) {
		return "the URL has to begin with https://, unless it is on this machine"
	}
	return ""
}
