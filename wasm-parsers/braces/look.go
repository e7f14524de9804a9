package braces

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// maxLook is how much is looked through for the end of a call.
const maxLook = 1024

// wait is Wait, but a string that holds the beginning of a call may have been cut there by a
// token limit.
func (p *parser) wait(v region.Verdict) region.Verdict {
	if p.Cut && p.inner > 0 {
		return region.Text
	}
	return p.Wait(v)
}

// lookQuoted decides about the marker that b, the rest of a string's text behind
// tail, may begin with.
func (p *parser) lookQuoted(tail, b []byte) region.Verdict {
	switch markup.MatchAny(b, p.quote, p.close, p.opening) {
	case sdk.Maybe:
		return p.wait(region.Text)
	case sdk.No:
		return region.Text
	}
	switch sdk.Yes {
	case markup.Match(b, p.quote):
		return p.lookBehind(b[len(p.quote):])
	case markup.Match(b, p.close):
		return p.lookClose(tail, b[len(p.close):])
	default:
		return region.Text
	}
}

// lookBehind decides about the quote that may end a string by what follows it.
func (p *parser) lookBehind(b []byte) region.Verdict {
	rest := chars.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return region.Text
	case len(rest) == 0:
		return p.wait(region.Closes)
	case rest[0] != ',':
		return p.lookBrackets(rest)
	case p.array():
		return region.Closes
	}
	b = rest[1:]
	rest = chars.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return region.Text
	case len(rest) == 0:
		return p.wait(region.Closes)
	case rest[0] == '}':
		return p.lookBrackets(rest)
	}
	key, _, v := p.key(rest)
	if v == sdk.Yes && p.inner > 0 && (len(p.stack) > 1 || p.Param(key) == nil) {
		return region.Text // rather a key of the call in the string
	}
	return p.verdictOf(v)
}

// lookBrackets decides about the end of a value by the brackets that follow it: they
// must close what is open, and behind the last of them the call must end. A brace too
// many is no matter, as readEnd knows.
func (p *parser) lookBrackets(b []byte) region.Verdict {
	depth, spare := len(p.stack), maxSpare
	for i := 0; i < maxLook; i++ {
		if i == len(b) {
			return p.wait(region.Closes)
		}
		switch c := b[i]; {
		case chars.IsSpace(c):
		case depth > 0 && c == p.stack[depth-1]+2:
			depth--
		case depth > 0 && depth < len(p.stack) && c == ',':
			return region.Closes
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
	return region.Text
}

// lookAfter decides about the end of a call in a string that holds the beginning of
// one: it is that one's if another quote comes before the next call.
func (p *parser) lookAfter(b []byte) region.Verdict {
	for i := 1; i < min(len(b), maxLook); i++ {
		if b[i] != '<' {
			continue
		}
		switch markup.MatchAny(b[i:], p.quote, p.open) {
		case sdk.Maybe:
			return p.wait(region.Closes)
		case sdk.No:
			continue
		}
		if markup.Match(b[i:], p.quote) == sdk.Yes {
			return region.Text
		}
		return region.Closes
	}
	if len(b) >= maxLook {
		return region.Closes
	}
	return p.wait(region.Closes)
}

// verdictOf is the verdict on the end of a value that a marker must follow.
func (p *parser) verdictOf(v sdk.Verdict) region.Verdict {
	switch v {
	case sdk.Yes:
		return region.Closes
	case sdk.Maybe:
		return p.wait(region.Closes)
	default:
		return region.Text
	}
}

// lookClose decides about the end of a call inside a string. It ends the string too,
// whose quote is missing, if just the brackets that are due stand in front of it and
// nothing but the next call follows.
func (p *parser) lookClose(tail, b []byte) region.Verdict {
	if p.quoted || p.inner > 0 || p.brackets(tail) < 0 {
		return region.Text
	}
	rest := chars.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace, len(rest) == 0 && p.Cut:
		return region.Text // a token limit may have cut the string here
	case len(rest) == 0:
		return p.wait(region.Implies)
	}
	switch p.ends(rest) {
	case sdk.Yes:
		return region.Implies
	case sdk.Maybe:
		return p.wait(region.Text)
	default:
		return region.Text
	}
}
