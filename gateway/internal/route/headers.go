package route

import (
	"net/textproto"
	"strings"
)

// hidden are headers that no rule may look at, since they say who the client is or how
// its connection works. None of them goes on to an upstream either.
var hidden = map[string]bool{
	"Authorization": true, "Cookie": true, "Proxy-Authorization": true,
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Expect": true, "Host": true,
	"Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true,
	"Forwarded": true, "Via": true, "X-Real-Ip": true, "X-Request-Id": true,
}

// Visible reports whether a rule may look at a header of the client's: it has a name that
// HTTP allows, and holds no key and nothing that stays with the gateway. Names that end in
// -key, -token, -secret, -password or -authorization are those of keys.
func Visible(header string) bool {
	if header == "" || strings.ContainsFunc(header, func(r rune) bool { return !isToken(r) }) {
		return false
	}
	name := textproto.CanonicalMIMEHeaderKey(header)
	for _, prefix := range []string{"X-Callgate-", "X-Forwarded-"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	for _, suffix := range []string{"-Key", "-Apikey", "-Token", "-Secret", "-Password", "-Authorization"} {
		if strings.HasSuffix(name, suffix) || name == suffix[1:] {
			return false
		}
	}
	return !hidden[name]
}

// isToken reports whether a character may stand in a header's name (RFC 9110, 5.6.2).
func isToken(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
