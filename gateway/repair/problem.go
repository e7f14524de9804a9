package repair

import (
	"strconv"

	"github.com/callgate/callgate/internal/plaintext"
)

// The classes of problems: how the gateway's errors, metrics and log name them.
// InvalidJSON, UnknownTool, SchemaMismatch and EmptyArgs are found by this package,
// the others by the callers that see more than one call.
const (
	InvalidJSON     = "invalid_json"
	UnknownTool     = "unknown_name"
	SchemaMismatch  = "schema_mismatch"
	EmptyArgs       = "empty_args"
	BadIndex        = "bad_index"
	BadID           = "bad_id"
	VendorMalformed = "vendor_malformed"
	DoubtfulCall    = "doubtful_call"
)

// The kinds of repairs to arguments, as [Args.Repairs] gives them.
const (
	ArgsJSON     = "args_json"     // nearly JSON was made strict
	ArgsTypes    = "args_types"    // a string was given the type that the schema wants
	ArgsEncoding = "args_encoding" // a JSON string that held the object was decoded
	ArgsEmpty    = "args_empty"    // no text, or null, became {}
	ArgsSplit    = "args_split"    // several objects in a row were taken apart
	ArgsRepeated = "args_repeated" // an object that was there already was left out
)

// Problem is what is wrong with a call and could not be repaired.
type Problem struct { //nolint:errname // it is more than an error: reports and answers carry it
	// Class is one of the constants, such as [InvalidJSON].
	Class string
	// Path names the place within the arguments, such as location.city or
	// items[2].id. It is empty for the arguments as a whole, and it holds names of
	// members, never their values.
	Path string
	// Message says what is wrong, and with Hint what to do, in words that a model can
	// read when it is asked again. Neither holds a value of the arguments.
	Message string
	Hint    string
}

// Error gives the message and the hint.
func (p *Problem) Error() string {
	if p.Hint == "" {
		return p.Message
	}
	return p.Message + " " + p.Hint
}

// atByte names a place in text for a message.
func atByte(offset int, path string) string {
	s := "At byte " + strconv.Itoa(offset)
	if path != "" {
		s += " (at or behind " + strconv.Quote(path) + ")"
	}
	return s
}

// excerpt is s cut to a length that a message can carry.
func excerpt(s string) string { return plaintext.Excerpt(s, 80) }
