package repair

import (
	"bytes"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// Form is what an answer that is to be JSON has to be. It is not changed once it is made.
type Form struct {
	// Root are the types that the value may have; 0 is any.
	Root abi.Types
	// Tool has the members of an object, by which strings are given their types; nil gives none.
	Tool *abi.Tool
	// Fits reports whether a value, strict JSON, is one that was asked for. It tells the answer
	// from other JSON in the text, and may be nil.
	Fits func(value []byte) bool
}

// takes reports whether a value that begins with a byte may be the answer.
func (f *Form) takes(first byte) bool {
	return f.Root == 0 || f.Root&typeOf(first) != 0
}

// typeOf is the type of the value that begins with a byte.
func typeOf(first byte) abi.Types {
	switch {
	case first == '{':
		return abi.Object
	case first == '[':
		return abi.Array
	case first == '"' || first == '\'':
		return abi.String
	case first == '-' || chars.IsDigit(first):
		return abi.Number | abi.Integer
	case first == 'n' || first == 'N':
		return abi.Null
	}
	return abi.Boolean
}

// Answer reads an answer that is to be JSON as it comes, cut anywhere, and gives strict JSON out
// as soon as it is certain. Its zero value is not usable: Begin makes it ready, Feed takes the
// text, End says that there is no more.
//
// JSON goes through byte for byte, with the white space around it. Slips with one meaning are
// repaired as in arguments ([Args]). A code fence around the value, and prose in front of it or
// behind, is left out, as long as there is one value that can be meant: several that differ are
// a [Problem] unless one alone fits. A value in a JSON string is decoded, once, where no string
// was asked for. All else is a Problem, and what has not gone out yet goes out as it came. No
// bracket, quote, key or value is made up, and one that is cut is not closed.
//
// A value at the beginning of the text, in a fence or not, goes out as it comes. Where prose is
// in front of it all waits for the end. What goes out, joined, does not depend on how the text
// was cut.
type Answer struct {
	form     *Form
	maxDepth int
	raw      []byte // all that was fed
	at       int    // read up to here
	sent     int    // what is before it has gone out, or is left out
	text     []byte // what has gone out
	phase    answerPhase
	dropped  int         // what in front of the value is left out
	done     answerKinds // to what has gone out before a problem
	settled  bool
	pending  []byte // of the value, until it is settled that it is one
	object   object
	kinds    answerKinds
	problem  *Problem
	joined   []byte
}

// answerPhase is where in the answer the text has come.
type answerPhase uint8

const (
	answerStart  answerPhase = iota // only white space so far
	answerFence                     // in the line that opens a code fence
	answerValue                     // in the value
	answerTail                      // behind it, and nothing but white space so far
	answerBehind                    // something else is behind it
	answerWhole                     // all is looked at when it is there
	answerOpen                      // as it comes: nobody looks any more
)

// answerKinds is a set of repairs.
type answerKinds uint8

const (
	answerJSON answerKinds = 1 << iota
	answerTypes
	answerEncoding
	answerFenced
	answerProse
	answerRepeated
)

// The kinds of repairs to answers, as [Answer.Repairs] gives them.
const (
	AnswerJSON     = "answer_json"     // nearly JSON was made strict
	AnswerTypes    = "answer_types"    // a string was given the type that the schema wants
	AnswerEncoding = "answer_encoding" // a JSON string that held the value was decoded
	AnswerFence    = "answer_fence"    // a code fence around the value was left out
	AnswerProse    = "answer_prose"    // text around the value was left out
	AnswerRepeated = "answer_repeated" // the value was there more than once
)

var answerKindNames = [...]string{AnswerJSON, AnswerTypes, AnswerEncoding, AnswerFence, AnswerProse, AnswerRepeated}

// Begin makes a ready for an answer and keeps its memory. maxDepth is how deep the value may
// nest; less than 1 means [abi.DefaultMaxDepth].
func (a *Answer) Begin(form *Form, maxDepth int) {
	*a = Answer{form: form, maxDepth: depthOr(maxDepth), raw: a.raw[:0], text: a.text[:0], pending: a.pending[:0], object: a.object, joined: a.joined[:0]}
	if max(cap(a.raw), cap(a.text), cap(a.pending), cap(a.object.out)) > keptMemory {
		a.raw, a.text, a.pending, a.object, a.joined = nil, nil, nil, object{}, nil
	}
}

// Feed takes the next text and returns what can go out, which is valid until the next call of
// any method.
func (a *Answer) Feed(text []byte) (out []byte) {
	a.raw = append(a.raw, text...)
	return a.give(a.advance())
}

// give notes what goes out.
func (a *Answer) give(out []byte) []byte {
	a.text = append(a.text, out...)
	return out
}

// advance reads what is new.
func (a *Answer) advance() []byte {
	for {
		before := a.phase
		var out []byte
		switch a.phase {
		case answerStart:
			a.start()
		case answerFence:
			a.fence()
		case answerValue:
			out = a.value()
		case answerTail:
			out = a.tail()
		case answerOpen:
			out = a.rest()
		case answerBehind, answerWhole:
		}
		if a.phase == before || out != nil {
			return out
		}
	}
}

// rest is all that has not gone out, as it came.
func (a *Answer) rest() []byte {
	from := a.sent
	a.sent, a.at = len(a.raw), len(a.raw)
	return a.raw[from:]
}

// bom is what some editors begin a text with.
const bom = "\ufeff"

// start looks for the first byte of the answer.
func (a *Answer) start() {
	for a.at < len(a.raw) {
		c := a.raw[a.at]
		switch {
		case chars.IsSpace(c):
			a.at++
			continue
		case c == bom[0]:
			if rest := a.raw[a.at:]; len(rest) < len(bom) && string(rest) == bom[:len(rest)] {
				return
			} else if a.dropped == 0 && bytes.HasPrefix(rest, []byte(bom)) {
				a.at += len(bom)
				a.dropped = a.at
				a.kinds |= answerJSON
				continue
			}
			a.phase = answerWhole
		case (c == '{' || c == '[') && a.form.takes(c):
			a.open()
		case c == '`':
			a.phase = answerFence
		default:
			a.phase = answerWhole
		}
		return
	}
}

// maxInfo is how long the line may be that opens a code fence.
const maxInfo = 24

// fence reads the line that opens a code fence, up to the value.
func (a *Answer) fence() {
	line := a.raw[a.at:]
	info := bytes.TrimLeft(line, "`")
	switch marks := len(line) - len(info); {
	case len(info) == 0 && marks <= maxInfo:
		return
	case marks < len(fenceMark):
		a.phase = answerWhole
		return
	}
	n := bytes.IndexAny(info, "\n{[")
	switch {
	case n < 0 && len(info) <= maxInfo:
		return
	case n < 0 || !isDataFence(info[:n]):
		a.phase = answerWhole
		return
	}
	value := n + chars.Space(info[n:], 0)
	if value == len(info) {
		return
	}
	if c := info[value]; c != '{' && c != '[' || !a.form.takes(c) {
		a.phase = answerWhole
		return
	}
	a.at = len(a.raw) - len(info) + value
	a.dropped = a.at
	a.kinds |= answerFenced
	a.open()
}

const fenceMark = "```"

// isDataFence reports whether what stands behind the marks of a code fence says that JSON is in it,
// or says nothing.
func isDataFence(info []byte) bool {
	switch string(bytes.ToLower(chars.TrimSpace(info))) {
	case "", "json", "json5", "jsonc", "jsonl", "javascript", "js", "text", "plaintext", "txt":
		return true
	}
	return false
}

// open begins the value.
func (a *Answer) open() {
	from := 0 // the white space in front of it goes out with it
	if a.dropped > 0 {
		from = a.at
	}
	a.object.begin(a.form.toolFor(a.raw[a.at]), a.maxDepth, a.at, from)
	a.phase = answerValue
}

// toolFor has the members of a value that begins with a byte.
func (f *Form) toolFor(first byte) *abi.Tool {
	if first != '{' {
		return nil
	}
	return f.Tool
}

// value reads more of the value.
func (a *Answer) value() []byte {
	out := a.object.read(a.raw)
	w := a.object.walk()
	if !a.settled {
		a.pending = append(a.pending, out...)
		if a.settled = a.object.settled(); !a.settled {
			if w.fault != nil { // text that begins as JSON does
				a.whole()
			}
			return nil
		}
		out = a.pending
	}
	a.sent = a.object.given()
	switch {
	case w.fault != nil:
		a.fail(w.fault)
		return a.join(out, a.rest())
	case w.closed:
		a.at, a.phase = w.at, answerTail
		return a.join(out, a.tail())
	}
	return out
}

// settled reports whether what was read of the value is more than text in brackets: a key with its
// colon, or an element. It stays so, whatever follows.
func (o *object) settled() bool {
	f := &o.walk().frames
	keys := len(f.ends)
	if !o.repairing && o.strict.state == wantColon {
		keys--
	}
	return o.walk().closed || len(f.stack) > 0 && f.stack[0].done > 0 || keys > 0
}

// whole has all of the text looked at when it is there.
func (a *Answer) whole() {
	a.phase, a.sent, a.kinds, a.dropped = answerWhole, 0, 0, 0
}

// fail notes what makes the text no JSON.
func (a *Answer) fail(p *Problem) {
	a.problem, a.phase = forAnswer(p), answerOpen
}

// tail reads what follows the value.
func (a *Answer) tail() []byte {
	a.at += chars.Space(a.raw[a.at:], 0)
	if a.at < len(a.raw) {
		a.phase = answerBehind
	}
	if a.kinds&answerFenced != 0 {
		return nil
	}
	from := a.sent
	a.sent = a.at
	return a.raw[from:a.at]
}

// join puts two pieces of output together.
func (a *Answer) join(head, tail []byte) []byte {
	if len(tail) == 0 {
		return head
	}
	a.joined = append(append(a.joined[:0], head...), tail...)
	return a.joined
}

// End says that there is no more text. It returns the rest of the output and the problem, if
// there is one. Text that is nothing but white space is none: nobody has answered.
func (a *Answer) End() (out []byte, problem *Problem) {
	opened := a.kinds // with the value, which is out
	switch a.phase {
	case answerStart, answerFence, answerWhole:
		if chars.Blank(a.raw) {
			return a.give(a.rest()), nil
		}
		out = a.find()
	case answerValue:
		if a.object.end(a.raw); a.settled {
			a.fail(a.object.walk().fault)
			out = a.rest()
		} else {
			a.whole()
			out = a.find()
		}
	case answerBehind:
		out = a.behind()
	case answerTail: // in a fence that is not closed
		a.sent = len(a.raw)
	case answerOpen:
		out = a.rest()
	}
	if a.problem == nil {
		a.kinds |= answerKindsOf(a.object.repaired())
	} else {
		if len(a.text) > 0 {
			a.done = opened | answerKindsOf(a.object.repaired())
		}
		a.kinds = 0
	}
	return a.give(out), a.problem
}

// Release says that nothing more is to be looked at: what has not gone out goes out as it came,
// and so does all that follows.
func (a *Answer) Release() (out []byte) {
	if a.phase == answerValue && !a.settled {
		a.sent = 0
	}
	a.phase = answerOpen
	return a.give(a.rest())
}

// Again begins anew: what was fed so far was no part of the answer. What has gone out has.
func (a *Answer) Again() { a.Begin(a.form, a.maxDepth) }

// answerKindsOf are the repairs of an object as those of an answer.
func answerKindsOf(k kinds) (out answerKinds) {
	if k&repairedJSON != 0 {
		out |= answerJSON
	}
	if k&repairedTypes != 0 {
		out |= answerTypes
	}
	return out
}

// Holding reports whether text was fed that is neither out nor left out.
func (a *Answer) Holding() bool { return a.sent < len(a.raw) }

// Size is how many bytes were fed.
func (a *Answer) Size() int { return len(a.raw) }

// Text is what has gone out. It is valid until the next call.
func (a *Answer) Text() []byte { return a.text }

// Raw is all that was fed, as it came. It is valid until the next call.
func (a *Answer) Raw() []byte { return a.raw }

// Repairs returns the kinds of repairs, such as [AnswerFence], or nil. It counts behind End.
func (a *Answer) Repairs() []string { return a.kinds.names() }

// Begun returns the kinds of repairs to what had gone out before a problem was found, or nil. It
// counts behind End.
func (a *Answer) Begun() []string { return a.done.names() }

// names are those of the kinds.
func (k answerKinds) names() (names []string) {
	for i, name := range answerKindNames {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
