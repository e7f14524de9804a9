package formats

import (
	"encoding/json"
	"strconv"
	"strings"
)

// xmlParams are tags, one for each parameter.
func xmlParams() []Format {
	dsml := func(name, model, word, wrapper, start string) Format {
		before := think
		if start != "" {
			before = opened
		}
		tag := "｜" + word + "｜"
		if name == "deepseek_v41" {
			tag += " "
		}
		return Format{Name: name, Model: model, Start: start, Write: list(before, "\n\n<"+tag+wrapper+">\n", "\n", "\n</"+tag+wrapper+">", func(c Call) string {
			return "<" + tag + "invoke name=\"" + c.Name + "\">\n" + join(c.Args, "", "", "", func(a Arg) string {
				s, isString := asString(a.Value)
				if !isString {
					s = string(a.Value)
				}
				return "<" + tag + "parameter name=\"" + a.Key + "\" string=\"" + strconv.FormatBool(isString) + "\">" + s + "</" + tag + "parameter>\n"
			}) + "</" + tag + "invoke>"
		})}
	}
	invoke := func(prefix string) func(Call) string {
		return func(c Call) string {
			return "<" + prefix + "invoke name=\"" + c.Name + "\">\n" + params(c.Args, "<"+prefix+"parameter name=\"", "\">", "</"+prefix+"parameter>\n", text) + "</" + prefix + "invoke>"
		}
	}
	return []Format{
		{Name: "qwen3_coder", Model: "Qwen/Qwen3-Coder-480B-A35B-Instruct", Write: list(think, "\n\n", "\n", "", func(c Call) string {
			return "<tool_call>\n<function=" + c.Name + ">\n" + params(c.Args, "<parameter=", ">\n", "\n</parameter>\n", text) + "</function>\n</tool_call>"
		})},
		{Name: "seed_oss", Model: "ByteDance-Seed/Seed-OSS-36B-Instruct", Write: seed},
		{Name: "minimax_m2", Model: "MiniMaxAI/MiniMax-M2", Start: thinkStart, Write: list(opened, "\n<minimax:tool_call>\n", "\n", "\n</minimax:tool_call>", invoke(""))},
		{Name: "minimax_m3", Model: "MiniMaxAI/MiniMax-M3", Write: minimaxM3},
		dsml("deepseek_v32", "deepseek-ai/DeepSeek-V3.2", "DSML", "function_calls", thinkStart),
		dsml("deepseek_v4", "deepseek-ai/DeepSeek-V4", "DSML", "tool_calls", thinkStart),
		dsml("deepseek_v41", "deepseek-ai/DeepSeek-V4.1", "DSML", "calls", thinkStart),
		dsml("gigachat35", "ai-sage/GigaChat3.5", "GCML", "tool_calls", ""),
		{Name: "step3", Model: "stepfun-ai/step3", Start: thinkStart, Write: list(opened, "<｜tool_calls_begin｜>\n", "\n", "\n<｜tool_calls_end｜>", func(c Call) string {
			return "<｜tool_call_begin｜>function<｜tool_sep｜>" + invoke("steptml:")(c) + "<｜tool_call_end｜>"
		})},
		{Name: "dots", Model: "rednote-hilab/dots.llm2", Write: list(think, "", "\n", "", func(c Call) string {
			return "<dots_function_call>\n" + invoke("")(c) + "\n</dots_function_call>"
		})},
		{Name: "minicpm5", Model: "openbmb/MiniCPM5-1B", Start: thinkStart, Write: calls(opened, minicpm)},
		{Name: "cohere_xml", Model: "", IDs: true, Write: list(think, "<cofl:tool_calls>", "", "</cofl:tool_calls>", func(c Call) string {
			return `<cofl:tool_call id="` + c.ID + `" name="` + c.Name + `">` + join(c.Args, "", "", "", func(a Arg) string {
				s, isString := asString(a.Value)
				if isString {
					return `<cofl:value name="` + a.Key + `" type="raw">` + s + `</cofl:value>`
				}
				return `<cofl:value name="` + a.Key + `" type="json">` + string(a.Value) + `</cofl:value>`
			}) + "</cofl:tool_call>"
		})},
	}
}

// seed writes what is no string as Python does.
func seed(t Turn) string {
	return wrap("<seed:think>", t.Reasoning, "</seed:think>") + t.Content + join(t.Calls, "", "", "", func(c Call) string {
		return "\n<seed:tool_call>\n<function=" + c.Name + ">\n" + params(c.Args, "<parameter=", ">", "</parameter>\n", pythonText) + "</function>\n</seed:tool_call>"
	})
}

func minicpm(c []Call) string {
	return join(c, "", "\n", "", func(c Call) string {
		return `<function name="` + c.Name + `">` + join(c.Args, "", "", "", func(a Arg) string {
			v := pythonText(a.Value)
			if strings.ContainsAny(v, "<&") {
				v = "<![CDATA[" + v + "]]>"
			}
			return `<param name="` + a.Key + `">` + v + "</param>"
		}) + "</function>"
	})
}

// minimaxM3 nests values as tags, each behind a marker.
func minimaxM3(t Turn) string {
	const ns = "]<]minimax[>["
	out := wrap("<mm:think>", t.Reasoning, "</mm:think>") + t.Content
	if len(t.Calls) == 0 {
		return out
	}
	var value func(v json.RawMessage) string
	value = func(v json.RawMessage) string {
		switch {
		case len(v) > 0 && v[0] == '{':
			return join(members(v), "", "", "", func(a Arg) string {
				return ns + "<" + a.Key + ">" + value(a.Value) + ns + "</" + a.Key + ">"
			})
		case len(v) > 0 && v[0] == '[':
			return join(elements(v), "", "", "", func(v json.RawMessage) string { return ns + "<item>" + value(v) + ns + "</item>" })
		case string(v) == "null":
			return ""
		}
		return text(v)
	}
	return out + join(t.Calls, ns+"<tool_call>\n", "", ns+"</tool_call>", func(c Call) string {
		return ns + `<invoke name="` + c.Name + `">` + join(c.Args, "", "", "", func(a Arg) string {
			return ns + "<" + a.Key + ">" + value(a.Value) + ns + "</" + a.Key + ">"
		}) + ns + "</invoke>\n"
	})
}

// keyValue are pairs of tags.
func keyValue() []Format {
	pairs := func(nl, suffix string) func(Arg) string {
		return func(a Arg) string {
			return "<arg_key" + suffix + ">" + a.Key + "</arg_key" + suffix + ">" + nl + "<arg_value" + suffix + ">" + text(a.Value) + "</arg_value" + suffix + ">" + nl
		}
	}
	glm := func(between, nl string) func([]Call) string {
		return func(c []Call) string {
			return join(c, "", between, "", func(c Call) string {
				return "<tool_call>" + c.Name + nl + join(c.Args, "", "", "", pairs(nl, "")) + "</tool_call>"
			})
		}
	}
	return []Format{
		{Name: "glm45", Model: "zai-org/GLM-4.6", Write: calls(onLine(think), glm("\n", "\n"))},
		{Name: "glm47", Model: "zai-org/GLM-4.7", Start: thinkStart, Write: calls(opened, glm("", ""))},
		{Name: "laguna", Model: "poolside/Laguna-XS-2.1", Start: thinkStart, Write: calls(opened, glm("\n", "\n"))},
		{Name: "hy_v3", Model: "tencent/Hy3", Write: func(t Turn) string {
			const s = ":opensource"
			out := "<think" + s + ">" + t.Reasoning + "</think" + s + ">" + t.Content
			if len(t.Calls) == 0 {
				return out
			}
			return out + join(t.Calls, "<tool_calls"+s+">\n", "\n", "\n</tool_calls"+s+">", func(c Call) string {
				return "<tool_call" + s + ">" + c.Name + "<tool_sep" + s + ">\n" + join(c.Args, "", "", "", pairs("\n", s)) + "</tool_call" + s + ">"
			})
		}},
		{Name: "ifm", Model: "LLM360/K2-Horizon", Write: list(think, "<ifm|tool_calls>", "", "</ifm|tool_calls>", func(c Call) string {
			return "<ifm|tool_call>" + c.Name + params(c.Args, "<ifm|arg_key>", "</ifm|arg_key><ifm|arg_value>", "</ifm|arg_value>", text) + "</ifm|tool_call>"
		})},
		{Name: "iquest_q1", Model: "IQuestLab/IQuest-Q1", Start: thinkStart, Write: list(opened, "", "", "", func(c Call) string {
			return "<iquest_tool_call>" + c.Name + join(c.Args, "", "", "", pairs("", "")) + "</iquest_tool_call>"
		})},
	}
}
