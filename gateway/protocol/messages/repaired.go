package messages

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

// spoken is what a chat completion says that the blocks of a message say too. The texts are without quotes and escapes.
type spoken struct {
	text               value // JSON
	content, reasoning string
	calls              []entry
}

// readSpoken reads the message of a whole answer; ok is false if it is not in the form that those of the Messages API get.
func readSpoken(message value) (s spoken, ok bool) {
	s.text = find(message, "content")
	if s.text != nil && !isString(s.text) || find(message, "function_call") != nil || len(inner(find(message, "refusal"))) > 0 {
		return s, false
	}
	s.content, s.reasoning = wire.Unquote(s.text), wire.Unquote(find(message, "reasoning_content"))
	ok = true
	_ = elements(find(message, "tool_calls"), func(i int, v value) error {
		e := readEntry(i, v)
		ok = ok && isString(e.id) && isString(e.name) && isString(e.arguments)
		s.calls = append(s.calls, e)
		return nil
	})
	return s, ok
}

// repaired is the content of a whole answer of the Messages API that the gateway has changed, nil if it is not sure of it:
// the upstream's blocks with what was changed of their texts and calls, and further calls behind them. The output is what
// the completion says then.
func (w *Writer) repaired(f, now *wire.Frame) []byte {
	content := ownContent(f)
	before, after := f.Choices(), now.Choices()
	if content == nil || len(before) != 1 || len(after) != 1 || len(served.All(f, w.summary)) > 0 {
		return nil
	}
	var r repairedBlocks
	var okWas, okIs bool
	r.was, okWas = readSpoken(before[0].Body.Of(f.Data))
	r.is, okIs = readSpoken(after[0].Body.Of(now.Data))
	if !okWas || !okIs || r.was.reasoning != r.is.reasoning || len(r.is.calls) < len(r.was.calls) {
		return nil
	}
	if elements(slices.Concat([]byte{'['}, content, []byte{']'}), r.add) != nil || r.end() != nil {
		return nil
	}
	return r.out
}

// repairedBlocks are the blocks of such an answer.
type repairedBlocks struct {
	was, is spoken
	calls   int // tool_use blocks so far
	texts   int
	out     []byte // elements
}

var errUnsure = errors.New("what was changed is not clear")

// add takes a block of the upstream's.
func (r *repairedBlocks) add(_ int, block value) error {
	ok := true
	switch text(find(block, "type")) {
	case "tool_use":
		if r.calls == len(r.was.calls) {
			return errUnsure
		}
		block, ok = changedCall(block, &r.was.calls[r.calls], &r.is.calls[r.calls])
		r.calls++
	case "text":
		if r.texts++; r.was.content != r.is.content {
			block, ok = changedText(block, &r.was, &r.is)
		}
	}
	if !ok {
		return errUnsure
	}
	if block != nil {
		r.out = appendElement(r.out, block)
	}
	return nil
}

// end adds the further calls.
func (r *repairedBlocks) end() error {
	if r.calls != len(r.was.calls) || r.was.content != r.is.content && r.texts != 1 {
		return errUnsure
	}
	for i := range r.is.calls[r.calls:] {
		e := &r.is.calls[r.calls+i]
		input, ok := objectOf(e.arguments)
		if !ok || len(inner(e.name)) == 0 {
			return errUnsure
		}
		block := append(appendToolID([]byte(`{"type":"tool_use","id":`), e.id), `,"name":`...)
		r.out = appendElement(r.out, append(append(append(append(block, e.name...), `,"input":`...), input...), '}'))
	}
	r.out = append([]byte{}, r.out...) // there may be none
	return nil
}

func appendElement(list, one []byte) []byte {
	if len(list) > 0 {
		list = append(list, ',')
	}
	return append(list, one...)
}

// objectOf is a call's arguments, a string, as an object.
func objectOf(arguments value) (input []byte, ok bool) {
	input = bytes.TrimSpace(wire.AppendDecoded(nil, arguments))
	return input, isObject(input) && jsontext.Value(input).IsValid(jsontext.AllowDuplicateNames(true))
}

// changedCall is the block of a call with what was changed of it.
func changedCall(block value, was, is *entry) (value, bool) {
	var edits []wire.Edit
	ok := true
	set := func(name string, v []byte) {
		if at := wire.Find(block, wire.Span{End: len(block)}, name); at.Empty() {
			ok = false
		} else {
			edits = append(edits, wire.Edit{At: at, With: v})
		}
	}
	if !bytes.Equal(was.id, is.id) {
		if text(was.name) != text(is.name) {
			return nil, false
		}
		set("id", appendToolID(nil, is.id))
	}
	if text(was.name) != text(is.name) {
		set("name", is.name)
	}
	if text(was.arguments) != text(is.arguments) {
		input, good := objectOf(is.arguments)
		if !good {
			return nil, false
		}
		set("input", input)
	}
	slices.SortFunc(edits, func(a, b wire.Edit) int { return a.At.Start - b.At.Start })
	return wire.Splice(block, edits), ok
}

// changedText is the block of the one text with what was made of it, nil if that was all a call. Citations are of a text as far
// as it goes.
func changedText(block value, was, is *spoken) (value, bool) {
	at := wire.Find(block, wire.Span{End: len(block)}, "text")
	if wire.Unquote(at.Of(block)) != was.content || find(block, "citations") != nil && !strings.HasPrefix(was.content, is.content) {
		return nil, false
	}
	if is.content == "" {
		return nil, true
	}
	return wire.Splice(block, []wire.Edit{{At: at, With: is.text}}), true
}
