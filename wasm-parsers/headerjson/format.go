// Package headerjson reads tool calls that are a header with the function's name
// and then JSON arguments, such as
//
//	<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "Oslo"}<|tool_call_end|>
//
// One engine reads the forms that mark single calls, of which each is a value of
// format. Another one reads the forms of functionary, in which every message has
// such a header, that of the answer too. Arguments stream as they are written;
// their last brace waits until the call is sure.
package headerjson

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// format is what tells one family member from another:
//
//	[section] open before NAME [id ID] sep ARGS end … [sectionEnd]
//
// White space may stand between any two of them.
type format struct {
	sections    []string // spellings of what begins a section of calls; the section may be missing
	sectionEnds []string // spellings of what ends it; also ends calls without a section
	open        string   // begins a call
	openless    bool     // the first call of a section may lack open
	before      string   // a constant in front of the name
	mid         string   // the marker that before ends with
	idName      bool     // the name is read from an id, functions.NAME:0
	id          string   // stands between the name and an id
	sep         string   // ends the name or the id
	bodySep     bool     // the first byte of the arguments, or of a block of code, does so too
	fenced      bool     // the arguments may stand in a block of code
	braceOnly   bool     // only arguments that are an object are this format's
	end         string   // ends the call; if empty the call ends with its arguments
	turnEnds    []string // tokens that end the turn, and with it a call whose end is missing
	// textKey is the argument for a body that is no JSON object, if that may be.
	textKey string
	others  []format // the same with other spellings of its markers
}

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{
		Mistral(), DeepSeekV3(), DeepSeekV31(), KimiK2(), FunctionaryV31(), FunctionaryV32(), FunctionaryV2(), CWM(), Plamo3(), QwenAgent(), GLM4(),
	}
}

// Mistral reads the form of Mistral's tokenizers since v11, of which v11 alone
// writes an id. Where a server has stripped the special tokens the answer is
// NAME{…} alone.
func Mistral() sdk.Spec {
	f := &format{open: "[TOOL_CALLS]", id: "[CALL_ID]", sep: "[ARGS]", bodySep: true}
	return orBare(spec(abi.Parser{
		Name: "mistral", Aliases: []string{"ministral"}, Priority: 92,
		Formats: []string{"[TOOL_CALLS]NAME[ARGS]{…}", "[TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{…}", "[TOOL_CALLS]NAME{…}"},
		Models: []string{
			"*devstral*", "*magistral*", "*ministral-3*", "*mistral-small-3.2*", "*mistral-small-2506*",
			"*mistral-medium-3*", "*mistral-large-3*",
		},
	}, f), f, "")
}

// The tokens of DeepSeek. V3's section is also read in the spellings that
// llama.cpp accepts, and in the one of Step-3.
const (
	deepSeekOpen = "<｜tool▁call▁begin｜>"
	deepSeekSep  = "<｜tool▁sep｜>"
	deepSeekEnd  = "<｜tool▁call▁end｜>"
)

// spelled adds the spellings of DeepSeek's markers in which the bars, and then the gaps, are those
// of ASCII, as models write them that were converted badly.
func spelled(f format) format {
	for _, ascii := range []*strings.Replacer{strings.NewReplacer("｜", "|"), strings.NewReplacer("｜", "|", "▁", "_")} {
		other := f
		other.others = nil
		for _, s := range []*string{&other.open, &other.before, &other.mid, &other.sep, &other.end} {
			*s = ascii.Replace(*s)
		}
		for _, list := range []*[]string{&other.sections, &other.sectionEnds, &other.turnEnds} {
			*list = slices.Clone(*list)[:1]
			(*list)[0] = ascii.Replace((*list)[0])
		}
		f.others = append(f.others, other)
	}
	return f
}

func deepSeek() format {
	return format{
		sections: []string{
			"<｜tool▁calls▁begin｜>", "<｜tool▁calls｜>", "<｜tool calls begin｜>", `<｜tool\_calls\_begin｜>`,
			"<｜tool_calls_begin｜>",
		},
		sectionEnds: []string{"<｜tool▁calls▁end｜>", "<｜tool_calls_end｜>"},
		open:        deepSeekOpen, openless: true, end: deepSeekEnd, fenced: true,
		turnEnds: []string{"<｜end▁of▁sentence｜>"},
	}
}

// DeepSeekV3 reads the form of DeepSeek V3 and R1. It shares its tokens with V3.1,
// which has the name where V3 has the word function.
func DeepSeekV3() sdk.Spec {
	f := deepSeek()
	f.before, f.mid, f.sep, f.bodySep = "function"+deepSeekSep, deepSeekSep, "\n", true
	f = spelled(f)
	return spec(abi.Parser{
		Name: "deepseek_v3", Aliases: []string{"deepseekv3", "cogito"}, Priority: 82,
		Formats: []string{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME ```json {…} ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
		Models:  []string{"*deepseek-v3", "*deepseek-v3-0324*", "*deepseek-r1*", "*cogito*"},
	}, &f)
}

// DeepSeekV31 reads the form of DeepSeek V3.1 and V3.2-Exp.
func DeepSeekV31() sdk.Spec {
	f := deepSeek()
	f.sep = deepSeekSep
	f = spelled(f)
	return spec(abi.Parser{
		Name: "deepseek_v31", Aliases: []string{"deepseekv31", "deepseek3", "deepseek_v3_1"}, Priority: 80,
		Formats: []string{"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>NAME<｜tool▁sep｜>{…}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"},
		Models:  []string{"*deepseek-v3.1*", "*deepseek-v3.2-exp*"},
	}, &f)
}

// KimiK2 reads the form of Kimi K2 and K2.5. Where a server has stripped the special
// tokens the answer is functions.NAME:0{…} alone.
func KimiK2() sdk.Spec {
	f := kimiK2()
	return orBare(spec(abi.Parser{
		Name: "kimi_k2", Aliases: []string{"kimi-k2"}, Priority: 90,
		Formats: []string{"<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|><|tool_calls_section_end|>"},
		Models:  []string{"*kimi-k2*"},
	}, f), f, "functions.")
}

func kimiK2() *format {
	return &format{
		sections:    []string{"<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"},
		sectionEnds: []string{"<|tool_calls_section_end|>", "<|tool_call_section_end|>"},
		open:        "<|tool_call_begin|>", idName: true, sep: "<|tool_call_argument_begin|>", bodySep: true,
		end: "<|tool_call_end|>", turnEnds: []string{"<|im_end|>"},
	}
}

// GLM4 reads the form of the GLM-4 models before 4.5: the name stands where the
// template has the role's metadata, and JSON on the next line. It has no markers, so
// it is read only where it is all of the answer.
func GLM4() sdk.Spec {
	f := &format{sep: "{", bodySep: true} // the brace is never read with the name
	return orBare(spec(abi.Parser{
		Name: "glm4", Priority: 30,
		Formats: []string{`NAME\n{…}`},
		Example: `get_weather {"city": "Oslo"}`,
		Models:  []string{"*glm-4-9b*", "*glm-4-32b*"}, Heuristic: true,
	}, f), f, "")
}

// QwenAgent reads what the framework Qwen-Agent has taught the Qwen models before its
// fncall prompt of Nous.
func QwenAgent() sdk.Spec {
	return spec(abi.Parser{
		Name: "qwen_agent", Aliases: []string{"qwen-agent"}, Priority: 40,
		Formats: []string{`✿FUNCTION✿: NAME\n✿ARGS✿: {…}`},
		Example: "✿FUNCTION✿: get_weather ✿ARGS✿: {\"city\": \"Oslo\"}",
	}, &format{open: "✿FUNCTION✿:", sep: "✿ARGS✿:"})
}

// FunctionaryV31 reads the form of functionary v3.1, which is also that of Llama
// 3.1's custom tools. With <parameter=…> behind the tag it is another parser's.
func FunctionaryV31() sdk.Spec {
	return spec(abi.Parser{
		Name: "functionary_v31", Aliases: []string{"functionary_v3_1", "functionary-v3.1", "llama3.1_custom"}, Priority: 60,
		Formats: []string{"<function=NAME>{…}</function>"},
		Models:  []string{"*functionary*v3.1*"},
	}, &format{
		open: "<function=", sep: ">", bodySep: true, braceOnly: true,
		end: "</function>", turnEnds: []string{"<|eom_id|>", "<|eot_id|>"},
	})
}

// CWM reads the form of Meta's Code World Model, in which the body is a command.
func CWM() sdk.Spec {
	return spec(abi.Parser{
		Name: "cwm", Priority: 45,
		Formats: []string{"<tool: NAME> TEXT </tool>", "<tool: NAME>{…}</tool>"},
		Example: `<tool: get_weather>{"city": "Oslo"}</tool>`,
		Models:  []string{"*cwm*"},
	}, &format{open: "<tool: ", sep: ">", end: "</tool>", turnEnds: []string{"<|eot_id|>"}, textKey: "command"})
}

// Plamo3 reads the form of PLaMo 3.
func Plamo3() sdk.Spec {
	const begin, end = "<|plamo:begin_tool_", "<|plamo:end_tool_"
	const name, arguments = "name:plamo|>", "arguments:plamo|>"
	f := &format{
		sections: []string{begin + "requests:plamo|>"}, sectionEnds: []string{end + "requests:plamo|>"},
		open: begin + "request:plamo|>", before: begin + name,
		sep: end + name + begin + arguments + "<|plamo:constrain|>json<|plamo:msg|>",
		end: end + arguments + end + "request:plamo|>", turnEnds: []string{"<|plamo:tag|>"},
	}
	return spec(abi.Parser{
		Name: "plamo3", Priority: 40,
		Formats: []string{f.open + f.before + "NAME" + f.sep + "{…}" + f.end},
		Example: f.open + f.before + "get_weather" + f.sep + `{"city": "Oslo"}` + end + arguments, // more is too long
		Models:  []string{"*plamo-3*", "*plamo3*"},
	}, f)
}

func spec(p abi.Parser, f *format) sdk.Spec {
	p.Triggers = slices.Clone(f.sections)
	if f.open != "" {
		p.Triggers = append(p.Triggers, f.open)
	}
	for i := range f.others {
		p.Triggers = slices.Concat(p.Triggers, f.others[i].sections, []string{f.others[i].open})
	}
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: f, first: f} })
}
