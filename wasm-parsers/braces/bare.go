package braces

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// bare is what is known of a value without quotes: a number, a word, or text whose
// quotes are missing. It stays in the parser's buf until its end was found.
type bare struct {
	n      int // how much of it was looked at
	braces int // how many are open in it
}

func (p *parser) beginBare() {
	p.writeComma()
	p.state, p.bare = inBare, bare{}
}

// readBare looks for the end of a value without quotes.
func (p *parser) readBare() bool {
	b := p.Rest()
	for ; p.bare.n < len(b); p.bare.n++ {
		switch p.lookBare(b, b[p.bare.n]) {
		case region.Closes:
			return p.endBare(b[:p.bare.n], 0)
		case region.Implies:
			return p.endBare(b[:p.bare.n], len(p.quote))
		case region.Broken:
			return p.RefuseHere()
		case region.Unclear:
			return false
		default:
		}
	}
	return false
}

// lookBare decides about the byte c of a value without quotes, behind what was
// looked at. Text ends at a comma or a bracket if something legal follows; implies
// is for the quote that ends it, where the one that begins it is missing.
func (p *parser) lookBare(b []byte, c byte) region.Verdict {
	at := p.bare.n
	switch {
	case c == ',' && p.array(), c == ']' && p.array():
		return region.Closes
	case c == ',':
		return p.lookBareComma(b[:at], b[at+1:])
	case c == '{':
		p.bare.braces++
	case c == '}' && p.bare.braces > 0:
		p.bare.braces--
	case c == '}' && len(p.stack) > 1 && !p.array():
		return region.Closes
	case c == '}' && !p.array():
		return p.lookBrackets(b[at:])
	case c == '<':
		return p.lookBareMarker(b[at:])
	}
	return region.Text
}

// lookBareComma decides about a comma behind text. It ends a number or a word, and
// other text only if a key follows, which must be the tool's if that is known.
func (p *parser) lookBareComma(text, b []byte) region.Verdict {
	const longest = 64 // of what is looked at as a number
	if len(text) <= longest {
		if _, _, ok := relaxed.Value(text, 0); ok {
			return region.Closes
		}
	}
	rest := chars.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return region.Text
	case len(rest) == 0:
		return p.wait(region.Text)
	case rest[0] == '}':
		return p.lookBrackets(rest)
	}
	key, _, v := p.key(rest)
	switch {
	case v == sdk.Maybe:
		return p.wait(region.Text)
	case v == sdk.No, p.Tool != nil && len(p.stack) == 1 && p.Param(key) == nil:
		return region.Text
	case p.Tool == nil && bytes.IndexByte(key, ' ') >= 0:
		return region.Text
	}
	return region.Closes
}

// lookBareMarker decides about what may be a quote or the end of the call.
func (p *parser) lookBareMarker(b []byte) region.Verdict {
	switch markup.MatchAny(b, p.quote, p.close) {
	case sdk.Maybe:
		return p.wait(region.Text)
	case sdk.No:
		return region.Text
	}
	if markup.Match(b, p.close) == sdk.Yes {
		return region.Closes
	}
	switch v := p.lookBehind(b[len(p.quote):]); v {
	case region.Closes:
		return region.Implies
	case region.Text:
		return region.Broken
	default:
		return v
	}
}

// endBare writes the value text, behind which n bytes are skipped.
func (p *parser) endBare(text []byte, n int) bool {
	p.Advance(len(text) + n)
	text = chars.TrimSpace(text)
	if len(text) == 0 {
		return p.RefuseHere()
	}
	strict, kind, ok := relaxed.Value(text, 0)
	switch {
	case n > 0:
		strict = relaxed.AppendString(nil, text)
	case !ok || kind != relaxed.Null:
		strict, _ = typed.Convert(text, p.types, p.MaxDepth)
	}
	p.Out.Args(strict) // null is a word, whatever the schema says: a string would have quotes
	p.Repaired = p.Repaired || !ok || n > 0
	p.state = atComma
	return true
}
