package reference

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/internal/toolresult"
	"github.com/callgate/callgate/gateway/wire"
)

var (
	// errFailure is that a result says itself that the call failed.
	errFailure = errors.New("the result is a failure")
	// errBound is that a result is deeper or larger than what is looked into.
	errBound = errors.New("the result is too deep or has too many objects")
)

// scanner finds the members that rules ask for in the objects of JSON text, in one
// pass. It takes what is known of a text's objects only when the text is valid
// to its end.
type scanner struct {
	keys   map[string]int // the names in all paths, numbered
	paths  [][]int        // of such names
	byLast [][]int        // by name: the paths that end in it

	dec     *jsontext.Decoder
	input   bytes.Buffer
	frames  []frame
	found   []object
	members []member // of found
	inner   []byte   // the text of a string that may be the result itself
	inners  int      // how many such strings there are
}

// object is what was found of one object. Those that stand inside of it were found
// before it.
type object struct {
	members []member // one for each path that leads to one
	inside  int      // the first object that was found inside of it, if any was
}

type member struct {
	path  int
	value scalar // without a kind if it is no scalar, or null
	twice bool   // parsers disagree about which one counts
}

// frame is an object or array that is being read.
type frame struct {
	array bool
	named bool // the key of the member at hand was read
	key   int  // its number in keys, or -1
	found []member
	begin int // how many objects were found before it
}

// The first keys are those of toolresult.CertainMembers. Behind them are the members that may
// hold a whole result as text.
const (
	keyError  = 4
	keyResult = len(toolresult.CertainMembers)
	keyData   = keyResult + len(wrappers) - 1
)

var wrappers = [...]string{"result", "content", "output", "data"}

func newScanner() *scanner {
	s := &scanner{keys: map[string]int{}, byLast: make([][]int, keyData+1), dec: jsontext.NewDecoder(bytes.NewReader(nil))}
	for i, name := range slices.Concat(toolresult.CertainMembers[:], wrappers[:]) {
		s.keys[name] = i
	}
	return s
}

// path returns the number of a path, which is new or not.
func (s *scanner) path(names []string) int {
	var path []int
	for _, name := range names {
		key, known := s.keys[name]
		if !known {
			key = len(s.byLast)
			s.keys[name] = key
			s.byLast = append(s.byLast, nil)
		}
		path = append(path, key)
	}
	last := path[len(path)-1]
	for _, n := range s.byLast[last] {
		if slices.Equal(s.paths[n], path) {
			return n
		}
	}
	s.byLast[last] = append(s.byLast[last], len(s.paths))
	s.paths = append(s.paths, path)
	return len(s.paths) - 1
}

// read finds the objects of a text, which may be fenced. They are valid until the next
// call. json is false for a text that is not JSON. The error is errFailure or errBound.
//
// A string is data, and what others wrote into a note is no result, though it be JSON.
// But some tools wrap their whole result: {"result":"[...]"}. So the one string by such
// a name in the outermost object is read if nothing is found outside of it.
func (s *scanner) read(text []byte) (found []object, json bool, err error) {
	s.found, s.members, s.inners = s.found[:0], s.members[:0], 0
	switch err := s.document(unfence(text), true); err {
	case nil:
	case errFailure, errBound:
		return nil, true, err
	default:
		return nil, false, nil
	}
	if s.inners != 1 || len(s.found) > 0 {
		return s.found, true, nil
	}
	switch err := s.document(unfence(s.inner), false); err {
	case nil:
	case errFailure, errBound:
		return nil, true, err
	default:
		return nil, true, nil
	}
	return s.found, true, nil
}

// unfence returns what is in a text but for white space and a code fence around it.
func unfence(text []byte) []byte {
	text = bytes.TrimSpace(text)
	fence := []byte("```")
	if !bytes.HasPrefix(text, fence) {
		return text
	}
	_, body, found := bytes.Cut(text, []byte("\n")) // the first line may name the language
	if !found || !bytes.HasSuffix(body, fence) {
		return nil
	}
	return bytes.TrimSpace(bytes.TrimSuffix(body, fence))
}

var (
	errNotJSON   = errors.New("the text is not a JSON object or array")
	anyDuplicate = jsontext.AllowDuplicateNames(true)
)

// document reads one text. wraps says that it may be one that wraps the result.
func (s *scanner) document(text []byte, wraps bool) error {
	if len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return errNotJSON
	}
	s.input = *bytes.NewBuffer(text)
	s.dec.Reset(&s.input, anyDuplicate)
	s.frames = s.frames[:0]
	for {
		if err := s.next(wraps); err != nil {
			return err
		}
		if len(s.frames) == 0 {
			break
		}
	}
	if _, err := s.dec.ReadToken(); err != io.EOF {
		return errNotJSON
	}
	return nil
}

// next reads a token, or a value without objects.
func (s *scanner) next(wraps bool) error {
	top := len(s.frames) - 1
	kind := s.dec.PeekKind()
	if top == 0 && s.frames[0].named && s.frames[0].key == keyError {
		return s.value(wraps) // of any kind
	}
	switch kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if top+1 == maxDepth {
			return errBound
		}
		if top >= 0 {
			s.frames[top].named = false
			s.note(top, nil)
		}
		s.push(kind == jsontext.KindBeginArray)
	case jsontext.KindEndObject, jsontext.KindEndArray:
		if len(s.found) == maxKnown {
			return errBound
		}
		if f := &s.frames[top]; len(f.found) > 0 {
			s.members = append(s.members, f.found...)
			s.found = append(s.found, object{s.members[len(s.members)-len(f.found):], f.begin})
		}
		s.frames = s.frames[:top]
	default:
		if f := &s.frames[top]; !f.array && !f.named {
			return s.name(f)
		}
		return s.value(wraps)
	}
	_, err := s.dec.ReadToken()
	return err
}

// push opens an object or array, with the memory of one that was read before.
func (s *scanner) push(array bool) {
	n := len(s.frames)
	if n == cap(s.frames) {
		s.frames = append(s.frames, frame{})
	}
	s.frames = s.frames[:n+1]
	s.frames[n] = frame{array: array, key: -1, found: s.frames[n].found[:0], begin: len(s.found)}
}

// name reads a member's name.
func (s *scanner) name(f *frame) error {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	f.named, f.key = true, -1
	if key, known := s.keys[string(wire.Key(raw[1:len(raw)-1]))]; known {
		f.key = key
	}
	return nil
}

// value reads a value and notes it where a path leads to it.
func (s *scanner) value(wraps bool) error {
	raw, err := s.dec.ReadValue()
	if err != nil {
		return err
	}
	top := len(s.frames) - 1
	f := &s.frames[top]
	f.named = false
	if top == 0 && f.key >= 0 && f.key < keyResult && toolresult.Certainly(toolresult.CertainMembers[f.key], raw) {
		return errFailure
	}
	s.note(top, raw)
	if wraps && top == 0 && f.key >= keyResult && f.key <= keyData && raw[0] == '"' && opens(raw[1:]) {
		s.inners++
		s.inner, _ = jsontext.AppendUnquote(s.inner[:0], raw) // what is no text is no JSON either
	}
	return nil
}

// opens says whether a string may hold an object, an array or a code fence, so that it
// is to be decoded. It is as it stands in JSON, behind its quote.
func opens(text []byte) bool {
	text = skipSpace(text)
	return len(text) > 0 && (strings.IndexByte("{[`\\", text[0]) >= 0 || text[0] >= utf8.RuneSelf) // or other white space
}

// skipSpace returns a string, as it stands in JSON, without white space before it.
func skipSpace(text []byte) []byte {
	for len(text) > 0 && text[0] == ' ' || len(text) > 1 && text[0] == '\\' && strings.IndexByte("nrt", text[1]) >= 0 {
		if text[0] == '\\' {
			text = text[1:]
		}
		text = text[1:]
	}
	return text
}

// note puts a value into the object in which each path begins that leads to it. raw is
// nil for an object or array.
func (s *scanner) note(top int, raw []byte) {
	if f := &s.frames[top]; f.array || f.key < 0 {
		return
	}
	for _, n := range s.byLast[s.frames[top].key] {
		path := s.paths[n]
		first := top - len(path) + 1
		if first < 0 || !s.leads(path, first) {
			continue
		}
		var value scalar
		if raw != nil {
			value, _ = readScalar(raw)
		}
		owner := &s.frames[first]
		twice := false
		for i := range owner.found {
			if owner.found[i].path == n {
				owner.found[i].twice, twice = true, true
			}
		}
		if !twice {
			owner.found = append(owner.found, member{path: n, value: value})
		}
	}
}

// leads says whether the members at hand, from one frame on, are those of a path.
func (s *scanner) leads(path []int, first int) bool {
	for i, key := range path {
		if f := &s.frames[first+i]; f.array || f.key != key {
			return false
		}
	}
	return true
}
