package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
)

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{
		Qwen3Coder(), DeepSeekV4(), DeepSeekV41(), DeepSeekV32(), MinimaxM2(), BracketInvoke(), MinimaxM3(),
		SeedOSS(), Step3(), GigaChat35(), MiniCPM5(), Dots(), CohereXML(),
	}
}

// Qwen3Coder reads the form of Qwen3-Coder, Qwen3.5, Nemotron 3, Step-3.5 and
// Step-5, as their chat templates print it, and that of MiMo-V2, which has no newlines.
func Qwen3Coder() sdk.Spec {
	f := equals("<tool_call>", "</tool_call>", typed.Newline)
	f.jsonCall = true
	return spec(abi.Parser{
		Name:     "qwen3_coder",
		Aliases:  []string{"qwen3-coder", "qwen3coder", "qwen3_xml", "qwen3.5", "mimo", "step3p5", "step5", "nanbeige", "nemotron_nano", "nemotron-3-nano", "nemotron-3.5-nano", "ornith", "interns2-preview"},
		Priority: 90,
		Formats:  []string{"<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>"},
		Models:   []string{"*qwen3-coder*", "*qwen3.5*", "*qwen3.6*", "*nemotron-3*", "*step-3.5*", "*step-5*", "*mimo*", "*interns2*", "*intern-s2*"},
	}, f)
}

// SeedOSS reads the form of Seed-OSS, which has no newlines around values and
// Python literals in them.
func SeedOSS() sdk.Spec {
	f := equals("<seed:tool_call>", "</seed:tool_call>", typed.Keep).also("tool_call")
	return spec(abi.Parser{
		Name:     "seed_oss",
		Aliases:  []string{"seed-oss"},
		Priority: 46,
		Formats:  []string{"<seed:tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></seed:tool_call>"},
		Models:   []string{"*seed-oss*"},
	}, f)
}

// equals is a form with names behind an equals sign.
func equals(wrapOpen, wrapClose string, trim typed.Trim) format {
	return format{
		wrapOpen: wrapOpen, wrapClose: wrapClose,
		fun:       tagForm{open: "<function=", not: notInFunc},
		param:     tagForm{open: "<parameter=", not: notInKey},
		funcClose: "</function>", paramClose: "</parameter>",
		trim: trim,
	}
}

// attributes is a form with names in attributes. prefix begins the name of each tag.
func attributes(prefix, wrapOpen, wrapClose string) format {
	return format{
		wrapOpen: wrapOpen, wrapClose: wrapClose,
		fun:       tagForm{open: "<" + prefix + "invoke", attrs: true, not: notInFunc},
		param:     tagForm{open: "<" + prefix + "parameter", attrs: true, not: notInKey},
		funcClose: "</" + prefix + "invoke>", paramClose: "</" + prefix + "parameter>",
	}
}

// MinimaxM2 reads the form of MiniMax-M2.
func MinimaxM2() sdk.Spec {
	f := attributes("", "<minimax:tool_call>", "</minimax:tool_call>").also("tool_call")
	return spec(abi.Parser{
		Name:     "minimax_m2",
		Aliases:  []string{"minimax-m2"},
		Priority: 50,
		Formats: []string{
			`<minimax:tool_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke></minimax:tool_call>`,
			`<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`,
		},
		Triggers: []string{f.wrapOpen, "<invoke name="},
		Models:   []string{"*minimax-m2*"},
	}, f)
}

// BracketInvoke reads the tags of MiniMax-M2 in the bracket tags that models without
// a format of their own make up.
func BracketInvoke() sdk.Spec {
	f := attributes("", "[TOOL_CALL]", "[/TOOL_CALL]")
	return spec(abi.Parser{
		Name:      "tool_call_invoke",
		Aliases:   []string{"tool_call_tags"},
		Priority:  49,
		Formats:   []string{`[TOOL_CALL]<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>[/TOOL_CALL]`},
		Triggers:  []string{f.wrapOpen},
		Heuristic: true,
	}, f)
}

// Dots reads the form of dots.llm, whose wrapper or function may hold JSON instead.
func Dots() sdk.Spec {
	f := attributes("", "<dots_function_call>", "</dots_function_call>")
	f.jsonArgs, f.jsonCall = true, true
	return spec(abi.Parser{
		Name:     "dots",
		Priority: 35,
		Formats: []string{
			`<dots_function_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke></dots_function_call>`,
			`<dots_function_call><invoke name="NAME">{ARGUMENTS}</invoke></dots_function_call>`,
			`<dots_function_call>{"name", "arguments"}</dots_function_call>`,
		},
		Triggers: []string{f.wrapOpen, "<invoke name="},
		Models:   []string{"*dots.llm*"},
	}, f)
}

// Step3 reads the form of Step-3: tags between special tokens.
func Step3() sdk.Spec {
	f := attributes("steptml:", "<｜tool_calls_begin｜>", "<｜tool_calls_end｜>")
	f.lead = []string{"<｜tool_call_begin｜>", "function", "<｜tool_sep｜>"}
	f.tail = "<｜tool_call_end｜>"
	f.closed = true
	f = f.spelled()
	return spec(abi.Parser{
		Name:     "step3",
		Priority: 45,
		Formats: []string{"<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜>" +
			`<steptml:invoke name="NAME"><steptml:parameter name="KEY">VALUE</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>`},
		Triggers: []string{f.wrapOpen, f.lead[0], f.fun.open},
		Models:   []string{"*step3", "*step3-fp8*", "*step-3"},
	}, f)
}

// DeepSeekV32 reads the form of DeepSeek V3.2.
func DeepSeekV32() sdk.Spec {
	return stated(abi.Parser{
		Name:     "deepseek_v32",
		Aliases:  []string{"deepseekv32", "deepseek_v3_2", "deepseek-v32"},
		Priority: 51,
		Models:   []string{"*deepseek-v3.2*"},
	}, "｜DSML｜", "function_calls", "tool_calls")
}

// DeepSeekV4 reads the form of DeepSeek V4.
func DeepSeekV4() sdk.Spec {
	return stated(abi.Parser{
		Name:     "deepseek_v4",
		Aliases:  []string{"deepseekv4", "deepseek-v4"},
		Priority: 52,
		Models:   []string{"*deepseek-v4*"},
	}, "｜DSML｜", "tool_calls", "function_calls")
}

// DeepSeekV41 reads the form of DeepSeek V4.1, which has a space in every tag.
func DeepSeekV41() sdk.Spec {
	return stated(abi.Parser{
		Name:     "deepseek_v41",
		Aliases:  []string{"deepseekv41"},
		Priority: 52,
		Models:   []string{"*deepseek-v4.1*"},
	}, "｜DSML｜ ", "calls", "tool_calls")
}

// GigaChat35 reads the form of GigaChat 3.5.
func GigaChat35() sdk.Spec {
	return stated(abi.Parser{
		Name:     "gigachat35",
		Priority: 44,
		Models:   []string{"*gigachat3.5*", "*gigachat-3.5*"},
	}, "｜GCML｜", "tool_calls", "function_calls")
}

// stated makes a parser of a form whose parameters state whether they are strings.
// As SGLang and vLLM do, it also takes a JSON object for the parameters, a call that
// is one tag, and a lone parameter that holds all others. sister is the wrapper of another
// version, which models write too.
func stated(p abi.Parser, prefix, wrapper, sister string) sdk.Spec {
	f := attributes(prefix, "<"+prefix+wrapper+">", "</"+prefix+wrapper+">")
	f.typing, f.closed, f.jsonArgs = byString, true, true
	f = f.also(prefix + sister).spelled()
	call := f.wrapOpen + f.fun.open + ` name="NAME">`
	p.Formats = []string{
		call + f.param.open + ` name="KEY" string="true|false">VALUE` + f.paramClose + f.funcClose + f.wrapClose,
		call + "{ARGUMENTS}" + f.funcClose + f.wrapClose,
	}
	return spec(p, f)
}

// ATEM reads the body of a message to a tool of Muse Glimmer: one block of calls.
// The parser of its messages uses it; it is not one of Specs.
func ATEM() sdk.Spec {
	f := attributes("atem:", "<atem:function_calls>", "</atem:function_calls>")
	f.closed, f.doubled = true, true
	return spec(abi.Parser{
		Name:     "atem_body",
		Priority: 43,
		Formats:  []string{`<atem:function_calls><atem:invoke name="NAME"><atem:parameter name="KEY">VALUE</atem:parameter></atem:invoke></atem:function_calls>`},
		Triggers: []string{f.wrapOpen},
	}, f)
}

// MiniCPM5 reads the form of MiniCPM5, which may write a value as CDATA.
func MiniCPM5() sdk.Spec {
	f := format{
		fun:       tagForm{open: "<function", attrs: true, glued: true, not: notInFunc},
		param:     tagForm{open: "<param", attrs: true, glued: true, not: notInKey},
		funcClose: "</function>", paramClose: "</param>",
		inLine: true, cdata: true, bpe: true,
	}
	return spec(abi.Parser{
		Name:     "minicpm5",
		Priority: 42,
		Formats: []string{
			`<function name="NAME"><param name="KEY">VALUE</param></function>`,
			`<function name="NAME"><param name="KEY"><![CDATA[VALUE]]></param></function>`,
		},
		Triggers: []string{"<function name=", "<functionname=", "<functionĠname="},
		Models:   []string{"*minicpm5*", "*minicpm-5*"},
	}, f)
}

// CohereXML reads the tags that xgrammar calls Cohere's.
func CohereXML() sdk.Spec {
	f := format{
		wrapOpen: "<cofl:tool_calls>", wrapClose: "</cofl:tool_calls>",
		fun:       tagForm{open: "<cofl:tool_call ", attrs: true, glued: true, not: notInFunc},
		param:     tagForm{open: "<cofl:value", attrs: true, not: notInKey},
		funcClose: "</cofl:tool_call>", paramClose: "</cofl:value>",
		typing: byType, inLine: true, closed: true,
	}
	return spec(abi.Parser{
		Name:     "cohere_xml",
		Priority: 30,
		Formats: []string{`<cofl:tool_calls><cofl:tool_call id="ID" name="NAME"><cofl:value name="KEY" type="raw|json|dict|list">VALUE` +
			`</cofl:value></cofl:tool_call></cofl:tool_calls>`},
		Example: `<cofl:tool_calls><cofl:tool_call id="0" name="get_weather"><cofl:value name="city" type="raw">Oslo</cofl:value>` +
			`</cofl:tool_call></cofl:tool_calls>`,
	}, f)
}

// MinimaxM3 reads the form of MiniMax-M3, where each parameter is a tag of its own,
// objects and arrays are tags inside tags, and a token stands before every tag.
func MinimaxM3() sdk.Spec {
	const mark = "]<]minimax[>["
	f := format{
		wrapOpen: mark + "<tool_call>", wrapClose: mark + "</tool_call>",
		fun:       tagForm{open: mark + "<invoke", attrs: true, not: notInFunc},
		param:     tagForm{open: mark + "<", not: notInElement},
		funcClose: mark + "</invoke>",
		prefix:    mark,
		inLine:    true, closed: true, nested: true,
	}
	return spec(abi.Parser{
		Name:     "minimax_m3",
		Aliases:  []string{"minimax-m3", "minimax_m3_nom", "minimax-m3-nom"},
		Priority: 48,
		Formats: []string{mark + `<tool_call>` + mark + `<invoke name="NAME">` + mark + `<KEY>VALUE` + mark + `</KEY>` +
			mark + `</invoke>` + mark + `</tool_call>`},
		Models: []string{"*minimax-m3*"},
	}, f)
}
