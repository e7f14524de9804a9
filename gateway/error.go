package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/breaker"
	"github.com/callgate/callgate/gateway/headers"
)

// Kind classifies a failure. It alone decides whether the request is sent again or to
// another target, what the breaker of the provider makes of it, and the status that a
// client sees, unless the upstream has given one of its own (Error.Status).
type Kind int

// The kinds of failure.
const (
	Internal         Kind = iota // a defect of ours; the client is told no more than that
	Invalid                      // the request is at fault
	TooLarge                     // the request is larger than a limit
	InvalidKey                   // no valid key
	Forbidden                    // the client may not: its key's models or address, or a web page of another site asks
	NotFound                     // no such model or path
	MethodNotAllowed             // the path exists, but not for this method
	RateLimited                  // the upstream limits our rate
	QuotaExceeded                // the upstream wants money first; no waiting helps
	Rejected                     // the upstream refused the request; its own answer is passed on
	Unauthorized                 // the upstream refuses the gateway's own credentials
	Unavailable                  // the upstream cannot be reached, fails, or its answer breaks off
	Unusable                     // the upstream works, but what the model answered is nothing
	BadCall                      // the model's tool call is broken, and the target refuses those
	BadAnswer                    // the answer was to be JSON and is none, and the target refuses those
	Ghost                        // the model was told to call a tool, and did not
	ToolsLost                    // the upstream has lost the tools of the request, or cannot take them
	Looping                      // the conversation calls tools without an end
	Timeout                      // one of the timers of an attempt ran out
	CircuitOpen                  // the breaker of every target is open
	Overloaded                   // the gateway itself cannot take the request now
	MemorySpent                  // all requests together have taken the memory that there is for them
	Canceled                     // the client left
	RequestLimit                 // more requests than the client's limit lets through, in a time or at once
	TokenLimit                   // more tokens than the client's limit lets through in a time
	BudgetSpent                  // the client's budget is spent; no waiting of seconds helps
	LimitsAway                   // nobody can tell whether the client's limits let it through
)

// Error is a failure whose Message may be shown to the client. Err may hold a
// cause that may not.
type Error struct {
	Kind    Kind
	Code    string // OpenAI's error.code, such as "model_not_found"
	Param   string // the place in the request, such as "messages[2].content"
	Message string
	// Status is the upstream's own, for the kinds Rejected and ToolsLost and for an Unavailable
	// whose upstream has answered with 5xx; 0 means the kind's. Body is the upstream's own
	// body, passed on as it is, where a refusal has OpenAI's form. Header holds what goes
	// with it.
	Status int
	Body   []byte
	Header http.Header
	// Withheld is what of the upstream's header is not in Header.
	Withheld headers.Withheld
	// Said is the beginning of what a refusal said, in whatever form, without the gateway's
	// own key. It tells what the upstream has against the request, and goes nowhere.
	Said []byte
	// RetryAfter is how long the client should wait, 0 if nothing is known.
	RetryAfter time.Duration
	// Quote is the part of Message that is the upstream's own words. They may hold what
	// the client has sent, and do not go to the log.
	Quote string
	// Summary says what was tried before this was given up; nil if nothing was.
	Summary *Summary
	Err     error

	// Overflow is there if the upstream has refused the prompt for its length.
	Overflow *Overflow
	// Unsent says that it is certain that the upstream has had nothing of the request: there was no connection, or
	// nothing was written to it. Such a request costs nothing, whatever has ended it.
	Unsent bool
	// Redo asks for another attempt at the same target, in which the model is told more; nil
	// if that would be of no use.
	Redo *Redo
	// Withdrawn says that the upstream has refused something which the provider itself has put into the request, and
	// that the provider leaves it out from now on: the same target is asked again, once.
	Withdrawn bool
	// InBand is the block of a stream in which the upstream sent the error, for a client that
	// has seen something of the answer already.
	InBand []byte
	// Warning is what is to be said of the failure where another target answers; it may be "".
	Warning string
}

// Error implements error. The text is for logs: it may hold the cause, and it does not
// hold the upstream's own words.
func (e *Error) Error() string {
	text := e.Message
	if e.Quote != "" {
		text = strings.ReplaceAll(text, e.Quote, "…")
	}
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", text, e.Err)
	}
	return text
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
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Code: "internal_error", Message: "Internal error.", Err: err}
}

// meaning is what a kind means, to a client and to what comes next.
type meaning struct {
	status int
	typ    string // OpenAI's error.type
	code   string // error.code where the error itself names none
	retry  bool   // the client may try the same again
	next   Next
	health breaker.Outcome
}

// Next is what may be tried after a failure while the client has seen nothing.
type Next int

// What there is to try.
const (
	GiveUp    Next = iota
	Elsewhere      // another target
	Again          // another target, or the same once more
)

const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
	rateLimit      = "rate_limit_error"
)

// meanings is the one table of what kinds mean. The statuses follow OpenAI where it
// has the case; 499 is nginx's for a client that left. What says nothing about the
// upstream's health is excluded from its breaker: limits have a cool-down of their
// own, and a refused key does not get better by waiting.
var meanings = map[Kind]meaning{
	Internal:         {http.StatusInternalServerError, serverError, "internal_error", false, GiveUp, breaker.Excluded},
	Invalid:          {http.StatusBadRequest, invalidRequest, "invalid_request", false, GiveUp, breaker.Excluded},
	TooLarge:         {http.StatusRequestEntityTooLarge, invalidRequest, "request_too_large", false, GiveUp, breaker.Excluded},
	InvalidKey:       {http.StatusUnauthorized, "authentication_error", "invalid_api_key", false, GiveUp, breaker.Excluded},
	Forbidden:        {http.StatusForbidden, "permission_error", "forbidden", false, GiveUp, breaker.Excluded},
	NotFound:         {http.StatusNotFound, invalidRequest, "not_found", false, GiveUp, breaker.Excluded},
	MethodNotAllowed: {http.StatusMethodNotAllowed, invalidRequest, "method_not_allowed", false, GiveUp, breaker.Excluded},
	RateLimited:      {http.StatusTooManyRequests, rateLimit, "upstream_rate_limited", true, Again, breaker.Excluded},
	QuotaExceeded:    {http.StatusTooManyRequests, rateLimit, "insufficient_quota", false, Elsewhere, breaker.Excluded},
	Rejected:         {http.StatusBadGateway, invalidRequest, "upstream_rejected", false, GiveUp, breaker.Excluded},
	Unauthorized:     {http.StatusBadGateway, serverError, "upstream_auth_error", false, Elsewhere, breaker.Excluded},
	Unavailable:      {http.StatusBadGateway, serverError, "upstream_error", true, Again, breaker.Failure},
	Unusable:         {http.StatusBadGateway, serverError, "empty_completion", true, Again, breaker.Success},
	BadCall:          {http.StatusBadGateway, serverError, "invalid_tool_call", false, GiveUp, breaker.Success},
	BadAnswer:        {http.StatusBadGateway, serverError, "invalid_structured_output", false, GiveUp, breaker.Success},
	Ghost:            {http.StatusBadGateway, serverError, "tool_not_triggered", false, GiveUp, breaker.Success},
	ToolsLost:        {http.StatusBadGateway, serverError, "tools_lost", false, Elsewhere, breaker.Success},
	Looping:          {http.StatusUnprocessableEntity, invalidRequest, "max_iterations_exceeded", false, GiveUp, breaker.Excluded},
	Timeout:          {http.StatusGatewayTimeout, serverError, "upstream_timeout", true, Again, breaker.Failure},
	CircuitOpen:      {http.StatusServiceUnavailable, serverError, "circuit_open", true, Elsewhere, breaker.Excluded},
	Overloaded:       {http.StatusServiceUnavailable, serverError, "overloaded", true, GiveUp, breaker.Excluded},
	MemorySpent:      {http.StatusServiceUnavailable, serverError, "memory_spent", true, GiveUp, breaker.Excluded},
	RequestLimit:     {http.StatusTooManyRequests, "requests", "rate_limit_exceeded", true, GiveUp, breaker.Excluded},
	TokenLimit:       {http.StatusTooManyRequests, "tokens", "rate_limit_exceeded", true, GiveUp, breaker.Excluded},
	BudgetSpent:      {http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota", false, GiveUp, breaker.Excluded},
	LimitsAway:       {http.StatusServiceUnavailable, serverError, "limits_unavailable", true, GiveUp, breaker.Excluded},
	Canceled:         {499, serverError, "client_closed_request", false, GiveUp, breaker.Excluded},
}

// Ended is why a request's context has ended.
func Ended(ctx context.Context) *Error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return e
	}
	return &Error{Kind: Canceled, Message: "The client closed the request.", Err: context.Cause(ctx)}
}

// HTTPStatus is the status that the client is answered with.
func (e *Error) HTTPStatus() int {
	if e.Status != 0 {
		return e.Status
	}
	return meanings[e.Kind].status
}

// Type is OpenAI's error.type for the error.
func (e *Error) Type() string { return meanings[e.Kind].typ }

// Refusal is what the upstream has said in a refusal.
func (e *Error) Refusal() []byte {
	if e.Said == nil {
		return e.Body
	}
	return e.Said
}

// CodeOrDefault is the error's code, or its kind's.
func (e *Error) CodeOrDefault() string {
	if e.Code != "" {
		return e.Code
	}
	return meanings[e.Kind].code
}

// maxClientWait is the longest wait that OpenAI's SDKs take from an answer; beyond it
// they give up, or come back too early.
const maxClientWait = 120 * time.Second

// Retryable says whether the client should send the same request again. It is what
// the header x-should-retry tells OpenAI's SDKs. Where the gateway has tried more
// than once itself, its tries and theirs would multiply.
func (e *Error) Retryable() bool {
	return meanings[e.Kind].retry && (e.Summary == nil || len(e.Summary.Attempts) < 2) && e.RetryAfter <= maxClientWait
}

// Next says what may be tried after the failure.
func (e *Error) Next() Next { return meanings[e.Kind].next }

// Health says what the failure tells about the upstream.
func (e *Error) Health() breaker.Outcome { return meanings[e.Kind].health }
