// Package reach connects to tool servers over HTTP, and to nothing else: only the origin that
// the operator wrote, at an address that the name may have, within bounds.
//
// Which address a name may have: an address that stands in the URL itself is the operator's
// word, whatever it is. localhost is this machine. Any other name must lead to a public
// address; with Options.Private it may also lead to a private network or this machine, as names
// of a cluster do. Link-local addresses, where clouds keep their credentials, and those that
// are no host's, are never the meaning of a name. The address is looked at when the connection
// is made, so a name that changes between two look-ups gains nothing.
package reach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/callgate/callgate/internal/netaddr"
)

// Options say where a client connects to.
type Options struct {
	// URL is the server's address. Only its origin counts here.
	URL *url.URL
	// Private lets a name lead to a private address, or to this machine.
	Private bool
	// Connect bounds a connection, with TLS; 0 is 10 s.
	Connect time.Duration
}

// RefusedError says that a connection was not made, or an answer not followed, since the
// configuration does not say so. Why is fit for an operator and has no address.
type RefusedError struct {
	Why string
	// Ran says that the request may have done its work: servers redirect behind it too.
	Ran bool
}

func (e *RefusedError) Error() string { return e.Why }

const (
	connectTime = 10 * time.Second
	maxHeaders  = 64 << 10
	redirects   = 3
)

// Transport makes connections as o says. Its owner closes the idle ones.
func Transport(o Options) *http.Transport {
	limit := o.Connect
	if limit <= 0 {
		limit = connectTime
	}
	d := &net.Dialer{Timeout: limit, KeepAlive: 30 * time.Second,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error { return o.allowed(address) }}
	return &http.Transport{
		Proxy:                  nil, // the address that is looked at must be the server's
		DialContext:            d.DialContext,
		TLSHandshakeTimeout:    limit,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           16,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		MaxResponseHeaderBytes: maxHeaders,
	}
}

// Redirect is a http.Client's CheckRedirect: it follows within the origin, and with the same
// method, so that neither credentials nor a call goes elsewhere.
func Redirect(req *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case Origin(req.URL) != Origin(first.URL):
		return &RefusedError{Why: "it redirects to another origin, which is never followed; write the address it means in url", Ran: ran(req.Response)}
	case req.Method != first.Method:
		return &RefusedError{Why: "it redirects in a way that turns the request into another method; write the address it means in url", Ran: ran(req.Response)}
	case len(via) > redirects:
		return &RefusedError{Why: "it redirects again and again"}
	}
	return nil
}

// ran reports whether the request that is answered with a redirect may have done its work. 307 and 308 say
// that it is to be made elsewhere; the others come behind a POST that has run as well (RFC 9110, 15.4).
func ran(resp *http.Response) bool {
	if resp == nil || resp.Request == nil {
		return false
	}
	switch resp.Request.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return false
	}
	return resp.StatusCode != http.StatusTemporaryRedirect && resp.StatusCode != http.StatusPermanentRedirect
}

// Refused finds a RefusedError in err.
func Refused(err error) (*RefusedError, bool) {
	var refused *RefusedError
	ok := errors.As(err, &refused)
	return refused, ok
}

// Origin is the scheme, host and port of an address, written alike for all that are the same.
func Origin(u *url.URL) string {
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port(u))
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

// allowed says whether address, host:port with a numeric host, is one that the URL may mean.
func (o Options) allowed(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{Why: "its address cannot be read"}
	}
	ip, host := at.Addr().WithZone("").Unmap(), o.URL.Hostname()
	if literal, err := netip.ParseAddr(host); err == nil {
		if literal.WithZone("").Unmap() == ip {
			return nil
		}
		return &RefusedError{Why: "it leads to an address that is not the one in url"}
	}
	local := ip.IsLoopback()
	switch {
	case local && netaddr.LoopbackHeader(host):
		return nil
	case ip.IsUnspecified(), ip.IsMulticast(), ip.IsLinkLocalUnicast(), ip.IsInterfaceLocalMulticast(), reserved(ip):
		return &RefusedError{Why: "its name leads to a link-local or reserved address, which is refused; write an address in url if it is meant"}
	case (local || private(ip)) && !o.Private:
		return &RefusedError{Why: fmt.Sprintf("its name leads to %s; set private_network: true if that is meant", map[bool]string{true: "this machine", false: "a private network"}[local])}
	}
	return nil
}

var (
	shared     = netip.MustParsePrefix("100.64.0.0/10") // of carriers, and of clouds' own services
	thisHost   = netip.MustParsePrefix("0.0.0.0/8")
	future     = netip.MustParsePrefix("240.0.0.0/4")
	translated = netip.MustParsePrefix("64:ff9b::/96") // IPv4 behind NAT64
)

func private(ip netip.Addr) bool { return ip.IsPrivate() || shared.Contains(ip) }

func reserved(ip netip.Addr) bool {
	if translated.Contains(ip) {
		b := ip.As16()
		v4 := netip.AddrFrom4([4]byte(b[12:]))
		return v4.IsLoopback() || v4.IsLinkLocalUnicast() || private(v4) || v4.IsUnspecified()
	}
	return thisHost.Contains(ip) || future.Contains(ip)
}
