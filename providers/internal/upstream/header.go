package upstream

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/headers"
	"github.com/callgate/callgate/internal/redact"
)

// headerRules is what of a header goes to the upstream, and what of its answers' comes back. It is not
// changed once it is made.
type headerRules struct {
	set           http.Header // in every request, over all others
	forward, drop map[string]bool
	pass          map[string]bool
	secrets       redact.Secrets
}

// newHeaderRules is what a configuration lets through. host is the header Host that it names, or "".
func newHeaderRules(c *Config) (x *headerRules, host string, err error) {
	x = &headerRules{set: http.Header{}}
	if host, err = x.setHeader(c); err != nil {
		return nil, "", err
	}
	return x, host, x.setNames(c)
}

// setNames notes which headers travel beside those that always do.
func (x *headerRules) setNames(c *Config) error {
	for _, name := range slices.Concat(c.Forward, c.Pass, c.Drop) {
		if !validName(name) {
			return fmt.Errorf("forward_headers, pass_headers: %q is not the name of a header", name)
		}
	}
	for _, name := range c.Forward {
		if problem := headers.ForwardProblem(name); problem != "" {
			return fmt.Errorf("forward_headers: %q cannot be sent on: %s", name, problem)
		}
	}
	for _, name := range c.Pass {
		if problem := headers.PassProblem(name); problem != "" {
			return fmt.Errorf("pass_headers: %q cannot be passed on: %s", name, problem)
		}
	}
	x.forward, x.pass, x.drop = names(c.Forward), names(c.Pass), names(c.Drop)
	return nil
}

// names is a list of headers as a set of canonical names.
func names(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, name := range list {
		m[http.CanonicalHeaderKey(name)] = true
	}
	return m
}

// request is the header of a request to the upstream. It shares the values
// of client.
func (x *headerRules) request(client http.Header) http.Header {
	h := make(http.Header, len(client)+len(x.set)+2)
	for name, values := range client {
		if name = http.CanonicalHeaderKey(name); headers.Forwarded(name) && !x.drop[name] || x.forward[name] {
			h[name] = values
		}
	}
	for _, name := range headers.Nominated(client) {
		delete(h, name)
	}
	if h["Content-Type"] == nil {
		h["Content-Type"] = []string{"application/json"}
	}
	if h["User-Agent"] == nil {
		h["User-Agent"] = []string{"callgate"}
	}
	maps.Copy(h, x.set)
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

// opaque is what a client may see of the header of an answer that nobody looks into.
func (x *headerRules) opaque(h http.Header) (http.Header, headers.Withheld) {
	return headers.Answer{Opaque: true, More: x.pass, Quotes: x.secrets.In}.Pass(h)
}

// answer is what a client may see of the header of an upstream's answer, and what it may not.
func (x *headerRules) answer(h http.Header, streamed, failed bool) (http.Header, headers.Withheld) {
	return headers.Answer{Streamed: streamed, Failed: failed, More: x.pass, Quotes: x.secrets.In}.Pass(h)
}
