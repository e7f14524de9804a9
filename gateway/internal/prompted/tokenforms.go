package prompted

import (
	"cmp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// tokenForms are those that write calls between special tokens. An upstream has to read
// such a token in a message as the token, as servers do that split the whole text of a
// template.
func tokenForms() []form {
	return []form{mistral(), mistralArray(), deepseekV3(), deepseekV31(), deepseekV32(), kimiK2(), granite(), lfm2()}
}

// mistral is the form of mistralai/Devstral-Small-2507, whose template is in
// mistral-common and in conversions of the model.
func mistral() form {
	return form{
		name: "mistral",
		open: "[AVAILABLE_TOOLS][", tool: whole(spaced), between: ", ", close: "][/AVAILABLE_TOOLS]",
		results: frame{write: between("[TOOL_RESULTS]", "[/TOOL_RESULTS]")},
	}
}

// mistralArray is the form of mistralai/Mistral-7B-Instruct-v0.3 and of Mistral Nemo,
// tokenizer_config.json and mistral-common. The templates have the tools before the last
// message of the user; Mistral's later ones have them where they are here.
func mistralArray() form {
	return form{
		name: "mistral_array",
		open: "[AVAILABLE_TOOLS] [", tool: whole(spaced), between: ", ", close: "][/AVAILABLE_TOOLS]",
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
	}
}

// deepseekV3 is the form of DeepSeek V3, V3-0324 and R1. The models' templates write
// calls and results but no definitions; these are in the words of vLLM's template for
// them, examples/tool_chat_template_deepseekv3.jinja. Its line breaks are not certain.
func deepseekV3() form {
	return form{
		name: "deepseek_v3", gap: paragraph,
		open: `You are a helpful assistant with tool calling capabilities. When a tool call is needed, you MUST use the following format to issue the call:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>FUNCTION_NAME
` + "```json" + `
{"param1": "value1", "param2": "value2"}
` + "```" + `<｜tool▁call▁end｜><｜tool▁calls▁end｜>

Make sure the JSON is valid.

## Tools

### Function

You have the following functions available:

`,
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(append(dst, "- `"...), t.name...), "`:\n```json\n"...)
			return append(spaced(dst, t.function), "\n```"...)
		},
		between: "\n",
		results: frame{
			open: "<｜tool▁outputs▁begin｜>", between: "\n", close: "<｜tool▁outputs▁end｜>",
			write: between("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
		},
	}
}

// deepseekV31 is the form of deepseek-ai/DeepSeek-V3.1: the definitions from its
// README.md, the results from tokenizer_config.json.
func deepseekV31() form {
	return form{
		name: "deepseek_v31", gap: paragraph,
		open: "## Tools\nYou have access to the following tools:\n\n",
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(dst, "### "...), t.name...)
			dst = append(append(dst, "\nDescription: "...), t.description...)
			return spaced(append(dst, "\n\nParameters: "...), t.schema())
		},
		between: paragraph,
		close: `

IMPORTANT: ALWAYS adhere to this exact format for tool use:
<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>tool_call_name<｜tool▁sep｜>tool_call_arguments<｜tool▁call▁end｜>{{additional_tool_calls}}<｜tool▁calls▁end｜>

Where:
- ` + "`tool_call_name`" + ` must be an exact match to one of the available tools
- ` + "`tool_call_arguments`" + ` must be valid JSON that strictly follows the tool's Parameters Schema
- For multiple tool calls, chain them directly without separators or spaces`,
		results: frame{write: between("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")},
	}
}

// deepseekV32 is the form of deepseek-ai/DeepSeek-V3.2, encoding/encoding_dsv32.py. The
// paragraph about thinking blocks is left out: an upstream without tools decides about
// them without knowing of results.
func deepseekV32() form {
	return form{
		name: "deepseek_v32", gap: paragraph,
		open: `## Tools

You have access to a set of tools you can use to answer the user's question.
You can invoke functions by writing a "<｜DSML｜function_calls>" block like the following as part of your reply to the user:
<｜DSML｜function_calls>
<｜DSML｜invoke name="$FUNCTION_NAME">
<｜DSML｜parameter name="$PARAMETER_NAME" string="true|false">$PARAMETER_VALUE</｜DSML｜parameter>
...
</｜DSML｜invoke>
<｜DSML｜invoke name="$FUNCTION_NAME2">
...
</｜DSML｜invoke>
</｜DSML｜function_calls>

String and scalar parameters should be specified as is without any escaping or quotes, while lists and objects should use JSON format. The "string" attribute should be set to "true" for string type parameters and "false" for other types (numbers, booleans, arrays, objects).

Here are the functions available in JSONSchema format:
<functions>
`,
		tool: function(spaced), between: "\n", close: "\n</functions>",
		results: frame{
			open: "<function_results>\n", between: "\n", close: "\n</function_results>",
			write: between("<result>", "</result>"),
		},
	}
}

// kimiK2 is the form of moonshotai/Kimi-K2-Instruct, chat_template.jinja. There the
// definitions, which are nothing but JSON, are a turn of a role of their own: the words
// around them here are ours. So is the place of results, which have a role there too.
func kimiK2() form {
	return form{
		name: "kimi_k2", gap: paragraph,
		open: "# Tools\n\nYou may call one or more tools. They are declared here:\n[",
		tool: whole(compact), between: ",",
		close: `]

To call tools, end your answer with a section like this one. IDX counts all calls of the conversation from 0.
<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:IDX<|tool_call_argument_begin|>{"key": "value"}<|tool_call_end|><|tool_calls_section_end|>`,
		number: func(n int, name string) string { return "functions." + name + ":" + strconv.Itoa(n) },
		results: frame{between: "\n", write: func(dst []byte, _ int, r result) []byte {
			dst = append(append(dst, "## Return of "...), cmp.Or(r.id, r.name)...)
			return append(append(dst, '\n'), r.text...)
		}},
	}
}

// granite is the form of ibm-granite/granite-3.1-8b-instruct, tokenizer_config.json. The
// template has the sentence only where the client has no system prompt, and the tools as
// a turn of a role of their own. The dates of its system prompt are left out: they would
// not be the same tomorrow.
func granite() form {
	return form{
		name: "granite", gap: paragraph,
		preset: "You are Granite, developed by IBM.",
		open:   "You are a helpful AI assistant with access to the following tools. When a tool is required to answer the user's query, respond with <|tool_call|> followed by a JSON list of tools used. If a tool does not exist in the provided list of tools, notify the user that you do not have the ability to fulfill the request.\n\n[\n    ",
		tool:   whole(indented("    ", "    ")), between: ",\n    ", close: "\n]",
		results: introduced,
	}
}

// lfm2 is the form of LiquidAI/LFM2-8B-A1B, chat_template.jinja and README.md, whose
// examples have the functions alone. The template has a role for results, with these
// tokens inside.
func lfm2() form {
	return form{
		name: "lfm2", gap: "\n",
		open: "List of tools: <|tool_list_start|>[", tool: function(spaced), between: ", ", close: "]<|tool_list_end|>",
		results: frame{write: between("<|tool_response_start|>", "<|tool_response_end|>")},
	}
}
