package upstream

import (
	"net/http"
	"slices"
	"strings"
)

// hopByHop are the headers that belong to one connection.
var hopByHop = names("Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings")

// clientOnly are headers of the client's request that are never sent on: its
// credentials for the gateway, and what describes its own body and connection.
var clientOnly = names("Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "Cookie", "Host",
	"Content-Length", "Content-Encoding", "Accept-Encoding", "Expect")

// upstreamOnly are headers of the upstream's answer that are never passed on:
// they speak of its own host, or of bytes that the gateway frames anew.
var upstreamOnly = names("Content-Length", "Set-Cookie", "Set-Cookie2", "Server", "Date", "Alt-Svc",
	"Strict-Transport-Security")

// own is the prefix of the gateway's headers; nobody else may set them.
const own = "X-Callgate-"

func names(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, name := range list {
		m[http.CanonicalHeaderKey(name)] = true
	}
	return m
}

// requestHeader is the header of a request to the upstream. It shares the values
// of client.
func (p *Client) requestHeader(client http.Header) http.Header {
	h := make(http.Header, len(client)+len(p.header)+2)
	for name, values := range client {
		name = http.CanonicalHeaderKey(name)
		if !hopByHop[name] && !clientOnly[name] && !p.drop[name] && !strings.HasPrefix(name, own) {
			h[name] = values
		}
	}
	removeNominated(h, client)
	if h["Content-Type"] == nil {
		h["Content-Type"] = []string{"application/json"}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = []string{"callgate"}
	}
	for name, values := range p.header {
		h[name] = values
	}
	hideIdempotency(h)
	return h
}

// hideIdempotency spells a key of the client in a way that net/http does not
// know. It would else send a request with such a key again by itself when the
// upstream closes the connection. Names of headers have no case on the wire.
func hideIdempotency(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// removeNominated deletes what the Connection header of from declares to belong
// to its connection.
func removeNominated(h, from http.Header) {
	for _, list := range from["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
}

// passOn removes from the header of an upstream's answer what the client must not
// see, also a header that quotes a secret. decoded says that the body has been
// decompressed.
func (p *Client) passOn(h http.Header, decoded bool) {
	removeNominated(h, h)
	for name, values := range h {
		if hopByHop[name] || upstreamOnly[name] || strings.HasPrefix(name, own) ||
			strings.HasPrefix(name, "Access-Control-") || slices.ContainsFunc(values, p.quotes) {
			delete(h, name)
		}
	}
	if decoded {
		h.Del("Content-Encoding")
	}
}
