package demo

import (
	"encoding/json"
	"strings"

	"github.com/callgate/callgate/gateway/formats"
)

// form is how the chat template of a format's models writes tools and their results
// into the text that the model reads. Where the server does not do that, the text of
// the messages has to hold it.
type form struct {
	format string
	inUser bool // the template defines tools in front of a user's text, or may
	// how is what the template says of the form of calls. It is "" where models are
	// trained to one and told nothing.
	how string
	// tools reads the definitions in a text, and returns what is behind them. There are
	// none if one of them is written in another way.
	tools func(text string) (list []tool, rest string)
	// results reads those that a text begins with, and returns what is behind them.
	results func(text string) (list []string, rest string)
}

// forms are those of the official templates, and of vLLM's example where the makers'
// own has no place for tools (pythonic).
func forms() []form {
	turns := tagged("<tool_response>\n", "\n</tool_response>")
	xml := linesBetween("<tools>", "</tools>", wrappedTool)
	return []form{
		{"hermes", false, `"arguments": <args-`, xml, turns},
		{"qwen3_coder", false, "<function=", functionTags, turns},
		{"glm45", false, "<arg_key>", xml, behind("<|observation|>", turns)},
		{"glm47", false, "<arg_key>", xml, behind("<|observation|>", tagged("<tool_response>", "</tool_response>"))},
		{"llama3_json", true, "dictionary of argument name and its value", toolsBehind("Do not use variables.", "{", wrappedTool), outputs},
		{"pythonic", true, "func_name1(params_name1=params_value1", toolsBehind("func_name2(params)]", "[{", anyTool), outputs},
		{"mistral", true, "", arrayBetween("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", wrappedTool),
			each(tagged("[TOOL_RESULTS]", "[/TOOL_RESULTS]"), withoutID)},
		{"mistral_array", true, "", arrayBetween("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", wrappedTool),
			each(tagged("[TOOL_RESULTS]", "[/TOOL_RESULTS]"), contentOfCall)},
		{"minimax_m2", false, "<invoke name=", linesBetween("<tools>", "</tools>", taggedTool), tagged("<response>", "</response>")},
		{"deepseek_v31", false, "<｜tool▁sep｜>", headings, tagged("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")},
		{"deepseek_v32", false, "<｜DSML｜invoke name=", linesBetween("<functions>", "</functions>", bareTool),
			within("<function_results>", "</function_results>", tagged("<result>", "</result>"))},
		{"lfm2", false, "", arrayBetween("<|tool_list_start|>", "<|tool_list_end|>", anyTool), tagged("<|tool_response_start|>", "<|tool_response_end|>")},
	}
}

// head is what the format writes in front of the name of its first call.
func (f *form) head() string {
	const name = "NAME"
	format, _ := formats.Find(f.format)
	head, _, _ := strings.Cut(format.Write(formats.Turn{Calls: []formats.Call{{Name: name, ID: "0"}}}), name)
	return strings.TrimPrefix(strings.TrimSpace(head), "<|python_tag|>") // Llama's template has none in front of functions
}

// called says whether a text of the assistant has a call, in front of whose name there
// is a head.
func called(head, text string) bool {
	if head != "[" {
		return strings.Contains(text, head)
	}
	name, isList := strings.CutPrefix(strings.TrimSpace(text), head)
	return isList && strings.HasPrefix(strings.TrimLeftFunc(name, nameRune), "(")
}

// wrappedTool reads a tool as it is in a request.
func wrappedTool(text []byte) (tool, bool) {
	var t struct {
		Type string `json:"type"`
		tool
	}
	err := json.Unmarshal(text, &t)
	return t.tool, err == nil && t.Type == "function" && t.Function.Name != ""
}

// bareTool reads a tool's function alone.
func bareTool(text []byte) (tool, bool) {
	var t tool
	err := json.Unmarshal(text, &t.Function)
	return t, err == nil && t.Function.Name != ""
}

func anyTool(text []byte) (tool, bool) {
	if t, ok := wrappedTool(text); ok {
		return t, true
	}
	return bareTool(text)
}

// taggedTool reads a function between tags of its own.
func taggedTool(text []byte) (tool, bool) {
	inner, opened := strings.CutPrefix(string(text), "<tool>")
	inner, closed := strings.CutSuffix(inner, "</tool>")
	t, ok := bareTool([]byte(inner))
	return t, ok && opened && closed
}
