package pythonic

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
	"github.com/callgate/callgate/sdk/relaxed"
)

// maxBare is how long a text without quotes may be.
const maxBare = 4096

// bareText is the state of a text without quotes, as vLLM's templates for ToolACE
// and Llama 3.2 write strings: city=São "P", days=3. It is read only where it has
// one meaning: the parameter takes a string, the text is no literal, and it ends
// before a comma and a parameter's keyword, or before the call's parenthesis.
type bareText struct {
	depth int // open parentheses in the text
	comma int // place of the comma that may end it, or -1
}

// mayBare reports whether a value may be text without quotes.
func (a *argReader) mayBare() bool {
	return !a.quoted && a.atTop() && a.param != nil && a.param.Types&abi.String != 0
}

// beginBare makes what was read as a token the beginning of a text.
func (a *argReader) beginBare() {
	a.place, a.bare = inBare, bareText{comma: -1}
}

func (a *argReader) readBare(c byte) (int, status) {
	if c < ' ' || len(a.token) >= maxBare {
		return 0, bad
	}
	b := &a.bare
	switch {
	case c == '=' && b.comma >= 0:
		key := chars.TrimSpace(a.token[b.comma+1:])
		if known := sdk.FindParam(a.tool, string(key)) != nil && !a.seen.Has(key); known {
			s := a.writeBare(a.token[:b.comma])
			a.token, a.place = append(a.token[:0], key...), inKey // whose = is next
			return 0, s
		}
		if isIdentifier(key) {
			return 0, bad // a keyword or text, who knows
		}
		b.comma = -1
	case c == ',' && b.depth == 0:
		b.comma = len(a.token)
	case c == '(':
		b.depth++
	case c == ')' && b.depth == 0:
		return 0, a.writeBare(a.token)
	case c == ')':
		b.depth--
	}
	a.token = append(a.token, c)
	return 1, more
}

func (a *argReader) writeBare(value []byte) status {
	value = chars.TrimSpace(value)
	if len(value) == 0 || value[len(value)-1] == ',' {
		return bad
	}
	a.out = relaxed.AppendString(a.out, value)
	a.place, a.repaired = afterValue, true
	return more
}

// isIdentifier reports whether b may be a keyword in Python.
func isIdentifier(b []byte) bool {
	for _, c := range b {
		if !nameStart(c) {
			return false
		}
	}
	return len(b) > 0 && (b[0] < '0' || b[0] > '9')
}
