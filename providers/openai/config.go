// Package openai is the provider for every upstream that speaks OpenAI's chat
// completions: OpenAI itself, vLLM, SGLang, llama.cpp, Ollama, OpenRouter and so
// on. It sends the client's bytes as they are and gives back the upstream's bytes
// as they come.
//
// It never follows a redirect, which would carry the key to another host, and
// never sends a request a second time.
package openai

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway"
)

// Defaults of Config.
const (
	DefaultConnect     = 5 * time.Second
	DefaultFirstToken  = 60 * time.Second
	DefaultIdle        = 60 * time.Second
	DefaultTotal       = 10 * time.Minute
	DefaultMaxResponse = 64 << 20
)

// Limits that are not configured.
const (
	maxErrorBody     = 1 << 20   // of an answer that is an error
	maxHeader        = 256 << 10 // of an answer's header
	maxIdleConns     = 1024      // kept for the next request
	idleConnLifetime = 90 * time.Second
)

// Timeouts are the timers of one request. Zero means the default. The one that
// runs out is named in the error.
type Timeouts struct {
	// Connect is how long a TCP connection, and then its TLS handshake, may take.
	// With a Transport of one's own it is that transport's matter.
	Connect time.Duration
	// FirstToken is how long a streamed request may wait for its first chunk.
	FirstToken time.Duration
	// Idle is how long a stream may pause. The time in which nobody asks for the
	// next chunk does not count.
	Idle time.Duration
	// Total is how long a request may take altogether.
	Total time.Duration
}

// Config says which upstream to ask, and how.
type Config struct {
	// Name is the provider's name in messages. Empty means the upstream's host.
	Name string
	// BaseURL is the upstream's address up to and with its version, such as
	// "https://api.openai.com/v1". A query is kept; credentials do not belong in it.
	BaseURL string
	// APIKey is sent as a bearer token, if it is not empty.
	APIKey string
	// Headers are set in every request, over all others.
	Headers map[string]string
	// Server is the upstream's software, VLLM, SGLang or LlamaCpp. It says how to ask
	// for the model's text unparsed; empty if nobody does.
	Server string

	Timeouts Timeouts
	// MaxResponse is the limit in bytes on a whole answer, and on a stream that the
	// upstream has compressed; 0 means DefaultMaxResponse.
	MaxResponse int64
	// Transport sends the requests. Nil means one of the provider's own, with HTTP/2
	// where the upstream has it and the proxy of the environment.
	Transport http.RoundTripper
}

// Provider asks one upstream. It is safe for concurrent use.
type Provider struct {
	name, host       string
	chatURL, listURL *url.URL
	header           http.Header // set in every request
	hostHeader       string
	server           string
	secrets          []string // never to be seen in a message
	timeouts         Timeouts
	maxResponse      int64
	transport        http.RoundTripper
}

var (
	_ gateway.Provider    = (*Provider)(nil)
	_ gateway.ModelLister = (*Provider)(nil)
)

// New returns a provider, or an error that says which field of c is wrong and
// never quotes a secret.
func New(c Config) (*Provider, error) {
	base, err := baseURL(c.BaseURL)
	if err != nil {
		return nil, err
	}
	p := &Provider{
		name:        cmp.Or(c.Name, base.Host),
		host:        base.Host,
		chatURL:     base.JoinPath("chat/completions"),
		listURL:     base.JoinPath("models"),
		server:      c.Server,
		maxResponse: cmp.Or(c.MaxResponse, DefaultMaxResponse),
		transport:   c.Transport,
	}
	if c.MaxResponse < 0 {
		return nil, fmt.Errorf("max_response: %d is negative", c.MaxResponse)
	}
	if p.timeouts, err = c.Timeouts.withDefaults(); err != nil {
		return nil, err
	}
	if err := p.setHeader(c); err != nil {
		return nil, err
	}
	if p.transport == nil {
		p.transport = newTransport(p.timeouts.Connect)
	}
	return p, nil
}

// CloseIdleConnections closes the connections that no request is using. A
// provider that is no longer needed would else keep them for a while.
func (p *Provider) CloseIdleConnections() {
	if t, ok := p.transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

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

func (t Timeouts) withDefaults() (Timeouts, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"connect", &t.Connect, DefaultConnect},
		{"first_token", &t.FirstToken, DefaultFirstToken},
		{"idle", &t.Idle, DefaultIdle},
		{"total", &t.Total, DefaultTotal},
	} {
		if *f.value < 0 {
			return t, fmt.Errorf("timeouts.%s: %v is negative", f.name, *f.value)
		}
		*f.value = cmp.Or(*f.value, f.or)
	}
	return t, nil
}

// minSecret is the length from which a word of a secret header is kept out of
// messages. What is shorter is a scheme, such as Bearer.
const minSecret = 8

// secretNames are parts of the names of headers that hold secrets.
var secretNames = []string{"auth", "key", "token", "secret", "cookie", "password", "credential"}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(secretNames, func(part string) bool { return strings.Contains(name, part) })
}

func (p *Provider) setHeader(c Config) error {
	p.header = http.Header{}
	if c.APIKey != "" {
		if !validValue(c.APIKey) {
			return errors.New("api_key: it holds a control character, or white space at an end")
		}
		p.header.Set("Authorization", "Bearer "+c.APIKey)
		p.secrets = append(p.secrets, c.APIKey)
	}
	for name, value := range c.Headers {
		if !validName(name) || !validValue(value) {
			return fmt.Errorf("headers: %q is not a valid name, or its value holds a control character or white space at an end", name)
		}
		if http.CanonicalHeaderKey(name) == "Host" {
			p.hostHeader = value
			continue
		}
		p.header.Set(name, value)
		for word := range strings.FieldsSeq(value) {
			if isSecret(name) && len(word) >= minSecret {
				p.secrets = append(p.secrets, word)
			}
		}
	}
	// A secret that is part of another must not be replaced first.
	slices.SortFunc(p.secrets, func(a, b string) int { return len(b) - len(a) })
	return nil
}

func validName(s string) bool {
	return s != "" && strings.Trim(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

func validValue(s string) bool {
	return strings.TrimSpace(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// writeBuffer lets most requests leave in one write; the transport's own 4 KiB cut
// a prompt of 16 KiB into five.
const writeBuffer = 20 << 10

func newTransport(connect time.Duration) *http.Transport {
	dialer := &net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connect,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        idleConnLifetime,
		MaxResponseHeaderBytes: maxHeader,
		WriteBufferSize:        writeBuffer,
		// Else the transport would ask for gzip, and undo it in a way that hides it.
		DisableCompression: true,
	}
}
