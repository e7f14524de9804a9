package taggedjson

import (
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// endCall ends the call that has waited to be sure, if there is one.
func (p *parser) endCall(out *sdk.Out) {
	if !p.unsure {
		return
	}
	out.Args([]byte("}"))
	p.call.Report(out)
	out.CallEnd()
	p.unsure, p.from = false, p.lastEnd
}

// endRegion ends the region at a place, or behind what still belongs to it.
func (p *parser) endRegion(at int, out *sdk.Out) {
	p.endCall(out)
	if len(p.form.after) == 0 {
		out.End(at)
		return
	}
	p.state, p.lastEnd, p.tail = afterEnd, at, p.tail[:0]
}

// readAfter reads what may follow an object.
func (p *parser) readAfter(c byte, out *sdk.Out) int {
	if len(p.tail) > 0 {
		return p.readEnd(c, out)
	}
	switch {
	case markup.IsSpace(c):
		return 1
	case c == ',' && !p.named && (p.array || p.unsure):
		if p.array {
			p.endCall(out)
		}
		p.state = afterComma
		return 1
	case c == '{' && !p.array && p.unsure && !p.named:
		return p.readBody(c, out)
	}
	return p.readEnd(c, out)
}

// readEnd reads a byte of what ends the body: its bracket, the end marker, or what
// begins another region if the end marker is missing.
func (p *parser) readEnd(c byte, out *sdk.Out) int {
	if p.array {
		if c != ']' {
			out.Malformed(p.from, p.pos)
			return 0
		}
		p.array = false
		return 1
	}
	at := p.pos - len(p.tail)
	p.tail = append(p.tail, c)
	tail := string(p.tail)
	if tail == p.form.close {
		p.endRegion(p.pos+1, out)
		return 1
	}
	switch p.matchOpening(tail) {
	case sdk.Yes:
		p.endCall(out)
		out.End(at)
	case sdk.No:
		if !strings.HasPrefix(p.form.close, tail) {
			out.Malformed(p.from, at)
		}
	case sdk.Maybe:
	}
	return 1
}

// matchOpening tells whether tail is the first literal of a form.
func (f *format) matchOpening(tail string) sdk.Verdict {
	verdict := sdk.No
	for i := range f.forms {
		switch first := f.forms[i].open[0]; {
		case first == tail:
			return sdk.Yes
		case strings.HasPrefix(first, tail):
			verdict = sdk.Maybe
		}
	}
	return verdict
}

// readBehind reads what may follow the region's end and still belong to it.
func (p *parser) readBehind(c byte, out *sdk.Out) int {
	if len(p.tail) == 0 && markup.IsSpace(c) && p.pos-p.lastEnd < maxSpace {
		return 1
	}
	p.tail = append(p.tail, c)
	switch markup.MatchAny(p.tail, p.form.after...) {
	case sdk.Yes:
		out.End(p.pos + 1)
	case sdk.No:
		out.End(p.lastEnd)
	case sdk.Maybe:
	}
	return 1
}

// Finish implements sdk.Parser. The end of the output makes a complete object
// sure. A call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.state == afterEnd:
		at := p.lastEnd
		if len(p.tail) > 0 {
			at = p.pos
		}
		out.End(at)
	case p.state == afterCall || p.state == afterComma:
		p.endCall(out)
		at := p.pos
		if !strings.HasPrefix(p.form.close, string(p.tail)) {
			at -= len(p.tail)
		}
		out.End(at)
	case reason == sdk.Length && p.began:
		out.Cut()
		out.End(p.pos)
	default:
		out.Malformed(p.from, p.badEnd(p.pos))
	}
}
