package messages

import (
	"net/http"

	"github.com/callgate/callgate/gateway"
	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/wire"
)

// types are Anthropic's words for errors, by status.
var types = map[int]string{
	http.StatusBadRequest: "invalid_request_error", http.StatusUnprocessableEntity: "invalid_request_error",
	http.StatusMethodNotAllowed:      "invalid_request_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusUnauthorized:          "authentication_error", http.StatusPaymentRequired: "billing_error",
	http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error", http.StatusConflict: "conflict_error",
	http.StatusTooManyRequests: "rate_limit_error", http.StatusGatewayTimeout: "timeout_error",
	http.StatusServiceUnavailable: "overloaded_error", 529: "overloaded_error",
}

func typeOf(status int) string {
	if t := types[status]; t != "" {
		return t
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// requestIDHeader is Anthropic's name of the header for a request's id.
const requestIDHeader = "Request-Id"

// errorBody is an error in Anthropic's form.
func errorBody(e *gateway.Error, requestID string, h http.Header) []byte {
	if h != nil {
		h.Set(requestIDHeader, requestID)
	}
	return appendError(nil, e, requestID)
}

func appendError(dst []byte, e *gateway.Error, requestID string) []byte {
	dst = append(append(append(dst, `{"type":"error","error":{"type":"`...), typeOf(e.HTTPStatus())...), `","message":`...)
	dst = append(wire.AppendQuoted(dst, message(e)), '}')
	if requestID != "" {
		dst = wire.AppendQuoted(append(dst, `,"request_id":`...), requestID)
	}
	return append(dst, '}')
}

// appendFailure appends the event of an error, which ends a stream.
func appendFailure(dst []byte, e *gateway.Error, requestID string) []byte {
	dst = appendError(append(dst, "event: error\ndata: "...), e, requestID)
	return append(dst, "\n\n"...)
}

// ownFields are the fields of a request for a message that have another name in its chat completion.
var ownFields = protocol.Fields{
	"max_completion_tokens": "max_tokens", "stream_options": "stream", "stop": "stop_sequences", "reasoning_effort": "thinking",
	"response_format": "output_config.format", "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
	"tool_choice.function": "tool_choice", "tool_choice.function.name": "tool_choice.name", "user": "metadata.user_id",
}

// message is what there is to say of an error: of a refusal the upstream's own words.
func message(e *gateway.Error) string {
	text, code := ownFields.Message(e), e.Code
	if len(e.Body) > 0 {
		if said, own := refusal(e.Body); said != "" {
			text, code = said, own
		}
	}
	return overflow(text, code)
}

// refusal is what an upstream says in a refusal, in one of the forms that there are.
func refusal(body []byte) (said, code string) {
	failure := find(body, "error")
	if isString(failure) {
		return text(failure), ""
	}
	for _, o := range [...]value{failure, body} {
		if said = text(find(o, "message")); said != "" {
			return said, text(find(o, "code"))
		}
	}
	return "", ""
}
