// Package markup matches literals that may still be cut.
package markup

import (
	"github.com/callgate/callgate/sdk"
	"github.com/callgate/callgate/sdk/abi"
	"github.com/callgate/callgate/sdk/chars"
)

// Match tells whether b begins with marker, or may do so with more text.
func Match(b []byte, marker string) sdk.Verdict {
	if len(b) > 0 && len(marker) > 0 && b[0] != marker[0] {
		return sdk.No // nearly always
	}
	n := min(len(b), len(marker))
	switch {
	case string(b[:n]) != marker[:n]:
		return sdk.No
	case n < len(marker):
		return sdk.Maybe
	}
	return sdk.Yes
}

// IsName tells what a function's name may hold that stands in the text: nothing that is
// markup or begins arguments in any format, and no white space.
func IsName(c byte) bool {
	switch c {
	case '<', '>', '{', '}', '[', ']', '(', ')', '"', '\'', '`', '\\', ',', 0x7f:
		return false
	}
	return c > ' '
}

// IsWord tells what a word is made of that names a role, a channel or a suffix.
func IsWord(c byte) bool {
	return chars.IsLetter(c) || chars.IsDigit(c) || c == '_' || c == '-' || c == '.'
}

// Common is how many bytes b and marker begin with alike.
func Common(b []byte, marker string) int {
	n := 0
	for n < len(b) && n < len(marker) && b[n] == marker[n] {
		n++
	}
	return n
}

// Either is the verdict on several markers, from those on two of them.
func Either(a, b sdk.Verdict) sdk.Verdict {
	switch {
	case a == sdk.Yes || b == sdk.Yes:
		return sdk.Yes
	case a == sdk.Maybe || b == sdk.Maybe:
		return sdk.Maybe
	}
	return sdk.No
}

// Filled is the verdict v on a head that may end in a name. One that fills all that a parser is asked
// about goes on behind that: then the parser reads it, and gives it back if it is too long.
func Filled(v sdk.Verdict, head []byte) sdk.Verdict {
	if v == sdk.Maybe && len(head) >= abi.MaxHead && IsName(head[len(head)-1]) {
		return sdk.Yes
	}
	return v
}

// MatchAny is MatchTag for several markers, none of which begins another.
func MatchAny(b []byte, markers ...string) sdk.Verdict {
	verdict := sdk.No
	for _, m := range markers {
		switch MatchTag(b, m) {
		case sdk.Yes:
			return sdk.Yes
		case sdk.Maybe:
			verdict = sdk.Maybe
		}
	}
	return verdict
}

// MatchTag is Match, but nothing begins with a tag that a format does not have, which is "".
func MatchTag(b []byte, tag string) sdk.Verdict {
	if tag == "" {
		return sdk.No
	}
	return Match(b, tag)
}
