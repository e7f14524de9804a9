package xmlparams

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// readEnd reads the end of the function, or says that there is none. In a wrapper
// it may be missing.
func (p *parser) readEnd(b []byte, out *sdk.Out) bool {
	switch {
	case markup.Match(b, p.funcClose) == sdk.Yes:
		p.Advance(len(p.funcClose))
	case !p.wrapped || match(b, p.wrapClose) != sdk.Yes && match(b, p.tail) != sdk.Yes:
		return false
	}
	p.closeFunc(out)
	return true
}

// maybeEnd reports whether b is the first part of an end tag.
func (p *parser) maybeEnd(b []byte) bool {
	return markup.Match(b, p.funcClose) == sdk.Maybe ||
		p.wrapped && (match(b, p.wrapClose) == sdk.Maybe || match(b, p.tail) == sdk.Maybe)
}

// closeFunc ends the function. In a wrapper its call is not sure yet.
func (p *parser) closeFunc(out *sdk.Out) {
	p.start(out)
	p.closeArgs(out)
	p.state = afterFunc
	if !p.wrapped {
		p.endCall(out)
		p.state = afterBare
	}
}

// closeArgs writes what is left of the arguments but for the last brace.
func (p *parser) closeArgs(out *sdk.Out) {
	p.unwrapHeld(out)
	p.flushHeld(out)
	p.brace(out)
}

// endCall ends the call, which is sure now.
func (p *parser) endCall(out *sdk.Out) {
	out.Args([]byte{'}'})
	if p.mended {
		out.Repair("args_json")
	}
	if p.isJSON {
		p.json.Report(out)
	}
	out.CallEnd()
	p.started, p.mended, p.isJSON = false, false, false
	p.from = p.At()
}

// readAfterFunc reads what makes a function in a wrapper sure. A new wrapper is
// another region: the end of this one is missing.
func (p *parser) readAfterFunc(out *sdk.Out) bool {
	b := p.Rest()
	if match(b, p.tail) == sdk.Yes {
		p.Advance(len(p.tail))
		return true
	}
	end, wrap, call := match(b, p.wrapClose), p.matchWrap(b), p.matchCall(b)
	switch {
	case end == sdk.Yes:
		p.endCall(out)
		p.Advance(len(p.wrapClose))
		out.End(p.At())
		return false
	case wrap == sdk.Yes:
		p.endCall(out)
		out.End(p.At())
		return false
	case call == sdk.Yes, p.isCall(b):
		p.endCall(out)
		p.state = atFunc
		return true
	case end == sdk.Maybe, wrap == sdk.Maybe, call == sdk.Maybe, match(b, p.tail) == sdk.Maybe:
		return false
	}
	return p.refuse(p.At(), out)
}

// readAfterBare ends the region behind a function without a wrapper. The wrapper's
// end may be there all the same: models forget its beginning alone.
func (p *parser) readAfterBare(out *sdk.Out) bool {
	b := p.Rest()
	rest := p.skip(b)
	behind := p.Fed() - len(rest)
	tail, end := match(rest, p.tail), match(rest, p.wrapClose)
	switch {
	case len(b)-len(rest) > maxSpace, tail == sdk.No && end == sdk.No, p.ended && len(rest) == 0:
		out.End(p.At())
	case tail == sdk.Yes:
		p.AdvanceTo(rest[len(p.tail):])
		p.from = p.At()
		return true
	case end == sdk.Yes:
		out.End(behind + len(p.wrapClose))
	case p.ended:
		out.End(p.Fed())
	}
	return false
}

// Finish implements sdk.Parser. The end of the output makes a complete function
// sure. A call that was cut off by a token limit is lost, and is not text either.
func (p *parser) Finish(reason sdk.Reason, out *sdk.Out) {
	p.ended, p.cut = true, reason == sdk.Length
	p.Append(p.half)
	p.run(out)
	if out.Ended() {
		return
	}
	all := p.Fed()
	half := p.isHalfEnd()
	switch {
	case p.state == afterFunc && !half:
		p.endCall(out)
		out.End(p.At()) // half a start tag
	case half && p.isComplete():
		p.closeArgs(out)
		p.endCall(out)
		out.End(all)
	case p.cut && p.began:
		out.Cut()
		out.End(all)
	default:
		out.Malformed(p.from, all)
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
	return p.state == afterFunc || p.state == afterArgs || p.state == inFunc && p.started && !p.cut
}
