package xmlparams

import (
	"bytes"
	"slices"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxSpace is how much white space is looked through for the tag that follows
// another. More of it means that no tag follows.
const maxSpace = 256

// verdict is what a tag inside a value turned out to be.
type verdict uint8

const (
	isText  verdict = iota // part of the value
	closes                 // the parameter's own end
	implies                // what only comes after the value, whose end is missing
	unclear                // more text is needed
)

// look decides about the tag that b, the rest of a value's text, begins with.
func (p *parser) look(b []byte) verdict {
	switch markup.Match(b, p.paramClose) {
	case sdk.Yes:
		return p.lookBehind(b[len(p.paramClose):])
	case sdk.Maybe:
		return p.wait(isText)
	case sdk.No:
	}
	if v := p.lookParam(b); v != isText {
		return v
	}
	switch markup.Match(b, p.funcClose) {
	case sdk.Yes:
		return p.lookFuncClose(b[len(p.funcClose):])
	case sdk.Maybe:
		return p.wait(isText)
	default:
		return isText
	}
}

// wait is unclear as long as there may be more text, and v at its end.
func (p *parser) wait(v verdict) verdict {
	if p.ended {
		return v
	}
	return unclear
}

// lookBehind decides about the end of a parameter by the tags behind it: the next
// parameter, or the ends of the function and the wrapper. If those are followed by
// another end of a parameter they are all text, say of a file about this format.
func (p *parser) lookBehind(b []byte) verdict {
	ends := []string{p.funcClose, p.wrapClose}
	legal := ends
	if !p.wrapped {
		legal = ends[:1] // the wrapper's end may come all the same, but only behind the function's
	}
	decided := isText // unless one legal tag was seen
	for {
		rest := markup.SkipSpace(b)
		if len(b)-len(rest) > maxSpace {
			return decided
		}
		if len(rest) == 0 {
			return p.wait(closes)
		}
		if decided == isText {
			if _, _, v := tag(rest, p.paramOpen); v == sdk.Yes {
				return closes
			} else if v == sdk.Maybe {
				return p.waitTag(rest)
			}
		}
		at := slices.IndexFunc(legal, func(m string) bool { return markup.Match(rest, m) == sdk.Yes })
		if at < 0 {
			return p.lookLast(rest, legal, decided)
		}
		b, decided = rest[len(legal[at]):], closes
		legal = ends[slices.Index(ends, legal[at])+1:]
	}
}

// lookLast decides at the first tag that is not legal behind the end of a parameter.
func (p *parser) lookLast(rest []byte, legal []string, decided verdict) verdict {
	if markup.MatchAny(rest, legal...) == sdk.Maybe {
		return p.wait(closes)
	}
	switch markup.Match(rest, p.paramClose) {
	case sdk.Yes:
		return isText
	case sdk.Maybe:
		return p.wait(decided)
	default:
		return decided
	}
}

// waitTag is for half a tag of a parameter: at the end of the output it closes the
// value if it may also be half of an end tag.
func (p *parser) waitTag(rest []byte) verdict {
	if markup.MatchAny(rest, p.funcClose, p.wrapClose) == sdk.Maybe {
		return p.wait(closes)
	}
	return p.wait(isText)
}

// lookParam decides about the tag of a parameter, which ends the value if that has
// lost its own end: at the beginning of a line, for a parameter that the tool has
// and that has no value yet.
func (p *parser) lookParam(b []byte) verdict {
	if !p.value.LineStart() {
		return isText
	}
	name, _, v := tag(b, p.paramOpen)
	switch {
	case v == sdk.Maybe:
		return p.wait(isText)
	case v == sdk.No || p.seen[string(name)]:
		return isText
	case p.tool != nil && sdk.FindParam(p.tool, string(name)) == nil:
		return isText
	}
	return implies
}

// lookFuncClose decides about the end of the function, which ends a value that has
// lost its own end if something legal is behind it. Without a wrapper anything is,
// so there it must at least stand at the beginning of a line.
func (p *parser) lookFuncClose(b []byte) verdict {
	if !p.wrapped && !p.value.LineStart() {
		return isText
	}
	rest := markup.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace && p.wrapped:
		return isText
	case len(b)-len(rest) > maxSpace:
		return implies
	case len(rest) == 0 && !p.cut:
		return p.wait(implies)
	case len(rest) == 0:
		return isText // the token limit may have cut the value here
	}
	legal := sdk.No
	if p.wrapped {
		legal = markup.MatchAny(rest, p.wrapClose, p.funcOpen, p.wrapOpen)
	}
	text := markup.MatchAny(rest, p.paramClose, p.paramOpen)
	switch {
	case legal == sdk.Maybe, text == sdk.Maybe, markup.Match(rest, p.wrapClose) == sdk.Maybe:
		return p.wait(implies)
	case text == sdk.Yes, p.wrapped && legal == sdk.No:
		return isText
	case markup.Match(rest, p.wrapClose) == sdk.Yes:
		return p.lookWrapClose(rest[len(p.wrapClose):])
	}
	return implies
}

// lookWrapClose is lookFuncClose behind the end of the wrapper. In the middle of a
// line it must not go on with text: the value may be about this format.
func (p *parser) lookWrapClose(b []byte) verdict {
	rest := markup.SkipSpace(b)
	if len(b)-len(rest) > maxSpace {
		return implies
	}
	switch markup.Match(rest, p.paramClose) {
	case sdk.Yes:
		return isText
	case sdk.Maybe:
		return p.wait(implies)
	}
	if !p.value.LineStart() && rest[0] != '<' && bytes.IndexByte(b[:len(b)-len(rest)], '\n') < 0 {
		return isText
	}
	return implies
}
