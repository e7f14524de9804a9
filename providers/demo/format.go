package demo

import (
	"strconv"
	"strings"

	"github.com/callgate/callgate/providers/demo/formats"
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

// models are those that the demo has: one for each format, and a few of its own.
func models() []format {
	var all []format
	for _, f := range formats.All() {
		all = append(all, format{f.Name, func(a answer) output { return output{text: written(f, a)} }})
	}
	return append(all,
		format{"custom", func(a answer) output { return output{text: written(custom, a)} }},
		format{"native", func(a answer) output { return output(a) }},
		format{"text", func(a answer) output {
			if len(a.calls) > 0 {
				a.text, a.calls = "I would have to use a tool for this, and this model uses none.", nil
			}
			return output{text: written(custom, a)}
		}},
	)
}

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

func formatOf(model string) (format, bool) {
	for _, f := range models() {
		if f.name == model {
			return f, true
		}
	}
	return format{}, false
}

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
