package taggedjson

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// endCall ends the call that has waited to be sure, if there is one.
func (p *parser) endCall() {
	if p.unsure {
		p.call.End(p.Out)
		p.unsure, p.From = false, p.lastEnd
	}
}

// endRegion ends the region behind what was read, or behind what still belongs to it.
func (p *parser) endRegion() bool {
	behind := p.unsure // an object, which a brace too many may follow
	p.endCall()
	if !p.writeBad(p.From > 0) {
		return p.RefuseHere()
	}
	if len(p.form.after) == 0 && (p.form.close != "" || !behind) {
		return p.End()
	}
	if !behind || p.form.close != "" {
		p.braces = maxBraces
	}
	p.state, p.lastEnd = afterEnd, p.At()
	return true
}

// readAfter reads what may follow an object.
func (p *parser) readAfter(c byte) bool {
	switch {
	case c == ',' && !p.named && (p.array || p.unsure):
		if p.array {
			p.endCall()
		}
		p.state = afterComma
		p.Advance(1)
		return true
	case c == '{' && p.unsure && !p.named, c == '{' && p.oneLine:
		if p.array { // its comma is missing
			p.call.Repair()
		}
		return p.readBody(c)
	case c == '}' && p.unsure && p.braces < maxBraces:
		p.call.Repair()
		p.braces++
		p.Advance(1)
		return true
	}
	return p.readEnd(c)
}

// maxBraces is how many closing braces behind a complete object are dropped.
const maxBraces = 2

// matchEnd tells whether b begins with what ends the form's body.
func (f *form) matchEnd(b []byte) sdk.Verdict {
	if f.close == "" {
		return markup.MatchAny(b, f.after...)
	}
	return markup.Match(b, f.close)
}

// endsObject tells whether b begins with what stands behind an object that lacks only its brace.
func (p *parser) endsObject(b []byte) sdk.Verdict {
	rest := chars.SkipSpace(b)
	switch {
	case len(rest) == 0, rest[0] == ',', rest[0] == '}':
		return sdk.No
	case rest[0] == ']' && p.array:
		return sdk.Yes
	}
	v := p.form.matchEnd(rest)
	if v == sdk.Maybe && p.Ended {
		return sdk.No
	}
	return v
}

// readEnd reads what ends the body: its bracket, the end marker, or what begins another
// region if the end marker is missing.
func (p *parser) readEnd(c byte) bool {
	switch {
	case p.array && c == ']':
		p.Advance(1)
		p.array = false
		return true
	case p.array:
		return p.readUnclosed()
	case p.oneLine && p.broken:
		if p.form.matchEnd(p.Rest()) == sdk.No && p.matchOpening(p.Rest()) == sdk.No {
			return p.beginLine()
		}
	}
	end := markup.MatchTag(p.Rest(), p.form.close)
	if end == sdk.Yes {
		p.Advance(len(p.form.close))
		return p.endRegion()
	}
	switch v := markup.MatchAny(p.Rest(), p.form.after...); v {
	case sdk.Yes: // the end marker in front of it is missing
		return p.endRegion()
	case sdk.Maybe:
		end = v
	}
	switch p.matchOpening(p.Rest()) {
	case sdk.Yes:
		if p.opensLast() {
			return false
		}
		p.endCall()
		return p.End()
	case sdk.No:
		if end == sdk.No {
			return p.RefuseHere()
		}
	}
	return false
}

// opensLast reports whether what is left to read is the opening of the form and nothing behind it, as
// far as that is known: at the end of the output it stands for the end marker.
func (p *parser) opensLast() bool {
	return p.form.close != "" && string(chars.TrimEnd(p.Rest())) == p.form.open[0]
}

// readUnclosed reads the end of an array whose bracket is missing.
func (p *parser) readUnclosed() bool {
	switch p.form.matchEnd(p.Rest()) {
	case sdk.Yes:
		p.array = false
		if p.unsure {
			p.call.Repair()
		} else if p.From > 0 {
			p.Out.Repair("args_json")
		}
		return true
	case sdk.No:
		return p.RefuseHere()
	}
	return false
}

// matchOpening tells whether b begins with the first literal of a form.
func (f *format) matchOpening(b []byte) sdk.Verdict {
	verdict := sdk.No
	for i := range f.forms {
		verdict = markup.Either(verdict, markup.Match(b, f.forms[i].open[0]))
	}
	return verdict
}

// readBehind reads what may follow the region's end and still belong to it.
func (p *parser) readBehind() bool {
	b := p.Rest()
	if len(b) == 0 {
		return false
	}
	if b[0] == '}' && p.braces < maxBraces && p.At() == p.lastEnd {
		p.Out.Repair("args_json") // the call has ended
		p.Advance(1)
		p.braces, p.lastEnd = p.braces+1, p.At()
		return true
	}
	for len(b) > 0 && chars.IsSpace(b[0]) && p.At()-p.lastEnd < maxSpace {
		p.Advance(1)
		b = b[1:]
	}
	if len(b) == 0 {
		return false
	}
	verdict := sdk.No
	for _, marker := range p.form.after {
		v := markup.Match(b, marker)
		if v == sdk.Yes {
			p.Advance(len(marker))
			return p.End()
		}
		verdict = markup.Either(verdict, v)
	}
	switch v := p.matchNext(b); v {
	case sdk.Yes:
		p.From = p.lastEnd
		p.Advance(bytes.IndexByte(b, '{'))
		p.beginObject()
		return true
	case sdk.Maybe:
		verdict = v
	}
	if verdict == sdk.No {
		p.Out.End(p.lastEnd)
	}
	return false
}

// matchNext tells whether b, which follows an object, begins with a comma and another object: in a
// format without an end marker the brackets around them may be missing.
func (p *parser) matchNext(b []byte) sdk.Verdict {
	if b[0] != ',' || p.form.close != "" || p.listed || p.named {
		return sdk.No
	}
	rest := chars.SkipSpace(b[1:])
	if len(b)-len(rest) > maxSpace {
		return sdk.No
	}
	if v := markup.Match(rest, "{"); v != sdk.Yes {
		return v
	}
	return markup.Match(chars.SkipSpace(rest[1:]), `"`)
}

// Over implements region.Format. The end of the output makes a complete object sure.
func (p *parser) Over() {
	switch {
	case p.state == afterEnd && (len(p.Rest()) == 0 || p.Rest()[0] == ',' && !p.Cut):
		p.Out.End(p.lastEnd)
	case p.state == afterEnd:
		p.Out.End(p.Fed())
	case p.state == afterCall || p.state == afterComma:
		p.endCall()
		if !p.writeBad(p.From > 0) {
			p.Out.Malformed(0, p.Fed())
			return
		}
		if markup.MatchTag(p.Rest(), p.form.close) == sdk.Maybe || p.opensLast() {
			p.AdvanceTo(nil) // nothing, half the end marker, or another in its place
		}
		p.End()
	case p.Cut && p.Began:
		p.writeBad(true) // what was complete is not lost with the call
		p.Lose()
	default:
		p.Out.Malformed(p.From, p.badEnd(p.Fed()))
	}
}
