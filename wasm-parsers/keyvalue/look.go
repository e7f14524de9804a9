package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
)

// maxLook is how far behind the end of a call another end of a value is looked for,
// which would make text of the first.
const maxLook = 1024

// verdict is what a tag inside a value turned out to be.
type verdict uint8

const (
	isText  verdict = iota // part of the value
	closes                 // the value's own end
	implies                // what only comes after the value, whose end is missing
	broken                 // what only comes after the value, which should have ended long before
	unclear                // more text is needed
)

// wait is unclear as long as there may be more text, and v at its end.
func (p *parser) wait(v verdict) verdict {
	if p.ended {
		return v
	}
	return unclear
}

// look decides about the tag that b, the rest of a value's text, may begin with.
func (p *parser) look(b []byte, lineStart bool) verdict {
	switch {
	case match(b, p.valueClose) == sdk.Yes:
		return p.lookBehind(b[len(p.valueClose):])
	case match(b, p.callClose) == sdk.Yes:
		return p.lookCallClose(b[len(p.callClose):])
	case matchAny(b, p.valueClose, p.callClose, p.valueOpen, p.callOpen) == sdk.Maybe:
		return p.wait(isText)
	}
	return p.lookKey(b, lineStart)
}

// lookBehind decides about the end of a value by what follows it: the next header,
// or the end of the call.
func (p *parser) lookBehind(b []byte) verdict {
	rest := skipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return isText
	case len(rest) == 0 && p.inner.values > 0 && p.cut:
		return isText // the token limit may have cut the value here
	case len(rest) == 0, len(rest) == 1 && rest[0] == '\\':
		return p.wait(closes)
	}
	switch {
	case match(rest, p.callClose) == sdk.Yes:
		return p.lookAfterCall(rest[len(p.callClose):])
	case match(rest, p.callOpen) == sdk.Yes: // the call's end is missing
		return p.lookAfterCall(rest)
	case p.wrapped && match(rest, p.wrapClose) == sdk.Yes: // here too
		return p.lookFar(rest, 0)
	}
	if matchAny(rest, p.callClose, p.callOpen) == sdk.Maybe || p.wrapped && match(rest, p.wrapClose) == sdk.Maybe {
		return p.wait(closes)
	}
	return p.lookHeader(rest)
}

// lookHeader decides about the end of a value that a header may follow. In a value
// that holds tags as text the key must be one that the tool has.
func (p *parser) lookHeader(rest []byte) verdict {
	var h header
	switch p.header(rest, &h) {
	case sdk.Maybe:
		return p.wait(closes)
	case sdk.No:
		return isText
	case sdk.Yes:
	}
	if p.inner.values > 0 && (p.seen[string(h.key)] || sdk.FindParam(p.tool, string(h.key)) == nil) {
		return isText
	}
	return closes
}

// lookAfterCall decides about the end of a value by what follows the end of the
// call. If that is another call it is the end, but for a value that holds tags as
// text: it may be about this format.
func (p *parser) lookAfterCall(b []byte) verdict {
	rest := skipSpace(b)
	if p.inner.values == 0 && len(b)-len(rest) <= maxSpace && match(rest, p.callOpen) == sdk.Yes {
		return closes
	}
	if p.inner.values > 0 && p.cut && match(rest, p.callOpen) != sdk.Yes {
		return isText // the token limit may have cut the value here
	}
	return p.lookFar(b, 0)
}

// lookFar looks for the end of a value behind the end of a call: the last that may
// be the end is the one. open is the number of values that are open where b begins,
// besides the one at hand.
func (p *parser) lookFar(b []byte, open int) verdict {
	window := b[:min(len(b), maxLook)]
	for i := 0; i < len(window); i++ {
		next := bytes.IndexByte(window[i:], '<')
		if next < 0 {
			break
		}
		i += next
		switch {
		case match(b[i:], p.valueOpen) == sdk.Yes:
			open++
		case match(b[i:], p.valueClose) == sdk.Yes:
			if open--; open < 0 {
				return isText
			}
		case matchAny(b[i:], p.valueOpen, p.valueClose) == sdk.Maybe:
			return p.wait(closes)
		}
	}
	if len(b) >= maxLook {
		return closes
	}
	return p.wait(closes)
}

// lookKey decides about a header inside a value, which ends the value if that has
// lost its own end: one for a parameter that the tool has and that has no value yet.
func (p *parser) lookKey(b []byte, lineStart bool) verdict {
	switch match(b, p.keyOpen) {
	case sdk.No:
		return isText
	case sdk.Maybe:
		return p.wait(isText)
	case sdk.Yes:
	}
	var h header
	v := p.header(b, &h)
	switch {
	case v == sdk.Maybe:
		return p.wait(isText)
	case v == sdk.No, h.mended, p.inner.values > 0, p.seen[string(h.key)]:
		return isText
	case p.tool == nil && !lineStart, p.tool != nil && sdk.FindParam(p.tool, string(h.key)) == nil:
		return isText
	}
	return p.implied(p.lookFar(b[h.n:], 1))
}

// lookCallClose decides about the end of a call inside a value, which ends the value
// if that has lost its own end and nothing but the next call follows.
func (p *parser) lookCallClose(b []byte) verdict {
	if p.inner.calls > 0 {
		return isText
	}
	rest := skipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace, len(rest) == 0 && p.cut:
		return isText // a token limit may have cut the value here
	case len(rest) == 0:
		return p.wait(p.implied(closes))
	case match(rest, p.callOpen) == sdk.Yes, match(rest, p.wrapClose) == sdk.Yes:
		return p.implied(p.lookFar(rest, 0))
	case matchAny(rest, p.callOpen, p.wrapClose) == sdk.Maybe:
		return p.wait(isText)
	}
	return isText
}

// implied is the verdict on a missing end, from that on an end that is there. If one
// is there, but with text behind it, the value is not what the model meant.
func (p *parser) implied(v verdict) verdict {
	switch {
	case v == closes && p.inner.closed:
		return broken
	case v == closes:
		return implies
	}
	return v
}
