package upstream

import (
	"io"
	"net/http"
	"net/url"

	"github.com/callgate/callgate/gateway"
)

// statusError is the error of an answer whose status is not success.
func (c *call) statusError(resp *http.Response, body io.Reader) *gateway.Error {
	if resp.StatusCode/100 == 3 {
		return c.p.Errorf(gateway.Unavailable, CodeUpstream,
			"the upstream answered with a redirect (status %d), which is not followed; check base_url.", resp.StatusCode)
	}
	if resp.StatusCode/100 == 1 { // 101 alone is given to us; what follows it has no end
		return c.p.Errorf(gateway.Unavailable, CodeUpstream,
			"the upstream wants to switch protocols (status %d), which nobody asked for.", resp.StatusCode)
	}
	data, err := read(body, resp.ContentLength, gateway.MaxFailure, c.room)
	if err != nil {
		if e := c.interrupted(); e != nil {
			return e
		}
		data = nil
	}
	h, held := c.p.headerRules.answer(resp.Header, false, true)
	e := c.p.Failure(resp.StatusCode, h, data)
	if resp.StatusCode == http.StatusNotFound && e.Body == nil && c.asked().Path == "/chat/completions" {
		e.Message += " (base_url has no path; nearly every one ends in /v1)"
	}
	e.Withheld = held
	return e
}

// asked is the address that the call asks.
func (c *call) asked() *url.URL {
	if c.req != nil {
		return c.req.URL
	}
	return c.plain.URL
}

// Failure is the error for what the upstream has said of a failure, with the status of its
// answer, or with 0 if it came in-band. Its message names the client's provider and none
// of it holds a secret.
func (p *Client) Failure(status int, h http.Header, body []byte) *gateway.Error {
	return gateway.UpstreamFailure{
		Provider: p.name, Status: status, Header: h, Body: body, QuotaCodes: p.quotaCodes, Redact: p.Redact,
	}.Classify()
}
