package repair

import (
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// Form is what an answer that is to be JSON has to be. It is not changed once it is made.
type Form struct {
	// Root are the types that the value may have; 0 is any.
	Root abi.Types
	// Tool has the members of an object, by which strings are given their types; nil gives none.
	Tool *abi.Tool
	// Shape says the same of all that is in the value; nil says nothing.
	Shape *Shape
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
	sent     int    // what is before it has gone out, or is left out
	text     []byte // what has gone out
	phase    answerPhase
	front    front
	done     answerKinds // to what has gone out before a problem
	settled  bool
	pending  []byte // of the value, until it is settled that it is one
	object   object
	behind   int // read up to here, behind the value
	kinds    answerKinds
	problem  *Problem
	joint    joint
}

// answerPhase is where in the answer the text has come.
type answerPhase uint8

const (
	answerFront  answerPhase = iota // in front of the value
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
	AnswerObject   = "answer_object"   // the value itself stood in the place of its text
)

var answerKindNames = [...]string{AnswerJSON, AnswerTypes, AnswerEncoding, AnswerFence, AnswerProse, AnswerRepeated}

// Begin makes a ready for an answer and keeps its memory. maxDepth is how deep the value may
// nest; less than 1 means [abi.DefaultMaxDepth].
func (a *Answer) Begin(form *Form, maxDepth int) {
	*a = Answer{form: form, maxDepth: depthOr(maxDepth), raw: a.raw[:0], text: a.text[:0], pending: a.pending[:0], object: a.object, joint: a.joint}
	if max(cap(a.raw), cap(a.text), cap(a.pending), cap(a.object.out)) > keptMemory {
		a.raw, a.text, a.pending, a.object, a.joint = nil, nil, nil, object{}, joint{}
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
		case answerFront:
			a.lead()
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
	a.sent = len(a.raw)
	return a.raw[from:]
}

// lead reads what stands in front of the value, and begins that.
func (a *Answer) lead() {
	f := &a.front
	switch f.read(a.raw, a.form) {
	case frontOpen:
	case frontEnds:
		first := a.raw[f.at]
		a.object.begin(a.form.toolFor(first), a.form.shapeFor(first), a.maxDepth, f.at, f.kept())
		a.phase = answerValue
	case frontNone:
		a.phase = answerWhole
	}
	a.kinds = f.kinds
}

// toolFor has the members of a value that begins with a byte.
func (f *Form) toolFor(first byte) *abi.Tool {
	if first != '{' {
		return nil
	}
	return f.Tool
}

// shapeFor says what is in a value that begins with a byte.
func (f *Form) shapeFor(first byte) *Shape {
	if !f.Shape.inside(first) {
		return nil
	}
	return f.Shape
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
		return a.joint.of(out, a.rest())
	case w.closed:
		a.behind, a.phase = w.at, answerTail
		return a.joint.of(out, a.tail())
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
	a.phase, a.sent, a.kinds = answerWhole, 0, 0
}

// fail notes what makes the text no JSON.
func (a *Answer) fail(p *Problem) {
	a.problem, a.phase = forAnswer(p), answerOpen
}

// tail reads what follows the value.
func (a *Answer) tail() []byte {
	a.behind += chars.Space(a.raw[a.behind:], 0)
	if a.behind < len(a.raw) {
		a.phase = answerBehind
	}
	if a.kinds&answerFenced != 0 {
		return nil
	}
	from := a.sent
	a.sent = a.behind
	return a.raw[from:a.behind]
}

// End says that there is no more text. It returns the rest of the output and the problem, if
// there is one. Text that is nothing but white space is none: nobody has answered.
func (a *Answer) End() (out []byte, problem *Problem) {
	opened := a.kinds // with the value, which is out
	switch a.phase {
	case answerFront, answerWhole:
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
		s := search{a.form, a.maxDepth, a.raw}
		kinds, problem := s.behind(a.behind, a.text)
		out = a.ends(nil, kinds, problem)
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

// find looks for the answer in all of the text.
func (a *Answer) find() []byte {
	a.object.begin(nil, nil, a.maxDepth, 0, 0) // what it has read before does not count
	s := search{a.form, a.maxDepth, a.raw}
	out, kinds, problem := s.only()
	return a.ends(out, kinds, problem)
}

// ends gives out what is left of the answer, unless it is a problem.
func (a *Answer) ends(out []byte, k answerKinds, problem *Problem) []byte {
	if problem != nil {
		a.fail(problem)
		return a.rest()
	}
	a.kinds |= k
	a.sent = len(a.raw)
	return out
}

// Release says that nothing more is to be looked at: what has not gone out goes out as it came,
// and so does all that follows.
func (a *Answer) Release() (out []byte) {
	if a.phase == answerValue && !a.settled {
		a.sent = 0
	}
	if a.phase != answerOpen && len(a.text) > 0 {
		a.done = a.kinds | answerKindsOf(a.object.repaired())
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

// Begun returns the kinds of repairs to what had gone out before a problem was found, or nothing more
// was to be looked at, or nil. It counts behind End and Release.
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
