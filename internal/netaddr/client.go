package netaddr

import (
	"net/netip"
	"slices"
	"strings"
)

// Client is the address that a request comes from, given the address that connects and the values of
// X-Forwarded-For in their order. Each proxy appends who has connected to it, so the values are read
// from the last on, for as long as proxies that are trusted have written them; what stands before that
// anybody could have written. It is the zero Addr, which is in no network, where a trusted proxy
// has written something else than an address, and the first one of all where all are trusted proxies.
func Client(peer netip.Addr, forwarded []string, trusted []netip.Prefix) netip.Addr {
	proxy := func(a netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(a) })
	}
	from := plain(peer)
	for _, line := range slices.Backward(forwarded) {
		for _, value := range slices.Backward(strings.Split(line, ",")) {
			if !proxy(from) {
				return from
			}
			if from = forwardedAddr(strings.TrimSpace(value)); !from.IsValid() {
				return from
			}
		}
	}
	return from
}

// forwardedAddr reads an address with or without a port: some load balancers write one.
func forwardedAddr(value string) netip.Addr {
	if a, err := netip.ParseAddr(strings.Trim(value, "[]")); err == nil {
		return plain(a)
	}
	a, _ := netip.ParseAddrPort(value)
	return plain(a.Addr())
}

func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }
