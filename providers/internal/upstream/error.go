package upstream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/internal/plaintext"
)

// Codes of errors, beside those that a [gateway.Kind] has by itself.
const (
	// CodeUpstream is the code of a failure or an answer that cannot be used.
	CodeUpstream = "upstream_error"
	// CodeCut is the code of a stream that ended too early.
	CodeCut = "upstream_cut"
	// CodeTimeout is the code of a timer that ran out.
	CodeTimeout = "upstream_timeout"
)

// maxQuoted is how many bytes of a header of the upstream's are quoted.
const maxQuoted = 80

// Errorf makes an error whose message names the provider and holds no secret.
func (p *Client) Errorf(kind gateway.Kind, code, format string, args ...any) *gateway.Error {
	message := fmt.Sprintf("Provider %q: ", p.name) + p.Redact(fmt.Sprintf(format, args...))
	return &gateway.Error{Kind: kind, Code: code, Message: message}
}

// cut is s in one line and without secrets, of at most limit bytes and a mark that it was
// longer. A secret that was cut could not be told any more.
func (p *Client) cut(s string, limit int) string {
	return plaintext.Excerpt(plaintext.Line(p.Redact(s)), limit)
}

// connectionError is the error of a request that got no answer.
func (c *call) connectionError(err error) *gateway.Error {
	if e := c.interrupted(); e != nil {
		ended := *e
		ended.Unsent = c.unsent
		return &ended
	}
	var e *gateway.Error
	if connecting(err) {
		e = c.p.timeout(c.p.timeouts.Connect, "no connection within", "connect")
	} else {
		e = c.p.Errorf(gateway.Unavailable, CodeUpstream, "%s.", reason(err, c.p.base.Host))
	}
	e.Err, e.Unsent = c.p.Safe(err), c.unsent
	return e
}

// connecting says whether err is a timeout of the dialer or of the TLS handshake.
func connecting(err error) bool {
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || strings.Contains(err.Error(), "TLS handshake")
}

// toProxy is the operation of an error of a proxy, in net/http's words.
const toProxy = "proxyconnect"

// proxyAnswer is the error of a proxy that does not connect to the upstream: net/http's own has
// the status text alone, which does not say whose it is.
func proxyAnswer(_ context.Context, _ *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &net.OpError{Op: toProxy, Net: "tcp", Err: fmt.Errorf("the proxy answered CONNECT with status %d", answer.StatusCode)}
}

// reason says in plain words why there is no answer. It names no address but the
// configured host: err may hold that of an internal machine.
func reason(err error, host string) string {
	var (
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
		op     *net.OpError
	)
	switch {
	case errors.As(err, &op) && op.Op == toProxy:
		return fmt.Sprintf("the proxy that HTTP_PROXY or HTTPS_PROXY names gave no connection to %s", host)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name of the host %s cannot be resolved", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return host + " refused the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return host + " reset the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return host + " cannot be reached"
	case errors.As(err, &cert):
		return fmt.Sprintf("the TLS certificate of %s is not accepted", host)
	case errors.As(err, &record):
		return fmt.Sprintf("the TLS handshake failed with %s, which does not speak TLS", host)
	case errors.As(err, &alert):
		return "the TLS handshake failed with " + host
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed idle"):
		return host + " closed the connection before it answered"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return host + " answered with something that is not HTTP"
	}
	return "the request to " + host + " failed"
}
