// Package headers says which headers travel: from a client to upstreams, and from an upstream
// to clients. Both are lists of what may; whatever nobody has thought of stays. An operator
// may add names for a provider, but none of those that have a meaning between two servers
// only. Names are canonical, as by [net/http.CanonicalHeaderKey], unless it says otherwise.
package headers

import (
	"net/http"
	"slices"
	"strings"
)

// Own begins the names of the gateway's own headers. Nobody else may set them.
const Own = "X-Callgate-"

// connection are headers that belong to one connection (RFC 9110, 7.6.1).
var connection = set("Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
	"Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings")

// framing are headers that say how a body is framed, or which part of it is meant. The
// gateway frames anew, and knows whole bodies only.
var framing = set("Content-Length", "Content-Encoding", "Content-Range", "Accept-Ranges", "Accept-Encoding", "Host", "Expect",
	"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since")

// Nominated are the headers that the Connection header of h declares to belong to its
// connection.
func Nominated(h http.Header) (names []string) {
	for _, list := range h["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names
}

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[http.CanonicalHeaderKey(name)] = true
	}
	return m
}

func begins(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// barred says why no header of this name travels in any direction, "" if it may.
func barred(name string) string {
	switch {
	case connection[name]:
		return "it belongs to one connection"
	case framing[name]:
		return "it says how a body is framed, and the gateway frames bodies anew"
	case strings.HasPrefix(name, Own):
		return "it is one of the gateway's own"
	case strings.Contains(name, "_"):
		return "it has an underscore, and servers differ in what they take that for"
	}
	return ""
}
