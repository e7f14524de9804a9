package repair

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// found is a value in a text.
type found struct {
	start, end int
	first      byte
	text       []byte // strict JSON
	kinds      answerKinds
}

// search looks for the value that is the answer in a text that is all there.
type search struct {
	form     *Form
	maxDepth int
	text     []byte
}

// only is the one value that can be meant, as strict JSON, and what was left out and repaired.
func (s *search) only() (out []byte, k answerKinds, problem *Problem) {
	text := bytes.TrimPrefix(chars.SkipSpace(s.text), []byte(bom))
	if out, k, problem = s.scalar(chars.TrimSpace(text)); out != nil || problem != nil {
		return out, k, problem
	}
	list, broken := s.scan(0)
	if broken != nil {
		return nil, 0, broken
	}
	taken := s.distinct(list)
	if len(taken) > 1 && s.form.Fits != nil {
		taken = slices.DeleteFunc(taken, func(f found) bool { return !s.form.Fits(f.text) })
		if len(taken) != 1 {
			taken = s.distinct(list)
		}
	}
	switch {
	case len(taken) == 1:
	case len(taken) > 1:
		return nil, 0, severalValues(len(taken))
	case len(list) > 0:
		return nil, 0, wrongRoot(s.form.Root, list[0].first)
	default:
		return nil, 0, &Problem{Class: InvalidJSON, Message: "The arguments hold no JSON.", Hint: hintStrict}
	}
	f := taken[0]
	k = f.kinds | around(s.text[:f.start], s.text[f.end:])
	if len(list) > 1 {
		k |= repeats(list, f)
	}
	return f.text, k, nil
}

// repeats says what the other values were: the same once more, or others that cannot be meant.
func repeats(list []found, f found) (k answerKinds) {
	key := compact(f.text)
	for i := range list {
		if list[i].start == f.start {
			continue
		}
		if compact(list[i].text) == key {
			k |= answerRepeated
		} else {
			k |= answerProse
		}
	}
	return k
}

// distinct are the values of a type that the answer may have, each once.
func (s *search) distinct(list []found) []found {
	var out []found
	seen := map[string]bool{}
	for _, f := range list {
		if !s.form.takes(f.first) {
			continue
		}
		key := f.text
		if len(list) > 1 {
			key = []byte(compact(f.text))
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			out = append(out, f)
		}
	}
	return out
}

// scalar reads a text that is a value without brackets: the answer, or a string that holds it. out is
// nil, without a problem, if the text is none.
func (s *search) scalar(text []byte) (out []byte, k answerKinds, problem *Problem) {
	if len(text) == 0 || text[0] == '{' || text[0] == '[' {
		return nil, 0, nil
	}
	strict, kind, ok := relaxed.Value(text, s.maxDepth)
	if !ok || kind == relaxed.ObjectOpen || kind == relaxed.ArrayOpen {
		return nil, 0, nil
	}
	if kind == relaxed.String {
		if p := checkUnits(strict); p != nil {
			return nil, 0, p
		}
	}
	if !s.form.takes(strict[0]) {
		if decoded, ok := relaxed.Unquote(strict); ok && kind == relaxed.String {
			if out, k = s.decode(decoded); out != nil {
				return out, k, nil
			}
		}
		return nil, 0, wrongRoot(s.form.Root, strict[0])
	}
	if bytes.Equal(strict, text) && bytes.Equal(text, chars.TrimSpace(s.text)) {
		return s.text, 0, nil
	}
	return strict, answerJSON, nil
}

// checkUnits reads a string of strict JSON, and says if it is none that all parsers read alike.
func checkUnits(quoted []byte) *Problem {
	w := walk{maxDepth: 1}
	for text := quoted[1 : len(quoted)-1]; len(text) > 0; {
		n, kind := nextUnit(text)
		switch kind {
		case unitUTF8, unitHalf, unitCut: // the first half of a pair, or of a character, at the end
			if kind == unitCut && text[0] != '\\' {
				kind = unitUTF8
			}
			w.at = len(quoted) - 1 - len(text)
			w.refuseUnit(kind)
			return w.fault
		case unitOK, unitEscape, unitOther:
		}
		text = text[n:]
	}
	return nil
}

// decode reads the text that a string holds as the answer; nil if it is none.
func (s *search) decode(text []byte) ([]byte, answerKinds) {
	if c := chars.SkipSpace(text); len(c) == 0 || c[0] != '{' && c[0] != '[' {
		return nil, 0
	}
	var inner Answer
	inner.Begin(s.form, s.maxDepth)
	inner.Feed(text)
	if _, problem := inner.End(); problem != nil {
		return nil, 0
	}
	return inner.Text(), inner.kinds | answerEncoding
}

// behind decides about what follows the value, from a place on: what was repaired, if the value is
// the only one that can be meant.
func (s *search) behind(from int, value []byte) (k answerKinds, problem *Problem) {
	list, broken := s.scan(from)
	if broken != nil {
		return 0, broken
	}
	key, several := compact(value), 0
	for _, f := range list {
		switch {
		case !s.form.takes(f.first):
			k |= answerProse
		case compact(f.text) == key:
			k |= answerRepeated
		case s.form.Fits != nil && !s.form.Fits(f.text):
			k |= answerProse
		default:
			several++
		}
	}
	if several > 0 {
		return 0, severalValues(several + 1)
	}
	return k | around(nil, outside(s.text, from, list)), nil
}

// outside is the text from a place on without the values in it.
func outside(text []byte, from int, list []found) []byte {
	var out []byte
	for _, f := range list {
		out = append(out, text[from:f.start]...)
		from = f.end
	}
	return append(out, text[from:]...)
}

// around says what stands around a value: the marks of a code fence, or other text.
func around(before, behind []byte) (k answerKinds) {
	for _, text := range [...][]byte{before, behind} {
		if bytes.IndexByte(text, '`') >= 0 {
			k |= answerFenced
		}
		for line := range bytes.Lines(text) {
			line = chars.TrimSpace(line)
			if info := bytes.Trim(line, "`"); len(info) == len(line) && len(line) > 0 || len(info) != len(line) && !isDataFence(info) {
				k |= answerProse
			}
		}
	}
	return k
}

// The marks of reasoning that nobody has split off.
const (
	thinkMark    = "<think>"
	thinkEndMark = "</think>"
)

// scan finds the values in the text from a place on that stand in no other. broken is the problem
// of one that is begun and is none: what is meant by the rest of the text nobody knows then.
func (s *search) scan(from int) (list []found, broken *Problem) {
	text := s.text
	end, value := bytes.Index(text[from:], []byte(thinkEndMark)), bytes.IndexAny(text[from:], "{[")
	switch thinks := bytes.HasPrefix(chars.SkipSpace(text[from:]), []byte(thinkMark)); {
	case thinks && end < 0:
		return nil, nil // it never came to an answer
	case thinks, end >= 0 && end < value:
		from += end + len(thinkEndMark)
	}
	left := 16*len(text) + 1<<16 // steps: a text may begin many values that are none
	var o object
	for i := from; i < len(text); i++ {
		c := text[i]
		if c == '`' {
			i = skipFence(text, i) - 1
			continue
		}
		if c != '{' && c != '[' {
			continue
		}
		o.begin(s.form.toolFor(c), s.form.shapeFor(c), s.maxDepth, i, i)
		out := slices.Clone(o.read(text))
		o.end(text)
		w := o.walk()
		if left -= w.at - i; left < 0 || len(list) == mostObjects {
			return nil, &Problem{Class: InvalidJSON, Message: "The arguments begin more JSON than can be looked at.", Hint: hintStrict}
		}
		switch end := brackets(text[i:]); {
		case w.closed:
			if standsAlone(text[:i], c) { // what is in a part of a program is none either
				list = append(list, found{start: i, end: w.at, first: c, text: out, kinds: answerKindsOf(o.repaired())})
			}
			i = w.at - 1
		case o.settled() || end < 0:
			return nil, w.fault
		default:
			i += end
		}
	}
	return list, nil
}

// brackets is where the brackets end that a text begins with, if they are around plain words, as in
// {name} or [Note]; -1 if they are not: what is in them may be a part of something broken.
func brackets(text []byte) int {
	closes := byte('}')
	if text[0] == '[' {
		closes = ']'
	}
	end := bytes.IndexByte(text, closes)
	if end < 0 || bytes.ContainsAny(text[1:end], "{[\":") {
		return -1
	}
	return end
}

// skipFence is where to go on behind the marks of a code fence: behind its end, if it holds
// something else than data.
func skipFence(text []byte, i int) int {
	marks := i
	for marks < len(text) && text[marks] == '`' {
		marks++
	}
	if marks-i < len(fenceMark) {
		return marks
	}
	line := text[marks:]
	if n := bytes.IndexAny(line, "\n{["); n >= 0 {
		line = line[:n]
	}
	if isDataFence(line) || len(line) > maxInfo {
		return marks + len(line)
	}
	if end := bytes.Index(text[marks:], text[i:marks]); end >= 0 {
		return marks + end + marks - i
	}
	return len(text)
}

// standsAlone reports whether a value that follows a text is one of its own, and not a part of a
// program, as in f({"a": 1}), x = [1] or list[0].
func standsAlone(before []byte, c byte) bool {
	if n := len(before); c == '[' && n > 0 && (chars.IsLetter(before[n-1]) || chars.IsDigit(before[n-1])) {
		return false
	}
	before = bytes.TrimRight(before, " \t")
	return len(before) == 0 || strings.IndexByte("=($&", before[len(before)-1]) < 0
}

func severalValues(n int) *Problem {
	return &Problem{Class: InvalidJSON, Message: "The arguments are " + strconv.Itoa(n) + " different JSON values.", Hint: hintStrict}
}

// wrongRoot is the problem of a value that is of another type than was asked for.
func wrongRoot(want abi.Types, first byte) *Problem {
	var names []string
	for i, name := range [...]string{"string", "integer", "number", "boolean", "object", "array", "null"} {
		if want&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return &Problem{Class: SchemaMismatch, Hint: hintSchema,
		Message: misfit + "expected " + strings.Join(names, " or ") + ", found " + map[abi.Types]string{
			abi.Object: "object", abi.Array: "array", abi.String: "string", abi.Number | abi.Integer: "number", abi.Null: "null", abi.Boolean: "boolean",
		}[typeOf(first)] + "."}
}
