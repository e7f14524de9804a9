package demo

import (
	"encoding/json"
	"strings"
)

// between is what stands between two markers, and what is behind them. Markers with
// nothing between are passed over: prose names them so.
func between(text, start, end string) (inner, rest string) {
	for {
		_, behind, opened := strings.Cut(text, start)
		inner, rest, closed := strings.Cut(behind, end)
		if !opened || !closed {
			return "", text
		}
		if strings.TrimSpace(inner) != "" {
			return strings.TrimSpace(inner), rest
		}
		text = rest
	}
}

type toolReader func(text []byte) (tool, bool)

// linesBetween reads tools between two markers, one a line.
func linesBetween(start, end string, read toolReader) func(string) ([]tool, string) {
	return func(text string) ([]tool, string) {
		inner, rest := between(text, start, end)
		var tools []tool
		for line := range strings.Lines(inner) {
			t, ok := read([]byte(strings.TrimSpace(line)))
			if !ok {
				return nil, text
			}
			tools = append(tools, t)
		}
		return tools, rest
	}
}

// arrayBetween reads a JSON array of tools between two markers.
func arrayBetween(start, end string, read toolReader) func(string) ([]tool, string) {
	return func(text string) ([]tool, string) {
		inner, rest := between(text, start, end)
		var list []json.RawMessage
		if json.Unmarshal([]byte(inner), &list) != nil {
			return nil, text
		}
		tools, ok := all(list, read)
		if !ok {
			return nil, text
		}
		return tools, rest
	}
}

func all(list []json.RawMessage, read toolReader) ([]tool, bool) {
	var tools []tool
	for _, text := range list {
		t, ok := read(text)
		if !ok {
			return nil, false
		}
		tools = append(tools, t)
	}
	return tools, true
}

// toolsBehind reads tools as JSON objects, one behind the other or in an array, from
// the first line behind a sentence that begins with one of the brackets.
func toolsBehind(sentence, brackets string, read toolReader) func(string) ([]tool, string) {
	return func(text string) ([]tool, string) {
		_, behind, _ := strings.Cut(text, sentence)
		at := strings.IndexAny(behind, brackets)
		if at < 1 || behind[at-1] != '\n' {
			return nil, text
		}
		rest := behind[at:]
		if rest[0] == '[' {
			var list []json.RawMessage
			d := json.NewDecoder(strings.NewReader(rest))
			if d.Decode(&list) != nil {
				return nil, text
			}
			tools, _ := all(list, read)
			return tools, rest[d.InputOffset():]
		}
		values, ends := jsonValues(rest)
		var tools []tool
		end := 0
		for i, v := range values {
			t, ok := read(v)
			if !ok {
				break // the user's own JSON
			}
			tools, end = append(tools, t), ends[i]
		}
		return tools, rest[end:]
	}
}

// jsonValues are the JSON values that a text begins with, and where each ends.
func jsonValues(text string) (values []json.RawMessage, ends []int) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return values, ends
		}
		values, ends = append(values, v), append(ends, int(d.InputOffset()))
	}
}

// headings reads tools as DeepSeek's template writes them: a heading with the name, a
// description, and the parameters as JSON.
func headings(text string) (tools []tool, rest string) {
	const heading, parameters = "### ", "\n\nParameters: "
	_, rest, _ = strings.Cut(text, "You have access to the following tools:")
	for {
		section, ok := strings.CutPrefix(strings.TrimLeft(rest, "\n"), heading)
		if !ok {
			return tools, rest
		}
		name, section, _ := strings.Cut(section, "\n")
		about, section, ok := strings.Cut(section, parameters)
		d := json.NewDecoder(strings.NewReader(section))
		var t tool
		t.Function.Name = strings.TrimSpace(name)
		if !ok || !strings.HasPrefix(about, "Description: ") || d.Decode(&t.Function.Parameters) != nil {
			return nil, text
		}
		tools, rest = append(tools, t), section[d.InputOffset():]
	}
}

// functionTags reads tools as the template of Qwen3-Coder writes them: in XML, with a
// tag for each property.
func functionTags(text string) ([]tool, string) {
	inner, rest := between(text, "<tools>", "</tools>")
	var tools []tool
	for {
		function, behind, ok := element(inner, "function")
		if !ok {
			break
		}
		inner = behind
		var t tool
		t.Function.Name, function, ok = element(function, "name")
		_, function, _ = strings.Cut(function, "<parameters>")
		properties, _, closed := strings.Cut(function, "</parameters>")
		if !ok || !closed {
			return nil, text
		}
		t.Function.Parameters = schemaOfTags(properties)
		tools = append(tools, t)
	}
	if strings.TrimSpace(inner) != "" {
		return nil, text
	}
	return tools, rest
}

// element is the text of an element without attributes with which a text begins, and
// what is behind it.
func element(text, tag string) (inner, rest string, ok bool) {
	inner, ok = strings.CutPrefix(strings.TrimSpace(text), "<"+tag+">")
	if !ok {
		return "", text, false
	}
	inner, rest, ok = strings.Cut(inner, "</"+tag+">")
	return inner, rest, ok
}

// child is the text of an element that is anywhere in a text.
func child(text, tag string) (string, bool) {
	_, behind, opened := strings.Cut(text, "<"+tag+">")
	inner, _, closed := strings.Cut(behind, "</"+tag+">")
	return inner, opened && closed
}

// schemaOfTags is the JSON schema that the tags of a tool's parameters stand for.
func schemaOfTags(text string) json.RawMessage {
	var properties []arg
	for {
		property, rest, ok := element(text, "parameter")
		if !ok {
			break
		}
		text = rest
		name, _ := child(property, "name")
		var of []arg
		for _, key := range []string{"type", "enum", "items", "properties", "required"} {
			if v, ok := child(property, key); ok {
				of = append(of, arg{key, tagValue(v)})
			}
		}
		properties = append(properties, arg{name, objectJSON(of)})
	}
	s := []arg{{"type", `"object"`}, {"properties", objectJSON(properties)}}
	if required, ok := child(text, "required"); ok {
		s = append(s, arg{"required", tagValue(required)})
	}
	return json.RawMessage(objectJSON(s))
}

// tagValue is what stands in a tag as JSON: an object, a list, which some versions of
// the template write as Python does or with backquotes, or a word.
func tagValue(text string) string {
	text = strings.TrimSpace(text)
	list, isList := strings.CutPrefix(text, "[")
	switch {
	case isList && !json.Valid([]byte(text)):
		var items []string
		for item := range strings.SplitSeq(strings.TrimSuffix(list, "]"), ",") {
			items = append(items, quote(strings.Trim(item, " `'")))
		}
		return "[" + strings.Join(items, ",") + "]"
	case isList, strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		return text
	}
	return quote(text)
}
