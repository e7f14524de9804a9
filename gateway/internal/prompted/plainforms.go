package prompted

// plainForms are those that any model can follow.
func plainForms() []form { return []form{generic(), lmStudio(), commandR()} }

// generic is a form of our own, for models that were trained on none.
func generic() form {
	return form{
		name: "generic", gap: paragraph,
		open: "# Tools\n\nYou can call the tools below. Each line is one: a JSON object with its name, what it does, and its parameters as a JSON Schema.\n\n",
		tool: function(spaced), between: "\n",
		close: `

To call a tool, answer with nothing but a block of code in this form, one for each call:
` + "```json" + `
{"name": "<name of the tool>", "arguments": {"<name of a parameter>": <its value>}}
` + "```" + `
You will be given the results in the next message. Never make up a result. If you need no tool, answer without such a block.`,
		results: introduced,
	}
}

// lmStudio is the form that LM Studio gives to models without one of their own, from the
// chapter "Tool Use" of its documentation. There the list of tools is written over
// several lines; how deep it is indented is not certain. Results are introduced as in
// all forms without markers for them.
func lmStudio() form {
	return form{
		name: "lmstudio", gap: paragraph,
		open: `You are a tool-calling AI. You can request calls to available tools with this EXACT format:
[TOOL_REQUEST]{"name": "tool_name", "arguments": {"param1": "value1"}}[END_TOOL_REQUEST]

AVAILABLE TOOLS:
{
  "type": "toolArray",
  "tools": [
    `,
		tool: whole(indented("    ", "  ")), between: ",\n    ",
		close: `
  ]
}

RULES:
- Only use tools from AVAILABLE TOOLS
- Include all required arguments
- Use one [TOOL_REQUEST] block per tool
- Never use [TOOL_RESULT]
- If you decide to call one or more tools, there should be no other text in your message

Examples:
"Check Paris weather"
[TOOL_REQUEST]{"name": "get_weather", "arguments": {"location": "Paris"}}[END_TOOL_REQUEST]

"Send email to John about meeting and open browser"
[TOOL_REQUEST]{"name": "send_email", "arguments": {"to": "John", "subject": "meeting"}}[END_TOOL_REQUEST]
[TOOL_REQUEST]{"name": "open_browser", "arguments": {}}[END_TOOL_REQUEST]

Respond conversationally if no matching tools exist.`,
		results: introduced,
	}
}
