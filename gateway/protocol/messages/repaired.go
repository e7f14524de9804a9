package messages

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/protocol"
	"github.com/callgate/callgate/gateway/protocol/served"
	"github.com/callgate/callgate/gateway/wire"
)

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
	r.was, okWas = readSaid(before[0].Body.Of(f.Data))
	r.is, okIs = readSaid(after[0].Body.Of(now.Data))
	if !okWas || !okIs || r.was.Reasoning != r.is.Reasoning || len(r.is.Calls) < len(r.was.Calls) {
		return nil
	}
	if elements(slices.Concat([]byte{'['}, content, []byte{']'}), r.add) != nil || r.end() != nil {
		return nil
	}
	return r.out
}

// readSaid reads the message of a whole answer. A refusal is not said in blocks, and their calls have an id and an input.
func readSaid(message value) (m protocol.Said, ok bool) {
	m, ok = protocol.ReadSaid(message)
	return m, ok && m.Refusal == "" && !slices.ContainsFunc(m.Calls, func(c protocol.SaidCall) bool { return c.ID == nil || c.Arguments == nil })
}

// repairedBlocks are the blocks of such an answer.
type repairedBlocks struct {
	was, is protocol.Said
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
		if r.calls == len(r.was.Calls) {
			return errUnsure
		}
		block, ok = changedCall(block, &r.was.Calls[r.calls], &r.is.Calls[r.calls])
		r.calls++
	case "text":
		if r.texts++; r.was.Content != r.is.Content {
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
	if r.calls != len(r.was.Calls) || r.was.Content != r.is.Content && r.texts != 1 {
		return errUnsure
	}
	for i := range r.is.Calls[r.calls:] {
		e := &r.is.Calls[r.calls+i]
		input, ok := objectOf(e.Arguments)
		if !ok || len(inner(e.Name)) == 0 {
			return errUnsure
		}
		block := append(appendToolID([]byte(`{"type":"tool_use","id":`), e.ID), `,"name":`...)
		r.out = appendElement(r.out, append(append(append(append(block, e.Name...), `,"input":`...), input...), '}'))
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
func changedCall(block value, was, is *protocol.SaidCall) (value, bool) {
	var edits []wire.Edit
	ok := true
	set := func(name string, v []byte) {
		if at := wire.Find(block, wire.Span{End: len(block)}, name); at.Empty() {
			ok = false
		} else {
			edits = append(edits, wire.Edit{At: at, With: v})
		}
	}
	if !bytes.Equal(was.ID, is.ID) {
		if text(was.Name) != text(is.Name) {
			return nil, false
		}
		set("id", appendToolID(nil, is.ID))
	}
	if text(was.Name) != text(is.Name) {
		set("name", is.Name)
	}
	if text(was.Arguments) != text(is.Arguments) {
		input, good := objectOf(is.Arguments)
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
func changedText(block value, was, is *protocol.Said) (value, bool) {
	at := wire.Find(block, wire.Span{End: len(block)}, "text")
	if wire.Unquote(at.Of(block)) != was.Content || find(block, "citations") != nil && !strings.HasPrefix(was.Content, is.Content) {
		return nil, false
	}
	if is.Content == "" {
		return nil, true
	}
	return wire.Splice(block, []wire.Edit{{At: at, With: is.Text}}), true
}
