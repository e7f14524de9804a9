package upstream

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/callgate/callgate/gateway"
)

// statusOverloaded is Anthropic's status for a lack of capacity, which others have
// taken over.
const statusOverloaded = 529

// maxSaid is how much of a refusal is looked at for what it has against the request.
const maxSaid = 8 << 10

// statusError is the error of an answer whose status is not success.
func (c *call) statusError(resp *http.Response, body io.Reader) *gateway.Error {
	p, status := c.p, resp.StatusCode
	switch {
	case status/100 == 3:
		return p.Errorf(gateway.Unavailable, CodeUpstream,
			"the upstream answered with a redirect (status %d), which is not followed; check base_url.", status)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		// The body is kept back, since it quotes the key.
		return p.Errorf(gateway.Unauthorized, codeAuth,
			"the upstream refused the gateway's own credentials (status %d).", status)
	}
	data, err := read(body, resp.ContentLength, maxErrorBody)
	if err != nil {
		if e := c.interrupted(); e != nil {
			return e
		}
		data = nil
	}
	f := readFailure(data)
	e := p.classify(resp, f, time.Now())
	e.Quote = p.Excerpt(f.message)
	if e.Kind == gateway.Rejected {
		e.Said = p.redactBody(data[:min(len(data), maxSaid)])
	}
	if e.Kind == gateway.Rejected && f.whole { // else the client gets our own body, with the upstream's words
		e.Body = p.redactBody(data)
	}
	return e
}

// classify says what a status means together with the words that came with it.
func (p *Client) classify(resp *http.Response, f failure, now time.Time) *gateway.Error {
	status, detail := resp.StatusCode, "."
	if m := p.Excerpt(f.message); m != "" {
		detail = ": " + m
	}
	var e *gateway.Error
	switch {
	case status == http.StatusPaymentRequired, status/100 == 4 && slices.ContainsFunc(f.codes, p.spent):
		e = p.Errorf(gateway.Exhausted, CodeQuota, "the account's quota is spent (status %d)%s", status, detail)
		for _, name := range []string{"Retry-After", "Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
			resp.Header.Del(name) // it says when to fail again
		}
	case status == http.StatusTooManyRequests:
		e = p.Errorf(gateway.Limited, "", "the upstream limits the rate of requests (status %d)%s", status, detail)
		e.RetryAfter = retryAfter(resp.Header, now)
		if e.RetryAfter == 0 {
			e.RetryAfter = f.retryAfter
		}
	case status/100 == 4 && !passing(status):
		e = p.Errorf(gateway.Rejected, "", "the upstream refused the request with status %d%s", status, detail)
		e.Status = status
	default:
		code := CodeUpstream
		if status == statusOverloaded {
			code = CodeOverloaded
		}
		e = p.Errorf(gateway.Unavailable, code, "the upstream failed with status %d%s", status, detail)
		e.RetryAfter = retryAfter(resp.Header, now)
	}
	e.Header = resp.Header
	return e
}

// passing says whether a status of 4xx speaks of the moment and not of the request.
// OpenAI's SDKs try again on the first two, RFC 8470 asks for it on the third.
func passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly
}

func (p *Client) spent(code string) bool { return slices.Contains(p.quotaCodes, code) }

// failure is what the body of an error says.
type failure struct {
	message    string
	codes      []string      // error.code and error.type, those that are strings
	retryAfter time.Duration // 0 if it does not say
	whole      bool          // it has OpenAI's form: an object under "error"
}

// readFailure reads the body of an error in the shapes that upstreams use: OpenAI's,
// a bare string, FastAPI's, Google's, whose object stands in a list.
func readFailure(body []byte) failure {
	listed := bytes.HasPrefix(bytes.TrimSpace(body), []byte("["))
	if listed {
		var list []json.RawMessage
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return failure{}
		}
		body = list[0]
	}
	var fields, inner map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return failure{}
	}
	_ = json.Unmarshal(fields["error"], &inner) // else it is a string, or there is none
	f := failure{whole: inner != nil && !listed}
	for _, place := range []json.RawMessage{inner["message"], fields["error"], fields["message"], fields["detail"]} {
		if f.message == "" {
			f.message = text(place)
		}
	}
	for _, place := range []json.RawMessage{inner["code"], inner["type"], fields["code"], fields["type"]} {
		if code := text(place); code != "" {
			f.codes = append(f.codes, code)
		}
	}
	f.retryAfter = retryIn(inner["details"], f.message)
	return f
}

// text is the string that is v, empty if it is none.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}
