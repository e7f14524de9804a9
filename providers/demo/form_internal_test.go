package demo

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/callgate/callgate/internal/steps"
)

func TestDeed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, prompt string
		tools        []string
		want         string
	}{
		{"verb", "please", []string{"delete_task"}, "deleted the task"},
		{"the prompt's verb", "Please add one.", []string{"listTasks", "addTask"}, "added the task"},
		{"title", `Complete "Buy milk".`, []string{"complete_task"}, `completed the task "Buy milk"`},
		{"title in other quotes", "Complete „Buy milk“.", []string{"complete_task"}, `completed the task "Buy milk"`},
		{"open quote", `Complete "Buy milk.`, []string{"complete_task"}, "completed the task"},
		{"empty quotes", `Complete "".`, []string{"complete_task"}, "completed the task"},
		{"no object", "now", []string{"search"}, "searched it"},
		{"no object, title", `Find "x"`, []string{"find"}, `found "x"`},
		{"no words", "now", []string{"_"}, "called the tool"},
		{"irregular", "now", []string{"send.mail-now"}, "sent the mail now"},
		{"y", "now", []string{"copy_file"}, "copied the file"},
		{"vowel and y", "now", []string{"play_song"}, "played the song"},
		{"doubled", "now", []string{"stop_timer"}, "stopped the timer"},
		{"long", "now", []string{"cancel_order"}, "canceled the order"},
		{"two vowels", "now", []string{"book_room"}, "booked the room"},
		{"not doubled", "now", []string{"show_map"}, "showed the map"},
		{"not English", "now", []string{"ändern_ö"}, "änderned the ö"},
	} {
		var tools []tool
		for _, name := range tt.tools {
			var one tool
			one.Function.Name = name
			tools = append(tools, one)
		}
		if got := deed(tools, tt.prompt); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestTagSchema checks that the schema in tags is read as the versions of the template
// of Qwen3-Coder write lists.
func TestTagSchema(t *testing.T) {
	t.Parallel()
	const want = `{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x","y"]},"o":{"type":"object","properties":{"p": {"type": "integer"}},"required":["p"]}},"required":["a","o"]}`
	for name, lists := range map[string][3]string{
		"JSON":       {`["string","null"]`, `["x","y"]`, `["a","o"]`},
		"Python":     {"['string', 'null']", "['x', 'y']", "['a', 'o']"},
		"backquotes": {"['string', 'null']", "[`x`, `y`]", "[`a`, `o`]"},
	} {
		text := "\n<parameter>\n<name>a</name>\n<type>" + lists[0] + "</type>\n<enum>" + lists[1] + "</enum>\n</parameter>" +
			"\n<parameter>\n<name>o</name>\n<type>object</type>\n<properties>{\"p\": {\"type\": \"integer\"}}</properties>\n<required>[\"p\"]</required>\n</parameter>" +
			"\n<required>" + lists[2] + "</required>\n"
		if got := string(schemaOfTags(text)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestForms checks forms that official templates have beside those of testdata.
func TestForms(t *testing.T) {
	t.Parallel()
	results := map[string]map[string][]string{
		"hermes":        {"\n<tool_response>\n\n</tool_response>\n": {""}, "<tool_response>x</tool_response>": nil, "<tool_response>\nx": nil, "x": nil},
		"glm45":         {"<tool_response>\na\n</tool_response>": {"a"}},
		"llama3_json":   {"<|start_header_id|>ipython<|end_header_id|>\n\n\"a\"<|eot_id|>": {"a"}, "<|start_header_id|>ipython<|end_header_id|>\n\n{\"output\": \"a\"}<|eot_id|>": {"a"}, `{"output": {"a": 1}}`: {`{"a": 1}`}, `{"output": 1, "more": 2}`: nil, `"a"`: nil},
		"mistral":       {"[TOOL_RESULTS]call00001[TOOL_CONTENT]a[/TOOL_RESULTS]": {"a"}, `[TOOL_RESULTS]["a"][/TOOL_RESULTS]`: {`["a"]`}},
		"mistral_array": {`[TOOL_RESULTS] {"content": {"a": "}"}, "call_id": "abc"}[/TOOL_RESULTS]`: {`{"a": "}"}`}, "[TOOL_RESULTS]a[/TOOL_RESULTS]": nil},
		"deepseek_v32":  {"<function_results>\n<result>a</result>": nil, "<result>a</result>": nil},
	}
	const one, bare = `{"type": "function", "function": {"name": "f"}}`, `{"name": "f"}`
	const llama = `Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.` + "\n\n"
	definitions := map[string]map[string]int{
		"hermes":      {"signatures within <tools></tools> XML tags. <tools> " + one + "\n" + one + " </tools>": 2, "<tools>\n" + bare + "\n</tools>": 0, "<tools>\n" + one: 0, "<tools>\n" + one + "\nx\n</tools>": 0},
		"llama3_json": {llama + one + "\n\n" + one + "\n\n{\"a\": 1}": 2, llama + bare: 0, llama + "[\n    " + one + "\n]": 0, llama + "x " + one: 0},
		"pythonic":    {"[func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]\nHere is a list.\n\n[\n    " + bare + ",\n    " + bare + "\n]\n": 2},
		"mistral":     {"[AVAILABLE_TOOLS] [" + one + "] [/AVAILABLE_TOOLS]": 1, "[AVAILABLE_TOOLS]" + one + "[/AVAILABLE_TOOLS]": 0, "[AVAILABLE_TOOLS][" + bare + "][/AVAILABLE_TOOLS]": 0},
		"minimax_m2":  {"<tools>\n<tool>" + one + "</tool>\n</tools>": 0, "<tools>\n" + bare + "\n</tools>": 0},
		"deepseek_v31": {
			"You have access to the following tools:\n\n### f\nDescription: \n\nParameters: {}\n\n### g\nDescription: x\n\nParameters: {}\n": 2,
			"You have access to the following tools:\n\n### f\nDescription: x\n\nParameters: none\n":                                         0, "### f\nDescription: x\n\nParameters: {}\n": 0,
		},
		"qwen3_coder": {"<tools>\n<function>\n<name>f</name>\n<parameters>\n</parameters>\n</function>\n</tools>": 1, "<tools>\n" + one + "\n</tools>": 0, "<tools>\n<function>\n<name>f</name>\n</function>\n</tools>": 0},
	}
	for _, f := range forms() {
		for text, want := range results[f.format] {
			if got, _ := f.results(text); !slices.Equal(got, want) {
				t.Errorf("%s: got the results %q in %q, want %q", f.format, got, text, want)
			}
		}
		for text, want := range definitions[f.format] {
			if got, _ := f.tools(text); len(got) != want {
				t.Errorf("%s: got %d tools in %q, want %d", f.format, len(got), text, want)
			}
		}
	}
}

// TestFormsAreLinear reads long texts that begin something again and again. What looks
// at the rest of the text at each beginning takes the square of the steps.
func TestFormsAreLinear(t *testing.T) {
	t.Parallel()
	steps.Run(t, formsAreLinear)
}

func formsAreLinear(t *testing.T) {
	const size, factor = 2 << 10, 16
	for _, f := range forms() {
		for _, piece := range []string{
			"<tools></tools>", "<tools> ", "<function>", "<function><name>f</name><parameters><parameter>", "{", "[", `{"output":`, `{"output":1} `,
			"You have access to the following tools:", "### f\nDescription: \n\nParameters: {}\n", "[AVAILABLE_TOOLS]", "[TOOL_RESULTS]",
			"[TOOL_RESULTS]a[/TOOL_RESULTS]", "<tool_response>\n", "<tool_response>\na\n</tool_response>\n", "<response></response>",
			"<|start_header_id|>ipython<|end_header_id|>", "<function_results>", "You MUST call ", "\n", f.how, f.head(),
		} {
			work := func(size int) func() {
				long := content(strings.Repeat(piece, size/max(len(piece), 1)))
				return func() {
					if a := f.decide(&request{Messages: []message{
						{Role: "system", Content: long}, {Role: "user", Content: long + "x"}, {Role: "assistant", Content: long}, {Role: "user", Content: long + "x"},
					}}); a.text == "" {
						t.Errorf("%s: got no text for %q, want one", f.format, piece)
					}
				}
			}
			t.Run(fmt.Sprintf("%s %q", f.format, piece), func(t *testing.T) { steps.Linear(t, factor, work(size), work(size*factor)) })
		}
	}
}
