package framing

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// jsonCalls reads the JSON of a message that calls: the arguments of the function
// that the header names, or an object with name and arguments, or a list of such.
type jsonCalls struct {
	call callobject.Reader
	list bool   // objects with names, not arguments
	raw  []byte // the value at hand, as long as nothing of it was shown
	row
}

// row is what was read of the calls of a message.
type row struct {
	name, id string // from the header
	open     bool   // inside a value
	shown    bool   // CallStart was written, CallEnd not
	waits    bool   // arguments that are no object were read: a call if nothing follows
	whole    bool   // the object that was bad is complete
	done     int    // complete calls and objects of the message
	array    bool   // inside a list
	closed   bool   // behind it
	comma    bool   // behind a comma
	braces   int    // closing ones behind the last object that close nothing
}

func (j *jsonCalls) begin(name, id string) {
	j.raw, j.row = j.raw[:0], row{name: name, id: id}
}

// sure reports whether nothing of a call is open.
func (j *jsonCalls) sure() bool { return !j.open && (j.done > 0 || j.list && j.closed) }

// settle ends a call that was waiting for the end of its message.
func (j *jsonCalls) settle(out *sdk.Out) {
	if j.waits {
		j.waits = false
		j.show(out, j.name)
		j.finish(out)
	}
}

// read reads some of b. Bad means that the next byte belongs to no call; n bytes were
// read before it.
func (j *jsonCalls) read(b []byte, out *sdk.Out) (n int, status callobject.Status) {
	c := b[0]
	switch {
	case j.open:
		return j.readValue(b, out)
	case chars.IsSpace(c):
		if j.waits {
			j.raw = append(j.raw, c) // what waits is text if more follows
		}
		return 1, callobject.More
	case c == '}' && j.dropsBrace():
		out.Repair("args_json") // the call has ended
		return 1, callobject.More
	case j.waits || j.closed:
		return 0, callobject.Bad
	case j.begins(c):
		j.beginNext(out)
		return j.readValue(b, out)
	case j.list && j.readList(c):
		return 1, callobject.More
	}
	return 0, callobject.Bad
}

// maxBraces is how many closing braces behind a complete object are dropped.
const maxBraces = 2

// dropsBrace reports whether a closing brace is one too many behind an object.
func (j *jsonCalls) dropsBrace() bool {
	if j.done == 0 || j.comma || j.braces == maxBraces || j.waits {
		return false
	}
	j.braces++
	return true
}

// beginNext begins a value. In a list its comma may be missing.
func (j *jsonCalls) beginNext(out *sdk.Out) {
	if j.array && j.done > 0 && !j.comma {
		out.Repair("args_json")
	}
	j.beginValue()
}

// otherName reports whether the object at hand names another tool than the header.
func (j *jsonCalls) otherName() bool {
	return j.list && !j.array && j.name != "" && j.call.Name != "" && j.call.Name != j.name
}

// lacksBrace reports whether b begins with something that is not of the object at hand, which
// lacks nothing but its brace.
func (j *jsonCalls) lacksBrace(b []byte) bool {
	if !j.list || !j.open || !j.call.LacksBrace() {
		return false
	}
	b = chars.SkipSpace(b)
	return len(b) > 0 && (b[0] == '<' || b[0] == ']' && j.array)
}

// closeObject ends such an object.
func (j *jsonCalls) closeObject(out *sdk.Out) {
	j.call.Repair()
	if !j.shown {
		j.show(out, j.call.Name)
	}
	j.finish(out)
}

// begins tells whether a value may begin here with c: an object, or what stands for
// arguments that are none: null, an empty string, or a string that holds the object.
func (j *jsonCalls) begins(c byte) bool {
	if j.list {
		return c == '{'
	}
	return j.done == 0 && (c == '{' || c == '"' || c|0x20 == 'n')
}

// readList reads a byte of the list around the objects, or reports that it is none.
func (j *jsonCalls) readList(c byte) bool {
	switch {
	case c == '[' && !j.array && j.done == 0:
		j.array = true
	case c == ',' && j.done > 0 && !j.comma:
		j.comma = true
	case c == ']' && j.array:
		j.array, j.closed = false, true
	default:
		return false
	}
	return true
}

func (j *jsonCalls) beginValue() {
	j.call.Reset()
	if !j.list {
		j.call.ResetArgs(j.name)
		j.call.ID = j.id
	}
	j.open, j.comma, j.braces, j.raw = true, false, 0, j.raw[:0]
}

func (j *jsonCalls) readValue(b []byte, out *sdk.Out) (n int, status callobject.Status) {
	for n < len(b) {
		var used int
		used, status = j.call.Feed(b[n:])
		if !j.shown {
			j.raw = append(j.raw, b[n:n+used]...)
		}
		n += used
		if j.otherName() {
			return n, j.bad(false, out) // header and object name different tools
		}
		if j.lacksBrace(b[n:]) {
			return n, callobject.More
		}
		if !j.shown && j.call.Certain() && j.raw[0] == '{' {
			j.show(out, j.call.Name)
		}
		switch {
		case status == callobject.Done:
			j.finish(out)
			return n, callobject.More
		case status == callobject.Bad:
			return n, j.bad(used > 0 && b[n-1] == '}', out)
		case j.raw[0] != '{' && len(j.call.Args) > 0:
			j.open, j.waits = false, true
			return n, callobject.More
		}
	}
	return n, callobject.More
}

// bad ends a value that is no call. An object that lacks only the name is one if the
// header has it.
func (j *jsonCalls) bad(whole bool, out *sdk.Out) callobject.Status {
	j.flush(out)
	j.open, j.whole = false, whole && j.list && !j.shown
	if !j.whole {
		return callobject.Bad
	}
	if j.name != "" && j.call.HasArgs() {
		j.show(out, j.name)
		j.finish(out)
		return callobject.More
	}
	j.done++
	return callobject.Bad
}

func (j *jsonCalls) show(out *sdk.Out, name string) {
	out.CallStart(name, j.call.ID)
	j.shown, j.raw = true, j.raw[:1]
}

func (j *jsonCalls) finish(out *sdk.Out) {
	j.flush(out)
	out.Args([]byte("}"))
	j.call.Report(out)
	out.CallEnd()
	j.open, j.shown, j.raw = false, false, j.raw[:0]
	j.done++
}

// flush passes on what is certain of the arguments.
func (j *jsonCalls) flush(out *sdk.Out) {
	if j.shown {
		out.Args(j.call.Args)
		j.call.Args = j.call.Args[:0]
	}
}
