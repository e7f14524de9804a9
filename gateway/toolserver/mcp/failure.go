package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/callgate/callgate/gateway/toolserver"
	"github.com/callgate/callgate/gateway/toolserver/reach"
	"github.com/callgate/callgate/gateway/toolserver/signin"
)

// Codes of JSON-RPC and of the protocol that say more than that something failed.
const (
	codeNoMethod     = -32601
	codeBadParams    = -32602
	codeTimeout      = -32001 // of the reference implementations
	codeURLNeedsUser = -32042 // 2025-11-25: the user must open an address
)

// broken says that a connection is of no further use after err. What a server has answered, and
// what a caller has given up, leave it whole.
func broken(n *note, err error) bool {
	_, _, status := n.facts()
	switch {
	case errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, sdk.ErrConnectionClosed):
		return true
	case answered(err) != nil, n.answer() != nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	case errors.Is(err, errNeedsInput), errors.Is(err, errUnknownTool), errors.Is(err, errTooLarge), errors.Is(err, errTooMuch):
		return false
	}
	return status < 500 && status != http.StatusTooManyRequests
}

// rejected is the message of the SDK's own error for what a transport could not send, or what
// was answered with a status alone. It has the form of a server's answer, and is none.
const rejected = "rejected by transport"

// answered finds the error that the server has answered with, nil if there is none.
func answered(err error) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) && e.Message != rejected {
		return e
	}
	return nil
}

// unreachable says why there is no connection. Nothing was sent that could have run.
func (s *Server) unreachable(ctx context.Context, err error) *toolserver.Error {
	e := &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says("does not answer"), Again: true, Err: err}
	var c *connectError
	if errors.As(err, &c) {
		_, _, status := c.n.facts()
		s.byStatus(e, status)
		if text := c.err.Error(); status == 0 && strings.Contains(text, "unsupported protocol version") {
			e.Message, e.Again = s.says("speaks a version of the protocol that the gateway does not know"), false
		}
	}
	if refused, ok := reach.Refused(err); ok {
		e.Message, e.Again = s.says("is refused: "+refused.Why), false
	}
	s.notSignedIn(e, err)
	if err := ctx.Err(); err != nil {
		s.ended(e, err)
	}
	e.Cause = s.cause(c, err)
	return e
}

// cause is why there is no connection, as operators may read it: what a process says of itself, or else
// what the system or the SDK says. It has no address with what that may hold.
func (s *Server) cause(c *connectError, err error) string {
	network := toolserver.NetworkCause(err)
	switch {
	case c != nil && c.why != "":
		return c.why
	case network != "":
		return network
	case s.web != nil, errors.Is(err, errClosed):
		return ""
	}
	return toolserver.Words(err.Error())
}

// failure says what went wrong with a call, or a list, that n has seen.
func (s *Server) failure(ctx context.Context, n *note, err error) *toolserver.Error {
	sent, tooLarge, status := n.facts()
	e := &toolserver.Error{Kind: toolserver.Unavailable, Message: s.says("broke the connection"), Sent: sent, Again: true, Err: err}
	if !sent {
		e.Message = s.says("does not answer")
	}
	answered := answered(err)
	refused, isRefused := reach.Refused(err)
	switch {
	case tooLarge, errors.Is(err, errTooLarge):
		*e = toolserver.Error{Kind: toolserver.TooLarge, Message: s.says("gave more than may be read"), Hint: "Ask for less: a smaller page, a narrower search.", Sent: sent, Err: err}
	case errors.Is(err, errTooMuch):
		*e = toolserver.Error{Kind: toolserver.TooLarge, Message: s.says("lists more tools than may be read"), Err: err}
	case ctx.Err() != nil:
		s.ended(e, ctx.Err())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		s.ended(e, err)
	case errors.Is(err, errNeedsInput):
		*e = needsInput(s, err)
	case errors.Is(err, errUnknownTool):
		*e = toolserver.Error{Kind: toolserver.UnknownTool, Message: s.says("has no such tool any more"), Err: err}
	case isRefused:
		e.Message, e.Sent, e.Again = s.says("is refused: "+refused.Why), refused.Ran, false
		if refused.Ran {
			e.Hint = toolserver.Unsure
		}
	case s.notSignedIn(e, err):
	case answered != nil:
		s.byCode(e, answered)
	case status >= http.StatusBadRequest:
		s.byStatus(e, status)
	case n.answer() != nil:
		*e = toolserver.Error{Kind: toolserver.Failed, Message: s.says("gave an answer that is against the protocol"), Sent: true, Err: err}
	}
	return e
}

// notSignedIn says what is wrong with the gateway's credentials, if it is that.
func (s *Server) notSignedIn(e *toolserver.Error, err error) bool {
	var not *signin.Error
	if !errors.As(err, &not) {
		return false
	}
	e.Message, e.Sent, e.Again = strings.TrimSpace(s.says(not.Why)+" "+not.Hint), false, false // operators read the message alone
	return true
}

func needsInput(s *Server, err error) toolserver.Error {
	return toolserver.Error{Kind: toolserver.NeedsInput, Message: s.says("asks its user for something, and here is none to ask"),
		Hint: "Call it again with all that it may ask for in the arguments, or go on without it.", Err: err}
}

// ended is what a time that is over, or a caller who has left, makes of e.
func (s *Server) ended(e *toolserver.Error, err error) {
	e.Again = false
	e.Message = s.says("was not waited for: the request has ended")
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Again, e.Message = toolserver.Timeout, true, s.says("has not answered in time")
	}
	if e.Sent {
		e.Hint = toolserver.Unsure
	}
}

// byCode reads an error that the server has answered with, so that it is known to have seen the
// call. Whether it has done a part of it is not known, but it says that it has failed.
func (s *Server) byCode(e *toolserver.Error, answered *jsonrpc.Error) {
	words := toolserver.Words(answered.Message)
	*e = toolserver.Error{Kind: toolserver.Failed, Message: s.says("refused the call: " + words), Err: e.Err}
	switch code := answered.Code; {
	case code == codeRefused: // ours, for an answer that came
		e.Message, e.Sent = s.says("gave an answer that is against the protocol: "+answered.Message), true
	case unknownTool(words), code == codeNoMethod:
		e.Kind, e.Message = toolserver.UnknownTool, s.says("has no such tool any more")
	case code == codeBadParams, code == jsonrpc.CodeInvalidParams:
		e.Kind = toolserver.InvalidArguments
	case code == codeURLNeedsUser:
		*e = needsInput(s, e.Err)
	case code == codeTimeout:
		e.Kind, e.Sent, e.Again = toolserver.Timeout, true, true
	}
}

// byStatus reads an HTTP status without an answer of the protocol. Of 5xx nobody knows what has
// run before it: they come from the server as well as from what stands in front of it.
func (s *Server) byStatus(e *toolserver.Error, status int) {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		e.Message, e.Sent, e.Again = s.says(fmt.Sprintf("does not let the gateway in (HTTP %d)", status)), false, false
		e.Hint = "Its operator must look at the credentials in headers; there is no use in repeating the call."
	case status == http.StatusTooManyRequests:
		e.Message, e.Sent, e.Again = s.says("has had too many calls (HTTP 429)"), false, true
	case status >= http.StatusInternalServerError:
		e.Message, e.Again = s.says(fmt.Sprintf("fails (HTTP %d)", status)), true
	case status >= http.StatusBadRequest:
		e.Message, e.Sent, e.Again = s.says(fmt.Sprintf("refused the call (HTTP %d)", status)), false, false
	}
}

func (s *Server) says(what string) string { return fmt.Sprintf("Tool server %q %s.", s.o.Name, what) }

// errUnknownTool says that the server knows no tool of that name.
var errUnknownTool = errors.New("the server has no such tool")

// unknownTool says that words are how the servers of the official SDKs say that there is no
// such tool; some say it in an error, some in a result.
func unknownTool(words string) bool {
	text := strings.ToLower(words)
	return strings.Contains(text, "unknown tool") || strings.HasPrefix(strings.TrimPrefix(text, "mcp error -32602: "), "tool ") && strings.HasSuffix(text, " not found")
}

// isTooLong says that a line of a process was longer than it may be. The SDK has no name for it.
func isTooLong(err error) bool { return strings.Contains(err.Error(), "maximum line length") }
