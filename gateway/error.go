package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind classifies a failure. It alone decides the status that a client sees.
type Kind int

// The kinds of failure.
const (
	Internal         Kind = iota // a defect of ours; the client is told no more than that
	Invalid                      // the request is at fault
	TooLarge                     // the request is larger than a limit
	Denied                       // no valid key
	Forbidden                    // a web page of another site asks
	NotFound                     // no such model or path
	MethodNotAllowed             // the path exists, but not for this method
	Limited                      // the upstream limits our rate
	Rejected                     // the upstream refused the request; its own answer is passed on
	Unauthorized                 // the upstream refuses the gateway's own credentials
	Unavailable                  // the upstream cannot be reached, fails, or its answer is unusable
	Timeout                      // one of the timers of an attempt ran out
	Overloaded                   // the gateway itself cannot take the request now
	Canceled                     // the client left
)

// Error is a failure whose Message may be shown to the client. Err may hold a
// cause that may not.
type Error struct {
	Kind    Kind
	Code    string // OpenAI's error.code, such as "model_not_found"
	Param   string // the place in the request, such as "messages[2].content"
	Message string
	// Status and Body are the upstream's own answer, passed on as it is, for Kind
	// Rejected. Header holds what goes with it.
	Status int
	Body   []byte
	Header http.Header
	// RetryAfter is how long the client should wait, 0 if nothing is known.
	RetryAfter time.Duration
	Err        error
}

// Error implements error. The text may hold the cause and is for logs.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error of a kind with a code and a message for the client. A %w
// verb's error is kept as the cause and its text is part of the message.
func Errorf(kind Kind, code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Kind: kind, Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// AsError returns err as an *Error. What nobody classified is Internal and its
// text stays out of the message.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Kind: Internal, Code: "internal_error", Message: "Internal error.", Err: err}
}

// outcome is what a kind means to a client.
type outcome struct {
	status int
	typ    string // OpenAI's error.type
	code   string // error.code where the error itself names none
	retry  bool   // the client may try the same again
}

// outcomes is the one table from kinds to what a client sees. The statuses
// follow OpenAI where it has the case; 499 is nginx's for a client that left.
var outcomes = map[Kind]outcome{
	Internal:         {http.StatusInternalServerError, "server_error", "internal_error", false},
	Invalid:          {http.StatusBadRequest, "invalid_request_error", "invalid_request", false},
	TooLarge:         {http.StatusRequestEntityTooLarge, "invalid_request_error", "request_too_large", false},
	Denied:           {http.StatusUnauthorized, "authentication_error", "invalid_api_key", false},
	Forbidden:        {http.StatusForbidden, "permission_error", "forbidden", false},
	NotFound:         {http.StatusNotFound, "invalid_request_error", "not_found", false},
	MethodNotAllowed: {http.StatusMethodNotAllowed, "invalid_request_error", "method_not_allowed", false},
	Limited:          {http.StatusTooManyRequests, "rate_limit_error", "upstream_rate_limited", true},
	Rejected:         {http.StatusBadGateway, "invalid_request_error", "upstream_rejected", false},
	Unauthorized:     {http.StatusBadGateway, "server_error", "upstream_auth_error", false},
	Unavailable:      {http.StatusBadGateway, "server_error", "upstream_error", true},
	Timeout:          {http.StatusGatewayTimeout, "server_error", "upstream_timeout", true},
	Overloaded:       {http.StatusServiceUnavailable, "server_error", "overloaded", true},
	Canceled:         {499, "server_error", "client_closed_request", false},
}

// HTTPStatus is the status that the client is answered with.
func (e *Error) HTTPStatus() int {
	if e.Kind == Rejected && e.Status != 0 {
		return e.Status
	}
	return outcomes[e.Kind].status
}

// Type is OpenAI's error.type for the error.
func (e *Error) Type() string { return outcomes[e.Kind].typ }

// CodeOrDefault is the error's code, or its kind's.
func (e *Error) CodeOrDefault() string {
	if e.Code != "" {
		return e.Code
	}
	return outcomes[e.Kind].code
}

// Retryable says whether the same request may succeed later. It is what the
// header x-should-retry tells OpenAI's SDKs.
func (e *Error) Retryable() bool { return outcomes[e.Kind].retry }
