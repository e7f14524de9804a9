package pythonic

import (
	"bytes"
	"strings"

	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/wasm-parsers/internal/callobject"
	"github.com/callgate/callgate/wasm-parsers/internal/markup"
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
		Streams:  true,
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
	return sdk.Spec{
		Parser:   p,
		CanParse: f.canParseDicts,
		New: func(o sdk.Options) (sdk.Parser, error) {
			keys := callobject.Hermes()
			keys.Only = f.whole
			return &dictParser{format: &f, call: callobject.New(keys, o.MaxDepth)}, nil
		},
	}
}

// canParseDicts wants a dict in a list behind the token, and without that also the
// key of a call.
func (f *format) canParseDicts(head []byte) sdk.Verdict {
	if v := markup.Match(head, f.open); v != sdk.Yes {
		return v
	}
	b := head[len(f.open):]
	for _, bracket := range []string{"[", "{"} {
		b = markup.SkipSpace(b)
		if v := markup.Match(b, bracket); v != sdk.Yes {
			return v
		}
		b = b[1:]
	}
	if !f.whole {
		return sdk.Yes
	}
	return markup.MatchAny(markup.SkipSpace(b), "'name'", "'arguments'")
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
	*format

	call    *callobject.Reader
	state   dictState
	pos     int    // of the next byte in the region
	from    int    // end of the last call that was ended: what comes later is given back
	plain   int    // bytes of the text at hand that are known to be no backslash
	escape  []byte // an escape, as far as it was read
	tail    []byte // what begins like the end of the turn
	began   bool   // a dict has begun
	started bool   // CallStart was written for the dict
	unsure  bool   // the dict is complete, its call is not sure yet
}

// Feed implements sdk.Parser.
func (p *dictParser) Feed(text []byte, out *sdk.Out) {
	p.plain = 0
	for len(text) > 0 && !out.Ended() {
		var n int
		if p.state == inDict {
			n = p.readDict(text, out)
		} else {
			n = p.readBetween(text[0], out)
		}
		p.pos += n
		text = text[n:]
	}
	if p.state == inDict && !out.Ended() {
		p.writeArgs(out)
	}
}

// readBetween reads the byte c outside of a dict.
func (p *dictParser) readBetween(c byte, out *sdk.Out) int {
	if p.state == dictOpen && p.open != "" {
		return p.readOpen(c, out)
	}
	if len(p.tail) == 0 && isSpace(c) {
		return 1
	}
	switch p.state {
	case dictOpen, dictList:
		if c == '[' {
			p.state = dictFirst
			return 1
		}
	case dictFirst, dictNext:
		if c == '{' {
			p.beginDict()
			return 0
		}
		if c == ']' && p.state == dictNext {
			return p.endList(out)
		}
	default:
		return p.readAfter(c, out)
	}
	p.refuse(p.pos, out)
	return 0
}

// readAfter reads what makes the call of a dict sure.
func (p *dictParser) readAfter(c byte, out *sdk.Out) int {
	switch {
	case p.state == afterDict && len(p.tail) == 0 && c == ']':
		return p.endList(out)
	case p.state == afterDict && len(p.tail) == 0 && c == ',':
		p.endCall(out)
		p.state = dictNext
	default:
		p.readTail(c, out)
	}
	return 1
}

func (p *dictParser) readOpen(c byte, out *sdk.Out) int {
	if c != p.open[p.pos] {
		p.refuse(p.pos, out)
		return 0
	}
	if p.pos+1 == len(p.open) {
		p.state = dictList
	}
	return 1
}

// refuse gives the region back up to byte to.
func (p *dictParser) refuse(to int, out *sdk.Out) {
	from := p.from
	if p.whole {
		from = 0
	}
	out.Malformed(from, max(to, 1))
}

func (p *dictParser) beginDict() {
	p.call.Reset()
	p.state, p.plain, p.began, p.started = inDict, 0, true, false
}

// readDict reads text of a dict up to an escape, or some of that.
func (p *dictParser) readDict(text []byte, out *sdk.Out) int {
	if p.plain == 0 {
		if len(p.escape) > 0 || text[0] == '\\' {
			return p.readEscape(text[0], out)
		}
		if p.plain = bytes.IndexByte(text, '\\'); p.plain < 0 {
			p.plain = len(text)
		}
	}
	n, ok := p.feed(text[:p.plain], out)
	if !ok {
		p.refuse(p.pos+n, out)
	}
	p.plain -= n
	return n
}

// feed gives text of a dict to the reader of calls, and says how much that read.
func (p *dictParser) feed(text []byte, out *sdk.Out) (n int, ok bool) {
	n, status := p.call.Feed(text)
	if !p.started && p.call.Name != "" && len(p.call.Args) > 0 {
		out.CallStart(p.call.Name, p.call.ID)
		p.started = true
	}
	switch status {
	case callobject.More:
	case callobject.Bad:
		p.writeArgs(out)
	case callobject.Done:
		p.writeArgs(out)
		p.state, p.unsure = afterDict, true
	}
	return n, status != callobject.Bad
}

// readEscape reads a byte of an escape. Python prints characters that cannot be
// seen as \xa0 or \U000e0001, which JSON does not have.
func (p *dictParser) readEscape(c byte, out *sdk.Out) int {
	p.escape = append(p.escape, c)
	if len(p.escape) < 2 {
		return 1
	}
	text, size := p.escape, 2
	switch p.escape[1] {
	case 'x':
		size = len(`\xa0`)
		text = append([]byte(`\u00`), p.escape[2:]...)
	case 'U':
		size = len(`\U000e0001`)
	}
	if len(p.escape) < size {
		return 1
	}
	if p.escape[1] == 'U' {
		text = surrogates(p.escape[2:])
	}
	p.escape = p.escape[:0]
	ok := text != nil
	for ok && len(text) > 0 {
		var n int
		n, ok = p.feed(text, out)
		text = text[n:]
	}
	if !ok {
		p.writeArgs(out)
		p.refuse(p.pos, out)
	}
	return 1
}

// surrogates is the character of eight hexadecimal digits as JSON escapes it, or
// nil.
func surrogates(digits []byte) []byte {
	r := 0
	for _, c := range digits {
		digit := hexDigit(c)
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

// writeArgs passes on what is certain of the arguments.
func (p *dictParser) writeArgs(out *sdk.Out) {
	if p.started {
		out.Args(p.call.Args)
		p.call.Args = p.call.Args[:0]
	}
}

// endCall ends the call that has waited to be sure. What is no JSON in it is no
// slip, so nothing is reported.
func (p *dictParser) endCall(out *sdk.Out) {
	if p.unsure {
		out.Args([]byte("}"))
		out.CallEnd()
		p.unsure, p.from = false, p.pos
	}
}

// endList reads the list's closing bracket, behind which text may follow if the
// token stood before it.
func (p *dictParser) endList(out *sdk.Out) int {
	p.endCall(out)
	p.from, p.state = p.pos+1, afterDicts
	if !p.whole {
		out.End(p.pos + 1)
	}
	return 1
}

// readTail reads what ends the model's turn, which says that the call is sure.
func (p *dictParser) readTail(c byte, out *sdk.Out) {
	p.tail = append(p.tail, c)
	at := p.pos + 1 - len(p.tail)
	for _, end := range turnEnds {
		if string(p.tail) == end {
			p.endCall(out)
			out.End(at)
			return
		}
		if strings.HasPrefix(end, string(p.tail)) {
			return
		}
	}
	p.refuse(at, out)
}

// Finish implements sdk.Parser, as that of parser does.
func (p *dictParser) Finish(reason sdk.Reason, out *sdk.Out) {
	switch {
	case p.state >= afterDict || p.state == dictNext:
		p.endCall(out)
		out.End(p.pos - len(p.tail))
	case reason == sdk.Length && p.began:
		out.Cut()
		out.End(p.pos)
	case p.whole:
		out.Malformed(0, p.pos)
	default:
		out.Malformed(p.from, p.pos)
	}
}
