package braces

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
)

// bare is what is known of a value without quotes: a number, a word, or text whose
// quotes are missing. It stays in the parser's buf until its end was found.
type bare struct {
	n      int // how much of it was looked at
	braces int // how many are open in it
}

func (p *parser) beginBare(out *sdk.Out) {
	p.writeComma(out)
	p.state, p.bare = inBare, bare{}
}

// readBare looks for the end of a value without quotes.
func (p *parser) readBare(out *sdk.Out) bool {
	b := p.Rest()
	for ; p.bare.n < len(b); p.bare.n++ {
		switch p.lookBare(b, b[p.bare.n]) {
		case closes:
			return p.endBare(b[:p.bare.n], 0, out)
		case implies:
			return p.endBare(b[:p.bare.n], len(p.quote), out)
		case broken:
			return p.refuse(out)
		case unclear:
			return false
		default:
		}
	}
	return false
}

// lookBare decides about the byte c of a value without quotes, behind what was
// looked at. Text ends at a comma or a bracket if something legal follows; implies
// is for the quote that ends it, where the one that begins it is missing.
func (p *parser) lookBare(b []byte, c byte) verdict {
	at := p.bare.n
	switch {
	case c == ',' && p.array(), c == ']' && p.array():
		return closes
	case c == ',':
		return p.lookBareComma(b[:at], b[at+1:])
	case c == '{':
		p.bare.braces++
	case c == '}' && p.bare.braces > 0:
		p.bare.braces--
	case c == '}' && len(p.stack) > 1 && !p.array():
		return closes
	case c == '}' && !p.array():
		return p.lookBrackets(b[at:])
	case c == '<':
		return p.lookBareMarker(b[at:])
	}
	return isText
}

// lookBareComma decides about a comma behind text. It ends a number or a word, and
// other text only if a key follows, which must be the tool's if that is known.
func (p *parser) lookBareComma(text, b []byte) verdict {
	const longest = 64 // of what is looked at as a number
	if len(text) <= longest {
		if _, _, ok := relaxed.Value(text, 0); ok {
			return closes
		}
	}
	rest := markup.SkipSpace(b)
	switch {
	case len(b)-len(rest) > maxSpace:
		return isText
	case len(rest) == 0:
		return p.wait(isText)
	case rest[0] == '}':
		return p.lookBrackets(rest)
	}
	key, _, v := p.key(rest)
	switch {
	case v == sdk.Maybe:
		return p.wait(isText)
	case v == sdk.No, p.tool != nil && len(p.stack) == 1 && sdk.FindParam(p.tool, string(key)) == nil:
		return isText
	case p.tool == nil && bytes.IndexByte(key, ' ') >= 0:
		return isText
	}
	return closes
}

// lookBareMarker decides about what may be a quote or the end of the call.
func (p *parser) lookBareMarker(b []byte) verdict {
	switch markup.MatchAny(b, p.quote, p.close) {
	case sdk.Maybe:
		return p.wait(isText)
	case sdk.No:
		return isText
	case sdk.Yes:
	}
	if markup.Match(b, p.close) == sdk.Yes {
		return closes
	}
	switch v := p.lookBehind(b[len(p.quote):]); v {
	case closes:
		return implies
	case isText:
		return broken
	default:
		return v
	}
}

// endBare writes the value text, behind which n bytes are skipped.
func (p *parser) endBare(text []byte, n int, out *sdk.Out) bool {
	p.Advance(len(text) + n)
	text = bytes.Trim(text, " \t\r\n")
	if len(text) == 0 {
		return p.refuse(out)
	}
	strict, kind, ok := relaxed.Value(text, 0)
	switch {
	case n > 0:
		strict = relaxed.AppendString(nil, text)
	case !ok || kind != relaxed.Null:
		strict, _ = typed.Convert(text, p.types, p.maxDepth)
	}
	out.Args(strict) // null is a word, whatever the schema says: a string would have quotes
	p.mended = p.mended || !ok || n > 0
	p.state = atComma
	return true
}
