package hint

import (
	"bytes"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/callgate/callgate/gateway/wire"
)

// HasKey reports whether any object in a JSON value has a member called name, which is
// made of lower-case letters and underscores.
func HasKey(value []byte, name string) bool {
	return nextKey(value, 0, name) >= 0 || escapedLetter.Match(value) && hasEscapedKey(value, name)
}

// nextKey is the place of the quote before such a member's name, from a place on, or -1. A
// quote within a string has a backslash in front of it; so a name between bare quotes,
// with a colon behind it, is a key.
func nextKey(value []byte, from int, name string) int {
	quoted := []byte(strconv.Quote(name))
	for {
		n := bytes.Index(value[from:], quoted)
		if n < 0 {
			return -1
		}
		at := from + n
		from = at + len(quoted)
		rest := bytes.TrimLeft(value[from:], " \t\r\n")
		if (at == 0 || value[at-1] != '\\') && len(rest) > 0 && rest[0] == ':' {
			return at
		}
	}
}

// escapedLetter is a letter or an underscore that is written as an escape, which hardly
// anybody does.
var escapedLetter = regexp.MustCompile(`\\u00(5[fF]|[67])`)

// hasEscapedKey is HasKey for keys that are written in any way.
func hasEscapedKey(value []byte, name string) bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(value)) // a Buffer is read where it is
	for {
		token, err := d.ReadToken()
		if err != nil {
			return false
		}
		if token.Kind() != '"' {
			continue
		}
		kind, length := d.StackIndex(d.StackDepth())
		if kind == '{' && length%2 == 1 && token.String() == name {
			return true
		}
	}
}

// withoutKey returns the pieces of a JSON value that are left without the members called
// name, each of them cut out with one of the commas beside it.
func withoutKey(value []byte, name string) (pieces [][]byte) {
	from := 0
	for at := nextKey(value, 0, name); at >= 0; {
		colon := at + len(name) + len(`""`)
		colon += bytes.IndexByte(value[colon:], ':')
		v, ok := wire.Value(value, colon+1)
		if !ok {
			break
		}
		start, end := len(bytes.TrimRight(value[:at], " \t\r\n")), v.End
		if start > 0 && value[start-1] == ',' {
			start--
		} else { // it is the first
			start, end = at, blanks(value, end)
			if end < len(value) && value[end] == ',' {
				end = blanks(value, end+1)
			}
		}
		pieces = append(pieces, value[from:max(from, start)])
		from = end
		at = nextKey(value, end, name)
	}
	return append(pieces, value[from:])
}

// blanks is the place behind the white space at i.
func blanks(b []byte, i int) int { return len(b) - len(bytes.TrimLeft(b[i:], " \t\r\n")) }
