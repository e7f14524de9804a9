package formats

import (
	"encoding/json"
	"strconv"
	"strings"
)

// channels frame the whole answer.
func channels() []Format {
	return []Format{
		{Name: "harmony", Model: "openai/gpt-oss-120b", Write: harmony},
		{Name: "inkling", Model: "thinkingmachines/Inkling", Write: inkling},
		{Name: "muse", Model: "meta/muse-glimmer", Write: muse},
		{Name: "kimi_k3", Model: "moonshotai/Kimi-K3", Start: "<|open|>think<|sep|>", Write: kimiK3},
		{Name: "cohere", Model: "CohereLabs/c4ai-command-a-03-2025", IDs: true, Write: cohere},
		{Name: "solar_open", Model: "upstage/Solar-Open-100B", IDs: true, Write: solar},
	}
}

func harmony(t Turn) string {
	var messages []string
	if t.Reasoning != "" {
		messages = append(messages, "<|channel|>analysis<|message|>"+t.Reasoning+"<|end|>")
	}
	if len(t.Calls) == 0 {
		messages = append(messages, "<|channel|>final<|message|>"+t.Content+"<|return|>")
	} else if t.Content != "" {
		messages = append(messages, "<|channel|>commentary<|message|>"+t.Content+"<|end|>")
	}
	for _, c := range t.Calls {
		messages = append(messages, "<|channel|>commentary to=functions."+c.Name+" <|constrain|>json<|message|>"+object(c.Args)+"<|call|>")
	}
	return strings.Join(messages, "<|start|>assistant")
}

func inkling(t Turn) string {
	out := wrap("<|message_model|><|content_thinking|>", t.Reasoning, "<|end_message|>")
	out += wrap("<|message_model|><|content_text|>", t.Content, "<|end_message|>")
	return out + join(t.Calls, "", "", "", func(c Call) string {
		return "<|message_model|>" + c.Name + "<|content_invoke_tool_json|>" + named("name", "args")(c) + "<|end_message|>"
	}) + "<|content_model_end_sampling|>"
}

func muse(t Turn) string {
	var messages []string
	if t.Reasoning != "" {
		messages = append(messages, " to=self<|message|>"+t.Reasoning)
	}
	if t.Content != "" || len(t.Calls) == 0 {
		messages = append(messages, " to=user<|message|>"+t.Content)
	}
	for _, c := range t.Calls {
		messages = append(messages, " to="+c.Name+"<|message|><atem:function_calls>\n<atem:invoke name=\""+c.Name+"\">\n"+
			params(c.Args, "<atem:parameter name=\"", "\">", "</atem:parameter>\n", text)+"</atem:invoke>\n</atem:function_calls>")
	}
	return strings.Join(messages, "<|eom|><|start|>assistant") + "<|eot|>"
}

func kimiK3(t Turn) string {
	element := func(name, attributes, body string) string {
		return "<|open|>" + name + attributes + "<|sep|>" + body + "<|close|>" + name + "<|sep|>"
	}
	attribute := func(name, value string) string {
		return " " + name + `="` + strings.NewReplacer("&", "&amp;", `"`, "&quot;").Replace(value) + `"`
	}
	out := wrap("", t.Reasoning, "<|close|>think<|sep|>")
	if t.Content != "" || len(t.Calls) == 0 {
		out += element("response", "", t.Content)
	}
	if len(t.Calls) > 0 {
		body := ""
		for i, c := range t.Calls {
			body += element("call", attribute("tool", c.Name)+attribute("index", strconv.Itoa(i+1)), join(c.Args, "", "", "", func(a Arg) string {
				return element("argument", attribute("key", a.Key)+attribute("type", typeOf(a.Value)), text(a.Value))
			}))
		}
		out += element("tools", "", body)
	}
	return out + "<|close|>message<|sep|><|end_of_msg|>"
}

// typeOf is the JSON type of a value.
func typeOf(v json.RawMessage) string {
	switch v[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func cohere(t Turn) string {
	out := wrap("<|START_THINKING|>", t.Reasoning, "<|END_THINKING|>")
	if t.Content != "" || len(t.Calls) == 0 {
		out += "<|START_RESPONSE|>" + t.Content + "<|END_RESPONSE|>"
	}
	if len(t.Calls) == 0 {
		return out
	}
	return out + join(t.Calls, "<|START_ACTION|>[\n    ", ",\n    ", "\n]<|END_ACTION|>", func(c Call) string {
		return `{"tool_call_id": ` + quote(c.ID) + `, "tool_name": ` + quote(c.Name) + `, "parameters": ` + object(c.Args) + "}"
	})
}

func solar(t Turn) string {
	var messages []string
	if t.Reasoning != "" {
		messages = append(messages, "<|think|>"+t.Reasoning)
	}
	if t.Content != "" || len(t.Calls) == 0 {
		messages = append(messages, "<|content|>"+t.Content)
	}
	end := "<|end|>"
	if len(t.Calls) > 0 {
		end = ""
		messages = append(messages, "<|tool_calls|>"+join(t.Calls, "", "", "", func(c Call) string {
			return "<|tool_call:begin|>" + c.ID + "<|tool_call:name|>" + c.Name + "<|tool_call:args|>" + object(c.Args) + "<|tool_call:end|>"
		})+"<|calls|>")
	}
	return strings.Join(messages, "<|end|><|begin|>assistant") + end
}

// heuristic are forms that are ordinary text too.
func heuristic() []Format {
	hermes := named("name", "arguments")
	one := func(start, end string) func([]Call) string {
		return func(c []Call) string {
			return join(c, "", "\n", "", func(c Call) string { return start + hermes(c) + end })
		}
	}
	return []Format{
		{Name: "llama3_json", Model: "meta-llama/Llama-3.1-8B-Instruct", Silent: true, Write: list(think, "<|python_tag|>", "; ", "", named("name", "parameters"))},
		{Name: "openai", Model: "", Silent: true, Heuristic: true, Write: list(think, `{"tool_calls": [`, ", ", "]}", hermes)},
		{Name: "generic", Model: "", Single: true, Heuristic: true, Write: calls(onLine(think), one("```json\n", "\n```"))},
		{Name: "xlam", Model: "Salesforce/Llama-xLAM-2-8b-fc-r", Silent: true, Heuristic: true, Write: list(think, "[", ", ", "]", hermes)},
		{Name: "command_r", Model: "CohereForAI/c4ai-command-r-plus", Silent: true, Heuristic: true, Write: list(think, "Action:\n```json\n[\n    ", ",\n    ", "\n]```", named("tool_name", "parameters"))},
		{Name: "lmstudio", Model: "", Heuristic: true, Write: calls(onLine(think), one("[TOOL_REQUEST]", "[END_TOOL_REQUEST]"))},
		{Name: "tool_call_tags", Model: "", Heuristic: true, Write: calls(onLine(think), one("[TOOL_CALL]\n", "\n[/TOOL_CALL]"))},
	}
}
