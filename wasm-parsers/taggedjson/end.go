package taggedjson

import (
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
	p.endCall()
	if len(p.form.after) == 0 {
		return p.End()
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
	case c == '{' && !p.array && p.unsure && !p.named:
		return p.readBody(c)
	}
	return p.readEnd(c)
}

// readEnd reads what ends the body: its bracket, the end marker, or what begins another
// region if the end marker is missing.
func (p *parser) readEnd(c byte) bool {
	if p.array {
		if c != ']' {
			return p.RefuseHere()
		}
		p.Advance(1)
		p.array = false
		return true
	}
	end := markup.MatchTag(p.Rest(), p.form.close)
	if end == sdk.Yes {
		p.Advance(len(p.form.close))
		return p.endRegion()
	}
	switch p.matchOpening(p.Rest()) {
	case sdk.Yes:
		p.endCall()
		return p.End()
	case sdk.No:
		if end == sdk.No {
			return p.RefuseHere()
		}
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
	if verdict == sdk.No {
		p.Out.End(p.lastEnd)
	}
	return false
}

// Over implements region.Format. The end of the output makes a complete object sure.
func (p *parser) Over() {
	switch {
	case p.state == afterEnd && len(p.Rest()) == 0:
		p.Out.End(p.lastEnd)
	case p.state == afterEnd:
		p.Out.End(p.Fed())
	case p.state == afterCall || p.state == afterComma:
		p.endCall()
		if markup.MatchTag(p.Rest(), p.form.close) == sdk.Maybe {
			p.AdvanceTo(nil) // nothing, or half the end marker
		}
		p.End()
	case p.Cut && p.Began:
		p.Lose()
	default:
		p.Out.Malformed(p.From, p.badEnd(p.Fed()))
	}
}
