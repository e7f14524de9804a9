package xmlparams

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// Limits of looking ahead.
const (
	maxSpace = 256 // white space before the tag that follows another; more means that none does
	maxOver  = 256 // bytes of a parameter that the call cannot have
)

// look decides about the tag that b, the rest of a value's text, begins with. A
// newline in front of it that was not read yet is lineStart.
func (p *parser) look(b []byte, lineStart bool) region.Verdict {
	switch markup.Match(b, p.val.close) {
	case sdk.Yes:
		return p.lookClose(b[len(p.val.close):])
	case sdk.Maybe:
		return p.Wait(region.Text)
	}
	if p.prefix == "" && markup.Match(b, p.param.open) == sdk.Maybe { // which counts, even if it is text
		return p.Wait(region.Text)
	}
	lineStart = lineStart || !p.val.hold && p.val.text.LineStart()
	if lineStart || p.inLine {
		if v := p.lookParam(b); v != region.Text {
			return v
		}
	}
	switch markup.Match(b, p.funcClose) {
	case sdk.Yes:
		return p.lookFuncClose(b[len(p.funcClose):], lineStart)
	case sdk.Maybe:
		return p.Wait(region.Text)
	}
	return p.lookRest(b, lineStart)
}

// lookRest is look for what is no tag that a value may be followed by.
func (p *parser) lookRest(b []byte, lineStart bool) region.Verdict {
	if p.wrapped {
		switch markup.MatchTag(b, p.wrapClose) {
		case sdk.Yes:
			return p.lookWrapEnd(b[len(p.wrapClose):], lineStart || p.inLine)
		case sdk.Maybe:
			return p.Wait(region.Text)
		}
	}
	if p.prefix != "" && p.val.inner == 0 {
		switch markup.Match(b, p.prefix+"</") {
		case sdk.Yes: // an end tag of nothing, which no text has
			return region.Broken
		case sdk.Maybe:
			return p.Wait(region.Text)
		}
	}
	return region.Text
}

// lookClose is lookBehind. Where a token stands before every tag no text has the end of a parameter.
func (p *parser) lookClose(b []byte) region.Verdict {
	v := p.lookBehind(b)
	if v == region.Text && p.prefix != "" && p.val.inner == 0 {
		return region.Broken
	}
	return v
}

// maxFar is how far behind the end of the wrapper another end of the value is looked for.
const maxFar = 1024

// lookWrapEnd decides about the end of the wrapper, which ends a value if the ends of that and of
// its function are missing. If one of those comes behind it all the same, it was text.
func (p *parser) lookWrapEnd(b []byte, lineStart bool) region.Verdict {
	rest := chars.SkipSpace(b)
	wrap := p.matchWrap(rest)
	switch {
	case p.val.ends:
		return region.Text
	case len(b)-len(rest) > maxSpace:
	case len(rest) == 0, wrap == sdk.Maybe:
		return p.Wait(region.Implies)
	case wrap == sdk.Yes:
		return region.Implies
	}
	if !lineStart {
		return region.Text
	}
	window := rest[:min(len(rest), maxFar)]
	if next := bytes.Index(window, []byte(p.wrapOpen)); next >= 0 {
		window = window[:next]
	}
	switch {
	case bytes.Contains(window, []byte(p.val.close)), bytes.Contains(window, []byte(p.funcClose)):
		return region.Text
	case len(window) < len(rest), len(window) == maxFar:
		return region.Implies
	}
	return p.Wait(region.Implies)
}

// The ends that may follow the end of a parameter, in this order.
const (
	endFunc = iota
	endTail
	endWrap
	endNone
)

// matchEnd finds the end tag that b begins with among those from first on. On No
// end is endNone.
func (p *parser) matchEnd(b []byte, first int) (end, length int, v sdk.Verdict) {
	for end, marker := range [...]string{p.funcClose, p.tail, p.wrapClose} {
		if end < first || first == endFunc && end > endFunc && !p.wrapped {
			continue // without a wrapper the function's end must be there
		}
		switch markup.MatchTag(b, marker) {
		case sdk.Yes:
			return end, len(marker), sdk.Yes
		case sdk.Maybe:
			v = sdk.Maybe
		}
	}
	return endNone, 0, v
}

// lookBehind decides about the end of a parameter by the tags behind it: the next
// parameter, or the ends of the function and the wrapper. If those are followed by
// another end of a parameter they are all text, say of a file about this format.
func (p *parser) lookBehind(b []byte) region.Verdict {
	b = p.skipAgain(b)
	decided := region.Text // unless one legal tag was seen
	for first := endFunc; ; {
		rest := p.skip(b)
		if len(b)-len(rest) > maxSpace {
			return decided
		}
		if len(rest) == 0 {
			return p.Wait(region.Closes)
		}
		if decided == region.Text {
			if t, v := p.readParam(rest); v == sdk.Yes {
				return p.lookNext(t, rest[t.n:])
			} else if v == sdk.Maybe {
				return p.waitTag(rest)
			}
			switch p.lookCall(rest) {
			case sdk.Yes:
				return region.Closes
			case sdk.Maybe:
				return p.waitTag(rest)
			}
		}
		end, n, v := p.matchEnd(rest, first)
		switch v {
		case sdk.Maybe:
			return p.Wait(region.Closes)
		case sdk.No:
			return p.lookLast(rest, decided)
		}
		b, first, decided = rest[n:], end+1, region.Closes
	}
}

// lookLast decides at the first tag that is not legal behind the end of a parameter.
func (p *parser) lookLast(rest []byte, decided region.Verdict) region.Verdict {
	switch markup.Match(rest, p.val.close) {
	case sdk.Yes:
		return region.Text
	case sdk.Maybe:
		return p.Wait(decided)
	default:
		return decided
	}
}

// lookCall tells whether b begins another call, so that the end of the one at hand is missing. The
// tool must be offered, and its tag followed by something that fits: else it is text.
func (p *parser) lookCall(b []byte) sdk.Verdict {
	for i := -1; i < len(p.lead); i++ {
		marker := p.wrapOpen
		if i >= 0 {
			marker = p.lead[i]
		}
		switch markup.MatchTag(b, marker) {
		case sdk.Yes:
			b = p.skip(b[len(marker):])
		case sdk.Maybe:
			return sdk.Maybe
		}
	}
	t, v := p.fun.read(b)
	switch {
	case v != sdk.Yes:
		return v
	case sdk.FindTool(p.Tools, p.toolName(t.name)) == nil, t.closed && !p.closed:
		return sdk.No
	case t.closed:
		return sdk.Yes
	}
	return p.beginsBody(b[t.n:])
}

// waitTag is for half a tag of a parameter: at the end of the output it closes the
// value if it may also be half of an end tag.
func (p *parser) waitTag(rest []byte) region.Verdict {
	if _, _, v := p.matchEnd(rest, endFunc); v == sdk.Maybe {
		return p.Wait(region.Closes)
	}
	return p.Wait(region.Text)
}

// mayFollow reports whether a parameter can come next in the call.
func (p *parser) mayFollow(key []byte) bool {
	return !p.Seen(key) && (p.Tool == nil || p.Param(key) != nil)
}

// lookNext decides about the end of a parameter behind which the tag of another
// stands, and then b. Most likely that is the next one. But one that the call cannot
// have may be text, as in a file about this format, and if so, another end of a
// parameter comes where none is legal.
func (p *parser) lookNext(t tag, b []byte) region.Verdict {
	if p.mayFollow(t.name) || p.prefix != "" || t.closed {
		return region.Closes
	}
	window := b[:min(len(b), maxOver)]
	at := bytes.Index(window, []byte(p.val.close))
	v := region.Unclear
	if at >= 0 {
		v = p.lookBehind(window[at+len(p.val.close):])
	}
	if v == region.Unclear && (p.Ended || len(window) == maxOver) {
		return region.Closes
	}
	return v
}

// lookParam decides about the tag of a parameter, which ends the value if that has
// lost its own end: at the beginning of a line, for a parameter that the tool has
// and that has no value yet. Where tags do not begin lines the tool must be known,
// and attributes that are not the format's are those of text, say of HTML's <param>.
func (p *parser) lookParam(b []byte) region.Verdict {
	t, v := p.readParam(b)
	switch {
	case v == sdk.Maybe:
		return p.Wait(region.Text)
	case v == sdk.No || !p.mayFollow(t.name):
		return region.Text
	case p.inLine && (p.Tool == nil || t.foreign):
		return region.Text
	}
	return region.Implies
}

// lookFuncClose decides about the end of the function, which ends a value that has
// lost its own end if something legal is behind it. Without a wrapper anything is,
// so there it must at least stand at the beginning of a line.
func (p *parser) lookFuncClose(b []byte, lineStart bool) region.Verdict {
	if !p.wrapped && !lineStart && !p.inLine {
		return region.Text
	}
	rest := p.skip(b)
	space := b[:len(b)-len(rest)]
	if len(space) > maxSpace {
		if p.wrapped {
			return region.Text
		}
		return region.Implies
	}
	ownLine := lineStart || bytes.IndexByte(space, '\n') >= 0
	tail := markup.MatchTag(rest, p.tail)
	if tail == sdk.Yes { // a token that makes the end as good as one on a line of its own
		rest, ownLine = p.skip(rest[len(p.tail):]), true
	}
	switch {
	case len(rest) == 0 && p.Cut:
		return region.Text // the token limit may have cut the value here
	case len(rest) == 0, tail == sdk.Maybe:
		return p.Wait(region.Implies)
	}
	return p.lookOnwards(rest, lineStart, ownLine)
}

// lookOnwards is lookFuncClose with something behind the white space. lineStart says
// that the function's end begins a line, ownLine that it begins or ends one.
func (p *parser) lookOnwards(rest []byte, lineStart, ownLine bool) region.Verdict {
	wrapEnd, wrap, call := markup.MatchTag(rest, p.wrapClose), p.matchWrap(rest), p.matchCall(rest)
	text := markup.MatchAny(rest, p.val.close, p.param.open)
	switch {
	case wrapEnd == sdk.Maybe, text == sdk.Maybe, p.wrapped && (wrap == sdk.Maybe || call == sdk.Maybe):
		return p.Wait(region.Implies)
	case wrapEnd == sdk.Yes:
		return p.lookWrapClose(rest[len(p.wrapClose):], lineStart)
	case p.wrapped && (wrap == sdk.Yes || call == sdk.Yes):
		return region.Implies
	case text == sdk.Yes || p.wrapped:
		return region.Text
	case ownLine || call == sdk.Yes:
		return region.Implies
	case call == sdk.Maybe:
		return p.Wait(region.Implies)
	}
	return region.Text
}

// lookWrapClose is lookFuncClose behind the end of the wrapper. In the middle of a
// line it must not go on with text: the value may be about this format.
func (p *parser) lookWrapClose(b []byte, lineStart bool) region.Verdict {
	rest := chars.SkipSpace(b)
	if len(b)-len(rest) > maxSpace {
		return region.Implies
	}
	switch markup.Match(rest, p.val.close) {
	case sdk.Yes:
		return region.Text
	case sdk.Maybe:
		return p.Wait(region.Implies)
	}
	if !lineStart && rest[0] != p.mark() && bytes.IndexByte(b[:len(b)-len(rest)], '\n') < 0 {
		return region.Text
	}
	return region.Implies
}
