package prompted

// tagForms are those whose results stand between tags in a message of the user, or
// behind a role that needs no more than that.
func tagForms() []form {
	return []form{hermes(), qwenCoder(), glm45(), glm47(), minimaxM2(), nemotron()}
}

// hermes is the form of Qwen/Qwen3-32B, tokenizer_config.json. Qwen2.5 has the same text,
// and a system prompt that says who Qwen is, which would be false of Hermes and others
// that write so. Hermes 2 Pro's own template says the same in other words.
func hermes() form {
	return form{
		name: "hermes", gap: paragraph,
		open: `# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
`,
		tool: whole(spaced), between: "\n",
		close: `
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>`,
		results: frame{between: "\n", write: between("<tool_response>\n", "\n</tool_response>")},
	}
}

// qwenCoder is the form of Qwen/Qwen3-Coder-480B-A35B-Instruct, chat_template.jinja. Its
// first version had no heading. A list of types is JSON here; the template prints it as
// Python does.
func qwenCoder() form {
	return form{
		name: "qwen3_coder", gap: paragraph,
		preset: "You are Qwen, a helpful AI assistant that can interact with a computer to solve tasks.",
		open: `# Tools

You have access to the following functions:

<tools>
`,
		tool: qwenCoderTool, between: "\n",
		close: `
</tools>

If you choose to call a function ONLY reply in the following format with NO suffix:

<tool_call>
<function=example_function_name>
<parameter=example_parameter_1>
value_1
</parameter>
<parameter=example_parameter_2>
This is the value for the second parameter
that can span
multiple lines
</parameter>
</function>
</tool_call>

<IMPORTANT>
Reminder:
- Function calls MUST follow the specified format: an inner <function=...></function> block must be nested within <tool_call></tool_call> XML tags
- Required parameters MUST be specified
- You may provide optional reasoning for your function call in natural language BEFORE the function call, but NOT after
- If there is no function call available, answer the question like normal with your current knowledge and do not tell the user about function calls
</IMPORTANT>`,
		results: frame{write: between("<tool_response>\n", "\n</tool_response>\n")},
	}
}

// glm45 is the form of zai-org/GLM-4.5 and GLM-4.6, chat_template.jinja. The template
// writes the tools as a system message of their own, before the client's. Many templates
// refuse a second one, so they are one message here.
func glm45() form {
	return form{
		name: "glm45", first: true, gap: paragraph,
		open: glmOpen, tool: whole(spaced), between: "\n",
		close: glmClose + `
<tool_call>{function-name}
<arg_key>{arg-key-1}</arg_key>
<arg_value>{arg-value-1}</arg_value>
<arg_key>{arg-key-2}</arg_key>
<arg_value>{arg-value-2}</arg_value>
...
</tool_call>`,
		results: frame{between: "\n", write: between("<tool_response>\n", "\n</tool_response>")},
	}
}

// glm47 is the form of zai-org/GLM-4.7, chat_template.jinja: GLM-4.5's without the
// newlines. That results have none is not certain.
func glm47() form {
	return form{
		name: "glm47", first: true, gap: paragraph,
		open: glmOpen, tool: whole(spaced), between: "\n",
		close: glmClose + `
<tool_call>{function-name}<arg_key>{arg-key-1}</arg_key><arg_value>{arg-value-1}</arg_value><arg_key>{arg-key-2}</arg_key><arg_value>{arg-value-2}</arg_value>...</tool_call>`,
		results: frame{write: between("<tool_response>", "</tool_response>")},
	}
}

const (
	glmOpen = `# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
`
	glmClose = `
</tools>

For each function call, output the function name and arguments within the following XML format:`
)

// minimaxM2 is the form of MiniMaxAI/MiniMax-M2, chat_template.jinja.
func minimaxM2() form {
	return form{
		name: "minimax_m2", gap: paragraph,
		preset: "You are a helpful assistant.",
		open: `# Tools
You may call one or more tools to assist with the user query.
Here are the tools available in JSONSchema format:

<tools>
`,
		tool: func(dst []byte, t *tool) []byte {
			return append(spaced(append(dst, "<tool>"...), t.function), "</tool>\n"...)
		},
		close: `</tools>

When making tool calls, use XML format to invoke tools and pass parameters:

<minimax:tool_call>
<invoke name="tool-name-1">
<parameter name="param-key-1">param-value-1</parameter>
<parameter name="param-key-2">param-value-2</parameter>
...
</invoke>
</minimax:tool_call>`,
		results: frame{between: "\n", write: between("<response>", "</response>")},
	}
}

// nemotron is the form of nvidia/NVIDIA-Nemotron-Nano-9B-v2, tokenizer_config.json.
func nemotron() form {
	return form{
		name: "nemotron_json", gap: paragraph,
		open: "You can use the following tools to assist the user if required:\n<AVAILABLE_TOOLS>[",
		tool: function(spaced), between: ", ",
		close: `]</AVAILABLE_TOOLS>

If you decide to call any tool(s), use the following format:
<TOOLCALL>[{"name": "tool_name1", "arguments": "tool_args1"}, {"name": "tool_name2", "arguments": "tool_args2"}]</TOOLCALL>

The user will execute tool-calls and return responses from tool(s) in this format:
<TOOL_RESPONSE>[{"tool_response1"}, {"tool_response2"}]</TOOL_RESPONSE>

Based on the tool responses, you can call additional tools if needed, correct tool calls if any errors are found, or just respond to the user.`,
		results: frame{open: "<TOOL_RESPONSE>[", between: ", ", write: between("", ""), close: "]</TOOL_RESPONSE>"},
	}
}
