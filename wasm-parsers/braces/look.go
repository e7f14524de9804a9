package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// maxLook is how much is looked through for the end of a call.
const maxLook = 1024

// verdict is what a marker or a bracket inside a value turned out to be.
type verdict uint8

const (
	isText  verdict = iota // part of the value
	closes                 // the value's end
	implies                // what only comes after the value, or the end of one without a beginning
	broken                 // what no value may hold
	unclear                // more text is needed
)

// wait is unclear as long as there may be more text, and v at its end. A string that
// holds the beginning of a call may have been cut there by a token limit.
func (p *parser) wait(v verdict) verdict {
	switch {
	case !p.ended:
		return unclear
	case p.cut && p.inner > 0:
		return isText
	}
	return v
}

// lookQuoted decides about the marker that b, the rest of a string's text behind
// tail, may begin with.
func (p *parser) lookQuoted(tail, b []byte) verdict {
	switch markup.MatchAny(b, p.quote, p.close, p.opening) {
	case sdk.Maybe:
		return p.wait(isText)
	case sdk.No:
		return isText
	case sdk.Yes:
	}
	switch sdk.Yes {
	case markup.Match(b, p.quote):
		return p.lookBehind(b[len(p.quote):])
	case markup.Match(b, p.close):
		return p.lookClose(tail, b[len(p.close):])
	default:
		return isText
	}
}

// lookBehind decides about the quote that may end a string by what follows it.
func (p *parser) lookBehind(b []byte) verdict {
	rest := markup.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return isText
	case len(rest) == 0:
		return p.wait(closes)
	case rest[0] != ',':
		return p.lookBrackets(rest)
	case p.array():
		return closes
	}
	b = rest[1:]
	rest = markup.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return isText
	case len(rest) == 0:
		return p.wait(closes)
	case rest[0] == '}':
		return p.lookBrackets(rest)
	}
	key, _, v := p.key(rest)
	if v == sdk.Yes && p.inner > 0 && (len(p.stack) > 1 || sdk.FindParam(p.tool, string(key)) == nil) {
		return isText // rather a key of the call in the string
	}
	return p.verdictOf(v)
}

// lookBrackets decides about the end of a value by the brackets that follow it: they
// must close what is open, and behind the last of them the call must end. A brace too
// many is no matter, as readEnd knows.
func (p *parser) lookBrackets(b []byte) verdict {
	depth, spare := len(p.stack), maxSpare
	for i := 0; i < maxLook; i++ {
		if i == len(b) {
			return p.wait(closes)
		}
		switch c := b[i]; {
		case markup.IsSpace(c):
		case depth > 0 && c == p.stack[depth-1]+2:
			depth--
		case depth > 0 && depth < len(p.stack) && c == ',':
			return closes
		case depth == 0 && c == '}' && spare > 0:
			spare--
		case depth > 0:
			return p.verdictOf(markup.Match(b[i:], p.close))
		default:
			if v := p.ends(b[i:]); v != sdk.Yes || p.inner == 0 {
				return p.verdictOf(v)
			}
			return p.lookAfter(b[i:])
		}
	}
	return isText
}

// lookAfter decides about the end of a call in a string that holds the beginning of
// one: it is that one's if another quote comes before the next call.
func (p *parser) lookAfter(b []byte) verdict {
	for i := 1; i < min(len(b), maxLook); i++ {
		if b[i] != '<' {
			continue
		}
		switch markup.MatchAny(b[i:], p.quote, p.open) {
		case sdk.Maybe:
			return p.wait(closes)
		case sdk.No:
			continue
		case sdk.Yes:
		}
		if markup.Match(b[i:], p.quote) == sdk.Yes {
			return isText
		}
		return closes
	}
	if len(b) >= maxLook {
		return closes
	}
	return p.wait(closes)
}

// verdictOf is the verdict on the end of a value that a marker must follow.
func (p *parser) verdictOf(v sdk.Verdict) verdict {
	switch v {
	case sdk.Yes:
		return closes
	case sdk.Maybe:
		return p.wait(closes)
	default:
		return isText
	}
}

// lookClose decides about the end of a call inside a string. It ends the string too,
// whose quote is missing, if just the brackets that are due stand in front of it and
// nothing but the next call follows.
func (p *parser) lookClose(tail, b []byte) verdict {
	if p.quoted || p.inner > 0 || p.brackets(tail) < 0 {
		return isText
	}
	rest := markup.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace, len(rest) == 0 && p.cut:
		return isText // a token limit may have cut the string here
	case len(rest) == 0:
		return p.wait(implies)
	}
	switch p.ends(rest) {
	case sdk.Yes:
		return implies
	case sdk.Maybe:
		return p.wait(isText)
	default:
		return isText
	}
}
