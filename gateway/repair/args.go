// Package repair puts one tool call right: its arguments, its name, and what its
// schema says of both. The gateway uses it for calls that an upstream gave itself,
// streamed or whole, and for those that were read from text.
//
// It follows three rules. Bytes that need no change are not changed. What is
// changed is said: every repair has a kind, and what cannot be repaired is a
// [Problem] that a person, a client and a model can read. And nothing is guessed:
// no quote, name, brace or value is made up, and no arguments but empty ones
// become {}.
//
// All of it takes time in proportion to its input and memory of a small multiple
// of it, whatever the input is.
package repair

import (
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// keptMemory is how much memory of a call an Args keeps for the next one.
const keptMemory = 64 << 10

// Args reads the arguments of one call as they come, cut anywhere, and gives strict
// JSON out as soon as it is certain. Its zero value is not usable: Begin makes it
// ready for a call, Feed takes the text, End says that there is no more.
//
// A valid object goes through byte for byte, with the white space in it and around
// it. Slips with one meaning are repaired, as sdk/relaxed does: trailing commas,
// single quotes, bare keys, Python's words, raw control characters. An object
// within a JSON string is decoded, once. No text, white space and null are {}.
// Strings are given the type that the tool's schema wants instead, as [Typer] does.
// All else is a Problem, and then everything that has not gone out yet goes out as
// it came: what to do about it is the caller's policy.
//
// What goes out, joined, does not depend on how the text was cut.
type Args struct {
	tool     *abi.Tool
	shape    *Shape
	maxDepth int
	raw      []byte // all that was fed
	at       int    // read up to here, by whoever reads in this phase
	sent     int    // what is before it has gone out
	phase    phase
	quote    byte // what ends the string that holds the arguments
	problem  *Problem
	kinds    kinds
	decoded  bool // the text was decoded from a string
	object   object
	next     *object // reads objects behind the first
	inner    *Args   // reads the text that a string holds
	joint    joint
}

// phase is where in the arguments the text has come.
type phase uint8

const (
	atStart  phase = iota // only white space so far
	inNull                // in what may be null
	inQuoted              // in a string that may hold the arguments
	inObject
	atEnd    // behind null or the string
	atClosed // behind the object
	inMore   // in a further object
)

// kinds is a set of repairs.
type kinds uint8

const (
	repairedJSON kinds = 1 << iota
	repairedTypes
	repairedEncoding
	repairedEmpty
	repairedSplit
	repairedRepeated
)

var kindNames = [...]string{ArgsJSON, ArgsTypes, ArgsEncoding, ArgsEmpty, ArgsSplit, ArgsRepeated}

// Begin makes a ready for the arguments of a call and keeps its memory. tool is nil
// if it is not known; then no string is given another type. shape is what its schema
// says of what is in them, or nil. maxDepth is how deep the arguments may nest; less
// than 1 means [abi.DefaultMaxDepth].
func (a *Args) Begin(tool *abi.Tool, shape *Shape, maxDepth int) {
	*a = Args{
		tool: tool, shape: shape, maxDepth: depthOr(maxDepth), raw: a.raw[:0],
		object: a.object, next: a.next, inner: a.inner, joint: a.joint,
	}
	if max(cap(a.raw), cap(a.joint.memory), cap(a.object.out)) > keptMemory {
		a.raw, a.joint, a.object, a.next, a.inner = nil, joint{}, object{}, nil, nil
	}
}

// Feed takes the next text and returns what can go out. That is valid until the next
// call of any method.
func (a *Args) Feed(text []byte) (out []byte) {
	a.raw = append(a.raw, text...)
	return a.advance()
}

// advance reads what is new.
func (a *Args) advance() []byte {
	for a.problem == nil && a.phase != inObject && a.at < len(a.raw) {
		if a.phase == inMore || !a.between() {
			return nil
		}
	}
	switch {
	case a.problem != nil:
		return a.rest()
	case a.phase == inObject:
		return a.readObject()
	}
	return nil
}

// rest is all that has not gone out, as it came.
func (a *Args) rest() []byte {
	from := a.sent
	a.sent = len(a.raw)
	return a.raw[from:]
}

// between reads some of what is not part of the object. It reports false if more
// text is needed.
func (a *Args) between() bool {
	c := a.raw[a.at]
	switch {
	case a.phase == inQuoted:
		return a.readQuoted(c)
	case a.phase == inNull:
		return a.readNull()
	case chars.IsSpace(c):
		a.at++
	case a.phase == atStart:
		a.begin(c)
	case a.phase == atClosed && c == '{':
		a.phase = inMore
	default:
		a.refuse(a.at, "text follows the arguments.", hintStrict)
	}
	return true
}

// begin looks at the first byte of the arguments.
func (a *Args) begin(c byte) {
	switch {
	case c == '{':
		a.object.begin(a.tool, a.shape, a.maxDepth, a.at, 0)
		a.phase = inObject
	case c == 'n' && !a.decoded:
		a.phase = inNull
	case (c == '"' || c == '\'') && !a.decoded:
		a.phase, a.quote = inQuoted, c
		a.at++
	case c == '[':
		a.refuse(a.at, "an array stands where the object must be.", hintStrict)
	default:
		a.refuse(a.at, "the object must begin here.", hintStrict)
	}
}

func (a *Args) readNull() bool {
	const null = "null"
	rest := a.raw[a.at:]
	n := min(len(rest), len(null))
	switch {
	case string(rest[:n]) != null[:n]:
		a.refuse(a.at, "the object must begin here.", hintStrict)
	case n < len(null):
		return false
	default:
		a.at += n
		a.phase = atEnd
	}
	return true
}

// readQuoted looks for the end of a string.
func (a *Args) readQuoted(c byte) bool {
	if c == a.quote {
		a.at++
		a.phase = atEnd
		return true
	}
	n, kind := nextUnit(a.raw[a.at:])
	switch kind {
	case unitCut:
		return false
	case unitUTF8:
		a.refuse(a.at, "the text is not UTF-8.", hintText)
	case unitHalf:
		a.refuse(a.at, "half of a surrogate pair stands alone.", hintText)
	case unitEscape:
		if wrong := a.at + n - 1; a.raw[wrong] != '\'' {
			a.refuse(wrong, describe(a.raw[wrong])+" cannot stand here.", hintStrict)
			break
		}
		a.at += n
	case unitOK, unitOther:
		a.at += n
	}
	return true
}

// readObject reads the first object and what is behind it.
func (a *Args) readObject() []byte {
	out := a.object.read(a.raw)
	a.sent = a.object.given()
	switch w := a.object.walk(); {
	case w.fault != nil:
		a.problem = w.fault
	case w.closed:
		a.at, a.phase = w.at, atClosed
		for a.problem == nil && a.phase == atClosed && a.at < len(a.raw) {
			a.between()
		}
	}
	if a.problem == nil {
		return out
	}
	return a.joint.of(out, a.rest())
}

func (a *Args) refuse(offset int, what, hint string) {
	a.problem = invalid(atByte(offset, ""), what, hint)
}

// End says that there is no more text. It returns the rest of the output; the
// objects behind the first, if the arguments hold several that differ, each repaired
// like the first; and the problem, if there is one. The caller decides whether
// further objects are calls of their own or a problem of class [InvalidJSON].
// All of it is valid until the next Begin.
func (a *Args) End() (out []byte, extra [][]byte, problem *Problem) {
	switch {
	case a.problem != nil:
	case a.phase == atStart && a.decoded:
		a.refuse(len(a.raw), "the string holds no object.", hintStrict)
	case a.phase == atStart, a.phase == atEnd && a.quote == 0:
		a.kinds |= repairedEmpty
		a.sent = len(a.raw)
		return []byte("{}"), nil, nil
	case a.phase == inNull, a.phase == inQuoted:
		a.refuse(len(a.raw), "the text ends before the arguments do.", hintCut)
	case a.phase == atEnd:
		if out, extra, problem = a.decode(); problem == nil {
			a.sent = len(a.raw)
			return out, extra, nil
		}
		a.problem = problem
	case a.phase == inObject:
		a.object.end(a.raw)
		a.problem = a.object.walk().fault
	case a.phase == inMore:
		if extra, a.problem = a.split(); a.problem == nil {
			a.sent = len(a.raw)
			return nil, extra, nil
		}
	case a.phase == atClosed:
	}
	if a.problem != nil {
		a.kinds = 0 // what was repaired does not go out
	}
	return a.rest(), nil, a.problem
}

// Holding reports whether bytes were fed that are neither out nor dropped: what goes
// out next decides about them.
func (a *Args) Holding() bool { return a.sent < len(a.raw) }

// Same reports whether all that went out equals, byte for byte, what came in, except
// for what is held.
func (a *Args) Same() bool { return a.repaired() == 0 }

// Complete reports whether the object is closed, so that a further name at the same
// index begins another call.
func (a *Args) Complete() bool {
	return a.problem == nil && (a.phase == atEnd || a.phase == atClosed)
}

// Raw returns all that was fed since Begin, as it came. It is valid until the next
// Feed or Begin.
func (a *Args) Raw() []byte { return a.raw }

// repaired are the repairs to what has gone out.
func (a *Args) repaired() kinds {
	k := a.kinds
	if a.phase < inObject || a.phase == atEnd {
		return k
	}
	return k | a.object.repaired()
}

// Repairs returns the kinds of repairs to what has gone out, such as [ArgsJSON], or
// nil.
func (a *Args) Repairs() []string {
	var names []string
	for i, name := range kindNames {
		if a.repaired()&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// Class returns the class of what is or was wrong with the arguments, repaired or not,
// such as [InvalidJSON], or "".
func (a *Args) Class() string {
	switch k := a.repaired(); {
	case a.problem != nil:
		return a.problem.Class
	case k == 0:
		return ""
	case k&repairedEmpty != 0:
		return EmptyArgs
	case k == repairedTypes:
		return SchemaMismatch
	}
	return InvalidJSON
}
