package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
)

// Hermes reads the form of Hermes, Qwen 2.5 and 3, Granite 4, ERNIE 4.5 and many
// others. Smaller models write other tags than the one that they were taught, which
// are those that llama.cpp's handler of Hermes accepted. These are ordinary text as
// well: a list of tools, an answer that was asked for as JSON.
func Hermes() sdk.Spec {
	const open, end = "<tool_call>", "</tool_call>"
	forms := []form{ // Falcon 3 puts its JSON into a block of code
		{open: []string{open, "```json"}, close: "```", after: []string{end}},
		{open: []string{open, "```"}, close: "```", after: []string{end}},
		{open: []string{open}, close: end},
	}
	for _, tag := range []string{"tools", "tool", "response", "json", "JSON", "xml"} {
		forms = append(forms, form{open: []string{"<" + tag + ">"}, close: "</" + tag + ">", loose: true})
	}
	// Granite-20B-FunctionCalling writes this tag without an end.
	forms = append(forms, form{
		open: []string{"<function_call>"}, after: []string{"</function_call>"}, body: objectBody, loose: true,
	})
	return spec(abi.Parser{
		Name: "hermes",
		Aliases: []string{
			"qwen", "qwen25", "xlam", "qwen3", "qwen3-thinking", "qwen3-vl-instruct", "qwen3-vl-thinking",
			"qwen2d5", "qwen3_json", "granite4", "ernie45", "trinity", "json_tools",
		},
		Priority: 95,
		Formats:  []string{`<tool_call>{"name", "arguments"}</tool_call>`},
		Models: []string{
			"*hermes*", "*qwen2.5*", "*qwen3*", "*qwq*", "*granite-4*", "*trinity*",
			"*mimo-vl*", "*exaone-4*", "*smollm3*", "*bielik*", "*reka*", "*ernie-4.5*",
		},
	}, format{forms: forms})
}
