package formats

import (
	"strconv"
	"strings"
)

// taggedJSON are JSON between markers.
func taggedJSON() []Format {
	hermes := named("name", "arguments")
	parameters := named("name", "parameters")
	bracketed := func(start, end string) func([]Call) string {
		return func(c []Call) string { return join(c, start, ", ", end, hermes) }
	}
	each := func(start, between, end string, write func(Call) string) func([]Call) string {
		return func(c []Call) string {
			return join(c, "", between, "", func(c Call) string { return start + write(c) + end })
		}
	}
	return []Format{
		{Name: "hermes", Model: "Qwen/Qwen3-32B", Write: calls(onLine(think), each("<tool_call>\n", "\n", "\n</tool_call>", hermes))},
		{Name: "longcat", Model: "meituan-longcat/LongCat-Flash-Chat", Write: calls(think, each("<longcat_tool_call>\n", "\n", "\n</longcat_tool_call>", hermes))},
		{Name: "ernie45", Model: "baidu/ERNIE-4.5-21B-A3B-Thinking", Start: thinkStart, Write: ernie(each("\n<tool_call>\n", "", "\n</tool_call>\n", hermes))},
		{Name: "nemotron_json", Model: "nvidia/NVIDIA-Nemotron-Nano-9B-v2", Start: thinkStart, Write: calls(opened, bracketed("<TOOLCALL>[", "]</TOOLCALL>"))},
		{Name: "jamba", Model: "ai21labs/AI21-Jamba-Mini-1.7", Write: calls(think, bracketed("<tool_calls>[", "]</tool_calls>"))},
		{Name: "hunyuan_a13b", Model: "tencent/Hunyuan-A13B-Instruct", Write: hunyuan(bracketed("<tool_calls>[", "]</tool_calls>"))},
		{Name: "minimax_m1", Model: "MiniMaxAI/MiniMax-M1-80k", Write: list(onLine(think), "<tool_calls>\n", "\n", "\n</tool_calls>", hermes)},
		{Name: "internlm", Model: "internlm/internlm2_5-7b-chat", Write: calls(think, each("<|action_start|><|plugin|>\n", "", "<|action_end|>", parameters))},
		{Name: "granite", Model: "ibm-granite/granite-3.1-8b-instruct", Silent: true, Write: calls(think, bracketed("<|tool_call|>[", "]"))},
		{Name: "granite_20b_fc", Model: "ibm-granite/granite-20b-functioncalling", Silent: true, Write: calls(think, each("<function_call> ", "\n", "", hermes))},
		{Name: "gigachat3", Model: "ai-sage/GigaChat3-10B-A1.8B", Single: true, Write: calls(think, each("<|message_sep|>\n\nfunction call<|role_sep|>\n", "", "", hermes))},
		{Name: "gigachat31", Model: "ai-sage/GigaChat3.1-10B-A1.8B", Single: true, Write: calls(think, each("<|function_call|>", "", "", hermes))},
		{Name: "phi4_mini_json", Model: "microsoft/Phi-4-mini-instruct", Silent: true, Write: calls(think, bracketed("functools[", "]"))},
		{Name: "mistral_array", Model: "mistralai/Mistral-Nemo-Instruct-2407", IDs: true, Write: list(think, "[TOOL_CALLS] [", ", ", "]", func(c Call) string {
			return `{"name": ` + quote(c.Name) + `, "arguments": ` + object(c.Args) + `, "id": ` + quote(c.ID) + "}"
		})},
		{Name: "apertus", Model: "swiss-ai/Apertus-8B-Instruct-2509", Write: list(think, "<|tools_prefix|>[", ", ", "]<|tools_suffix|>", func(c Call) string { return "{" + quote(c.Name) + ": " + object(c.Args) + "}" })},
		{Name: "pangu", Model: "FreedomIntelligence/openPangu-Embedded-7B", Write: calls(think, bracketed("<|tool_call_start|>[", "]<|tool_call_end|>"))},
	}
}

// ernie puts a plain answer into a block of its own.
func ernie(write func([]Call) string) func(Turn) string {
	return func(t Turn) string {
		out := t.Content
		if t.Reasoning != "" {
			out = t.Reasoning + "\n</think>\n\n" + wrap("\n<response>\n", t.Content, "\n</response>\n")
		}
		if len(t.Calls) > 0 {
			out += write(t.Calls)
		}
		return out
	}
}

// hunyuan wraps all but the reasoning.
func hunyuan(write func([]Call) string) func(Turn) string {
	return func(t Turn) string {
		rest := t.Content
		if len(t.Calls) > 0 {
			rest += write(t.Calls)
		}
		if t.Reasoning == "" {
			return rest
		}
		return "<think>\n" + t.Reasoning + "\n</think>\n<answer>\n" + rest + "\n</answer>"
	}
}

// headerJSON are a header with the name, then the arguments as JSON.
func headerJSON() []Format {
	return []Format{
		{Name: "mistral", Model: "mistralai/Devstral-Small-2507", Write: list(think, "", "", "", header("[TOOL_CALLS]", "[ARGS]", ""))},
		{Name: "deepseek_v3", Model: "deepseek-ai/DeepSeek-V3-0324", Write: list(think, "<｜tool▁calls▁begin｜>", "\n", "<｜tool▁calls▁end｜>", header("<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n```json\n", "\n```<｜tool▁call▁end｜>"))},
		{Name: "deepseek_v31", Model: "deepseek-ai/DeepSeek-V3.1", Start: thinkStart, Write: list(opened, "<｜tool▁calls▁begin｜>", "", "<｜tool▁calls▁end｜>", header("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"))},
		{Name: "plamo3", Model: "pfnet/plamo-3", Write: plamo},
		{Name: "kimi_k2", Model: "moonshotai/Kimi-K2-Instruct", IDs: true, Write: kimi},
		{Name: "functionary_v31", Model: "meetkai/functionary-medium-v3.1", Write: list(think, "", "", "", header("<function=", ">", "</function>"))},
		{Name: "functionary_v32", Model: "meetkai/functionary-medium-v3.2", Plain: true, Write: func(t Turn) string {
			out := ""
			if t.Content != "" || len(t.Calls) == 0 {
				out = ">>>all\n" + t.Content
			}
			return out + join(t.Calls, "", "", "", header(">>>", "\n", ""))
		}},
		{Name: "functionary_v2", Model: "meetkai/functionary-medium-v2.4", Plain: true, Write: functionaryV2},
	}
}

// kimi writes the ids that its template prints: functions.NAME:INDEX.
func kimi(t Turn) string {
	out := think(t)
	if len(t.Calls) == 0 {
		return out
	}
	out += "<|tool_calls_section_begin|>"
	for i, c := range t.Calls {
		id := c.ID
		if id == "" {
			id = "functions." + c.Name + ":" + strconv.Itoa(i)
		}
		out += "<|tool_call_begin|>" + id + "<|tool_call_argument_begin|>" + object(c.Args) + "<|tool_call_end|>"
	}
	return out + "<|tool_calls_section_end|>"
}

func functionaryV2(t Turn) string {
	messages := []string{"all\n<|content|>" + t.Content}
	for _, c := range t.Calls {
		messages = append(messages, c.Name+"\n<|content|>"+object(c.Args))
	}
	return strings.Join(messages, "\n<|from|>assistant\n<|recipient|>") + "<|stop|>"
}

func plamo(t Turn) string {
	const begin, end = "<|plamo:begin_", "<|plamo:end_"
	const request, name, arguments = "tool_request:plamo|>", "tool_name:plamo|>", "tool_arguments:plamo|>"
	out := wrap(begin+"think:plamo|>", t.Reasoning, end+"think:plamo|>") + t.Content
	if len(t.Calls) == 0 {
		return out
	}
	return out + join(t.Calls, begin+"tool_requests:plamo|>", "", end+"tool_requests:plamo|>",
		header(begin+request+begin+name, end+name+begin+arguments+"<|plamo:constrain|>json<|plamo:msg|>", end+arguments+end+request))
}
