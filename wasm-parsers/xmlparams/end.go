package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maybeEnd reports whether b is the first part of an end tag.
func (p *parser) maybeEnd(b []byte) bool {
	return markup.Match(b, p.funcClose) == sdk.Maybe || p.wrapped && markup.Match(b, p.wrapClose) == sdk.Maybe
}

// endCall ends the call, which is sure now.
func (p *parser) endCall(out *sdk.Out) {
	out.Args([]byte("}"))
	if p.mended {
		out.Repair("args_json")
	}
	out.CallEnd()
	p.started, p.mended = false, false
	p.from = p.at()
}

// readAfterFunc reads what makes a function in a wrapper sure. A new wrapper is
// another region: the end of this one is missing.
func (p *parser) readAfterFunc(out *sdk.Out) bool {
	b := p.rest()
	switch {
	case markup.Match(b, p.wrapClose) == sdk.Yes:
		p.endCall(out)
		p.used += len(p.wrapClose)
		out.End(p.at())
		return false
	case markup.Match(b, p.wrapOpen) == sdk.Yes:
		p.endCall(out)
		out.End(p.at())
		return false
	case markup.Match(b, p.funcOpen) == sdk.Yes:
		p.endCall(out)
		p.state = atFunc
		return true
	case markup.MatchAny(b, p.wrapClose, p.wrapOpen, p.funcOpen) == sdk.Maybe:
		return false
	}
	return p.refuse(p.at(), out)
}

// readAfterBare ends the region behind a function without a wrapper. The wrapper's
// end may be there all the same: models forget its beginning alone.
func (p *parser) readAfterBare(out *sdk.Out) bool {
	b := p.rest()
	rest := markup.SkipSpace(b)
	v := markup.Match(rest, p.wrapClose)
	switch {
	case len(b)-len(rest) > maxSpace, v == sdk.No, v == sdk.Maybe && p.ended && len(rest) == 0:
		out.End(p.at())
	case v == sdk.Yes:
		out.End(p.pos + len(p.buf) - len(rest) + len(p.wrapClose))
	case p.ended:
		out.End(p.pos + len(p.buf))
	}
	return false
}

// Finish implements sdk.Parser. The end of the output makes a complete function
// sure. A call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.ended, p.cut = true, reason == sdk.Length
	p.run(out)
	if out.Ended() {
		return
	}
	all := p.pos + len(p.buf)
	half := p.maybeEnd(p.buf) // nothing, or half an end tag
	if p.state == inFunc && len(p.buf) > 0 && markup.Match(p.buf, p.paramOpen) == sdk.Maybe {
		half = false // it may as well be half of another parameter
	}
	switch {
	case p.state == afterFunc && half:
		p.endCall(out)
		out.End(all)
	case p.state == afterFunc:
		p.endCall(out)
		out.End(p.pos) // half a start tag
	case p.state == inFunc && p.started && half && !p.cut:
		p.endCall(out) // the model has ended, so the function has too
		out.End(all)
	case p.cut && p.began:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
	}
}
