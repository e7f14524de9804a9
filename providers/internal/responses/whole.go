package responses

import (
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// ErrNoResponse is the error of an answer that is none of the API.
var ErrNoResponse = errors.New("the answer is no response")

// Whole is a whole response as a chat completion; one that has failed as its error.
func Whole(data []byte, model string) ([]byte, error) {
	if !jsontext.Value(data).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		return nil, ErrNoResponse
	}
	output := get(data, "output")
	status := wire.Unquote(get(data, "status"))
	if status == "failed" || output == nil && get(data, "error") != nil {
		return failure(data), nil
	}
	if len(output) == 0 || output[0] != '[' {
		return nil, ErrNoResponse
	}
	w := &whole{spaces: namespaces(data)}
	wire.Elements(output, 0, func(i int, at wire.Span) bool {
		w.add(i, at.Of(output))
		return true
	})
	b := append(head("chat.completion", data, model), `{"index":0,"message":{"role":"assistant","content":`...)
	if w.said || w.n == 0 {
		b = append(append(append(b, '"'), w.text...), '"')
	} else {
		b = append(b, "null"...)
	}
	for _, m := range []struct {
		name string
		text []byte
	}{{"reasoning_content", w.reasoning}, {"refusal", w.refusal}} {
		if len(m.text) > 0 {
			b = append(append(append(wire.AppendKey(b, m.name), '"'), m.text...), '"')
		}
	}
	for _, m := range []struct {
		name string
		list []byte
	}{{"reasoning_details", w.details}, {"annotations", w.notes}, {"tool_calls", w.calls}} {
		if len(m.list) > 0 {
			b = append(append(append(wire.AppendKey(b, m.name), '['), m.list...), ']')
		}
	}
	b = append(append(b, `,"provider_specific_fields":{"`+Own+`":{"response":`...), data...)
	b = append(b, "}}}"...)
	if len(w.logprobs) > 0 {
		b = append(append(append(b, `,"logprobs":{"content":[`...), w.logprobs...), "]}"...)
	}
	b = wire.AppendQuoted(append(b, `,"finish_reason":`...), finish(data, w.n))
	b = append(b, "}]"...)
	if u := get(data, "usage"); u != nil {
		b = append(append(b, `,"usage":`...), counts(u)...)
	}
	return append(b, '}'), nil
}

// whole is what the items of a response say.
type whole struct {
	text, reasoning, refusal        []byte // between quotes
	details, notes, calls, logprobs []byte // elements
	spaces                          []string
	n                               int // calls
	said                            bool
}

func (w *whole) add(i int, item []byte) {
	kind := wire.Unquote(get(item, "type"))
	switch call, custom := isCall(kind); {
	case call:
		arguments := get(item, "arguments")
		if custom {
			arguments = wire.AppendQuoted(nil, slices.Concat([]byte(`{"input":"`), inner(get(item, "input")), []byte(`"}`)))
		}
		if arguments == nil {
			arguments = []byte(`""`)
		}
		b := strconv.AppendInt([]byte(`{"index":`), int64(w.n), 10)
		b = append(append(append(b, `,"id":`...), orNull(get(item, "call_id"))...), `,"type":"function","function":{"name":`...)
		b = append(append(append(b, nameOf(item, w.spaces)...), `,"arguments":`...), arguments...)
		w.calls = element(w.calls, append(b, "}}"...))
		w.n++
	case kind == "reasoning":
		for _, list := range []string{"summary", "content"} {
			parts := get(item, list)
			wire.Elements(parts, 0, func(_ int, at wire.Span) bool {
				if text := inner(get(at.Of(parts), "text")); len(text) > 0 {
					if len(w.reasoning) > 0 {
						w.reasoning = append(w.reasoning, `\n\n`...)
					}
					w.reasoning = append(w.reasoning, text...)
				}
				return true
			})
		}
		if len(inner(get(item, "encrypted_content"))) > 0 {
			w.details = element(w.details, detail(item, i))
		}
	case kind == "message":
		w.said = true
		parts := get(item, "content")
		wire.Elements(parts, 0, func(_ int, at wire.Span) bool {
			part := at.Of(parts)
			w.text, w.refusal = append(w.text, inner(get(part, "text"))...), append(w.refusal, inner(get(part, "refusal"))...)
			w.notes = elements(w.notes, get(part, "annotations"))
			w.logprobs = elements(w.logprobs, get(part, "logprobs"))
			return true
		})
	}
}

// element appends an element behind others.
func element(list, one []byte) []byte {
	if len(list) > 0 {
		list = append(list, ',')
	}
	return append(list, one...)
}

// elements appends those of an array.
func elements(list, array []byte) []byte {
	if len(array) < 2 || array[0] != '[' || wire.Blank(array[1:len(array)-1]) {
		return list
	}
	return element(list, array[1:len(array)-1])
}
