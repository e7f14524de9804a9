// Package xmlparams reads tool calls that are written as tags, one for each
// parameter, such as
//
//	<tool_call>
//	<function=get_weather>
//	<parameter=city>
//	Oslo
//	</parameter>
//	</function>
//	</tool_call>
//
// The text says nothing of types, so the offered tool's schema decides. Nothing is
// escaped either, so a value may hold tags: one that closes is told from one that
// is text by what follows it, within a bounded look ahead.
package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// format is what tells one family member from another.
type format struct {
	wrapOpen, wrapClose   string
	funcOpen, funcClose   string // a name and > follow funcOpen
	paramOpen, paramClose string // a name and > follow paramOpen
	// trim says that the newline after a parameter's tag and the one before its
	// end are markup. More than that is never trimmed: it is the model's text.
	trim typed.Trim
}

// Qwen3Coder reads the form of Qwen3-Coder, Qwen3.5, Nemotron 3, MiMo-V2 and
// Step-3.5.
func Qwen3Coder() sdk.Spec {
	f := &format{
		wrapOpen: "<tool_call>", wrapClose: "</tool_call>",
		funcOpen: "<function=", funcClose: "</function>",
		paramOpen: "<parameter=", paramClose: "</parameter>",
		trim: typed.Newline,
	}
	return sdk.Spec{
		Parser: abi.Parser{
			Name:     "qwen3_coder",
			Aliases:  []string{"qwen3-coder", "qwen3_xml", "qwen3.5", "mimo", "step3p5", "nemotron_nano", "nemotron-3-nano"},
			Priority: 90,
			Formats:  []string{"<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>"},
			Triggers: []string{f.wrapOpen, f.funcOpen},
			Models:   []string{"*qwen3-coder*", "*qwen3.5*", "*nemotron-3*", "*step-3.5*", "*mimo*"},
			Streams:  true,
		},
		CanParse: f.canParse,
		New:      func(o sdk.Options) (sdk.Parser, error) { return newParser(f, o), nil },
	}
}

// canParse wants a function in a wrapper, or a function whose next tag fits: other
// formats write JSON after a function's tag.
func (f *format) canParse(head []byte) sdk.Verdict {
	switch markup.Match(head, f.wrapOpen) {
	case sdk.Yes:
		return markup.Match(markup.SkipSpace(head[len(f.wrapOpen):]), f.funcOpen)
	case sdk.Maybe:
		return sdk.Maybe
	case sdk.No:
	}
	_, n, v := tag(head, f.funcOpen)
	if v != sdk.Yes {
		return v
	}
	return markup.MatchAny(markup.SkipSpace(head[n:]), f.paramOpen, f.funcClose)
}

// maxName is how many bytes the name in a tag may have.
const maxName = 256

// tag reads a tag that begins with open, then a name and >. On Yes, n is the length
// of the tag; on No it is the place of the byte that does not fit.
func tag(b []byte, open string) (name []byte, n int, v sdk.Verdict) {
	if v := markup.Match(b, open); v != sdk.Yes {
		return nil, 0, v
	}
	rest := b[len(open):]
	rest = rest[:min(len(rest), maxName+1)]
	end := bytes.IndexAny(rest, ">\n")
	switch {
	case end < 0 && len(rest) <= maxName:
		return nil, 0, sdk.Maybe
	case end < 0:
		return nil, len(open) + maxName, sdk.No
	case len(markup.SkipSpace(rest[:end])) == 0 || rest[end] == '\n':
		return nil, len(open) + end, sdk.No
	}
	return rest[:end], len(open) + end + 1, sdk.Yes
}
