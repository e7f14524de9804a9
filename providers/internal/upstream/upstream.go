// Package upstream is what every provider needs that asks a model server over
// HTTP: requests with a key and the client's header, answers read under timers and
// limits, whole or as a stream of server-sent events, and errors that name the
// provider and hold none of its secrets. An adapter adds its wire: what it sends,
// and what the answer means.
//
// A Client never follows a redirect, which would carry the key to another host,
// and never sends a request a second time that the upstream may have.
package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/callgate/callgate/providers/internal/h1"
)

// Config says which upstream to ask, and how. Adapters fill it from their own.
type Config struct {
	// Name is the provider's name in messages. Empty means the upstream's host.
	Name string
	// BaseURL is the address in front of all paths. A query is kept; credentials do
	// not belong in it.
	BaseURL string
	// Key is the credential for the upstream, none if it is empty. It is sent in the
	// header KeyHeader, or as a bearer token if that is empty.
	Key, KeyHeader string
	// Headers are set in every request, over all others.
	Headers map[string]string
	// Forward names headers of clients that are sent on, and Pass headers of answers that
	// clients get, besides those that package headers lists. Drop names some of that list
	// which mean nothing to the upstream.
	Forward, Pass, Drop []string
	// QuotaCodes are those of [gateway.UpstreamFailure].
	QuotaCodes []string

	Timeouts Timeouts
	// MaxResponse is the limit in bytes on a whole answer, and on a stream that the
	// upstream has compressed; 0 means DefaultMaxResponse.
	MaxResponse int64
	// MaxStream is the limit in bytes on any stream; 0 means DefaultMaxStream.
	MaxStream int64
	// Transport sends the requests. Nil means one of the client's own, with HTTP/2
	// where the upstream has it and the proxy of the environment.
	Transport http.RoundTripper
}

// The limits in bytes if Config names none.
const (
	DefaultMaxResponse = 64 << 20
	DefaultMaxStream   = 256 << 20
)

// Limits that are not configured.
const (
	maxHeader = 256 << 10 // of an answer's header
)

// Client asks one upstream. It is safe for concurrent use.
type Client struct {
	name        string
	base        *url.URL
	host        string       // what the upstream is told to be called
	headerRules *headerRules // its secrets are never to be seen in a message
	quotaCodes  []string
	timeouts    Timeouts
	maxResponse int64
	maxStream   int64
	plain       *h1.Transport // for what it is for; may be nil
	transport   http.RoundTripper
	fresh       http.RoundTripper // as transport, with a new connection for each request
}

// New returns a client, or an error that names the field of the user's
// configuration that is wrong and never quotes a secret.
func New(c Config) (*Client, error) {
	base, err := baseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	p := &Client{
		name:        cmp.Or(c.Name, base.Host),
		base:        base,
		quotaCodes:  c.QuotaCodes,
		maxResponse: cmp.Or(c.MaxResponse, DefaultMaxResponse),
		maxStream:   cmp.Or(c.MaxStream, DefaultMaxStream),
		transport:   c.Transport,
	}
	if c.MaxResponse < 0 {
		return nil, fmt.Errorf("max_response: %d is negative", c.MaxResponse)
	}
	if c.MaxStream < 0 {
		return nil, fmt.Errorf("max_stream: %d is negative", c.MaxStream)
	}
	if p.timeouts, err = c.Timeouts.withDefaults(); err != nil {
		return nil, err
	}
	if p.headerRules, p.host, err = newHeaderRules(&c); err != nil {
		return nil, err
	}
	p.host = cmp.Or(p.host, base.Host)
	if p.transport == nil {
		fresh := newTransport(p.timeouts.Connect)
		fresh.DisableKeepAlives = true
		p.plain, p.transport, p.fresh = newPlain(base, p.timeouts.Connect), newTransport(p.timeouts.Connect), fresh
	}
	return p, nil
}

// URL is the address of elem below the base URL, whose query comes last. The
// elements must be escaped as by [url.PathEscape]; "." and ".." in them are
// resolved.
func (p *Client) URL(elem ...string) *url.URL { return p.base.JoinPath(elem...) }

// CloseIdleConnections closes the connections that no request is using. A client
// that is no longer needed would else keep them for a while.
func (p *Client) CloseIdleConnections() {
	if p.plain != nil {
		p.plain.CloseIdleConnections()
	}
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// baseURL reads the address of an upstream. Its errors quote no password.
func baseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		// The error would quote the text, which may hold a password.
		return nil, errors.New("base_url: not a URL")
	case u.User != nil:
		return nil, errors.New("base_url: it holds credentials; set api_key or headers instead")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("base_url: %q is not an http or https URL with a host", s)
	}
	if u.Path == "" {
		u.Path = "/" // else what is joined to it would have no slash in front
	}
	u.Fragment = ""
	return u, nil
}
