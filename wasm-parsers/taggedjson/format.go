// Package taggedjson reads tool calls that are JSON between two markers, such as
//
//	<tool_call>
//	{"name": "get_weather", "arguments": {"city": "Oslo"}}
//	</tool_call>
//
// The body is one object, an array of objects, or several objects with white space
// or a comma between them. Arguments stream as they are written; their last brace
// waits until the call is sure.
package taggedjson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
)

// format is what tells one family member from another.
type format struct {
	start string // begins a region
	end   string // ends it; if empty the region ends with its JSON
	keys  callobject.Keys
	// named means that the function's name stands in front of its arguments,
	// which are the body: get_weather{"city": "Oslo"}.
	named     bool
	separator string // between the name and the arguments
}

// New makes a parser for a model of your own that writes
// START {"name": …, "arguments": {…}} END. An empty end means that the region ends
// with its JSON. It is what a plugin for a new model mostly needs.
func New(name string, priority int, start, end string) sdk.Spec {
	return spec(abi.Parser{
		Name:     name,
		Priority: priority,
		Formats:  []string{start + `{"name", "arguments"}` + end},
	}, format{start: start, end: end, keys: callobject.Hermes()})
}

// Hermes reads the form of Hermes, Qwen 2.5 and 3, Granite 4 and many others.
func Hermes() sdk.Spec {
	return spec(abi.Parser{
		Name:     "hermes",
		Aliases:  []string{"qwen", "qwen25", "qwen3", "qwen3-thinking", "granite4", "trinity"},
		Priority: 95,
		Formats:  []string{`<tool_call>{"name", "arguments"}</tool_call>`},
		Models: []string{
			"*hermes*", "*qwen2.5*", "*qwen3*", "*qwq*", "*granite-4*", "*trinity*",
			"*mimo-vl*", "*smollm3*", "*bielik*", "*reka*",
		},
	}, format{start: "<tool_call>", end: "</tool_call>", keys: callobject.Hermes()})
}

// ToolCallTags reads the bracket tags that models without a format of their own
// make up.
func ToolCallTags() sdk.Spec {
	return spec(abi.Parser{
		Name:      "tool_call_tags",
		Priority:  50,
		Formats:   []string{`[TOOL_CALL]{"name", "arguments"}[/TOOL_CALL]`},
		Heuristic: true,
	}, format{
		start: "[TOOL_CALL]", end: "[/TOOL_CALL]",
		keys: callobject.Keys{Name: []string{"name", "tool"}, Args: []string{"arguments", "args", "parameters"}, ID: []string{"id"}},
	})
}

func spec(p abi.Parser, f format) sdk.Spec {
	p.Triggers, p.Streams = []string{f.start}, !p.Heuristic // the gateway holds heuristic regions to their end
	return sdk.Spec{
		Parser:   p,
		CanParse: f.canParse,
		New:      func(o sdk.Options) (sdk.Parser, error) { return newParser(f, o), nil },
	}
}

// canParse wants an object or an array after the start marker.
func (f *format) canParse(head []byte) sdk.Verdict {
	for i, c := range head {
		switch {
		case i < len(f.start):
			if c != f.start[i] {
				return sdk.No
			}
		case c == '{' || c == '[':
			return sdk.Yes
		case !isSpace(c):
			return sdk.No
		}
	}
	return sdk.Maybe
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
