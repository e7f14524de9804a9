// Package callobject reads one tool call written as a JSON object,
//
//	{"name": "get_weather", "arguments": {"city": "Oslo"}}
//
// piece by piece. Members may come in any order, those with other names are
// skipped, and {"type": "function", "function": {…}} around the two is accepted.
package callobject

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// MaxName is how many bytes a name may have; an id too, or it is dropped.
const MaxName = 256

// Keys are the names that members may have.
type Keys struct {
	Name []string // of the member that holds the function's name
	Args []string // of the member that holds its arguments
	ID   []string // of the member that holds the call's id
	// Only refuses objects with other members than these, type and index: a record
	// about a call has some.
	Only bool
	// Once refuses arguments of which one comes twice. JSON passes as it is, and the gateway
	// judges it; what is written anew must not become such JSON.
	Once bool
}

// Hermes are the keys that Hermes models and OpenAI use. Some write parameters for
// arguments, as the schema of a tool does.
func Hermes() Keys {
	return Keys{Name: []string{"name"}, Args: []string{"arguments", "parameters"}, ID: []string{"id"}}
}

// Status is how far a Reader has come.
type Status uint8

// The statuses.
const (
	More Status = iota // the input was read, or Args, Name or ID may have changed
	Done               // the object is complete
	Bad                // the next byte cannot be read, or what was read is no call
)

// field is the member whose value is being read.
type field uint8

const (
	none field = iota
	skipped
	name
	id
	function // the object around name and arguments in OpenAI's form
	arguments
	argsObject // inside the object of arguments
)

// Reader reads one call. It is made by New or Init.
type Reader struct {
	// Name is the function's name, not empty once it is certain.
	Name string
	// ID is the id that the model wrote, if that came before anything was certain.
	ID string
	// Args are certain bytes of the arguments, without their last brace, which the
	// caller writes when it is sure of the call. It may take them and cut Args to
	// length 0 at any time.
	Args []byte

	keys Keys
	json relaxed.Reader
	seen region.Keys // arguments, where one may come once
	progress
}

// progress is how far a Reader has come with its object.
type progress struct {
	field    field
	depth    int  // depth of the members that are read
	keyed    bool // the only member's key is the function's name
	hasArgs  bool
	decoded  bool // the arguments were a string
	repaired bool // text outside of the reader's was not strict JSON
	shown    bool // CallStart was written
}

// New makes a reader of objects with such keys; maxDepth is as for
// relaxed.NewReader.
func New(keys Keys, maxDepth int) *Reader {
	r := &Reader{}
	r.Init(keys, maxDepth)
	return r
}

// Init makes a reader ready, also one that is not from New. It keeps the reader's memory.
func (r *Reader) Init(keys Keys, maxDepth int) {
	r.keys = keys
	r.json.Init(maxDepth)
	r.Reset()
}

// Reset makes the reader ready for another object.
func (r *Reader) Reset() {
	r.json.Reset()
	r.Name, r.ID, r.Args = "", "", r.Args[:0]
	r.seen.Clear()
	r.progress = progress{depth: 1}
}

// ResetArgs makes the reader ready for an object that is the arguments of the
// function called name, which was written in front of it.
func (r *Reader) ResetArgs(name string) {
	r.Reset()
	r.Name, r.field, r.depth, r.hasArgs = name, arguments, 0, true
}

// ResetKeyed makes the reader ready for an object whose only member has the
// function's name as its key and the arguments as its value:
// {"get_weather": {"city": "Oslo"}}.
func (r *Reader) ResetKeyed() {
	r.Reset()
	r.keyed = true
}

// HasArgs reports whether a member that holds the arguments has begun.
func (r *Reader) HasArgs() bool { return r.hasArgs }

// LacksBrace reports whether name and arguments are complete, so that nothing has to come but
// the brace that ends the object.
func (r *Reader) LacksBrace() bool {
	return r.field == none && r.hasArgs && r.Name != "" && r.depth == 1 && r.json.Depth() == 1 && r.json.Between()
}

// Feed reads from src until something may have changed, and says how many bytes
// it read. The caller looks at Name, ID and Args after every call.
func (r *Reader) Feed(src []byte) (int, Status) {
	if r.field == argsObject && !r.keys.Once { // whose inside does not matter
		n, tok := r.json.FeedTo(src, r.depth)
		return n, r.token(tok)
	}
	n, tok := r.json.Feed(src)
	return n, r.token(tok)
}

// Skip reads on in a value that is no call, also one of which Feed has said so, up to its end. Bad
// means that it is no JSON either.
func (r *Reader) Skip(src []byte) (int, Status) {
	for at := 0; ; {
		n, tok := r.json.Feed(src[at:])
		at, r.json.Out = at+n, r.json.Out[:0]
		switch tok {
		case relaxed.Bad:
			return at, Bad
		case relaxed.More:
			return at, More
		case relaxed.Done:
			return at, Done
		}
	}
}

// Repair notes that text around the object was not strict JSON.
func (r *Reader) Repair() { r.repaired = true }

// Report writes what had to be repaired in the call.
func (r *Reader) Report(out *sdk.Out) { report(out, r.repaired || r.json.Repaired() != 0, r.decoded) }

func report(out *sdk.Out, repaired, decoded bool) {
	if repaired {
		out.Repair("args_json")
	}
	if decoded {
		out.Repair("args_string")
	}
}

// Call is a call that was read as a whole.
type Call struct {
	Name, ID string
	Args     []byte // the object, in strict JSON
	Repaired bool   // it was not strict JSON
	Decoded  bool   // it was in a string
	Form     string // how it was written, where that is no format's; it is reported
}

// Decode reads arguments that were written as a string. One without any text is no arguments.
// It reports false if the text is no object.
func (c *Call) Decode(text []byte, maxDepth int) bool {
	if text = chars.TrimSpace(text); len(text) == 0 {
		c.Args = []byte("{}")
		return true
	}
	strict, kind, ok := relaxed.Value(text, maxDepth)
	if !ok || kind != relaxed.ObjectOpen {
		return false
	}
	c.Args, c.Decoded, c.Repaired = strict, true, c.Repaired || !bytes.Equal(strict, text)
	return true
}

// Write writes the call.
func (c *Call) Write(out *sdk.Out) {
	out.CallStart(c.Name, c.ID)
	out.Args(c.Args)
	report(out, c.Repaired, c.Decoded)
	if c.Form != "" {
		out.Repair(c.Form)
	}
	out.CallEnd()
}

// Certain reports whether the call can begin: its name is known, and that it has arguments.
func (r *Reader) Certain() bool { return r.Name != "" && len(r.Args) > 0 }

// Shown reports whether Show was called for the object.
func (r *Reader) Shown() bool { return r.shown }

// Show writes the beginning of the call, once.
func (r *Reader) Show(out *sdk.Out) {
	if !r.shown {
		out.CallStart(r.Name, r.ID)
		r.shown = true
	}
}

// Pass passes on what is certain of the arguments, if the call was shown.
func (r *Reader) Pass(out *sdk.Out) {
	if r.shown {
		out.Args(r.Args)
		r.Args = r.Args[:0]
	}
}

// End writes the end of a call that is complete and sure, with all that was not written
// of it, and what had to be repaired in it.
func (r *Reader) End(out *sdk.Out) {
	r.Show(out)
	r.Pass(out)
	out.Args([]byte{'}'})
	r.Report(out)
	out.CallEnd()
}

func (r *Reader) token(tok relaxed.Token) Status {
	if tok == relaxed.Bad && r.field != argsObject {
		return Bad
	}
	switch r.field {
	case none:
		return r.between(tok)
	case argsObject:
		return r.inArgs(tok)
	case name, id, arguments:
		if tok == relaxed.More {
			return More // the value stays in the reader's output until it is complete
		}
		return r.value(tok)
	case function:
		if tok == relaxed.ObjectOpen && r.json.Depth() == 2 {
			r.depth, r.field = 2, none
			return More
		}
		return r.skip(tok)
	default:
		return r.skip(tok)
	}
}

// skip reads a token of a value that does not matter.
func (r *Reader) skip(tok relaxed.Token) Status {
	r.json.Out = r.json.Out[:0]
	switch {
	case r.ended(tok):
		r.field = none
	case tok != relaxed.More:
		r.field = skipped
	}
	return More
}

// ended reports whether tok completes a member's value.
func (r *Reader) ended(tok relaxed.Token) bool {
	switch tok {
	case relaxed.More, relaxed.Key, relaxed.ObjectOpen, relaxed.ArrayOpen:
		return false
	default:
		return r.json.Depth() == r.depth
	}
}

// between reads a token that is not part of a member's value.
func (r *Reader) between(tok relaxed.Token) Status {
	switch {
	case tok == relaxed.Key:
		return r.member(string(r.json.Key()))
	case tok == relaxed.ObjectClose && r.json.Depth() == 1:
		r.depth = 1 // the end of "function"
	case tok == relaxed.ObjectClose:
		return r.complete()
	}
	return More
}

// member begins the value of the member called key.
func (r *Reader) member(key string) Status {
	r.json.Out = r.json.Out[:0]
	switch {
	case r.keyed:
		if r.Name != "" || !fits([]byte(key)) || !chars.HasWord([]byte(key)) {
			return Bad
		}
		r.Name, r.field, r.hasArgs = key, arguments, true
	case slices.Contains(r.keys.Name, key):
		if r.field = name; r.Name != "" {
			return Bad
		}
	case slices.Contains(r.keys.Args, key):
		if r.field = arguments; r.hasArgs {
			return Bad
		}
		r.hasArgs = true
	case slices.Contains(r.keys.ID, key):
		r.field = id
	case key == "function" && r.depth == 1:
		r.field = function
	default:
		r.field = skipped
		if r.keys.Only && key != "type" && key != "index" {
			return Bad
		}
	}
	return More
}

// value reads the first token of the value of name, id or arguments.
func (r *Reader) value(tok relaxed.Token) Status {
	field := r.field
	r.field = none
	text := chars.SkipSpace(r.json.Out)
	switch {
	case field == arguments:
		return r.args(tok, text)
	case tok != relaxed.String && field == id:
		return r.skip(tok)
	case tok != relaxed.String:
		return Bad
	}
	decoded, _ := relaxed.Unquote(text)
	switch {
	case fits(decoded) && field == name && chars.HasWord(decoded):
		r.Name = string(decoded)
	case fits(decoded) && field == id:
		r.ID = string(decoded)
	case field == name:
		return Bad
	}
	return More
}

// fits reports whether text can be a name or an id: not blank, not longer than
// MaxName, and without control characters.
func fits(text []byte) bool {
	for _, c := range text {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(bytes.Trim(text, " ")) > 0 && len(text) <= MaxName
}

// args reads the first token of the arguments; text is what it is in strict JSON.
func (r *Reader) args(tok relaxed.Token, text []byte) Status {
	switch tok {
	case relaxed.ObjectOpen:
		r.json.Out = r.json.Out[:0] // white space; the brace comes with what follows it
		r.field = argsObject
		return More
	case relaxed.Null:
		r.Args = append(r.Args, '{')
		return More
	case relaxed.String:
		return r.argsString(text)
	default:
		return Bad
	}
}

// argsString decodes arguments that were written as a string, once.
func (r *Reader) argsString(text []byte) Status {
	decoded, _ := relaxed.Unquote(text)
	var c Call
	if !c.Decode(decoded, r.json.MaxDepth()) {
		return Bad
	}
	r.decoded, r.repaired = c.Decoded, r.repaired || c.Repaired
	r.Args = append(r.Args, c.Args[:len(c.Args)-1]...)
	return More
}

// inArgs passes the object of arguments on as it becomes certain.
func (r *Reader) inArgs(tok relaxed.Token) Status {
	if tok == relaxed.Key && r.json.Depth() == r.depth+1 {
		if r.seen.Has(r.json.Key()) {
			return Bad
		}
		r.seen.Add(r.json.Key())
	}
	if len(r.Args) == 0 {
		r.Args, r.json.Out = r.json.Out, r.Args
	} else {
		r.Args = append(r.Args, r.json.Out...)
		r.json.Out = r.json.Out[:0]
	}
	switch {
	case tok == relaxed.Bad:
		return Bad
	case !r.ended(tok):
		return More
	}
	r.Args = r.Args[:len(r.Args)-1]
	r.field = none
	if r.depth == 0 {
		return Done
	}
	return More
}

// complete checks the object at its end.
func (r *Reader) complete() Status {
	if r.Name == "" {
		return Bad
	}
	if !r.hasArgs {
		r.Args = append(r.Args, '{')
	}
	return Done
}
