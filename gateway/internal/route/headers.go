package route

import (
	"net/textproto"
	"strings"

	"github.com/callgate/callgate/gateway/headers"
)

// Visible reports whether a rule may look at a header of the client's: it has a name that
// HTTP allows, and holds no key and nothing that stays with the gateway. Names that end in
// -key, -token, -secret, -password or -authorization are those of keys.
func Visible(header string) bool {
	if header == "" || strings.ContainsFunc(header, func(r rune) bool { return !isToken(r) }) {
		return false
	}
	name := textproto.CanonicalMIMEHeaderKey(header)
	for _, suffix := range []string{"-Key", "-Apikey", "-Token", "-Secret", "-Password", "-Authorization"} {
		if strings.HasSuffix(name, suffix) || name == suffix[1:] {
			return false
		}
	}
	return headers.Visible(name)
}

// isToken reports whether a character may stand in a header's name (RFC 9110, 5.6.2).
func isToken(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}
