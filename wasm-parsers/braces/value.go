package braces

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
	"github.com/callgate/callgate/sdk/typed"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// beginValue begins a value, or ends an array.
func (p *parser) beginValue() bool {
	b := p.Rest()
	switch c := b[0]; {
	case c == ']' && p.state != atValue:
		p.Repaired = p.Repaired || p.state == nextItem
		p.closeBracket()
	case c == '{' || c == '[':
		return p.openBracket(c)
	case c == '"' || c == '\'':
		p.writeComma()
		p.json.Init(0)
		p.state = inString
	case c == '<':
		return p.beginMarked()
	case c == ',' || c == '}' || c == ']' || c == ':':
		return p.RefuseHere() // a value is missing
	default:
		p.beginBare()
	}
	return true
}

func (p *parser) openBracket(c byte) bool {
	if len(p.stack) == p.MaxDepth {
		return p.RefuseHere()
	}
	p.writeComma()
	p.Out.Args([]byte{c})
	p.stack = append(p.stack, c)
	p.Advance(1)
	p.state, p.types = atKey, 0
	if c == '[' {
		p.state = atItem
	}
	return true
}

// beginMarked begins a string between quotes, or a bare value that begins with what
// looks like a tag.
func (p *parser) beginMarked() bool {
	b := p.Rest()
	switch markup.Match(b, p.quote) {
	case sdk.Yes:
		p.writeComma()
		types := abi.String
		if p.guess && len(p.stack) == 1 {
			types = p.types
		}
		p.Advance(len(p.quote))
		p.said = p.said[:0]
		p.value.Begin(types, typed.Keep, p.Out)
		p.state, p.quoted = inQuoted, false
		return true
	case sdk.Maybe:
		return false
	}
	switch p.ends(b) {
	case sdk.Maybe:
		return false
	case sdk.Yes:
		return p.RefuseHere()
	}
	p.beginBare()
	return true
}

// readString reads a string between quotes of JSON or Python, whose own rules tell
// where it ends.
func (p *parser) readString() bool {
	for len(p.Rest()) > 0 {
		n, tok := p.json.Feed(p.Rest())
		p.Advance(n)
		p.Out.Args(p.json.Out)
		p.json.Out = p.json.Out[:0]
		switch tok {
		case relaxed.More:
		case relaxed.String:
			p.Repaired = p.Repaired || p.json.Repaired() != 0
			p.state = atComma
			return true
		default:
			return p.RefuseHere()
		}
	}
	return false
}

// readQuoted passes on the text of a string up to the next quote, and decides about
// that. Brackets at the end of the text wait: they are the call's if the quote that
// ends the string is missing.
func (p *parser) readQuoted() bool {
	b := p.Rest()
	n := p.plain(b)
	tail := tail(b[:n])
	if len(tail) < n {
		p.said = append(p.said, b[:min(n-len(tail), max(maxSaid-len(p.said), 0))]...)
		p.value.Write(b[:n-len(tail)], p.Out)
		p.Advance(n - len(tail))
	}
	if n == len(b) {
		return false
	}
	b = b[n:]
	switch p.lookQuoted(tail, b) {
	case region.Text:
		p.count(b)
		p.value.Write(p.Rest()[:len(tail)+1], p.Out)
		p.Advance(len(tail) + 1)
		return true
	case region.Closes:
		p.value.Write(tail, p.Out)
		p.Advance(len(tail) + len(p.quote))
	case region.Implies:
		if p.holdsKey() {
			return p.RefuseHere()
		}
		end := p.brackets(tail)
		p.value.Write(tail[:end], p.Out)
		p.Advance(end)
		p.Repaired = true
	default:
		return false
	}
	if p.value.End(p.MaxDepth, p.Out) {
		p.Repaired = true
	}
	p.state, p.inner = atComma, 0
	return true
}

// maxSaid is how much of a string is looked through for a key.
const maxSaid = 4096

// holdsKey reports whether the text of a string that has lost its last quote holds the key of an argument
// that the tool has and that did not come: then the string may have ended there.
func (p *parser) holdsKey() bool {
	if p.Tool == nil {
		return false
	}
	for i := range p.Tool.Params {
		name := p.Tool.Params[i].Name
		for _, comma := range [...]string{",", ", "} {
			if !p.Seen([]byte(name)) && bytes.Contains(p.said, []byte(comma+name+":")) {
				return true
			}
		}
	}
	return false
}

// plain is how much of a string's text holds no marker.
func (p *parser) plain(b []byte) int {
	for n := 0; ; n++ {
		i := bytes.IndexByte(b[n:], '<')
		if i < 0 {
			return len(b)
		}
		n += i
		if len(b)-n < 3 {
			return n
		}
		if begin := string(b[n : n+3]); begin == p.quote[:3] || begin == p.close[:3] || begin == p.open[:3] {
			return n
		}
	}
}

// count notes a marker that is text of the string.
func (p *parser) count(b []byte) {
	switch sdk.Yes {
	case markup.Match(b, p.quote):
		p.quoted = true
	case markup.Match(b, p.opening):
		p.inner++
	case markup.Match(b, p.close):
		p.inner = max(p.inner-1, 0)
	}
}

// tail is the brackets and the white space at the end of b, or the last of them.
func tail(b []byte) []byte {
	n := len(b)
	for n > 0 && len(b)-n < maxTail && (b[n-1] == '}' || b[n-1] == ']' || chars.IsSpace(b[n-1])) {
		n--
	}
	return b[n:]
}

// brackets is the place in tail from which on it closes all that is open, or -1.
func (p *parser) brackets(tail []byte) int {
	open := 0
	for i := len(tail) - 1; i >= 0; i-- {
		switch {
		case chars.IsSpace(tail[i]):
			continue
		case tail[i] != p.stack[open]+2:
			return -1
		}
		if open++; open == len(p.stack) {
			return i
		}
	}
	return -1
}
