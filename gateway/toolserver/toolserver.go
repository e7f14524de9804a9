// Package toolserver is what there is to say of tools that the gateway runs itself: what a tool
// is, what a call of one gives, and why it gives nothing. Servers of them are in the packages
// below.
package toolserver

import (
	"encoding/json"
	"errors"
	"net"
	"slices"
	"time"
)

// Tool is a tool that the gateway can run. It is not changed once it is made.
type Tool struct {
	Server string // the server's name in the configuration
	Name   string // as the server calls it
	// Alias is the name that models see: server__name, of at most 64 bytes of [A-Za-z0-9_-].
	// It is looked up, never split.
	Alias       string
	Description string
	Parameters  json.RawMessage // JSON schema of the arguments, an object
	Output      json.RawMessage // JSON schema of a structured result; nil if the server says none
	Effect      Effect
	// Idempotent says that a call may be made again where it is not known whether it has run.
	Idempotent bool
	// Untrusted says that results may hold text of strangers: a web page, a mail, an issue.
	Untrusted bool
	// Approval says that a client must agree before a call is made.
	Approval bool
	// Fallback are the aliases that a model is told of when the tool fails.
	Fallback []string
	Timeout  time.Duration // of one attempt; 0 for the caller's own
	// MCP says that its server speaks the Model Context Protocol; else it is a plain HTTP request.
	MCP bool
}

// Effect is what a call does to the world.
type Effect uint8

// Effects. A server's own hints count only where the operator trusts it.
const (
	Unknown Effect = iota
	Reads
	Writes
)

// Missing is a tool, or a whole server, that is configured and cannot be offered now.
type Missing struct {
	Server string `json:"server"`
	Tool   string `json:"tool,omitempty"` // "" for all of the server's
	Why    string `json:"why"`            // one sentence, fit for a client: no address, no credential
}

// Result is what a call gave.
type Result struct {
	Text       string          // the text parts, joined by line feeds
	Structured json.RawMessage // the structured result; nil for none
	// Failed is the tool's own word: it ran and did not do what was asked.
	Failed bool
	// Dropped are the kinds of parts that are left out, such as "image", and [Structured].
	Dropped []string
	// Cut is how many bytes are missing at the end of Text.
	Cut int
}

// Structured is what [Result].Dropped says of a structured result that the gateway has left out.
const Structured = "structured"

// Lost reports whether the server gave a structured result that the gateway has left out: its text, which
// says the same, stands for it.
func (r *Result) Lost() bool { return len(r.Structured) == 0 && slices.Contains(r.Dropped, Structured) }

// Kind is why a call gave no result. The model reads it as error.type.
type Kind string

// Kinds of errors.
const (
	UnknownTool      Kind = "unknown_tool"
	InvalidArguments Kind = "invalid_arguments"
	Denied           Kind = "denied"
	NeedsInput       Kind = "needs_input" // the server asks its user for something
	Timeout          Kind = "timeout"
	Unavailable      Kind = "unavailable"
	Failed           Kind = "failed" // the protocol's own error
	TooLarge         Kind = "too_large"
	Changed          Kind = "changed" // it is not the tool that was pinned
)

// Error is why a call gave no result.
type Error struct {
	Kind    Kind
	Message string // one sentence, fit for a model and a client: no address, no credential
	Hint    string // what to do about it; may be ""
	// Sent says that the call may have run: the server has got it, and has not answered.
	Sent bool
	// Again says that a second attempt may do better.
	Again bool
	// Misfit says that there was a result, and that it does not fit the schema which the tool declares.
	Misfit bool
	// Cause is why, for operators alone: it may quote a server's own words. "" if nobody knows.
	Cause string
	Err   error // for the log
}

// Unsure is the Hint of a call that may have run.
const Unsure = "It is not known whether the call has run. Check before you repeat it."

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// NetworkCause is the Cause of a server that cannot be reached, in what the system says of it, without the
// address and what that may hold; "" if err is no fault of a network.
func NetworkCause(err error) string {
	var lookup *net.DNSError
	var network *net.OpError
	switch {
	case errors.As(err, &lookup):
		return lookup.Err + ": " + lookup.Name
	case errors.As(err, &network):
		return network.Err.Error()
	}
	return ""
}
