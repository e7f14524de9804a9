package demo

import "strings"

// broken writes JSON as models do that take it for Python or JavaScript: with bare
// keys, single quotes, Python's words and trailing commas. The text must be valid and
// without white space. All of the result has one meaning.
func broken(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; c {
		case '"':
			n = quotedLength(text[i:])
			key := i+n < len(text) && text[i+n] == ':'
			b.WriteString(brokenString(text[i+1:i+n-1], key))
		case ',', ':':
			b.WriteString(string(c) + " ")
		case '}', ']':
			if before := text[i-1]; before != '{' && before != '[' {
				b.WriteByte(',')
			}
			b.WriteByte(c)
		case 't', 'f', 'n':
			word := map[byte][2]string{'t': {"true", "True"}, 'f': {"false", "False"}, 'n': {"null", "None"}}[c]
			n = len(word[0])
			b.WriteString(word[1])
		default:
			b.WriteByte(c)
		}
		i += n
	}
	return b.String()
}

// brokenString writes what stood between double quotes.
func brokenString(inner string, key bool) string {
	if key && bare(inner) {
		return inner
	}
	return "'" + strings.ReplaceAll(inner, "'", `\'`) + "'"
}

// bare says whether a key is a name as JavaScript has them.
func bare(key string) bool {
	for i, c := range []byte(key) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return key != ""
}

// quotedLength is how long the string is that s begins with.
func quotedLength(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
