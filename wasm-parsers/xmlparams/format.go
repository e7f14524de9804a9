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
	"slices"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
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
	nested   bool // objects and arrays are tags inside tags
	doubled  bool // the tool f may be called f.f

	others []format // the same in other wrappers, or with other spellings of its tags
}

// spec makes the parser of a format.
func spec(p abi.Parser, f format) sdk.Spec {
	f.fun.bpe, f.param.bpe = f.bpe, f.bpe
	if p.Triggers == nil {
		p.Triggers = []string{f.wrapOpen, f.fun.open}
	}
	for i := range f.others {
		o := &f.others[i]
		o.fun.bpe, o.param.bpe = o.bpe, o.bpe
		for _, trigger := range []string{o.wrapOpen, o.fun.open} {
			if !slices.Contains(p.Triggers, trigger) && trigger != f.fun.open {
				p.Triggers = append(slices.Clip(p.Triggers), trigger)
			}
		}
	}
	return region.Spec(p, f.canParse, func() sdk.Reusable { return &parser{format: &f, first: &f} })
}

// also gives the format with others of the same tags, in other wrappers.
func (f format) also(names ...string) format {
	for _, name := range names {
		other := f
		other.others = nil
		other.wrapOpen, other.wrapClose = "<"+name+">", "</"+name+">"
		f.others = append(slices.Clip(f.others), other)
	}
	return f
}

// spelled adds the spelling of the tags in which their bars are those of ASCII.
func (f format) spelled() format {
	all := append([]format{f}, f.others...)
	f.others = slices.Clone(f.others)
	for _, other := range all {
		other.others = nil
		other.lead = slices.Clone(other.lead)
		for _, s := range []*string{
			&other.wrapOpen, &other.wrapClose, &other.tail, &other.fun.open, &other.param.open, &other.funcClose, &other.paramClose,
		} {
			*s = strings.ReplaceAll(*s, "｜", "|")
		}
		for i := range other.lead {
			other.lead[i] = strings.ReplaceAll(other.lead[i], "｜", "|")
		}
		f.others = append(f.others, other)
	}
	return f
}

// choose takes the wrapper and the spelling that the region begins with.
func (p *parser) choose(b []byte) {
	p.format = p.first
	best := p.begins(b)
	for i := range p.first.others {
		if f := &p.first.others[i]; best != sdk.Yes {
			if v := f.begins(b); v != sdk.No && (v == sdk.Yes || best == sdk.No) {
				best, p.format = v, f
			}
		}
	}
}

// begins tells whether b begins with a tag that begins a region.
func (f *format) begins(b []byte) sdk.Verdict { return markup.Either(f.matchWrap(b), f.matchCall(b)) }

// canParse tells whether the format is that of a head, in one of its spellings.
func (f *format) canParse(head []byte) sdk.Verdict {
	verdict := f.canParseThis(head)
	for i := range f.others {
		if verdict != sdk.Yes {
			verdict = markup.Either(verdict, f.others[i].canParseThis(head))
		}
	}
	return verdict
}

// canParseThis wants a function in a wrapper, or a function whose next tag fits: other
// formats write something else after a function's tag.
func (f *format) canParseThis(head []byte) sdk.Verdict {
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
	return f.beginsBody(head[t.n:])
}

// beginsBody reports whether text may follow the tag that opens a function: a parameter, its end, or
// arguments in JSON.
func (f *format) beginsBody(text []byte) sdk.Verdict {
	body := f.skip(text)
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
	v := f.matchCall(b)
	if v == sdk.No && f.jsonCall {
		_, _, v = nameLine(b)
	}
	if v == sdk.No {
		_, v = f.garbled(b)
	}
	return v
}

// maxGarbled is how many bytes of a misspelled marker may stand in front of a function's tag.
const maxGarbled = 64

// garbled tells how long what stands in b where the markers in front of a function should, and
// whether the function's tag is behind it: markers that the model has misspelled, with no white space
// in them. Anything else in a wrapper is text about it.
func (f *format) garbled(b []byte) (int, sdk.Verdict) {
	if len(f.lead) == 0 || len(b) > 0 && b[0] != '<' {
		return 0, sdk.No
	}
	for n := range min(len(b), maxGarbled) {
		switch v := markup.Match(b[n:], f.fun.open); {
		case v != sdk.No:
			return n, v
		case chars.IsSpace(b[n]):
			return 0, sdk.No
		}
	}
	if len(b) >= maxGarbled {
		return 0, sdk.No
	}
	return 0, sdk.Maybe
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
