package pythonic

import (
	"bytes"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
	"github.com/callgate/callgate/wasm-parsers/internal/region"
)

// Sarashina reads the list of dicts that Sarashina writes, as Python prints it.
func Sarashina() sdk.Spec {
	return dictSpec(abi.Parser{
		Name:     "sarashina",
		Priority: 60,
		Formats:  []string{"<|tool_calls|>[{'name', 'arguments'}]"},
		Example:  `<|tool_calls|>[{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}]`,
		Triggers: []string{"<|tool_calls|>"},
		Models:   []string{"*sarashina*"},
	}, format{open: "<|tool_calls|>"})
}

// SarashinaBare reads the same where the server has left its token out. Only the
// quotes of Python tell it from JSON, which has parsers of its own.
func SarashinaBare() sdk.Spec {
	return dictSpec(abi.Parser{
		Name:      "sarashina_bare",
		Aliases:   []string{"sarashina"},
		Priority:  55,
		Formats:   []string{"[{'name', 'arguments'}]"},
		Example:   `[{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}]`,
		Starts:    []string{"["}, // not more, or another parser's shorter start would be found first
		Models:    []string{"*sarashina*"},
		Heuristic: true,
	}, format{whole: true})
}

func dictSpec(p abi.Parser, f format) sdk.Spec {
	return region.Spec(p, f.canParseDicts, func() sdk.Reusable { return &dictParser{format: &f} })
}

// canParseDicts wants a dict in a list behind the token, and without that also the
// key of a call.
func (f *format) canParseDicts(head []byte) sdk.Verdict {
	if v := markup.Match(head, f.open); v != sdk.Yes {
		return v
	}
	b := head[len(f.open):]
	for _, bracket := range []string{"[", "{"} {
		b = chars.SkipSpace(b)
		if v := markup.Match(b, bracket); v != sdk.Yes {
			return v
		}
		b = b[1:]
	}
	if !f.whole {
		return sdk.Yes
	}
	return markup.MatchAny(chars.SkipSpace(b), "'name'", "'arguments'")
}

// dictState is what a dictParser expects next.
type dictState uint8

const (
	dictOpen   dictState = iota // the rest of the token
	dictList                    // the list's bracket
	dictFirst                   // a dict
	dictNext                    // a dict, or the list's bracket behind a trailing comma
	inDict                      // the rest of a dict
	afterDict                   // a comma or the list's bracket
	afterDicts                  // what ends the turn
)

// dictParser reads one region.
type dictParser struct {
	region.Region
	*format

	call   callobject.Reader
	state  dictState
	unsure bool // the dict is complete, its call is not sure yet
}

// Reset implements sdk.Reusable.
func (p *dictParser) Reset(o sdk.Options) error {
	p.state, p.unsure = dictOpen, false
	p.Begin(p, o)
	keys := callobject.Hermes()
	keys.Only, keys.Once = p.whole, true
	p.call.Init(keys, o.MaxDepth)
	return nil
}

// Step implements region.Format.
func (p *dictParser) Step() bool {
	switch {
	case p.state == inDict:
		return len(p.Rest()) > 0 && p.readDict()
	case p.state == dictOpen && p.open != "":
		return p.readOpen()
	case !p.SkipSpace():
		return false
	}
	switch c := p.Rest()[0]; p.state {
	case dictOpen, dictList:
		if c == '[' {
			p.Advance(1)
			p.state = dictFirst
			return true
		}
	case dictFirst, dictNext:
		if c == '{' {
			p.call.Reset()
			p.state, p.Began = inDict, true
			return true
		}
		if c == ']' && p.state == dictNext {
			return p.endList()
		}
	default:
		return p.readAfter(c)
	}
	return p.refuse(p.At())
}

// readAfter reads what makes the call of a dict sure: what goes on with the list, or what ends
// the model's turn.
func (p *dictParser) readAfter(c byte) bool {
	switch {
	case p.state == afterDict && c == ']':
		return p.endList()
	case p.state == afterDict && c == ',':
		p.endCall()
		p.Advance(1)
		p.state = dictNext
		return true
	}
	switch markup.MatchAny(p.Rest(), turnEnds[:]...) {
	case sdk.Yes:
		p.endCall()
		return p.End()
	case sdk.Maybe:
		return false
	default:
		return p.refuse(p.At())
	}
}

func (p *dictParser) readOpen() bool {
	b := p.Rest()
	n := markup.Common(b, p.open)
	switch {
	case n == len(p.open):
		p.Advance(n)
		p.state = dictList
		return true
	case n < len(b):
		return p.refuse(n)
	}
	return false
}

// refuse gives the region back up to byte to.
func (p *dictParser) refuse(to int) bool {
	if p.whole {
		p.From = 0
	}
	return p.Refuse(to)
}

// readDict reads text of a dict up to an escape, or that.
func (p *dictParser) readDict() bool {
	b := p.Rest()
	size := plain(b)
	if size == 0 {
		return p.readEscape(b)
	}
	at := 0
	for at < size && p.state == inDict {
		n, ok := p.feed(b[at:size])
		if at += n; !ok {
			p.call.Pass(p.Out)
			return p.refuse(p.At() + at)
		}
	}
	p.Advance(at)
	p.call.Pass(p.Out)
	return true
}

// plain is how much of b comes before an escape that JSON does not have, or before half an
// escape.
func plain(b []byte) int {
	for n := 0; ; n += 2 {
		i := bytes.IndexByte(b[n:], '\\')
		if i < 0 {
			return len(b)
		}
		if n += i; n+1 == len(b) || b[n+1] == 'x' || b[n+1] == 'U' {
			return n
		}
	}
}

// feed gives text of a dict to the reader of calls, and says how much that read.
func (p *dictParser) feed(text []byte) (n int, ok bool) {
	n, status := p.call.Feed(text)
	if p.call.Certain() {
		p.call.Show(p.Out)
	}
	if status == callobject.Done {
		p.state, p.unsure = afterDict, true
	}
	return n, status != callobject.Bad
}

// readEscape reads an escape. Python prints characters that cannot be seen as \xa0 or
// \U000e0001, which JSON does not have.
func (p *dictParser) readEscape(b []byte) bool {
	if len(b) < 2 {
		return false
	}
	size := 2
	switch b[1] {
	case 'x':
		size = len(`\xa0`)
	case 'U':
		size = len(`\U000e0001`)
	}
	if len(b) < size {
		return false
	}
	text := b[:size]
	switch b[1] {
	case 'x':
		text = append([]byte(`\u00`), b[2:size]...)
	case 'U':
		text = surrogates(b[2:size])
	}
	ok := text != nil
	for ok && len(text) > 0 {
		var n int
		n, ok = p.feed(text)
		text = text[n:]
	}
	p.call.Pass(p.Out)
	if !ok {
		return p.refuse(p.At() + size - 1)
	}
	p.Advance(size)
	return true
}

// surrogates is the character of eight hexadecimal digits as JSON escapes it, or
// nil.
func surrogates(digits []byte) []byte {
	r := 0
	for _, c := range digits {
		digit := chars.Hex(c)
		if digit < 0 {
			return nil
		}
		r = r<<4 | digit
	}
	switch {
	case r > 0x10ffff:
		return nil
	case r < 0x10000:
		return append([]byte(`\u`), digits[4:]...)
	}
	r -= 0x10000
	return appendEscape(appendEscape(nil, 0xd800|r>>10), 0xdc00|r&0x3ff)
}

// appendEscape appends the JSON escape of a number of 16 bits.
func appendEscape(b []byte, n int) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[n>>12&15], digits[n>>8&15], digits[n>>4&15], digits[n&15])
}

// endCall ends the call that has waited to be sure. What is no JSON in it is no slip, so
// nothing is reported.
func (p *dictParser) endCall() {
	if p.unsure {
		p.Out.Args([]byte{'}'})
		p.Out.CallEnd()
		p.unsure, p.From = false, p.At()
	}
}

// endList reads the list's closing bracket, behind which text may follow if the
// token stood before it.
func (p *dictParser) endList() bool {
	p.endCall()
	p.Advance(1)
	p.From, p.state = p.At(), afterDicts
	return p.whole || p.End()
}

// Over implements region.Format, as that of parser does.
func (p *dictParser) Over() {
	if p.state >= afterDict || p.state == dictNext {
		p.endCall()
		p.End()
		return
	}
	if p.whole {
		p.From = 0
	}
	p.Lose()
}
