package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendDecoded appends the text of a JSON string that may be a piece of a longer one.
// Nothing of it is lost: bytes that are not UTF-8 stay, and half of a surrogate pair, whose
// other half may be in the next piece, is written as UTF-8 would write it.
func AppendDecoded(dst, quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 || at+1 == len(text) {
			return append(dst, text...)
		}
		dst = append(dst, text[:at]...)
		c := text[at+1]
		if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
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
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}

// HalfSize is how many bytes half of a surrogate pair takes in decoded text.
const HalfSize = 3

// appendRune appends a character, or half of a surrogate pair in three bytes.
func appendRune(dst []byte, r rune) []byte {
	if utf16.IsSurrogate(r) {
		return append(dst, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
	}
	return utf8.AppendRune(dst, r)
}

// HalfAt is the half of a surrogate pair that decoded text begins with, or 0.
func HalfAt[T string | []byte](b T) rune {
	if len(b) < HalfSize || b[0] != 0xed || b[1] < 0xa0 || b[1] > 0xbf || b[2]&0xc0 != 0x80 {
		return 0
	}
	return 0xd000 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f)
}

// EndsInHalf reports whether decoded text ends in the first half of a surrogate pair.
func EndsInHalf(text []byte) bool {
	half := HalfAt(text[max(0, len(text)-HalfSize):])
	return half >= 0xd800 && half < 0xdc00
}

// JoinHalves puts two pieces of decoded text together whose border may be within a
// surrogate pair.
func JoinHalves(head, tail []byte) []byte {
	if EndsInHalf(head) {
		at := len(head) - HalfSize
		if pair := utf16.DecodeRune(HalfAt(head[at:]), HalfAt(tail)); pair != utf8.RuneError {
			return append(utf8.AppendRune(head[:at:at], pair), tail[HalfSize:]...)
		}
	}
	return append(head[:len(head):len(head)], tail...)
}

// appendText appends text that AppendDecoded gave as a JSON string.
func appendText(b []byte, text string) []byte {
	if strings.IndexByte(text, 0xed) < 0 {
		return AppendQuoted(b, text)
	}
	b = append(b, '"')
	for from := 0; from < len(text); {
		at := from
		for at < len(text) && HalfAt(text[at:]) == 0 {
			at++
		}
		plain := AppendQuoted(nil, text[from:at])
		b = append(b, plain[1:len(plain)-1]...)
		if at < len(text) {
			b = fmt.Appendf(b, `\u%04x`, HalfAt(text[at:]))
			at += HalfSize
		}
		from = at
	}
	return append(b, '"')
}
