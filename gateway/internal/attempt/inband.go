package attempt

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/wire"
)

// failure reads a frame that is an error in the place of an answer.
func (u *upstream) failure(f *wire.Frame) *gateway.Error {
	var body struct {
		Error json.RawMessage `json:"error"`
	}
	var detail struct {
		Message string          `json:"message"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
	}
	said := u.redact(f.Data)
	_ = json.Unmarshal(said, &body) // the chunk was located
	if json.Unmarshal(body.Error, &detail) != nil {
		_ = json.Unmarshal(body.Error, &detail.Message) // a bare string
	}
	e := &gateway.Error{Kind: inBandKind(detail.Type, string(detail.Code), string(detail.Status)), Quote: gateway.ExcerptOf(detail.Message, 300), InBand: u.redact(f.Raw)}
	e.Message = fmt.Sprintf("Provider %q: the upstream answered with an error: %s", u.name, e.Quote)
	switch e.Kind {
	case gateway.Unauthorized: // its words may quote the key
		e.Quote, e.Message = "", fmt.Sprintf("Provider %q: the upstream refused the gateway's own credentials.", u.name)
	case gateway.Rejected:
		e.Status, e.Body = http.StatusBadRequest, said
		e.Header = http.Header{"Content-Type": {"application/json"}}
	}
	return e
}

// redact takes the provider's secrets out of what its upstream says of a failure.
func (u *upstream) redact(b []byte) []byte {
	if p, ok := u.provider.(gateway.Redactor); ok {
		return []byte(p.Redact(string(b)))
	}
	return b
}

// inBandKind classifies an error by whatever upstreams put into it: a status as the
// code (vLLM, OpenRouter, Google), or a word.
func inBandKind(words ...string) gateway.Kind {
	text := strings.ToLower(strings.Join(words, " "))
	status := 0
	for _, w := range words {
		if n, err := strconv.Atoi(strings.Trim(w, `"`)); err == nil && n >= 400 && n < 600 {
			status = n
		}
	}
	switch {
	case strings.Contains(text, "insufficient_quota"):
		return gateway.Exhausted
	case status == http.StatusTooManyRequests, strings.Contains(text, "rate_limit"):
		return gateway.Limited
	case status == http.StatusUnauthorized, status == http.StatusForbidden, strings.Contains(text, "authentication"):
		return gateway.Unauthorized
	case status == http.StatusRequestTimeout, status == http.StatusConflict:
		return gateway.Unavailable
	case status >= 400 && status < 500, status == 0 && strings.Contains(text, "invalid_request"):
		return gateway.Rejected
	}
	return gateway.Unavailable
}
