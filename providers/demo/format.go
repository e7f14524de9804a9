package demo

import (
	"encoding/json"
	"strings"
)

// output is what the model writes: text, and with the format native calls beside
// it.
type output struct {
	reasoning string // beside the text; the other formats have it in the text
	text      string
	calls     []call
}

// format is one way to write an answer.
type format struct {
	name  string
	write func(answer) output
}

// formats are the models.
var formats = []format{
	{"hermes", textual(intro+"\n", each(hermes))},
	{"qwen3_coder", textual(intro+"\n", each(qwen3Coder))},
	{"openai", textual("", openAI)}, // a model that answers in JSON writes nothing else
	{"tool_call_tags", textual(intro+"\n", each(toolCallTags))},
	{"custom", textual(intro+"\n", each(custom))},
	{"native", func(a answer) output { return output(a) }},
	{"text", textual("", func([]call) string { return "I would have to use a tool for this, and this model uses none." })},
}

func formatOf(model string) (format, bool) {
	for _, f := range formats {
		if f.name == model {
			return f, true
		}
	}
	return format{}, false
}

// textual makes the writer of a format: the reasoning, then the text, or lead and
// the calls.
func textual(lead string, write func([]call) string) func(answer) output {
	return func(a answer) output {
		var b strings.Builder
		if a.reasoning != "" {
			b.WriteString("<think>\n" + a.reasoning + "\n</think>\n\n")
		}
		if len(a.calls) == 0 {
			b.WriteString(a.text)
		} else {
			b.WriteString(lead + write(a.calls))
		}
		return output{text: b.String()}
	}
}

// each writes call by call, one behind the other.
func each(write func(call) string) func([]call) string {
	return func(calls []call) string {
		texts := make([]string, len(calls))
		for i, c := range calls {
			texts[i] = write(c)
		}
		return strings.Join(texts, "\n")
	}
}

// nameAndArguments is the object that most formats hold.
func nameAndArguments(c call) string {
	return `{"name": ` + quote(c.name) + `, "arguments": ` + objectJSON(c.args, " ", " ") + `}`
}

func hermes(c call) string {
	return "<tool_call>\n" + nameAndArguments(c) + "\n</tool_call>"
}

func toolCallTags(c call) string {
	return "[TOOL_CALL]\n" + nameAndArguments(c) + "\n[/TOOL_CALL]"
}

func custom(c call) string {
	return "<<call " + c.name + " " + objectJSON(c.args, "", "") + ">>"
}

// qwen3Coder writes strings without quotes, each in lines of its own.
func qwen3Coder(c call) string {
	var b strings.Builder
	b.WriteString("<tool_call>\n<function=" + c.name + ">\n")
	for _, a := range c.args {
		value := a.value
		var s string
		if json.Unmarshal([]byte(value), &s) == nil {
			value = s
		}
		b.WriteString("<parameter=" + a.name + ">\n" + value + "\n</parameter>\n")
	}
	b.WriteString("</function>\n</tool_call>")
	return b.String()
}

func openAI(calls []call) string {
	texts := make([]string, len(calls))
	for i, c := range calls {
		texts[i] = nameAndArguments(c)
	}
	return `{"tool_calls": [` + strings.Join(texts, ", ") + `]}`
}
