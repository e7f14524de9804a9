package cli

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/config"
	"github.com/callgate/callgate/internal/netaddr"
)

// provider asks a provider for its models, and looks for those that targets name.
func (x *examination) provider(ctx context.Context, name string, p config.Provider) {
	what := "provider " + name
	if base, err := url.Parse(p.BaseURL); err == nil && base.Scheme == "http" && !p.APIKey.IsZero() && !netaddr.LoopbackListener(base.Hostname()) {
		x.doubt(what, "its key goes unencrypted to "+base.Host, "use https:, unless nobody else is on that network")
	}
	if doubt := keyDoubt(p); doubt != "" {
		x.doubt(what, doubt, "leave api_key out if the server checks none, or write the whole of it")
	}
	provider, err := newProvider(name, p)
	if err != nil {
		x.wrong(what, err, "")
		return
	}
	lister, ok := provider.(gateway.ModelLister)
	if !ok {
		x.good(what, "not asked: it has no list of models")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	models, err := lister.Models(ctx)
	if err != nil {
		x.wrong(what, saidOf(name, err), remedyOf(err, p.BaseURL))
		return
	}
	x.good(what, "answers, "+howMany(len(models), "model"))
	if len(models) == 0 {
		return
	}
	for _, model := range x.targeted(name) {
		if !slices.Contains(models, model) {
			x.doubt(what, fmt.Sprintf("does not list the model %s, which a target names", model), "it has "+strings.Join(models[:min(len(models), 5)], ", "))
		}
	}
}

// saidOf is the error of a provider for a line that begins with the provider's name.
func saidOf(provider string, err error) error {
	e := gateway.AsError(err)
	text := strings.TrimSuffix(strings.TrimPrefix(e.Message, fmt.Sprintf("Provider %q: ", provider)), ".")
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return errors.New(text)
}

// remedyOf says what to do about an upstream that does not answer as it should.
func remedyOf(err error, base string) string {
	e := gateway.AsError(err)
	switch {
	case e.Kind == gateway.Unauthorized:
		return "its api_key is wrong, or the environment has another one"
	case e.Kind == gateway.RateLimited:
		return "it asks to wait: try again later"
	case e.Kind == gateway.Rejected && !strings.Contains(base, "/v1"):
		return "correct its base_url: nearly every base URL ends in /v1"
	case e.Kind == gateway.Rejected:
		return "correct its base_url: callgate doctor " + base + " looks where its API is"
	case e.Status >= http.StatusInternalServerError:
		return "it fails, or loads its model yet: see its log, and ask again"
	}
	return cmp.Or(connectRemedy(err), "start it, or correct its base_url")
}

// connectRemedy says what to do about a server that there is no connection to; "" where the
// error does not tell.
func connectRemedy(err error) string {
	var (
		dns    *net.DNSError
		date   x509.CertificateInvalidError
		name   x509.HostnameError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "correct HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY"
	case errors.As(err, &dns):
		return "correct the name of the host"
	case errors.As(err, &date) && date.Reason == x509.Expired:
		return "renew its certificate, or set the clock of this machine"
	case errors.As(err, &name):
		return "write one of the names that its certificate has"
	case errors.As(err, &cert):
		return "name the certificate of its authority in SSL_CERT_FILE, or give it one that this machine trusts"
	case errors.As(err, &record):
		return "it does not speak TLS: write http:// in place of https://"
	case errors.Is(err, syscall.ECONNRESET):
		return "see its log; if it wants TLS, write https:// in place of http://"
	}
	return ""
}

// targeted are the models that targets name of a provider, sorted.
func (x *examination) targeted(provider string) []string {
	found := map[string]bool{}
	for name, m := range x.cfg.Models {
		lists := [][]config.Target{m.Targets}
		for _, r := range m.Rules {
			lists = append(lists, r.Targets)
		}
		for _, t := range slices.Concat(lists...) {
			switch {
			case t.Provider != provider:
			case t.Model != "":
				found[t.Model] = true
			case !strings.Contains(name, "*"):
				found[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}
