// Package pythonic reads tool calls that are written as Python, such as
//
//	[get_weather(city="Oslo", days=2), get_time()]
//
// alone or between markers, in a list or one a line, and the list of dicts that is
// Python's print of such calls. Values are Python literals; JSON's words are read
// too. Strings stream as they are written; the last brace of a call's arguments
// waits until the call is sure.
package pythonic

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// brackets says whether calls stand in a list.
type brackets uint8

const (
	listed brackets = iota // in a list
	either                 // in a list or one behind the other
	bare                   // one behind the other
)

// format is what tells one family member from another.
type format struct {
	open     string // begins a region
	close    string // ends it, and may be missing
	brackets brackets
	suffix   string // stands behind every function's name
	// whole means that nothing may follow: the calls are all of the output.
	whole bool
	// fenced are the lines of which one may begin a block of code around the calls.
	fenced []string
}

// turnEnds are what models end their turn with. Where a server leaves it in the
// text it may stand behind the calls, and says that there are no more.
var turnEnds = [...]string{"<|", "</s>", "<end_of_turn>"}

// callToken begins the tokens that other formats have around calls. Behind a text that is nothing but
// calls one of them ends no turn: what stands between tokens is the call, and the text was about it.
const callToken = "<|tool_call"

// Specs are the parsers of the family.
func Specs() []sdk.Spec {
	return []sdk.Spec{Pythonic(), Llama4Pythonic(), OLMo3(), LFM2(), Llama3Builtin(), Sarashina(), SarashinaBare()}
}

// The lines that a block of calls begins with. tool_code is Gemma's word for a block that is run.
const (
	inPython   = "```python\n"
	inCode     = "```\n"
	inToolCode = "```tool_code\n"
)

// Pythonic reads the list of calls that ToolACE, Llama 3.2 and Gemma 3 write as
// their whole answer, also in a block of code. Llama 4 writes it too where its
// tokens are left out.
func Pythonic() sdk.Spec {
	return spec(abi.Parser{
		Name:      "pythonic",
		Aliases:   []string{"llama4_pythonic"},
		Priority:  60,
		Formats:   []string{"[NAME(KEY=VALUE), NAME()]"},
		Example:   `[get_weather(city="Oslo")]`,
		Starts:    []string{"[", inPython, inCode, inToolCode},
		Models:    []string{"*toolace*", "*llama-3.2*", "*gemma-3-*"},
		Heuristic: true,
	}, format{close: "<|python_end|>", whole: true, fenced: []string{inPython, inCode, inToolCode}})
}

// Llama4Pythonic reads the same between the tokens of Llama 4.
func Llama4Pythonic() sdk.Spec {
	return spec(abi.Parser{
		Name:     "llama4_pythonic",
		Aliases:  []string{"pythonic"},
		Priority: 75,
		Formats:  []string{"<|python_start|>[NAME(KEY=VALUE), NAME()]<|python_end|>"},
		Example:  `<|python_start|>[get_weather(city="Oslo")]<|python_end|>`,
		Models:   []string{"*llama-4*", "*llama4*"},
	}, format{open: "<|python_start|>", close: "<|python_end|>"})
}

// OLMo3 reads the form of OLMo 3, one call a line.
func OLMo3() sdk.Spec {
	return spec(abi.Parser{
		Name:     "olmo3",
		Aliases:  []string{"olmo3-think"},
		Priority: 70,
		Formats:  []string{"<function_calls>NAME(KEY=VALUE)</function_calls>"},
		Example:  `<function_calls>get_weather(city="Oslo")</function_calls>`,
		Models:   []string{"*olmo-3*", "*olmo3*"},
	}, format{open: "<function_calls>", close: "</function_calls>", brackets: either})
}

// LFM2 reads the form of Liquid's LFM2 and LFM2.5, and that of MiniCPM3, whose template has a block of
// Python between the same tokens, and in it a call a line.
func LFM2() sdk.Spec {
	return spec(abi.Parser{
		Name:     "lfm2",
		Aliases:  []string{"lfm2-thinking", "minicpm3"},
		Priority: 75,
		Formats: []string{
			"<|tool_call_start|>[NAME(KEY=VALUE), NAME()]<|tool_call_end|>",
			"<|tool_call_start|>```python NAME(KEY=VALUE)```<|tool_call_end|>",
		},
		Example: `<|tool_call_start|>[get_weather(city='Oslo')]<|tool_call_end|>`,
		Models:  []string{"*lfm2*", "*minicpm3*"},
	}, format{open: "<|tool_call_start|>", close: "<|tool_call_end|>", brackets: either, fenced: []string{inPython, inCode}})
}

// Llama3Builtin reads the call of a built-in tool of Llama 3.1. Other code behind
// the same token is the model's, for an interpreter.
func Llama3Builtin() sdk.Spec {
	return spec(abi.Parser{
		Name:     "llama3_builtin",
		Aliases:  []string{"llama3_json"},
		Priority: 45,
		Formats:  []string{"<|python_tag|>NAME.call(KEY=VALUE)"},
		Example:  `<|python_tag|>get_weather.call(city="Oslo")`,
		Models:   []string{"*llama-3.1*", "*llama-3.2*", "*llama-3.3*"},
	}, format{open: "<|python_tag|>", brackets: bare, suffix: ".call"})
}

// Lines reads calls one behind the other, or in a list, that are all of a text. It is not one of Specs: the
// parser of models that have no format of their own uses it.
func Lines() sdk.Spec {
	return spec(abi.Parser{Name: "python_lines", Formats: []string{"NAME(KEY=VALUE)"}}, format{brackets: either, whole: true})
}

func spec(p abi.Parser, f format) sdk.Spec {
	if f.open != "" {
		p.Triggers = []string{f.open}
	}
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}

// canParse wants a name and its opening parenthesis behind what begins the region.
func (f *format) canParse(head []byte) sdk.Verdict {
	if v := markup.Match(head, f.open); v != sdk.Yes {
		return v
	}
	b := chars.SkipSpace(head[len(f.open):])
	line, v := f.fence(b)
	if v == sdk.Maybe {
		return sdk.Maybe
	}
	b = chars.SkipSpace(b[len(line):])
	if f.brackets != bare && len(b) > 0 && b[0] == '[' {
		b = chars.SkipSpace(b[1:])
	} else if f.wantsList(line) && len(b) > 0 {
		return sdk.No
	}
	if len(b) == 0 {
		return sdk.Maybe
	}
	return markup.Filled(f.canParseName(b), head)
}

// fence gives the line that begins a block of calls at the front of b, if one does.
func (f *format) fence(b []byte) (line string, verdict sdk.Verdict) {
	verdict = sdk.No
	for _, line := range f.fenced {
		switch v := markup.Match(b, line); {
		case len(b) == 0:
			return "", sdk.No
		case v == sdk.Yes:
			return line, v
		case v == sdk.Maybe:
			verdict = v
		}
	}
	return "", verdict
}

// wantsList reports whether calls must stand in a list, behind the line that begins a block.
func (f *format) wantsList(line string) bool { return f.brackets == listed && line != inToolCode }

func (f *format) canParseName(b []byte) sdk.Verdict {
	if !nameStart(b[0]) {
		return sdk.No
	}
	n := 1
	for n < len(b) && nameByte(b[n]) {
		n++
	}
	switch {
	case n > maxName+len(f.suffix):
		return sdk.No
	case n == len(b):
		return sdk.Maybe
	case b[n] != '(' || f.nameOf(b[:n]) == "":
		return sdk.No
	}
	return sdk.Yes
}

// maxName is how many bytes the name of a function or a parameter may have.
const maxName = 256

// nameOf is the name of the function that was written so, or "".
func (f *format) nameOf(written []byte) string {
	name, found := strings.CutSuffix(string(written), f.suffix)
	if !found || len(name) > maxName {
		return ""
	}
	return name
}

// nameStart tells what a function's name may begin with.
func nameStart(c byte) bool {
	return chars.IsLetter(c) || chars.IsDigit(c) || c == '_' || c >= 0x80
}

// nameByte tells what a function's name is made of. Python has only the letters,
// but tools are called get-weather, math.sqrt and server/tool too.
func nameByte(c byte) bool {
	return nameStart(c) || c == '.' || c == '-' || c == '/' || c == ':'
}
