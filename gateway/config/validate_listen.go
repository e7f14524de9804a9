package config

import (
	"net"
	"net/netip"
	"strconv"

	"github.com/callgate/callgate/internal/netaddr"
)

// Off is the word that [Admin.Listen] may be instead of an address.
const Off = "off"

// AdminGiven reports whether somebody chose the address of [Admin], in the file or
// by a flag. One that is given and cannot be had is an error; the default, which
// another program may well have taken, is worth a warning only.
func (c *Config) AdminGiven() bool {
	if c.src == nil {
		return true
	}
	_, written := c.src.marks["admin.listen"]
	return written || c.Admin.Listen != c.src.admin
}

func (c *Config) checkListen(r *report) {
	const p = path("listen")
	host, ok := checkAddress(r, p, c.Listen, "127.0.0.1:8080")
	if ok && len(c.Keys) == 0 && !c.RequireKeys && !r.bad["keys"] && !netaddr.LoopbackListener(host) {
		r.add(p, "listen on %s without keys would let anyone use your upstream keys; add keys:, or require_keys: true for keys made at run time, or listen on 127.0.0.1",
			r.src.show(p, c.Listen))
	}
}

func (c *Config) checkAdmin(r *report) {
	const p = path("admin")
	at, hash := p.Key("listen"), p.Key("key_hash")
	c.checkAdminKey(r, hash)
	if c.Admin.Listen == Off {
		return
	}
	host, ok := checkAddress(r, at, c.Admin.Listen, "127.0.0.1:8081, or off")
	if !ok {
		return
	}
	if c.Admin.KeyHash.IsZero() && !r.isBad(hash) && !netaddr.LoopbackListener(host) {
		r.add(at, "admin.listen on %s without key_hash would let anyone read the metrics and reset breakers; add key_hash: or listen on 127.0.0.1",
			r.src.show(at, c.Admin.Listen))
	}
	if c.AdminGiven() && c.sameAddress() {
		r.add(at, "%s is taken by listen, %s; give each its own port", r.src.show(at, c.Admin.Listen), r.src.show("listen", c.Listen))
	}
}

// checkAdminKey wants a key that no client has: whoever may ask for a completion
// may not thereby reset a breaker.
func (c *Config) checkAdminKey(r *report, p path) {
	if c.Admin.KeyHash.IsZero() {
		return
	}
	checkHash(r, p, c.Admin.KeyHash)
	for i, k := range c.Keys {
		same := k.Hash.Reveal() == c.Admin.KeyHash.Reveal()
		for _, old := range k.Previous {
			same = same || old.Hash.Reveal() == c.Admin.KeyHash.Reveal()
		}
		if same {
			r.add(p, "the hash is that of %s too; operators need a key of their own", path("keys").At(i))
		}
	}
}

// sameAddress reports whether the two listeners cannot both have theirs.
func (c *Config) sameAddress() bool {
	clients, clientPort, err1 := net.SplitHostPort(c.Listen)
	operators, port, err2 := net.SplitHostPort(c.Admin.Listen)
	return err1 == nil && err2 == nil && port == clientPort && port != "0" && overlap(operators, clients)
}

// checkAddress checks an address to listen on and returns its host.
func checkAddress(r *report, p path, address, eg string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(address)
	if _, portErr := strconv.ParseUint(port, 10, 16); err != nil || portErr != nil {
		r.add(p, "%s is not host:port; write for example %s", r.src.show(p, address), eg)
		return "", false
	}
	return host, true
}

// overlap reports whether two hosts cannot both be listened on with one port.
func overlap(a, b string) bool {
	x, y := hostAddr(a), hostAddr(b)
	if !x.IsValid() || !y.IsValid() {
		return a == b
	}
	return x == y || x.IsUnspecified() || y.IsUnspecified()
}

// hostAddr is the address that a listener takes for host, invalid for a name.
func hostAddr(host string) netip.Addr {
	switch host {
	case "":
		return netip.IPv6Unspecified()
	case "localhost":
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	addr, _ := netip.ParseAddr(host)
	return addr.Unmap()
}
