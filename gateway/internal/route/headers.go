package route

import (
	"net/textproto"
	"slices"
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

// prefixes begin the names of headers that say who the client is: proxies that have asked
// it to sign in set them, some with a token that others would accept.
var prefixes = []string{
	"X-Forwarded-", "X-Auth-Request-", "X-Authenticated-", "Cf-Access-", "X-Amzn-Oidc-",
	"X-Goog-Iap-", "X-Goog-Authenticated-", "X-Ms-Client-Principal", "X-Ms-Token-",
}

// people are such headers with other names.
var people = map[string]bool{
	"Forwarded": true, "X-Real-Ip": true, "X-Client-Ip": true, "True-Client-Ip": true, "Cf-Connecting-Ip": true,
	"Remote-User": true, "X-Remote-User": true, "X-Remote-Group": true, "X-Webauth-User": true,
}

// SaysWho reports whether a header, in its canonical form, says who the client is or where
// it comes from. It stays with the gateway: the upstream is none of the client's, and might
// believe it, since the gateway's key came with it. A name with an underscore stays as
// well: many servers take X_Forwarded_For for X-Forwarded-For, and could be told in this
// way what is not to be told.
func SaysWho(header string) bool {
	if people[header] || strings.Contains(header, "_") {
		return true
	}
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(header, prefix) })
}

// Visible reports whether a rule may look at a header of the client's: it has a name that
// HTTP allows, and holds no key and nothing that stays with the gateway. Names that end in
// -key, -token, -secret, -password or -authorization are those of keys.
func Visible(header string) bool {
	if header == "" || strings.ContainsFunc(header, func(r rune) bool { return !isToken(r) }) {
		return false
	}
	name := textproto.CanonicalMIMEHeaderKey(header)
	if SaysWho(name) || strings.HasPrefix(name, "X-Callgate-") {
		return false
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
