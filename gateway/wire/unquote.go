package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// unquote appends the text of a JSON string as [jsontext.AppendUnquote] does, eight bytes at a time
// where nothing is escaped. What the short way does not know it leaves to the library: escapes of
// characters by their number, and what is not well-formed.
func unquote(b, quoted []byte) ([]byte, error) {
	from := len(b)
	if n := len(quoted); n >= 2 && quoted[0] == '"' && quoted[n-1] == '"' {
		if out, ok := unescape(slices.Grow(b, n-2), quoted[1:n-1]); ok {
			return out, nil
		}
	}
	return jsontext.AppendUnquote(b[:from], quoted)
}

// escaped are the characters that a letter behind a backslash stands for, 0 for those of \u and of
// none.
var escaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends what stands between the quotes of a JSON string, if the short way knows all of it.
func unescape(b, text []byte) ([]byte, bool) {
	for len(text) > 0 {
		n := unescapedRun(text)
		b, text = append(b, text[:n]...), text[n:]
		if len(text) == 0 {
			break
		}
		switch c := text[0]; {
		case c == '\\':
			if len(text) == 1 || escaped[text[1]] == 0 {
				return b, false
			}
			b, text = append(b, escaped[text[1]]), text[2:]
		case c < utf8.RuneSelf: // a quote or a control character
			return b, false
		default:
			r, size := utf8.DecodeRune(text)
			if r == utf8.RuneError && size == 1 {
				return b, false
			}
			b, text = append(b, text[:size]...), text[size:]
		}
	}
	return b, true
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// unescapedRun is how many bytes at the beginning of a text are ASCII and stand for themselves in a
// JSON string.
func unescapedRun(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		w := binary.LittleEndian.Uint64(text[i:])
		// The highest bit of a byte is set where it is no ASCII, below ' ', a quote or a backslash;
		// above the first such byte it may be wrong.
		quote, slash := w^(lowBits*'"'), w^(lowBits*'\\')
		if odd := (w | (w - lowBits*' ') | (quote - lowBits) | (slash - lowBits)) & highBits; odd != 0 {
			// A byte of 0x80 or more sets it too, by itself or as what is subtracted from.
			return i + bits.TrailingZeros64(odd)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] < utf8.RuneSelf && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}
