package anthropic

import (
	"errors"
	"net/http"
	"strings"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/providers/internal/upstream"
)

// apiError is an error that the Messages API reports by its body, in a stream or
// with a status.
type apiError struct {
	kind, message string
	id            value // of the request, nil if it is not named
}

// Error implements error. The text is the upstream's and not fit to be shown.
func (e *apiError) Error() string { return e.kind + ": " + e.message }

// readError reads {"type":"error","error":{"type":…,"message":…},"request_id":…}.
func readError(data value) *apiError {
	inner := get(data, "error")
	return &apiError{kind: text(get(inner, "type")), message: text(get(inner, "message")), id: clone(get(data, "request_id"))}
}

// outcomes are the kinds of Anthropic's errors, as failures of ours. (Anthropic,
// "Errors".) Those that are not here are a failure of the upstream's.
var outcomes = map[string]struct {
	kind   gateway.Kind
	code   string
	status int // for what is passed on to the client
}{
	"invalid_request_error": {gateway.Rejected, "", http.StatusBadRequest},
	"not_found_error":       {gateway.Rejected, "", http.StatusNotFound},
	"request_too_large":     {gateway.Rejected, "", http.StatusRequestEntityTooLarge},
	"authentication_error":  {gateway.Unauthorized, "", 0},
	"permission_error":      {gateway.Unauthorized, "", 0},
	"billing_error":         {gateway.Exhausted, upstream.CodeQuota, 0},
	"rate_limit_error":      {gateway.Limited, "", 0},
	"overloaded_error":      {gateway.Unavailable, upstream.CodeOverloaded, 0},
}

// failure is the error to report for one that came with the status of success.
func (p *Provider) failure(e *apiError) *gateway.Error {
	o, known := outcomes[e.kind]
	if !known {
		o.kind, o.code = gateway.Unavailable, upstream.CodeUpstream
	}
	if o.kind == gateway.Unauthorized { // its message may quote the key
		return p.client.Errorf(o.kind, o.code, "the upstream refused the gateway's own credentials.")
	}
	said := p.client.Excerpt(e.Error())
	f := p.client.Errorf(o.kind, o.code, "the upstream ended its answer with an error: %s", said)
	f.Quote = said
	if o.kind == gateway.Rejected {
		f.Status = o.status
		e.message = p.client.Redact(e.message)
		f.Body = e.envelope()
	}
	return f
}

// translateError gives an error of a request the form that OpenAI's clients know.
func translateError(err error) error {
	var e *gateway.Error
	if !errors.As(err, &e) {
		return err
	}
	renameHeader(e.Header)
	if body := value(e.Body); isAnswer(body) && text(get(body, "type")) == "error" && isObject(get(body, "error")) {
		e.Body = readError(body).envelope()
	}
	return err
}

// envelope is the error in OpenAI's form. Its code is Anthropic's type, or OpenAI's
// own code where clients look for that.
func (e *apiError) envelope() []byte {
	code := e.kind
	switch {
	case e.tooLong():
		code = "context_length_exceeded"
	case e.kind == "not_found_error" && strings.HasPrefix(e.message, "model:"):
		code = "model_not_found"
	}
	var inner object
	inner.setString("message", e.message)
	inner.setString("type", "invalid_request_error")
	inner.set("param", value("null"))
	inner.setString("code", code)
	var o object
	o.set("error", inner.close())
	if len(e.id) > 0 {
		o.set("request_id", e.id)
	}
	return o.close()
}

// tooLong says whether the prompt does not fit into the model's context. Anthropic
// has no code for it, only these words.
func (e *apiError) tooLong() bool {
	return e.kind == "invalid_request_error" && (strings.Contains(e.message, "prompt is too long") ||
		strings.Contains(e.message, "exceed context limit"))
}

// renameHeader gives the id of a request the name that OpenAI's clients read.
func renameHeader(h http.Header) {
	if id := h.Get("Request-Id"); id != "" && h.Get("X-Request-Id") == "" {
		h.Set("X-Request-Id", id)
	}
}
