package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// readEnd reads the end of the function, or says that there is none. In a wrapper, and in front of
// another call, it may be missing.
func (p *parser) readEnd(b []byte) bool {
	switch {
	case markup.Match(b, p.funcClose) == sdk.Yes:
		p.Advance(len(p.funcClose))
	case p.state == inFunc && p.SeenAny() && p.lookCall(b) == sdk.Yes:
		p.Repaired = true
	case !p.wrapped || markup.MatchTag(b, p.wrapClose) != sdk.Yes && markup.MatchTag(b, p.tail) != sdk.Yes:
		return false
	}
	p.closeFunc()
	return true
}

// maybeEnd reports whether b is the first part of an end tag.
func (p *parser) maybeEnd(b []byte) bool {
	return markup.Match(b, p.funcClose) == sdk.Maybe || p.state == inFunc && p.SeenAny() && p.lookCall(b) == sdk.Maybe ||
		p.wrapped && (markup.MatchTag(b, p.wrapClose) == sdk.Maybe || markup.MatchTag(b, p.tail) == sdk.Maybe)
}

// closeFunc ends the function. In a wrapper its call is not sure yet.
func (p *parser) closeFunc() {
	p.closeArgs()
	p.state = afterFunc
	if !p.wrapped {
		p.endCall()
		p.state = afterBare
	}
}

// closeArgs writes what is left of the arguments but for the last brace.
func (p *parser) closeArgs() {
	p.unwrapHeld()
	p.flushHeld()
	p.Brace()
}

// endCall ends the call, which is sure now.
func (p *parser) endCall() {
	p.CloseArgs()
	if p.isJSON {
		p.json.Report(p.Out)
		p.isJSON = false
	}
	p.sayStray()
	p.EndCall()
	p.Began = true // a wrapper that is cut behind a call has lost what would have come
}

// readAfterFunc reads what makes a function in a wrapper sure. A new wrapper is
// another region: the end of this one is missing.
func (p *parser) readAfterFunc() bool {
	b := p.Rest()
	if markup.MatchTag(b, p.tail) == sdk.Yes { // which no text has
		p.Advance(len(p.tail))
		p.endCall()
		p.state = afterCall
		return true
	}
	closes := p.wrapClose
	end, wrap, call := markup.MatchTag(b, closes), p.matchWrap(b), p.matchCall(b)
	if end != sdk.Yes && p.format != p.first { // the end of its own wrapper does too
		closes = p.first.wrapClose
		end = markup.Either(end, markup.MatchTag(b, closes))
	}
	switch {
	case end == sdk.Yes:
		p.endCall()
		p.Advance(len(closes))
		return p.End()
	case wrap == sdk.Yes:
		p.endCall()
		return p.End()
	case call == sdk.Yes, p.isCall(b):
		p.endCall()
		p.state = atFunc
		return true
	case p.readBrace(b):
		return true
	case end == sdk.Maybe, wrap == sdk.Maybe, call == sdk.Maybe, markup.MatchTag(b, p.tail) == sdk.Maybe:
		return false
	}
	return p.RefuseHere()
}

// readAfterCall reads what follows a call that is sure in a wrapper. Text ends the region.
func (p *parser) readAfterCall() bool {
	b := p.Rest()
	end, wrap, call := markup.MatchTag(b, p.wrapClose), p.matchWrap(b), p.matchCall(b)
	switch {
	case end == sdk.Yes:
		p.Advance(len(p.wrapClose))
		return p.End()
	case wrap == sdk.Yes:
		return p.End()
	case call == sdk.Yes:
		p.From, p.state = p.At(), atFunc
		return true
	case end == sdk.Maybe, wrap == sdk.Maybe, call == sdk.Maybe:
		return false
	}
	p.Out.End(p.From)
	return false
}

// readAfterBare ends the region behind a function without a wrapper. The wrapper's
// end may be there all the same: models forget its beginning alone.
func (p *parser) readAfterBare() bool {
	b := p.Rest()
	rest := p.skip(b)
	behind := p.Fed() - len(rest)
	tail, end := markup.MatchTag(rest, p.tail), markup.MatchTag(rest, p.wrapClose)
	switch {
	case len(b)-len(rest) > maxSpace, tail == sdk.No && end == sdk.No, p.Ended && len(rest) == 0:
		p.Out.End(p.At())
	case tail == sdk.Yes:
		p.AdvanceTo(rest[len(p.tail):])
		p.From = p.At()
		return true
	case end == sdk.Yes:
		p.Out.End(behind + len(p.wrapClose))
	case p.Ended:
		p.Out.End(p.Fed())
	}
	return false
}

// Finish implements sdk.Parser.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.appendHalf()
	p.Params.Finish(reason, out)
}

// Over implements region.Format. The end of the output makes a complete function sure.
func (p *parser) Over() {
	all := p.Fed()
	half := p.isHalfEnd()
	switch {
	case p.state == afterCall && half:
		p.Out.End(all)
	case p.state == afterCall:
		p.End() // half a start tag
	case p.state == afterFunc && !half:
		p.endCall()
		p.End() // half a start tag
	case half && p.isComplete():
		p.closeArgs()
		p.endCall()
		p.Out.End(all)
	default:
		p.Lose()
	}
}

// isHalfEnd reports whether what is left can only be the first part of an end tag,
// or is nothing.
func (p *parser) isHalfEnd() bool {
	b := p.Rest()
	if len(b) == 0 {
		return true
	}
	mayGoOn := p.state == inFunc && markup.Match(b, p.param.open) == sdk.Maybe
	return p.maybeEnd(b) && !mayGoOn
}

// isComplete reports whether the call that was read last is complete if the output
// has ended. A model that has ended has also ended its call behind a parameter; one
// that was cut may not.
func (p *parser) isComplete() bool {
	return p.state == afterFunc || p.state == afterArgs || p.state == inFunc && p.Started && !p.Cut
}
