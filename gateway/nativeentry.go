package gateway

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/callgate/callgate/gateway/wire"
)

// entryFields are the members of an entry of tool_calls.
type entryFields struct {
	index     int // -1: there is none
	place     int // in the array, where nothing but that says which call it is of, or -1
	id, name  string
	arguments []byte    // the text; nil if there is none
	text      wire.Span // in the entry, as a string of JSON
	object    bool      // arguments came as JSON and not as a string
	typed     bool      // type is "function"
	foreign   bool      // a call of another type, which has no arguments
}

// readEntry reads an entry. Its arguments are decoded into buf where that is needed.
func readEntry(e, buf []byte) entryFields {
	f := entryFields{index: -1, place: -1}
	function, custom := false, false
	wire.Members(e, 0, func(key []byte, v wire.Span) bool {
		switch string(key) {
		case "index":
			f.index = number(v.Of(e), -1)
		case "id":
			f.id = wire.Unquote(v.Of(e))
		case "type":
			t := wire.Unquote(v.Of(e))
			f.typed = t == string(openai.ToolTypeFunction)
			custom = custom || t == "custom"
		case "function":
			function = !v.IsNull(e)
			f.readFunction(e, v, buf)
		case "custom":
			custom = true
		}
		return true
	})
	f.foreign = custom && !function
	return f
}

func (f *entryFields) readFunction(e []byte, function wire.Span, buf []byte) {
	wire.Members(e, function.Start, func(key []byte, v wire.Span) bool {
		switch {
		case string(key) == "name" && !v.IsNull(e):
			f.name = wire.Unquote(v.Of(e))
		case string(key) == "arguments" && !v.IsNull(e) && e[v.Start] == '"':
			f.arguments, f.text = appendDecoded(buf, v.Of(e)), v
		case string(key) == "arguments" && !v.IsNull(e):
			f.arguments, f.object = v.Of(e), true
		}
		return true
	})
}

// readEntries reads the entries of a choice's tool_calls.
func (n *nativeReply) readEntries(h *heldFrame, c *nativeChoice, part int, list wire.Span) {
	data := h.frame.Data
	wire.Elements(data, list.Start, func(place int, v wire.Span) bool {
		p := piece{part: part, at: v}
		if data[v.Start] == '{' {
			f := readEntry(v.Of(data), n.text[:0])
			if f.index < 0 && f.anonymous() && several(data, list) {
				f.place = place
			}
			n.entry(c, &f, &p)
			if !f.object {
				n.keepScratch(f.arguments)
			}
			if len(n.scratch.parts) == 1 && len(h.pieces) == 0 && !several(data, list) && n.scratch.parts[0].reason(data) == "" {
				n.learn(h, &f, &p)
			}
		}
		h.pieces = append(h.pieces, p)
		return true
	})
}

// several reports whether an array has more than one element.
func several(data []byte, list wire.Span) bool {
	more := false
	wire.Elements(data, list.Start, func(n int, _ wire.Span) bool {
		more = n > 0
		return !more
	})
	return more
}

// anonymous reports whether an entry does not say which call it is of.
func (f *entryFields) anonymous() bool { return f.id == "" && f.name == "" }

// says reports whether there is anything in the entry but its index.
func (f *entryFields) says() bool {
	return !f.anonymous() || f.foreign || !wire.Blank(f.arguments)
}

// appendDecoded appends the text of a JSON string that may be a piece of a longer one.
// Nothing of it is lost: bytes that are not UTF-8 stay, and half of a surrogate pair,
// whose other half may be in the next piece, is written as UTF-8 would write it.
func appendDecoded(dst, quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:at]...)
		c := text[at+1]
		if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
			dst, text = append(dst, "\"\\/\b\f\n\r\t"[i]), text[at+2:]
			continue
		}
		r, ok := hex4(text[at:])
		if !ok { // no JSON
			dst, text = append(dst, '\\'), text[at+1:]
			continue
		}
		text = text[at+6:]
		low, ok := hex4(text)
		if pair := utf16.DecodeRune(r, low); ok && pair != utf8.RuneError {
			r, text = pair, text[6:]
		}
		dst = appendRune(dst, r)
	}
}

// hex4 reads the \uXXXX that b begins with.
func hex4(b []byte) (r rune, ok bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// halfSize is how many bytes half of a surrogate pair takes.
const halfSize = 3

// appendRune appends a character, or half of a surrogate pair in three bytes.
func appendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// halfAt is the half of a surrogate pair that b begins with, or 0.
func halfAt(b []byte) rune {
	if len(b) < halfSize || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// endsHigh reports whether text ends in the first half of a surrogate pair.
func endsHigh(text []byte) bool {
	half := halfAt(text[max(0, len(text)-halfSize):])
	return half >= 0xd800 && half < 0xdc00
}

// joinHalves puts two pieces of text together whose border may be within a surrogate
// pair.
func joinHalves(head, tail []byte) []byte {
	if endsHigh(head) {
		at := len(head) - halfSize
		if pair := utf16.DecodeRune(halfAt(head[at:]), halfAt(tail)); pair != utf8.RuneError {
			return append(utf8.AppendRune(head[:at:at], pair), tail[halfSize:]...)
		}
	}
	return append(head[:len(head):len(head)], tail...)
}

// quoteText appends text that [appendDecoded] gave as a JSON string.
func quoteText(b, text []byte) []byte {
	if bytes.IndexByte(text, 0xed) < 0 {
		return wire.AppendQuoted(b, string(text))
	}
	b = append(b, '"')
	for from := 0; from < len(text); {
		at := from
		for at < len(text) && halfAt(text[at:]) == 0 {
			at++
		}
		plain := wire.AppendQuoted(nil, string(text[from:at]))
		b = append(b, plain[1:len(plain)-1]...)
		if at < len(text) {
			b = fmt.Appendf(b, `\u%04x`, halfAt(text[at:]))
			at += halfSize
		}
		from = at
	}
	return append(b, '"')
}
