package formats

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/wire"
)

// pythonic are calls as Python writes them.
func pythonic() []Format {
	call := func(c Call) string {
		return c.Name + join(c.Args, "(", ", ", ")", func(a Arg) string { return a.Key + "=" + python(a.Value) })
	}
	bracketed := func(start, end string) func([]Call) string {
		return func(c []Call) string { return join(c, start+"[", ", ", "]"+end, call) }
	}
	return []Format{
		{Name: "pythonic", Model: "meta-llama/Llama-3.2-3B-Instruct", Silent: true, Heuristic: true, Write: calls(think, bracketed("", ""))},
		{Name: "llama4_pythonic", Model: "meta-llama/Llama-4-Scout-17B-16E-Instruct", Write: calls(think, bracketed("<|python_start|>", "<|python_end|>"))},
		{Name: "olmo3", Model: "allenai/Olmo-3-7B-Instruct", Write: list(think, "<function_calls>\n", "\n", "\n</function_calls>", call)},
		{Name: "lfm2", Model: "LiquidAI/LFM2-8B-A1B", Write: calls(think, bracketed("<|tool_call_start|>", "<|tool_call_end|>"))},
		{Name: "sarashina", Model: "sbintuitions/sarashina2.2-3b-instruct", Silent: true, Write: list(think, "<|tool_calls|>[", ", ", "]", func(c Call) string {
			return "{'name': " + pythonString(c.Name) + ", 'arguments': " + join(c.Args, "{", ", ", "}", func(a Arg) string {
				return pythonString(a.Key) + ": " + python(a.Value)
			}) + "}"
		})},
	}
}

// pythonText is a string's own text, and any other value as Python's str gives it.
func pythonText(v json.RawMessage) string {
	if s, ok := asString(v); ok {
		return s
	}
	return python(v)
}

// python writes a value as Python's repr does.
func python(v json.RawMessage) string {
	if s, ok := asString(v); ok {
		return pythonString(s)
	}
	switch {
	case string(v) == "true":
		return "True"
	case string(v) == "false":
		return "False"
	case string(v) == "null":
		return "None"
	case v[0] == '{':
		return join(members(v), "{", ", ", "}", func(a Arg) string { return pythonString(a.Key) + ": " + python(a.Value) })
	case v[0] == '[':
		return join(elements(v), "[", ", ", "]", python)
	}
	return string(v)
}

// pythonString writes a string in single quotes, or in double ones if it holds
// single ones alone.
func pythonString(s string) string {
	q := "'"
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = `"`
	}
	var b strings.Builder
	b.WriteString(q)
	for _, c := range s {
		switch {
		case string(c) == q || c == '\\':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7f:
			const hex = "0123456789abcdef"
			b.WriteString(`\x` + string(hex[c>>4]) + string(hex[c&15]))
		default:
			b.WriteRune(c)
		}
	}
	return b.String() + q
}

// members reads the members of a JSON object in their order.
func members(v json.RawMessage) (out []Arg) {
	wire.Members(v, 0, func(key []byte, at wire.Span) bool {
		out = append(out, Arg{wire.Unquote(slices.Concat([]byte{'"'}, key, []byte{'"'})), json.RawMessage(at.Of(v))})
		return true
	})
	return out
}

func elements(v json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	_ = json.Unmarshal(v, &out) // v is a JSON array
	return out
}

// braces are Gemma's: keys without quotes, strings between tokens.
func braces() []Format {
	return []Format{
		{Name: "functiongemma", Model: "google/functiongemma-270m-it", Write: list(think, "", "", "", func(c Call) string {
			return "<start_function_call>call:" + c.Name + gemma(c.Args, "<escape>") + "<end_function_call>"
		})},
		{Name: "gemma4", Model: "google/gemma-4-31B-it", Write: func(t Turn) string {
			return wrap("<|channel>thought\n", t.Reasoning, "\n<channel|>") + t.Content + join(t.Calls, "", "", "", func(c Call) string {
				return "<|tool_call>call:" + c.Name + gemma(c.Args, `<|"|>`) + "<tool_call|>"
			})
		}},
	}
}

func gemma(args []Arg, mark string) string {
	var value func(v json.RawMessage) string
	value = func(v json.RawMessage) string {
		if s, ok := asString(v); ok {
			return mark + s + mark
		}
		switch v[0] {
		case '{':
			return join(members(v), "{", ",", "}", func(a Arg) string { return a.Key + ":" + value(a.Value) })
		case '[':
			return join(elements(v), "[", ",", "]", value)
		}
		return string(v)
	}
	return join(args, "{", ",", "}", func(a Arg) string { return a.Key + ":" + value(a.Value) })
}
