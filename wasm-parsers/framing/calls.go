package framing

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// jsonCalls reads the JSON of a message that calls: the arguments of the function
// that the header names, or an object with name and arguments, or a list of such.
type jsonCalls struct {
	call *callobject.Reader
	list bool // objects with names, not arguments

	name, id string // from the header
	open     bool   // inside an object
	shown    bool   // CallStart was written, CallEnd not
	done     int    // complete calls of the message
	array    bool   // inside a list
	closed   bool   // behind it
	comma    bool   // behind a comma
}

func (j *jsonCalls) begin(name, id string) {
	*j = jsonCalls{call: j.call, list: j.list, name: name, id: id}
}

// empty reports whether the message has held nothing.
func (j *jsonCalls) empty() bool { return !j.list && j.done == 0 && !j.shown }

// none writes a call of a message that is empty: it has no arguments.
func (j *jsonCalls) none(out *sdk.Out) {
	out.CallStart(j.name, j.id)
	out.Args([]byte("{}"))
	out.CallEnd()
	j.done++
}

// sure reports whether nothing of a call is open.
func (j *jsonCalls) sure() bool { return !j.open && (j.done > 0 || j.list && j.closed) }

// read reads some of b. Bad means that the next byte belongs to no call; n bytes were
// read before it.
func (j *jsonCalls) read(b []byte, out *sdk.Out) (n int, status callobject.Status) {
	if j.open {
		return j.readObject(b, out)
	}
	switch c := b[0]; {
	case markup.IsSpace(c):
		return 1, callobject.More
	case c == '{' && !j.closed && (j.list || j.done == 0) && (j.done == 0 || j.comma):
		j.call.Reset()
		if !j.list {
			j.call.ResetArgs(j.name)
			j.call.ID = j.id
		}
		j.open, j.comma = true, false
		return j.readObject(b, out)
	case c == '[' && j.list && !j.array && !j.closed && j.done == 0:
		j.array = true
		return 1, callobject.More
	case c == ',' && j.list && j.array && j.done > 0 && !j.comma:
		j.comma = true
		return 1, callobject.More
	case c == ']' && j.array:
		j.array, j.closed = false, true
		return 1, callobject.More
	}
	return 0, callobject.Bad
}

func (j *jsonCalls) readObject(b []byte, out *sdk.Out) (n int, status callobject.Status) {
	for n < len(b) {
		var used int
		used, status = j.call.Feed(b[n:])
		n += used
		if !j.shown && j.call.Name != "" && len(j.call.Args) > 0 {
			out.CallStart(j.call.Name, j.call.ID)
			j.shown = true
		}
		switch status {
		case callobject.Bad:
			j.flush(out)
			j.open = false
			return n, status
		case callobject.Done:
			j.flush(out)
			j.open = false
			out.Args([]byte("}"))
			j.call.Report(out)
			out.CallEnd()
			j.shown = false
			j.done++
			return n, callobject.More
		case callobject.More:
			if used == 0 {
				return n, callobject.Bad // what stands there is no object
			}
		}
	}
	return n, callobject.More
}

// flush passes on what is certain of the arguments.
func (j *jsonCalls) flush(out *sdk.Out) {
	if j.shown {
		out.Args(j.call.Args)
		j.call.Args = j.call.Args[:0]
	}
}

// end notes that a marker ends the message.
func (j *jsonCalls) end(*sdk.Out) {}
