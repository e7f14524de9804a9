package plugins

import (
	"errors"
	"fmt"
	"strings"
)

// ErrorKind says why a call failed. It is short, for metrics.
type ErrorKind string

// The kinds of errors. Only those that a plugin is to blame for count towards its
// quarantine.
const (
	KindInputLimit    ErrorKind = "input_limit"    // the response fed more text than it may
	KindTimeLimit     ErrorKind = "time_limit"     // a call took too long
	KindTotalLimit    ErrorKind = "total_limit"    // the response took too long, over many calls
	KindMemoryLimit   ErrorKind = "memory_limit"   // the guest failed after it was refused memory
	KindOutputLimit   ErrorKind = "output_limit"   // too many events
	KindTrap          ErrorKind = "trap"           // the guest failed
	KindExit          ErrorKind = "exit"           // the guest ended itself
	KindBadEvents     ErrorKind = "bad_events"     // the events cannot be decoded or make no sense
	KindBadPointer    ErrorKind = "bad_pointer"    // a pointer is outside of the guest's memory
	KindBadResult     ErrorKind = "bad_result"     // a verdict, handle or code that does not exist
	KindHandles       ErrorKind = "handles"        // too many regions are open at once
	KindQuarantined   ErrorKind = "quarantined"    // the parser failed too often and is not tried now
	KindUnknownParser ErrorKind = "unknown_parser" // no plugin has it
	KindRefused       ErrorKind = "refused"        // the parser does not accept its options
	KindCanceled      ErrorKind = "canceled"       // the caller's context ended
	KindBusy          ErrorKind = "busy"           // there are Config.MaxInstances already
	KindInternal      ErrorKind = "internal"       // the host could not make an instance
)

// faults are the kinds that a plugin is to blame for. A response that uses its time
// up over very many regions is the model's doing: who can make a model print those
// must not be able to have a parser quarantined for everybody.
var faults = map[ErrorKind]bool{
	KindTimeLimit: true, KindMemoryLimit: true, KindOutputLimit: true, KindTrap: true,
	KindExit: true, KindBadEvents: true, KindBadPointer: true, KindBadResult: true,
}

// Error is why a parser could not do its work. Its text holds nothing that the
// plugin wrote.
type Error struct {
	Parser string
	Plugin string // "" if the parser is unknown
	Kind   ErrorKind
	Err    error
}

// Error implements error.
func (e *Error) Error() string {
	who := fmt.Sprintf("parser %q", e.Parser)
	if e.Plugin != "" {
		who += " (plugin " + e.Plugin + ")"
	}
	// wazero's errors go on with a stack trace.
	what, _, _ := strings.Cut(e.Err.Error(), "\n")
	return who + ": " + what
}

// Reason is the kind as the one word that headers and metrics carry.
func (e *Error) Reason() string { return string(e.Kind) }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// LoadError is why a module was not loaded.
type LoadError struct {
	Plugin string // Source.Name
	Reason string
	Err    error // more about it, or nil
	Others bool  // it is because of what else is loaded, and may be loaded later
}

// Error implements error.
func (e *LoadError) Error() string {
	return fmt.Sprintf("plugin %s: %s", e.Plugin, e.Why())
}

// Why is the error without the plugin's name.
func (e *LoadError) Why() string {
	if e.Err == nil {
		return e.Reason
	}
	return e.Reason + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *LoadError) Unwrap() error { return e.Err }

// failure is an Error before it is known whose it is. Host functions panic with
// it to stop a guest.
type failure struct {
	kind ErrorKind
	err  error
}

// Error implements error.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func fail(kind ErrorKind, format string, args ...any) *failure {
	return &failure{kind, fmt.Errorf(format, args...)}
}

// asFailure returns err as a failure, of KindInternal if it says nothing else.
func asFailure(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{KindInternal, err}
}
