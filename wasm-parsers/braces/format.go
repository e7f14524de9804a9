// Package braces reads tool calls that are written as objects without JSON's quotes,
// as the Gemma models do it:
//
//	<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>
//
// Keys are bare, and a token of its own stands at both ends of a string, in which
// nothing is escaped. JSON's quotes are read too, for models write them.
package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// format is what tells one family member from another.
type format struct {
	open, close string   // around a call
	opening     string   // open and what stands behind it
	quote       string   // at both ends of a string
	stops       []string // what follows calls, and ends one whose own end is missing
	// guess says that values of any type may stand between quotes, so that the
	// schema decides.
	guess bool
}

// Specs are the parsers of the family.
func Specs() []sdk.Spec { return []sdk.Spec{Gemma4(), FunctionGemma(), Gemma4Bare()} }

// Gemma4 reads the form of Gemma 4.
func Gemma4() sdk.Spec {
	return spec(format{
		open: "<|tool_call>", close: "<tool_call|>", quote: `<|"|>`, stops: []string{"<|tool_response>", "<turn|>"},
	}, abi.Parser{
		Name:     "gemma4",
		Aliases:  []string{"gemma-4"},
		Priority: 90,
		Models:   []string{"*gemma-4*", "*gemma4*"},
	})
}

// FunctionGemma reads the form of FunctionGemma. Google's template writes only
// strings between quotes; vLLM's does so with every value, with structures as Python
// literals.
func FunctionGemma() sdk.Spec {
	return spec(format{
		open: "<start_function_call>", close: "<end_function_call>", quote: "<escape>",
		stops: []string{"<start_function_response>", "<end_of_turn>"}, guess: true,
	}, abi.Parser{
		Name:     "functiongemma",
		Aliases:  []string{"function_gemma"},
		Priority: 50,
		Models:   []string{"*functiongemma*"},
	})
}

func spec(f format, p abi.Parser) sdk.Spec {
	f.opening = f.open + call
	p.Triggers = []string{f.open}
	p.Formats = []string{f.opening + "NAME{KEY:" + f.quote + "STRING" + f.quote + ",KEY:3}" + f.close}
	p.Example = f.opening + "get_weather{city:" + f.quote + "Oslo" + f.quote + "}" + f.close
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}

// call stands in front of a function's name.
const call = "call:"

// canParse wants a name and a brace, or the end of a call without arguments.
func (f *format) canParse(head []byte) sdk.Verdict {
	if v := markup.Match(head, f.open); v != sdk.Yes {
		return v
	}
	rest := chars.SkipSpace(head[len(f.open):])
	n, v := lead(rest)
	if v != sdk.Yes {
		return v
	}
	_, _, v = f.name(rest[n:])
	return markup.Filled(v, head)
}

// lead reads what stands in front of a name. Gemma 4 may forget the word and write its colon alone.
func lead(b []byte) (n int, v sdk.Verdict) {
	if len(b) > 0 && b[0] == ':' {
		return 1, sdk.Yes
	}
	return len(call), markup.Match(b, call)
}

// Limits of what is waited for.
const (
	maxName  = 256
	maxKey   = 1024
	maxSpace = 256
	maxSpare = 2   // braces too many behind the arguments
	maxTail  = 256 // brackets and white space in a string that may end behind it
)

// name reads a function's name up to what follows it. n is its length with the white
// space around it.
func (f *format) name(b []byte) (name []byte, n int, v sdk.Verdict) {
	from := len(b) - len(chars.SkipSpace(b))
	end := from
	for end < len(b) && markup.IsName(b[end]) {
		end++
	}
	rest := chars.SkipSpace(b[end:])
	n = len(b) - len(rest)
	switch {
	case from > maxSpace, end-from > maxName, n-end > maxSpace, end == from && end < len(b):
		return nil, 0, sdk.No
	case len(rest) == 0:
		return nil, 0, sdk.Maybe
	case rest[0] == '{':
		return b[from:end], n, sdk.Yes
	}
	return b[from:end], n, markup.Match(rest, f.close)
}

// ends tells whether b begins with what ends a call.
func (f *format) ends(b []byte) sdk.Verdict {
	v := markup.MatchAny(b, f.close, f.open, call)
	for _, stop := range f.stops {
		if w := markup.Match(b, stop); w == sdk.Yes || v == sdk.No {
			v = w
		}
	}
	return v
}
