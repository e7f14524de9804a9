// Package heuristic reads calls of models that have no format of their own and
// write from memory: JSON that is the whole output, in a block of code, or behind a
// bracket tag such as [TOOL_REQUEST]. All of it may as well be an answer: data, an
// example, the description of a tool. So a parser here takes only what can be
// nothing but a call, and gives up at the first byte that shows that it is none,
// because the answer waits until then.
//
// The forms are those that LM Studio, Ollama's generic parser, Dynamo's default
// parser, llama.cpp's generic handler, and vLLM's xlam and llama3_json parsers read.
package heuristic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// forms are the shapes that a call may have.
type forms uint16

const (
	object     forms = 1 << iota // {"name": "get_weather", "arguments": {…}}
	array                        // a JSON array of these
	wrapped                      // {"tool_calls": […]} and {"tool_call": {…}}
	named                        // {"get_weather": {…}}
	request                      // [TOOL_REQUEST]{…}[END_TOOL_REQUEST]
	header                       // [get_weather] {…}[END_TOOL_REQUEST]
	tags                         // [TOOL_CALL]{…}[/TOOL_CALL]
	calling                      // [Calling tool: get_weather({…})]
	loose                        // members of other names, and {"content": "…"} around all
	element                      // <get_weather>{…}</get_weather>
	pythonCall                   // get_weather(city="Oslo")
	pythonList                   // [get_weather(city="Oslo")], which alone is another parser's
)

// labelled are the forms of f that are read behind the word Action:.
func (f forms) labelled() forms { return f & (object | loose) }

// infence are the forms of f that are read in a block of code.
func (f forms) infence() forms {
	f &= object | array | wrapped | named | loose | element | pythonCall
	if f&pythonCall != 0 {
		f |= pythonList
	}
	return f
}

// What is reported of forms that are nobody's format.
const (
	formKeys    = "form_keys"    // other names of members
	formNamed   = "form_named"   // the name as a key
	formContent = "form_content" // a message around it
	formElement = "form_element"
	formPython  = "form_python"
)

// format is what tells one member of the family from another.
type format struct {
	forms   forms
	fenced  bool // JSON may stand in a block of code
	action  bool // it always does, behind the word Action:
	label   bool // a line may begin with that word in front of JSON
	several bool // objects may follow one another
}

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{
		Llama3JSON(), ToolCallTags(), LMStudio(), CommandR(), XLAM(), CallingTool(), Generic(), Llama3JSONBare(),
	}
}

// openings are what a block of code begins with if there may be a call in it.
var openings = []string{"```json", "```JSON", "```tool_call", "```tool_code", "```\n"}

// Generic reads every form that needs no special token.
func Generic() sdk.Spec {
	return spec(abi.Parser{
		Name:     "generic",
		Aliases:  []string{"json", "tools", "default"},
		Priority: 20,
		Formats: []string{
			`{"name", "arguments"}`, `[{"name", "arguments"}]`, `{"tool_calls": [{"function": {"name", "arguments"}}]}`,
			`{"tool_call": {"name", "arguments"}}`, `{NAME: {…}}`, "```json {…} ```",
			`[TOOL_REQUEST]{…}[END_TOOL_REQUEST]`, `[TOOL_CALL]{…}[/TOOL_CALL]`, `[Calling tool: NAME({…})]`,
			`{"tool_call": NAME, "parameters"}`, `{"action": NAME, "action_input"}`, `<NAME>{…}</NAME>`, `NAME(KEY=VALUE)`,
			`Action: {"name", "arguments"}`,
		},
		Starts:   []string{"{", "[", "<", startAction, ""},
		Triggers: append([]string{startRequest, startTags, startCalling, "\n" + startAction}, openings...),
	}, format{forms: object | array | wrapped | named | request | header | tags | calling | loose | element | pythonCall, fenced: true, label: true, several: true})
}

// XLAM reads the array that Salesforce's xLAM models write.
func XLAM() sdk.Spec {
	return spec(abi.Parser{
		Name:     "xlam",
		Priority: 30,
		Formats:  []string{`[{"name", "arguments"}]`, "```json [{…}] ```"},
		Models:   []string{"*xlam*"},
		Starts:   []string{"["},
		Triggers: openings,
	}, format{forms: array, fenced: true})
}

// notCalled are the names of the tool of Command R that is none: it says that the
// answer follows.
var notCalled = []string{"directly-answer", "directly_answer"}

// CommandR reads the action of Cohere's Command R and R+ of 2024.
func CommandR() sdk.Spec {
	return spec(abi.Parser{
		Name:     "command_r",
		Priority: 40,
		Formats:  []string{"Action: ```json [{\"tool_name\", \"parameters\"}]```"},
		Example:  "Action: ```json [{\"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Oslo\"}}]```",
		Models:   []string{"*command-r", "*command-r-*", "*command-r:*"},
		Triggers: []string{startAction, "\n" + startAction},
	}, format{forms: array, action: true})
}

// LMStudio reads what LM Studio asks of models that have no format of their own.
func LMStudio() sdk.Spec {
	return spec(abi.Parser{
		Name:     "lmstudio",
		Priority: 45,
		Formats:  []string{`[TOOL_REQUEST]{"name", "arguments"}[END_TOOL_REQUEST]`, `[NAME]{…}[END_TOOL_REQUEST]`},
		Starts:   []string{"["},
		Triggers: []string{startRequest},
	}, format{forms: request | header})
}

// ToolCallTags reads the bracket tags that models make up.
func ToolCallTags() sdk.Spec {
	return spec(abi.Parser{
		Name:     "tool_call_tags",
		Priority: 50,
		Formats:  []string{`[TOOL_CALL]{"name", "arguments"}[/TOOL_CALL]`, `[TOOL_CALL]{tool => "NAME", args => {--K V}}[/TOOL_CALL]`},
		Triggers: []string{startTags},
	}, format{forms: tags})
}

// CallingTool reads what some frameworks write into a history, and models copy.
func CallingTool() sdk.Spec {
	return spec(abi.Parser{
		Name:     "calling_tool",
		Priority: 25,
		Formats:  []string{`[Calling tool: NAME({…})]`},
		Triggers: []string{startCalling},
	}, format{forms: calling})
}

// Llama3JSONBare reads calls of Llama 3 and 4 that are the whole output: objects, or as
// the handler of the Berkeley Function Calling Leaderboard met them, an array. The form
// behind a token is Llama3JSON; whoever configures one means both, so they share
// their aliases. The xLAM models, which are taught an array, also write objects.
func Llama3JSONBare() sdk.Spec {
	return spec(abi.Parser{
		Name:     "llama3_json_bare",
		Aliases:  []string{"llama3_json", "llama3", "llama4_json", "default", "xlam"},
		Priority: 15,
		Formats:  []string{`{"name", "parameters"}; {"name", "parameters"}`, `[{"name", "parameters"}]`},
		Example:  `{"name": "get_weather", "parameters": {"city": "Oslo"}}`,
		Models:   llamas,
		Starts:   []string{"{", "["},
	}, format{forms: object | array, several: true})
}

func spec(p abi.Parser, f format) sdk.Spec {
	p.Heuristic = true
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}
