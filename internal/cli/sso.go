package cli

import (
	"cmp"
	"time"

	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/gateway/httpapi"
	"github.com/callgate/callgate/gateway/sso"
)

const defaultSession = 8 * time.Hour

// newSSO makes what signs operators in; nil if the configuration has none. own is the secret where the
// configuration gives none.
func newSSO(cfg *config.Config, own []byte) (httpapi.SSO, error) {
	if cfg.Admin.OIDC.Issuer == "" {
		return nil, nil //nolint:nilnil // operators have a key
	}
	return newGate(cfg, own)
}

// newGate makes it of a configuration that has one.
func newGate(cfg *config.Config, own []byte) (*sso.Gate, error) {
	o := cfg.Admin.OIDC
	secret := own
	if !o.SessionSecret.IsZero() {
		secret = []byte(o.SessionSecret.Reveal())
	}
	scopes := o.Scopes
	if scopes == nil {
		scopes = []string{"profile", "email"}
	}
	return sso.New(sso.Options{Issuer: o.Issuer, ClientID: o.ClientID, ClientSecret: o.ClientSecret.Reveal(), RedirectURL: o.RedirectURL, Scopes: scopes,
		Claim: cmp.Or(o.RoleClaim, "groups"), Viewers: o.Roles.Viewer, Operators: o.Roles.Operator, Session: cmp.Or(time.Duration(o.Session), defaultSession), Secret: secret})
}
