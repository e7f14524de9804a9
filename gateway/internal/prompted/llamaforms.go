package prompted

// llamaForms are those of models that write calls as plain text, as Meta's do.
func llamaForms() []form {
	return []form{llama3JSON(), pythonic(), llama4Pythonic(), functionaryV31(), phi4Mini()}
}

// llama3JSON is the form of meta-llama/Llama-3.1-8B-Instruct, tokenizer_config.json, with
// the tools in the system prompt (tools_in_user_message=false). There are no spaces
// between its sentences. What the template says of its environment and the date is left
// to the upstream.
func llama3JSON() form {
	return form{
		name: "llama3_json", first: true, gap: paragraph,
		open: `You have access to the following functions. To call a function, please respond with JSON for a function call.Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.Do not use variables.

`,
		tool: whole(indented("", "    ")), between: paragraph,
		results: introduced,
	}
}

// pythonic is the form of Meta's documentation of Llama 3.2, prompt_format.md of
// text models in meta-llama/llama-models. The models' template has JSON instead.
func pythonic() form {
	return form{
		name: "pythonic", gap: paragraph,
		open: `You are an expert in composing functions. You are given a question and a set of possible functions.
Based on the question, you will need to make one or more function/tool calls to achieve the purpose.
If none of the function can be used, point it out. If the given question lacks the parameters required by the function,
also point it out. You should only return the function call in tools call sections.

If you decide to invoke any of the function(s), you MUST put it in the format of [func_name1(params_name1=params_value1, params_name2=params_value2...), func_name2(params)]
You SHOULD NOT include any other text in the response.

Here is a list of functions in JSON format that you can invoke.

[
    `,
		tool: function(indented("    ", "    ")), between: ",\n    ", close: "\n]",
		results: introduced,
	}
}

// llama4Pythonic is the form of Meta's documentation of Llama 4, prompt_format.md of
// llama4 in meta-llama/llama-models. Its first sentence is the one that stands there
// before the client's own; the order of a few of its rules is not certain.
func llama4Pythonic() form {
	return form{
		name: "llama4_pythonic", gap: paragraph,
		open: `You are a helpful assistant and an expert in function composition. You can answer general questions using your internal knowledge OR invoke functions when necessary. Follow these strict guidelines:

1. FUNCTION CALLS:
- ONLY use functions that are EXPLICITLY listed in the function list below
- If NO functions are listed (empty function list []), respond ONLY with internal knowledge or "I don't have access to [Unavailable service] information"
- If a function is not in the list, respond ONLY with internal knowledge or "I don't have access to [Unavailable service] information"
- If ALL required parameters are present AND the query EXACTLY matches a listed function's purpose: output ONLY the function call(s)
- Use exact format: [func_name1(param1=value1, param2=value2), func_name2(...)]
Examples:
CORRECT: [get_weather(location="Vancouver"), calculate_route(start="Boston", end="New York")] <- Only if get_weather and calculate_route are in function list
INCORRECT: get_weather(location="New York")
INCORRECT: Let me check the weather: [get_weather(location="New York")]
INCORRECT: [get_events(location="Singapore")] <- If function not in list

2. RESPONSE RULES:
- For pure function requests matching a listed function: ONLY output the function call(s)
- For knowledge questions: ONLY output text
- For missing parameters: ONLY request the specific missing parameters
- For unavailable services (not in function list): output ONLY with internal knowledge or "I don't have access to [Unavailable service] information". Do NOT execute a function call.
- If the query asks for information beyond what a listed function provides: output ONLY with internal knowledge about your limitations
- NEVER combine text and function calls in the same response
- NEVER suggest alternative functions when the requested service is unavailable
- NEVER create or invent new functions not listed below

3. STRICT BOUNDARIES:
- ONLY use functions from the list below - no exceptions
- NEVER use a function as an alternative to unavailable information
- NEVER call functions not present in the function list
- NEVER add explanatory text to function calls
- NEVER respond with empty brackets
- Use proper Python/JSON syntax for function calls
- Check the function list carefully before responding

4. TOOL RESPONSE HANDLING:
- When receiving tool responses: provide concise, natural language responses
- Don't repeat tool response verbatim
- Don't add supplementary information

Here is a list of functions in JSON format that you can invoke:
[
    `,
		tool: function(indented("    ", "    ")), between: ",\n    ", close: "\n]",
		results: introduced,
	}
}

// functionaryV31 is the form of meetkai/functionary-medium-v3.1, tokenizer_config.json,
// which is Meta's of custom tools. Two of its reminders are left out: that there is
// brave_search to fall back to, and that there may be only one call. The order of its
// paragraphs is not certain.
func functionaryV31() form {
	return form{
		name: "functionary_v31", first: true, gap: paragraph,
		open: "You have access to the following functions:\n\n",
		tool: func(dst []byte, t *tool) []byte {
			dst = append(append(dst, "Use the function '"...), t.name...)
			dst = append(append(dst, "' to '"...), t.description...)
			return spaced(append(dst, "'\n"...), t.function)
		},
		between: paragraph,
		close: `

Think very carefully before calling functions.
If a you choose to call a function ONLY reply in the following format:
<{start_tag}={function_name}>{parameters}{end_tag}
where

start_tag => ` + "`<function`" + `
parameters => a JSON dict with the function argument name as key and function argument value as value.
end_tag => ` + "`</function>`" + `

Here is an example,
<function=example_function_name>{"example_name": "example_value"}</function>

Reminder:
- Function calls MUST follow the specified format, start with <function= and end with </function>
- Required parameters MUST be specified
- Put the entire function call reply on one line`,
		results: introduced,
	}
}

// phi4Mini is the form of microsoft/Phi-4-mini-instruct, README.md, for the definitions
// and the system prompt. How to call is in the words of vLLM's template for the model,
// examples/tool_chat_template_phi4_mini.jinja, slips and all; they are not certain.
func phi4Mini() form {
	return form{
		name: "phi4_mini_json", gap: paragraph,
		preset: "You are a helpful assistant with some tools.",
		open: `In addition to plain text responses, you can chose to call one or more of the provided functions.

Use the following rule to decide when to call a function:
  * if the response can be generated from your internal knowledge (e.g., as in the case of queries like "What is the capital of Poland?"), do so
  * if you need external information that can be obtained by calling one or more of the provided functions, generate a function calls

If you decide to call functions:
  * prefix function calls with functools marker (no closing marker required)
  * all function calls should be generated in a single JSON list formatted as functools[{"name": [function name], "arguments": [function arguments as JSON]}, ...]
  * follow the provided JSON schema. Do not hallucinate arguments or values. Do to blindly copy values from the provided samples
  * respect the argument type formatting. E.g., if the type if number and format is float, write value 7 as 7.0
  * make sure you pick the right functions that match the user intent

<|tool|>[`,
		tool: function(spaced), between: ", ", close: "]<|/tool|>",
		results: introduced,
	}
}
