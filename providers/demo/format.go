package demo

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/formats"
)

// formatModels are the models that do nothing wrong: one for each format, and a few
// of the demo's own.
func formatModels() []model {
	var all []model
	for _, f := range formats.All() {
		all = append(all, model{name: f.Name, write: func(a answer) output { return output{text: written(f, a)} }})
	}
	return append(all,
		model{name: "custom", write: func(a answer) output { return output{text: written(custom, a)} }},
		model{name: "native", write: native},
		model{name: "text", write: func(a answer) output {
			if len(a.calls) > 0 {
				a.text, a.calls = "I would have to use a tool for this, and this model uses none.", nil
			}
			return output{text: written(custom, a)}
		}},
	)
}

// native gives the calls beside the text, as OpenAI's API does.
func native(a answer) output { return output(a) }

// custom is a format of the operator's: <<call NAME ARGUMENTS>>.
var custom = formats.Format{Write: func(t formats.Turn) string {
	var b strings.Builder
	if t.Reasoning != "" {
		b.WriteString("<think>\n" + t.Reasoning + "\n</think>\n\n")
	}
	b.WriteString(t.Content)
	for _, c := range t.Calls {
		args := make([]arg, len(c.Args))
		for i, a := range c.Args {
			args[i] = arg{a.Key, string(a.Value)}
		}
		b.WriteString("\n<<call " + c.Name + " " + objectJSON(args) + ">>")
	}
	return b.String()
}}

// written is an answer in a format. The demo has no prompt, so it writes the start
// of the reasoning where the format leaves that to the prompt.
func written(f formats.Format, a answer) string {
	t := formats.Turn{Reasoning: a.reasoning, Content: a.text}
	for i, c := range a.calls {
		if f.Single && i == 1 {
			break
		}
		call := formats.Call{Name: c.name, ID: strconv.Itoa(i)}
		if f.Name == "kimi_k2" {
			call.ID = "" // its ids hold the name
		}
		for _, a := range c.args {
			call.Args = append(call.Args, formats.Arg{Key: a.name, Value: []byte(a.value)})
		}
		t.Calls = append(t.Calls, call)
	}
	if f.Silent && len(t.Calls) > 0 {
		t.Content = ""
	}
	text := f.Write(t)
	if a.reasoning != "" {
		text = f.Start + text
	}
	return text
}
