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
// Mostly the text says nothing of types, so the offered tool's schema decides.
// Nothing is escaped either, so a value may hold tags: one that closes is told from
// one that is text by what follows it, within a bounded look ahead.
package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// typing is how the text tells the type of a value.
type typing uint8

const (
	bySchema typing = iota // not at all
	byString               // the attribute string is true or false
	byType                 // the attribute type is raw, json, dict or list
)

// format is what tells one family member from another.
type format struct {
	wrapOpen, wrapClose string // around the calls; "" if nothing is
	// lead stands in front of a function's tag, in this order, and tail behind its
	// end. A function may come without both.
	lead []string
	tail string

	fun, param tagForm
	funcClose  string
	// paramClose ends a value. It is "" if a parameter is a tag of its own, whose
	// end is prefix, then the tag's name.
	paramClose string
	prefix     string

	// trim says that the newline after a parameter's tag and the one before its
	// end are markup. More than that is never trimmed: it is the model's text.
	trim   typed.Trim
	typing typing

	inLine   bool // tags do not begin lines
	cdata    bool // a value may be <![CDATA[…]]>
	bpe      bool // Ġ and Ċ are white space between tags
	closed   bool // a call may be <invoke name="f"/>
	jsonArgs bool // a function may hold its arguments as a JSON object
	jsonCall bool // the wrapper may hold calls as JSON objects
	unwrap   bool // a lone parameter called arguments or input may hold all of them
	nested   bool // objects and arrays are tags inside tags
}

// spec makes the parser of a format.
func spec(p abi.Parser, f format) sdk.Spec {
	f.fun.bpe, f.param.bpe = f.bpe, f.bpe
	if p.Triggers == nil {
		p.Triggers = []string{f.wrapOpen, f.fun.open}
	}
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f} })
}

// canParse wants a function in a wrapper, or a function whose next tag fits: other
// formats write something else after a function's tag.
func (f *format) canParse(head []byte) sdk.Verdict {
	if f.bpe {
		head, _ = cutHalf(head)
	}
	if f.wrapOpen != "" {
		switch markup.Match(head, f.wrapOpen) {
		case sdk.Yes:
			return f.canParseInside(f.skip(head[len(f.wrapOpen):]))
		case sdk.Maybe:
			return sdk.Maybe
		}
	}
	if v := f.matchLead(head); v != sdk.No {
		return v
	}
	t, v := f.fun.read(head)
	switch {
	case v != sdk.Yes:
		return v
	case t.closed && f.closed:
		return sdk.Yes
	case t.closed:
		return sdk.No
	}
	body := f.skip(head[t.n:])
	if f.jsonArgs && len(body) > 0 && body[0] == '{' {
		return sdk.Yes
	}
	return markup.MatchAny(body, f.param.open, f.funcClose)
}

// canParseInside looks at what the wrapper holds.
func (f *format) canParseInside(b []byte) sdk.Verdict {
	if f.jsonCall && len(b) > 0 && b[0] == '{' {
		return sdk.Yes
	}
	return f.matchCall(b)
}

// matchCall tells whether b begins a call.
func (f *format) matchCall(b []byte) sdk.Verdict {
	if v := f.matchLead(b); v == sdk.Yes || v == sdk.Maybe {
		return v
	}
	return markup.Match(b, f.fun.open)
}

// matchLead tells whether b begins what stands in front of a function's tag.
func (f *format) matchLead(b []byte) sdk.Verdict {
	if len(f.lead) == 0 {
		return sdk.No
	}
	return markup.Match(b, f.lead[0])
}

// matchWrap tells whether b begins the wrapper.
func (f *format) matchWrap(b []byte) sdk.Verdict { return markup.MatchTag(b, f.wrapOpen) }

// mark is the byte that every tag inside a value begins with.
func (f *format) mark() byte { return f.param.open[0] }

// skip is b without the white space at its front.
func (f *format) skip(b []byte) []byte { return b[spaceLen(b, f.bpe):] }
