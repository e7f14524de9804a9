package openai

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/callgate/callgate/gateway"
)

// Codes of errors.
const (
	codeUpstream = "upstream_error"
	codeAuth     = "upstream_auth_error"
	codeTimeout  = "upstream_timeout"
)

const (
	maxMessage = 300 // bytes of the upstream's own message
	maxQuoted  = 80  // bytes of anything else of the upstream's that is quoted
)

func (p *Provider) prefix() string { return fmt.Sprintf("Provider %q: ", p.name) }

// errorf makes an error whose message names the provider and holds no secret.
func (p *Provider) errorf(kind gateway.Kind, code, format string, args ...any) *gateway.Error {
	return &gateway.Error{Kind: kind, Code: code, Message: p.prefix() + p.redact(fmt.Sprintf(format, args...))}
}

// redact replaces the provider's secrets in s.
func (p *Provider) redact(s string) string {
	for _, secret := range p.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	return s
}

// safe is err as a cause that may be logged.
func (p *Provider) safe(err error) error {
	if text := err.Error(); p.quotes(text) {
		return errors.New(p.redact(text))
	}
	return err
}

// connectionError is the error of a request that got no answer.
func (c *call) connectionError(err error) *gateway.Error {
	e := c.interrupted()
	if e != nil {
		return e
	}
	if connecting(err) {
		e = c.p.timeout(c.p.timeouts.Connect, "no connection within", "connect")
	} else {
		e = c.p.errorf(gateway.Unavailable, codeUpstream, "%s.", reason(err, c.p.host))
	}
	e.Err = c.p.safe(err)
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

// reason says in plain words why there is no answer. It names no address but the
// configured host: err may hold that of an internal machine.
func reason(err error, host string) string {
	var (
		dns    *net.DNSError
		cert   *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	switch {
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
	case errors.As(err, &record), errors.As(err, &alert):
		return "the TLS handshake failed with " + host
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "server closed idle"):
		return host + " closed the connection before it answered"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return host + " answered with something that is not HTTP"
	}
	return "the request to " + host + " failed"
}

// statusError is the error of an answer whose status is not success.
func (c *call) statusError(resp *http.Response, body io.Reader) *gateway.Error {
	p, status := c.p, resp.StatusCode
	switch {
	case status/100 == 3:
		return p.errorf(gateway.Unavailable, codeUpstream,
			"the upstream answered with a redirect (status %d), which is not followed; check base_url.", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		// The body is kept back, since it quotes the key.
		return p.errorf(gateway.Unauthorized, codeAuth,
			"the upstream refused the gateway's own credentials (status %d).", status)
	}
	data, err := read(body, resp.ContentLength, maxErrorBody)
	if err != nil {
		if e := c.interrupted(); e != nil {
			return e
		}
	}
	detail := "."
	if m := p.upstreamMessage(data); m != "" {
		detail = ": " + m
	}
	var e *gateway.Error
	switch {
	case status == http.StatusTooManyRequests:
		e = p.errorf(gateway.Limited, "", "the upstream limits the rate of requests (status %d)%s", status, detail)
	case status/100 == 4:
		e = p.errorf(gateway.Rejected, "", "the upstream refused the request with status %d%s", status, detail)
		e.Status, e.Header = status, resp.Header
		if err == nil {
			e.Body = p.redactBody(data)
		}
		return e
	default:
		e = p.errorf(gateway.Unavailable, codeUpstream, "the upstream failed with status %d%s", status, detail)
	}
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	e.Header = resp.Header
	return e
}

// redactBody is a body without the provider's secrets: the same bytes in all but
// the rarest case.
func (p *Provider) redactBody(b []byte) []byte {
	if s := string(b); p.quotes(s) {
		return []byte(p.redact(s))
	}
	return b
}

// upstreamMessage finds the message in the body of an error, in the shapes that
// upstreams use: OpenAI's, a bare string, FastAPI's. It is cut after what is
// secret has gone, else a part of it might stay.
func (p *Provider) upstreamMessage(body []byte) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return ""
	}
	var object struct {
		Message string `json:"message"`
	}
	message := ""
	if json.Unmarshal(fields["error"], &object) == nil {
		message = object.Message
	}
	for _, key := range []string{"error", "message", "detail"} {
		if message == "" {
			_ = json.Unmarshal(fields[key], &message) // else another key has it
		}
	}
	return cut(p.redact(message), maxMessage)
}

// cut is s in one line, of at most limit bytes and a mark that it was longer.
func cut(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
