package config

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// CheckCircle refuses a provider whose base_url is the address that the gateway itself listens on: each
// of its requests would come back. The variables that vendors' SDKs read, such as OPENAI_BASE_URL, are
// set for an app that asks the gateway, and a gateway started in the same shell reads them too. It is
// not part of [Config.Validate], since a flag of the program may yet say where the gateway listens.
func (c *Config) CheckCircle() error {
	r := newReport(c.src)
	for _, name := range sortedKeys(c.Providers) {
		base := c.Providers[name].BaseURL
		if base == "" || !listensAt(c.Listen, base) {
			continue
		}
		at := path("providers").Key(name).Key("base_url")
		if r.src.marks[at].origin != "" {
			r.add(at, "%s is %q, where this gateway itself listens: its requests would come back; that address is for your app, so unset the variable for the gateway, or name the upstream's address",
				r.src.show(at, base), base)
			continue
		}
		r.add(at, "%s is where this gateway itself listens: its requests would come back; write the server's address, or another one for listen (--listen)",
			r.src.show(at, base))
	}
	return r.err()
}

// listensAt reports whether who listens on an address answers at a URL. A name other than localhost may
// be any machine's.
func listensAt(listen, base string) bool {
	host, port, err := net.SplitHostPort(listen)
	u, badURL := url.Parse(base)
	if err != nil || badURL != nil || port == "0" || port != portOf(u) {
		return false
	}
	asked, ok := addressOf(u.Hostname())
	if !ok {
		return false
	}
	if host == "" {
		return asked.IsLoopback()
	}
	own, ok := addressOf(host)
	return ok && (own == asked || own.IsUnspecified() && (asked.IsLoopback() || asked.IsUnspecified()))
}

// portOf is the port of a URL, which its scheme stands for where it is left out.
func portOf(u *url.URL) string {
	if u.Port() == "" {
		return map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Port()
}

func addressOf(host string) (netip.Addr, bool) {
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1"
	}
	a, err := netip.ParseAddr(host)
	return a.Unmap(), err == nil
}
