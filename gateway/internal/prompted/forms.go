package prompted

import (
	"cmp"
	"embed"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// form is how a family's chat template writes what concerns tools. Its texts are those
// of the template that its comment names, written down from knowledge of it. The comment
// says where that is not certain, and where the form differs. What stands around the tools is
// in prompts/NAME.txt.
type form struct {
	name   string // of the parser
	preset string // the system prompt where the client has none
	first  bool   // the tools stand before the client's text, not behind it
	gap    string // between the two

	open, between, close string // around the tools; Find sets the first and the last
	tool                 func(dst []byte, t *tool) []byte
	results              frame
	// number gives a call its id by its number in the conversation, from 0. It is nil
	// where ids are the client's.
	number func(n int, name string) string
}

//go:embed prompts
var prompts embed.FS

// read reads the text around the tools.
func (f *form) read() {
	text, _ := prompts.ReadFile("prompts/" + f.name + ".txt") // a test reads them all
	f.open, f.close, _ = strings.Cut(strings.TrimSuffix(string(text), "\n"), "{{tools}}")
}

// list is what the prompt says of tools.
func (f *form) list(tools []tool) string {
	dst := []byte(f.open)
	for i := range tools {
		if i > 0 {
			dst = append(dst, f.between...)
		}
		dst = f.tool(dst, &tools[i])
	}
	return string(append(dst, f.close...))
}

// prompt is a system prompt of the template's own text and the tools.
func (f *form) prompt(tools string) string {
	if f.preset == "" {
		return tools
	}
	return f.preset + f.gap + tools
}

// whole writes tools as the request has them, with type and function.
func whole(write func(dst, value []byte) []byte) func(dst []byte, t *tool) []byte {
	return func(dst []byte, t *tool) []byte { return write(dst, t.whole) }
}

// function writes the functions alone.
func function(write func(dst, value []byte) []byte) func(dst []byte, t *tool) []byte {
	return func(dst []byte, t *tool) []byte { return write(dst, t.function) }
}

// forms are all of them, without their texts.
var forms = []form{ //nolint:gochecknoglobals // a table

	// Results stand between tags in a user message, or behind a role that needs no more
	// than that.

	// hermes is the form of Qwen/Qwen3-32B, tokenizer_config.json. Qwen2.5 has the same text,
	// and a system prompt that says who Qwen is, which would be false of Hermes and others
	// that write so. Hermes 2 Pro's own template says the same in other words.
	{
		name: "hermes", gap: paragraph, tool: whole(spaced), between: "\n",
		results: frame{between: "\n", write: between("<tool_response>\n", "\n</tool_response>")},
	},
	// qwen3_coder is the form of Qwen/Qwen3-Coder-480B-A35B-Instruct, chat_template.jinja. Its
	// first version had no heading. A list of types is JSON here; the template prints it as
	// Python does.
	{
		name: "qwen3_coder", gap: paragraph, tool: qwenCoderTool, between: "\n",
		preset:  "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.",
		results: frame{write: between("<tool_response>\n", "\n</tool_response>\n")},
	},
	// glm45 is the form of zai-org/GLM-4.5 and GLM-4.6, chat_template.jinja. The template
	// writes the tools as a system message of their own, before the client's. Many templates
	// refuse a second one, so they are one message here.
	{
		name: "glm45", first: true, gap: paragraph, tool: whole(spaced), between: "\n",
		results: frame{between: "\n", write: between("<tool_response>\n", "\n</tool_response>")},
	},
	// glm47 is the form of zai-org/GLM-4.7, chat_template.jinja: GLM-4.5's without the
	// newlines. That results have none is not certain.
	{
		name: "glm47", first: true, gap: paragraph, tool: whole(spaced), between: "\n",
		results: frame{write: between("<tool_response>", "</tool_response>")},
	},
	// minimax_m2 is the form of MiniMaxAI/MiniMax-M2, chat_template.jinja.
	{
		name: "minimax_m2", gap: paragraph,
		preset:  "You are a helpful assistant.",
		results: frame{between: "\n", write: between("<response>", "</response>")},
		tool: func(dst []byte, t *tool) []byte {
			return append(spaced(append(dst, "<tool>"...), t.function), "</tool>\n"...)
		},
	},
	// nemotron_json is the form of nvidia/NVIDIA-Nemotron-Nano-9B-v2, tokenizer_config.json.
	{
		name: "nemotron_json", gap: paragraph, tool: function(spaced), between: ", ",
		results: frame{open: "<TOOL_RESPONSE>[", between: ", ", write: between("", ""), close: "]</TOOL_RESPONSE>"},
	},

	// Calls stand between special tokens. An upstream has to read such a token in a message as
	// the token, as servers do that split the whole text of a template.

	// mistral is the form of mistralai/Devstral-Small-2507, whose template is in
	// mistral-common and in conversions of the model.
	{
		name: "mistral", tool: whole(spaced), between: ", ",
		results: frame{write: between("[TOOL_RESULTS]", "[/TOOL_RESULTS]")},
	},
	// mistral_array is the form of mistralai/Mistral-7B-Instruct-v0.3 and of Mistral Nemo,
	// tokenizer_config.json and mistral-common. The templates have the tools before the last
	// message of the user; Mistral's later ones have them where they are here.
	{
		name: "mistral_array", tool: whole(spaced), between: ", ",
		results: frame{write: func(dst []byte, _ int, r result) []byte {
			dst = append(dst, `[TOOL_RESULTS] {"content": `...)
			if value := jsontext.Value(r.text); value.IsValid() {
				dst = spaced(dst, value)
			} else {
				dst = wire.AppendQuoted(dst, r.text)
			}
			dst = wire.AppendQuoted(append(dst, `, "call_id": `...), r.id)
			return append(dst, "}[/TOOL_RESULTS]"...)
		}},
	},
	// deepseek_v3 is the form of DeepSeek V3, V3-0324 and R1. The models' templates write
	// calls and results but no definitions; these are in the words of vLLM's template for
	// them, examples/tool_chat_template_deepseekv3.jinja. Its line breaks are not certain.
	{
		name: "deepseek_v3", gap: paragraph, between: "\n",
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(append(dst, "- `"...), t.name...), "`:\n```json\n"...)
			return append(spaced(dst, t.function), "\n```"...)
		},
		results: frame{
			open: "<｜tool▁outputs▁begin｜>", between: "\n", close: "<｜tool▁outputs▁end｜>",
			write: between("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
		},
	},
	// deepseek_v31 is the form of deepseek-ai/DeepSeek-V3.1: the definitions from its
	// README.md, the results from tokenizer_config.json.
	{
		name: "deepseek_v31", gap: paragraph, between: paragraph,
		results: frame{write: between("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")},
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(dst, "### "...), t.name...)
			dst = append(append(dst, "\nDescription: "...), t.description...)
			return spaced(append(dst, "\n\nParameters: "...), t.schema())
		},
	},
	// deepseek_v32 is the form of deepseek-ai/DeepSeek-V3.2, encoding/encoding_dsv32.py. The
	// paragraph about thinking blocks is left out: an upstream without tools decides about
	// them without knowing of results.
	{
		name: "deepseek_v32", gap: paragraph, tool: function(spaced), between: "\n",
		results: frame{
			open: "<function_results>\n", between: "\n", close: "\n</function_results>",
			write: between("<result>", "</result>"),
		},
	},
	// kimi_k2 is the form of moonshotai/Kimi-K2-Instruct, chat_template.jinja. There the
	// definitions, which are nothing but JSON, are a turn of a role of their own: the words
	// around them here are ours. So is the place of results, which have a role there too.
	{
		name: "kimi_k2", gap: paragraph, tool: whole(compact), between: ",", number: func(n int, name string) string { return "functions." + name + ":" + strconv.Itoa(n) },
		results: frame{between: "\n", write: func(dst []byte, _ int, r result) []byte {
			dst = append(append(dst, "## Return of "...), cmp.Or(r.id, r.name)...)
			return append(append(dst, '\n'), r.text...)
		}},
	},
	// granite is the form of ibm-granite/granite-3.1-8b-instruct, tokenizer_config.json. The
	// template has the sentence only where the client has no system prompt, and the tools as
	// a turn of a role of their own. The dates of its system prompt are left out: they would
	// not be the same tomorrow.
	{
		name: "granite", gap: paragraph, tool: whole(indented("    ", "    ")), between: ",\n    ",
		preset:  "You are Granite, developed by IBM.",
		results: introduced,
	},
	// lfm2 is the form of LiquidAI/LFM2-8B-A1B, chat_template.jinja and README.md, whose
	// examples have the functions alone. The template has a role for results, with these
	// tokens inside.
	{
		name: "lfm2", gap: "\n", tool: function(spaced), between: ", ",
		results: frame{write: between("<|tool_response_start|>", "<|tool_response_end|>")},
	},

	// Calls are plain text, as those of Meta's models.

	// llama3_json is the form of meta-llama/Llama-3.1-8B-Instruct, tokenizer_config.json, with
	// the tools in the system prompt (tools_in_user_message=false). There are no spaces
	// between its sentences. What the template says of its environment and the date is left
	// to the upstream.
	{
		name: "llama3_json", first: true, gap: paragraph, tool: whole(indented("", "    ")), between: paragraph,
		results: introduced,
	},
	// pythonic is the form of Meta's documentation of Llama 3.2, prompt_format.md of
	// text models in meta-llama/llama-models. The models' template has JSON instead.
	{
		name: "pythonic", gap: paragraph, tool: function(indented("    ", "    ")), between: ",\n    ",
		results: introduced,
	},
	// llama4_pythonic is the form of Meta's documentation of Llama 4, prompt_format.md of
	// llama4 in meta-llama/llama-models. Its first sentence is the one that stands there
	// before the client's own; the order of a few of its rules is not certain.
	{
		name: "llama4_pythonic", gap: paragraph, tool: function(indented("    ", "    ")), between: ",\n    ",
		results: introduced,
	},
	// functionary_v31 is the form of meetkai/functionary-medium-v3.1, tokenizer_config.json,
	// which is Meta's of custom tools. Two of its reminders are left out: that there is
	// brave_search to fall back to, and that there may be only one call. The order of its
	// paragraphs is not certain.
	{
		name: "functionary_v31", first: true, gap: paragraph, between: paragraph,
		results: introduced,
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(dst, "Use the function '"...), t.name...)
			dst = append(append(dst, "' to '"...), t.description...)
			return spaced(append(dst, "'\n"...), t.function)
		},
	},
	// phi4_mini_json is the form of microsoft/Phi-4-mini-instruct, README.md, for the definitions
	// and the system prompt. How to call is in the words of vLLM's template for the model,
	// examples/tool_chat_template_phi4_mini.jinja, slips and all; they are not certain.
	{
		name: "phi4_mini_json", gap: paragraph, tool: function(spaced), between: ", ",
		preset:  "You are a helpful assistant with some tools.",
		results: introduced,
	},

	// Any model can follow these.

	// generic is a form of our own, for models that were trained on none.
	{
		name: "generic", gap: paragraph, tool: function(spaced), between: "\n",
		results: introduced,
	},
	// lmstudio is the form that LM Studio gives to models without one of their own, from the
	// chapter "Tool Use" of its documentation. There the list of tools is written over
	// several lines; how deep it is indented is not certain. Results are introduced as in
	// all forms without markers for them.
	{
		name: "lmstudio", gap: paragraph, tool: whole(indented("    ", "  ")), between: ",\n    ",
		results: introduced,
	},
	// command_r is the form of CohereForAI/c4ai-command-r-plus, tokenizer_config.json, its
	// template tool_use. Three things differ. The template's preambles are left to the
	// upstream. Its order to write an action is the last turn there; here it stands behind the
	// tools, where it does not move. And an action directly-answer, which announces an answer
	// to be asked for with another prompt, is not demanded: there is no such prompt. How
	// results are counted is not certain.
	{
		name: "command_r", gap: paragraph, tool: pythonStub, between: paragraph,
		results: frame{
			open: "<results>\n", between: "\n\n", close: "\n</results>",
			write: func(dst []byte, n int, r result) []byte {
				dst = strconv.AppendInt(append(dst, "Document: "...), int64(n), 10)
				return append(append(dst, '\n'), r.text...)
			},
		},
	},
}
