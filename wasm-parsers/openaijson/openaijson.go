// Package openaijson reads replies whose whole text is the JSON of OpenAI's API,
//
//	{"tool_calls": [{"id": "…", "type": "function", "function": {"name": "…", "arguments": "…"}}]}
//
// which models without a format of their own write from memory. The shorter
// {"name", "arguments"} is taken for an element too, and {"tool_call": {…}} for one
// call. Calls are written when the whole object was read: until then anything may
// follow that shows it to be the answer itself.
package openaijson

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// OpenAI reads the form at the start of the output only. The first xLAM models were told to write it.
func OpenAI() sdk.Spec {
	return region.Spec(abi.Parser{
		Name:      "openai",
		Aliases:   []string{"xlam"},
		Priority:  100,
		Formats:   []string{`{"tool_calls": [{"function": {"name", "arguments"}}]}`, `{"tool_call": {"name", "arguments"}}`},
		Example:   `{"tool_calls": [{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]}`,
		Starts:    []string{"{"},
		Heuristic: true,
	}, canParse, func() sdk.Reusable { return &parser{} })
}

// canParse wants the key of the calls to be the first, in quotes of JSON or Python.
func canParse(head []byte) sdk.Verdict {
	verdict := sdk.No
	for _, tokens := range [][]string{
		{"{", `"tool_calls"`, ":", "["}, {"{", `"tool_call"`, ":", "{"}, {"{", `'tool_calls'`, ":", "["}, {"{", `'tool_call'`, ":", "{"},
	} {
		switch begins(head, tokens) {
		case sdk.Yes:
			return sdk.Yes
		case sdk.Maybe:
			verdict = sdk.Maybe
		}
	}
	return verdict
}

// begins tells whether b is the tokens with white space between them.
func begins(b []byte, tokens []string) sdk.Verdict {
	for i, token := range tokens {
		if i > 0 {
			b = chars.SkipSpace(b)
		}
		if v := markup.Match(b, token); v != sdk.Yes {
			return v
		}
		b = b[len(token):]
	}
	return sdk.Yes
}

// parser reads the object and keeps it, in strict form, until it is complete.
type parser struct {
	json  relaxed.Reader
	inner relaxed.Reader // of what is complete
	pos   int
}

// Reset implements sdk.Reusable.
func (p *parser) Reset(o sdk.Options) error {
	p.json.Init(o.MaxDepth)
	p.pos = 0
	return nil
}

// Feed implements sdk.Parser.
func (p *parser) Feed(text []byte, out *sdk.Out) {
	for len(text) > 0 && !out.Ended() {
		var n int
		var tok relaxed.Token
		if p.json.Depth() > 0 {
			n, tok = p.json.FeedTo(text, 0)
		} else {
			n, tok = p.json.Feed(text)
		}
		p.pos += n
		text = text[n:]
		switch {
		case tok == relaxed.Bad:
			out.Malformed(0, max(p.pos, 1))
		case tok == relaxed.More || p.json.Depth() > 0:
		default:
			p.write(out)
		}
	}
}

// Finish implements sdk.Parser. An object that a token limit has cut is lost, and is
// not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	if reason == sdk.Length && p.pos > 1 {
		out.Cut()
		out.End(p.pos)
		return
	}
	out.Malformed(0, p.pos)
}

// write writes what the complete object says, or gives it back.
func (p *parser) write(out *sdk.Out) {
	p.inner.Init(p.json.MaxDepth())
	r := reader{json: &p.inner, text: p.json.Out}
	if !r.read() {
		out.Malformed(0, p.pos)
		return
	}
	out.Content(r.content)
	for i, c := range r.calls {
		out.CallStart(c.Name, c.ID)
		out.Args(c.Args)
		out.Args([]byte("}"))
		if i == 0 && p.json.Repaired() != 0 {
			c.Repair() // somewhere in the object, not always in this call
		}
		c.Report(out)
		out.CallEnd()
	}
	out.End(p.pos)
}
