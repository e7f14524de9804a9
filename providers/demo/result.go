package demo

import (
	"encoding/json"
	"strings"
)

type resultReader = func(text string) (list []string, rest string)

// tagged reads results that each stand between two markers.
func tagged(start, end string) resultReader {
	return func(text string) (list []string, rest string) {
		rest = text
		for {
			inner, opened := strings.CutPrefix(strings.TrimSpace(rest), start)
			inner, behind, closed := strings.Cut(inner, end)
			if !opened || !closed {
				return list, rest
			}
			list, rest = append(list, inner), behind
		}
	}
}

// behind reads results that may have the header of their role in front.
func behind(header string, read resultReader) resultReader {
	return func(text string) ([]string, string) {
		inner, _ := strings.CutPrefix(strings.TrimSpace(text), header)
		if list, rest := read(inner); len(list) > 0 {
			return list, rest
		}
		return nil, text
	}
}

// within reads results that stand together between two markers.
func within(start, end string, read resultReader) resultReader {
	return func(text string) ([]string, string) {
		inner, opened := strings.CutPrefix(strings.TrimSpace(text), start)
		list, rest := read(inner)
		rest, closed := strings.CutPrefix(strings.TrimSpace(rest), end)
		if !opened || !closed {
			return nil, text
		}
		return list, rest
	}
}

// each takes what is a result's own text out of what read finds. One in which it is not
// found is none.
func each(read resultReader, own func(string) (string, bool)) resultReader {
	return func(text string) ([]string, string) {
		list, rest := read(text)
		for i, r := range list {
			inner, ok := own(r)
			if !ok {
				return nil, text
			}
			list[i] = inner
		}
		return list, rest
	}
}

// withoutID drops the id that Mistral's templates since v7 may write in front.
func withoutID(text string) (string, bool) {
	if _, content, found := strings.Cut(text, "[TOOL_CONTENT]"); found {
		return content, true
	}
	return text, true
}

// contentOfCall reads the object of Mistral's template v3. Its content is not
// quoted, and may be anything.
func contentOfCall(text string) (string, bool) {
	inner, opened := strings.CutPrefix(strings.TrimSpace(text), `{"content": `)
	at := strings.LastIndex(inner, `, "call_id": "`)
	if !opened || at < 0 || !strings.HasSuffix(inner, `"}`) {
		return "", false
	}
	return unquoted(inner[:at]), true
}

// outputs reads the results of Llama: {"output": …}, as vLLM's templates write it, or
// the turn of the role ipython with its header, which Meta's own has.
func outputs(text string) (list []string, rest string) {
	const header, end = "<|start_header_id|>ipython<|end_header_id|>", "<|eot_id|>"
	if turns, rest := tagged(header, end)(text); len(turns) > 0 {
		for i, turn := range turns {
			turns[i] = unquoted(strings.TrimSpace(turn))
			if output, ok := outputOf([]byte(turn)); ok {
				turns[i] = output
			}
		}
		return turns, rest
	}
	values, ends := jsonValues(text)
	rest = text
	for i, v := range values {
		output, ok := outputOf(v)
		if !ok {
			break
		}
		list, rest = append(list, output), text[ends[i]:]
	}
	return list, rest
}

// outputOf is the text of an object that has nothing but an output.
func outputOf(v []byte) (string, bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(v, &members) != nil || len(members) != 1 || members["output"] == nil {
		return "", false
	}
	return unquoted(string(members["output"])), true
}

// unquoted is the text of a JSON string, and all else as it is.
func unquoted(text string) string {
	var s string
	if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}
