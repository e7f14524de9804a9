package repair

import (
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/relaxed"
)

// object reads one object, or array, of JSON or nearly JSON from a text that grows.
// It checks strict JSON itself and lets it out as it is; from the first slip on it
// has a relaxed.Reader mend the text. In both it refuses what JSON parsers read
// differently: keys that come twice, text that is not UTF-8, halves of surrogate
// pairs, deep nesting.
//
// All places are offsets in the text from its very beginning.
type object struct {
	maxDepth int
	start    int // where the object begins
	at       int // read up to here
	sent     int // what is before it is certain and was given out
	fault    *Problem
	closed   bool
	same     bool // all that was given out is what came in

	frames frames
	state  state
	slip   bool // what is at at is no strict JSON
	comma  int  // place of a comma that may be trailing, or -1
	token  int  // where the key or the number begins that is being read

	mending bool
	reader  *relaxed.Reader
	quote   byte // what ends the string that is being mended, 0 outside of one
	skip    int  // bytes of the reader's output that strict has given out

	typing bool
	typer  Typer
	heldAt int // where the string begins that the typer holds
	out    []byte
}

// begin makes o ready for an object that begins at start, where sent bytes were
// given out. tool may be nil.
func (o *object) begin(tool *abi.Tool, maxDepth, start, sent int) {
	*o = object{
		maxDepth: depthOr(maxDepth), start: start, at: start, sent: sent, same: true, comma: -1,
		frames: o.frames, reader: o.reader, typer: o.typer, out: o.out[:0],
	}
	o.frames.reset()
	o.state = wantValue
	if o.typing = excludesStrings(tool); o.typing {
		o.typer.Begin(tool, o.maxDepth)
		o.typer.strict = true
	}
}

func excludesStrings(tool *abi.Tool) bool {
	if tool == nil {
		return false
	}
	for i := range tool.Params {
		if excludesString(tool.Params[i].Types) {
			return true
		}
	}
	return false
}

// read reads what is new of text and returns what is certain of it, strict JSON. It
// is valid until the next call, and may be part of text.
func (o *object) read(text []byte) []byte {
	var out []byte
	if !o.mending {
		from := o.sent
		o.strict(text)
		out = text[from:o.sent]
		if o.typing {
			out = o.typer.Read(out, nil)
			o.heldAt = o.sent - len(o.typer.held)
		}
		if !o.slip || o.fault != nil {
			return out
		}
	}
	o.out = append(o.out[:0], out...)
	o.mend(text)
	return o.out
}

// given is the place up to which all that came has gone out.
func (o *object) given() int {
	if o.typing && o.typer.holding() {
		return o.heldAt
	}
	return o.sent
}

// end says that there is no more text, which is a fault if the object is open.
func (o *object) end(text []byte) {
	if o.closed || o.fault != nil {
		return
	}
	what := "the text ends before the object is closed."
	if o.quote != 0 || o.state == inString || o.state == inKey {
		what = "the text ends inside a string."
	}
	o.refuse(len(text), what, hintCut)
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
func (o *object) refuse(offset int, what, hint string) {
	path := o.frames.path()
	o.fault = &Problem{
		Class: InvalidJSON, Path: path,
		Message: "The arguments are not valid JSON. " + atByte(offset, path) + ": " + what, Hint: hint,
	}
}

// refuseUnit notes a piece of a string that is none.
func (o *object) refuseUnit(kind unit) {
	if kind == unitUTF8 {
		o.refuse(o.at, "the text is not UTF-8.", hintText)
	} else {
		o.refuse(o.at, "half of a surrogate pair stands alone.", hintText)
	}
}

func (o *object) refuseKey(place int) {
	o.refuse(place, "the key is there twice in one object.", hintRepeated)
}
