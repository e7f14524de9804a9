package keyvalue

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// maxLook is how far behind the end of a call another end of a value is looked for,
// which would make text of the first.
const maxLook = 1024

// look decides about the tag that b, the rest of a value's text, may begin with.
func (p *parser) look(b []byte, lineStart bool) region.Verdict {
	switch {
	case markup.MatchTag(b, p.valueClose) == sdk.Yes:
		return p.lookBehind(b[len(p.valueClose):])
	case markup.MatchTag(b, p.callClose) == sdk.Yes:
		return p.lookCallClose(b[len(p.callClose):])
	case markup.MatchAny(b, p.valueClose, p.callClose, p.valueOpen, p.callOpen) == sdk.Maybe:
		return p.Wait(region.Text)
	}
	return p.lookKey(b, lineStart)
}

// lookBehind decides about the end of a value by what follows it: the next header,
// or the end of the call. In a value that holds no tags the end may come once more.
func (p *parser) lookBehind(b []byte) region.Verdict {
	if p.inner.values == 0 && !p.inner.closed {
		b, _, _ = again(b, p.valueClose)
	}
	rest := skipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return region.Text
	case len(rest) == 0 && p.inner.values > 0 && p.Cut:
		return region.Text // the token limit may have cut the value here
	case len(rest) == 0, len(rest) == 1 && rest[0] == '\\':
		return p.Wait(region.Closes)
	}
	switch {
	case markup.MatchTag(rest, p.callClose) == sdk.Yes:
		return p.lookAfterCall(rest[len(p.callClose):])
	case markup.MatchTag(rest, p.callOpen) == sdk.Yes: // the call's end is missing
		return p.lookAfterCall(rest)
	case p.wrapped && markup.MatchTag(rest, p.wrapClose) == sdk.Yes: // here too
		return p.lookFar(rest, 0)
	}
	return p.lookHeader(rest)
}

// lookHeader decides about the end of a value that a header may follow. In a value
// that holds tags as text the key must be one that the tool has.
func (p *parser) lookHeader(rest []byte) region.Verdict {
	if markup.MatchAny(rest, p.callClose, p.callOpen, p.valueClose) == sdk.Maybe || p.wrapped && markup.MatchTag(rest, p.wrapClose) == sdk.Maybe {
		return p.Wait(region.Closes)
	}
	var h header
	switch p.header(rest, &h) {
	case sdk.Maybe:
		return p.Wait(region.Closes)
	case sdk.No:
		return region.Text
	}
	if p.inner.values > 0 && (p.Seen(h.key) || p.Param(h.key) == nil) {
		return region.Text
	}
	return region.Closes
}

// lookAfterCall decides about the end of a value by what follows the end of the
// call. If that is another call it is the end, but for a value that holds tags as
// text: it may be about this format.
func (p *parser) lookAfterCall(b []byte) region.Verdict {
	rest := skipSpace(b)
	if p.inner.values == 0 && len(b)-len(rest) <= maxSpace && markup.MatchTag(rest, p.callOpen) == sdk.Yes {
		return region.Closes
	}
	if p.inner.values > 0 && p.Cut && markup.MatchTag(rest, p.callOpen) != sdk.Yes {
		return region.Text // the token limit may have cut the value here
	}
	return p.lookFar(b, 0)
}

// lookFar looks for the end of a value behind the end of a call: the last that may
// be the end is the one. open is the number of values that are open where b begins,
// besides the one at hand.
func (p *parser) lookFar(b []byte, open int) region.Verdict {
	window := b[:min(len(b), maxLook)]
	for i := 0; i < len(window); i++ {
		next := bytes.IndexByte(window[i:], '<')
		if next < 0 {
			break
		}
		i += next
		switch {
		case markup.MatchTag(b[i:], p.valueOpen) == sdk.Yes:
			open++
		case markup.MatchTag(b[i:], p.valueClose) == sdk.Yes:
			if open--; open < 0 {
				return region.Text
			}
		case markup.MatchAny(b[i:], p.valueOpen, p.valueClose) == sdk.Maybe:
			return p.Wait(region.Closes)
		}
	}
	if len(b) >= maxLook {
		return region.Closes
	}
	return p.Wait(region.Closes)
}

// lookKey decides about a header inside a value, which ends the value if that has
// lost its own end: one for a parameter that the tool has and that has no value yet.
func (p *parser) lookKey(b []byte, lineStart bool) region.Verdict {
	switch markup.MatchTag(b, p.keyOpen) {
	case sdk.No:
		return region.Text
	case sdk.Maybe:
		return p.Wait(region.Text)
	}
	var h header
	v := p.header(b, &h)
	switch {
	case v == sdk.Maybe:
		return p.Wait(region.Text)
	case v == sdk.No, h.repaired, p.inner.values > 0, p.Seen(h.key):
		return region.Text
	case p.Tool == nil && !lineStart, p.Tool != nil && p.Param(h.key) == nil:
		return region.Text
	}
	return p.implied(p.lookFar(b[h.n:], 1))
}

// lookCallClose decides about the end of a call inside a value, which ends the value
// if that has lost its own end and nothing but the next call follows.
func (p *parser) lookCallClose(b []byte) region.Verdict {
	if p.inner.calls > 0 {
		return region.Text
	}
	rest := skipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace, len(rest) == 0 && p.Cut:
		return region.Text // a token limit may have cut the value here
	case len(rest) == 0:
		return p.Wait(p.implied(region.Closes))
	case markup.MatchTag(rest, p.callOpen) == sdk.Yes, markup.MatchTag(rest, p.wrapClose) == sdk.Yes:
		return p.implied(p.lookFar(rest, 0))
	case markup.MatchAny(rest, p.callOpen, p.wrapClose) == sdk.Maybe:
		return p.Wait(region.Text)
	}
	return region.Text
}

// implied is the verdict on a missing end, from that on an end that is there. If one
// is there, but with text behind it, the value is not what the model meant.
func (p *parser) implied(v region.Verdict) region.Verdict {
	switch {
	case v == region.Closes && p.inner.closed:
		return region.Broken
	case v == region.Closes:
		return region.Implies
	}
	return v
}
