package repair

import (
	"strconv"

	"github.com/callgate/callgate/sdk/abi"
)

// object reads one object, or array, of JSON or nearly JSON from a text that grows.
// It lets strict JSON out as it is; from the first slip on it has the text repaired. In both it
// refuses what JSON parsers read differently: keys that come twice, text that is not UTF-8,
// halves of surrogate pairs, deep nesting.
//
// All places are offsets in the text from its very beginning.
type object struct {
	start     int // where the object begins
	sent      int // what is before it was given out by strict
	strict    strict
	repairing bool
	repairer  repairer
	typing    typing
	out       []byte
}

// begin makes o ready for an object that begins at start, where sent bytes were
// given out. tool and shape may be nil.
func (o *object) begin(tool *abi.Tool, shape *Shape, maxDepth, start, sent int) {
	o.start, o.sent, o.repairing, o.out = start, sent, false, o.out[:0]
	o.strict.begin(depthOr(maxDepth), start)
	o.typing.begin(tool, shape, o.strict.maxDepth)
}

// read reads what is new of text and returns what is certain of it, strict JSON. It
// is valid until the next call, and may be part of text.
func (o *object) read(text []byte) []byte {
	var out []byte
	if !o.repairing {
		from := o.sent
		o.strict.read(text)
		o.sent = o.strict.certain()
		out = o.typing.read(text[from:o.sent])
		o.typing.heldAt = o.sent - len(o.typing.typer.held)
		if !o.strict.slip || o.strict.fault != nil {
			return out
		}
		o.repairing = true
		o.repairer.begin(o.strict.maxDepth, o.start, o.sent, o.strict.inText())
	}
	o.out = o.repairer.read(append(o.out[:0], out...), text, &o.typing)
	return o.out
}

// walk is how far the object was read, by whoever reads it now.
func (o *object) walk() *walk {
	if o.repairing {
		return &o.repairer.walk
	}
	return &o.strict.walk
}

// given is the place up to which all that came has gone out.
func (o *object) given() int {
	switch {
	case o.typing.holding():
		return o.typing.heldAt
	case o.repairing:
		return o.repairer.sent
	}
	return o.sent
}

// end says that there is no more text, which is a fault if the object is open.
func (o *object) end(text []byte) {
	w := o.walk()
	if w.closed || w.fault != nil {
		return
	}
	what := "the text ends before the object is closed."
	if o.repairing && o.repairer.quote != 0 || o.strict.inText() {
		what = "the text ends inside a string."
	}
	w.refuse(len(text), what, hintCut)
}

// repaired are the repairs to what was given out.
func (o *object) repaired() (k kinds) {
	if o.repairing && !o.repairer.same {
		k |= repairedJSON
	}
	if o.typing.typer.Changed() {
		k |= repairedTypes
	}
	return k
}

// typing gives strings the types that a schema wants, where it wants another one of any.
type typing struct {
	on     bool
	typer  Typer
	heldAt int // where the string begins that the typer holds
}

func (t *typing) begin(tool *abi.Tool, shape *Shape, maxDepth int) {
	t.on = shape != nil
	for i := 0; tool != nil && i < len(tool.Params); i++ {
		t.on = t.on || excludesString(tool.Params[i].Types)
	}
	t.typer.Begin(tool, shape, maxDepth)
	t.typer.strict = true
}

// read returns what is certain of a piece of the object.
func (t *typing) read(piece []byte) []byte {
	if !t.on {
		return piece
	}
	return t.typer.Read(piece, nil)
}

func (t *typing) holding() bool { return t.on && t.typer.holding() }

// walk is how far an object was read.
type walk struct {
	frames   frames
	maxDepth int
	at       int // read up to here
	closed   bool
	fault    *Problem
}

// The hints of faults.
const (
	hintCut      = "Give the arguments again, complete."
	hintStrict   = "Give the arguments as one object of strict JSON, with keys and strings in double quotes."
	hintRepeated = "Give each key once."
	hintText     = "Write characters in UTF-8, or as complete \\u escapes."
	hintDeep     = "Nest the arguments less deep."
)

// refuse notes what makes the text no object that all parsers read alike.
func (w *walk) refuse(offset int, what, hint string) {
	path := w.frames.path()
	w.fault = invalid(atByte(offset, path), what, hint)
	w.fault.Path = path
}

// refuseUnit notes a piece of a string that is none.
func (w *walk) refuseUnit(kind unit) {
	if kind == unitUTF8 {
		w.refuse(w.at, "the text is not UTF-8.", hintText)
	} else {
		w.refuse(w.at, "half of a surrogate pair stands alone.", hintText)
	}
}

func (w *walk) refuseKey(place int) {
	w.refuse(place, "the key is there twice in one object.", hintRepeated)
}

func (w *walk) refuseDepth() {
	w.refuse(w.at, "the text nests deeper than "+strconv.Itoa(w.maxDepth)+" levels.", hintDeep)
}

// invalid is the problem of arguments that cannot be read at a place.
func invalid(where, what, hint string) *Problem {
	return &Problem{Class: InvalidJSON, Message: "The arguments are not valid JSON. " + where + ": " + what, Hint: hint}
}
