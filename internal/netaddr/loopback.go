// Package netaddr says of the hosts in addresses whether they are this machine. There are
// three questions, since three parties resolve the name: the system for a listener, a browser
// for a Host header, and this program's own client for a registry. All take localhost and an
// address such as 127.0.0.1 or ::1; a name that may resolve to anything is none.
package netaddr

import (
	"net"
	"net/netip"
	"strings"
)

// LoopbackListener reports whether only this machine can reach who listens on host, which has
// no port. No host is every address.
func LoopbackListener(host string) bool { return host == "localhost" || isLoopback(host) }

// LoopbackHeader reports whether a Host header (RFC 9110, 7.2) names this machine itself, with
// or without a port. Browsers send names in any case and with a final dot, and take all below
// localhost for this machine (RFC 6761, 6.3).
func LoopbackHeader(value string) bool {
	host := strings.TrimSuffix(strings.ToLower(withoutPort(value)), ".")
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || isLoopback(host)
}

// LoopbackRegistry reports whether a registry, with or without a port, is on this machine, so
// that what it says over plain HTTP crosses no network.
func LoopbackRegistry(host string) bool { return LoopbackListener(withoutPort(host)) }

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// withoutPort is a host without its port and without the brackets of IPv6.
func withoutPort(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}
