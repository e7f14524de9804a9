package anthropic

import (
	"errors"
	"net/http"
	"strings"

	"github.com/callgate/callgate/gateway"
)

// reportedError is what the upstream has sent in the place of a message, or of an event: its
// JSON.
type reportedError struct{ data value }

// Error implements error. It keeps the upstream's words to itself: they are not fit to be
// shown.
func (*reportedError) Error() string { return "the upstream has reported an error" }

// reports says whether an answer or an event is an error:
// {"type":"error","error":{"type":…,"message":…},"request_id":…}, or that of a proxy in
// front of the upstream, which may lack the first.
func reports(data value) bool {
	kind := text(get(data, "type"))
	return kind == "error" || kind == "" && !hollow(get(data, "error"))
}

// Failure implements [gateway.Failer].
func (p *Provider) Failure(h http.Header, data []byte) *gateway.Error {
	e := p.client.Failure(0, h, data)
	translateError(e)
	return e
}

// translateError gives an error of a request the form that OpenAI's clients know.
func translateError(err error) {
	var e *gateway.Error
	if !errors.As(err, &e) {
		return
	}
	renameHeader(e.Header)
	if body := value(e.Body); isAnswer(body) && text(get(body, "type")) == "error" {
		e.Body = envelope(body)
	}
}

// envelope is an error in OpenAI's form. Its code is Anthropic's type, or OpenAI's own
// code where clients look for that.
func envelope(data value) []byte {
	reported := get(data, "error")
	code, message := text(get(reported, "type")), text(get(reported, "message"))
	switch {
	// Anthropic has no code for a prompt that does not fit, only these words.
	case code == "invalid_request_error" && (strings.Contains(message, "prompt is too long") || strings.Contains(message, "exceed context limit")):
		code = "context_length_exceeded"
	case code == "not_found_error" && strings.HasPrefix(message, "model:"):
		code = "model_not_found"
	}
	var inner object
	inner.setString("message", message)
	inner.setString("type", "invalid_request_error")
	inner.set("param", value("null"))
	inner.setString("code", code)
	var o object
	o.set("error", inner.close())
	if id := get(data, "request_id"); len(id) > 0 {
		o.set("request_id", id)
	}
	return o.close()
}

// renameHeader gives the id of a request the name that OpenAI's clients read.
func renameHeader(h http.Header) {
	if id := h.Get("Request-Id"); id != "" && h.Get("X-Request-Id") == "" {
		h.Set("X-Request-Id", id)
	}
}
