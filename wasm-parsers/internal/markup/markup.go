// Package markup holds what parsers of marked text share: the text that waits for
// more, matching of literals that may still be cut, and white space.
package markup

import "github.com/callgate/callgate/sdk"

// Match tells whether b begins with marker, or may do so with more text.
func Match(b []byte, marker string) sdk.Verdict {
	n := min(len(b), len(marker))
	switch {
	case string(b[:n]) != marker[:n]:
		return sdk.No
	case n < len(marker):
		return sdk.Maybe
	}
	return sdk.Yes
}

// MatchAny is Match for several markers, none of which begins another.
func MatchAny(b []byte, markers ...string) sdk.Verdict {
	verdict := sdk.No
	for _, m := range markers {
		switch Match(b, m) {
		case sdk.Yes:
			return sdk.Yes
		case sdk.Maybe:
			verdict = sdk.Maybe
		case sdk.No:
		}
	}
	return verdict
}

// IsSpace tells JSON's white space.
func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// SkipSpace is b without the white space at its front.
func SkipSpace(b []byte) []byte {
	for len(b) > 0 && IsSpace(b[0]) {
		b = b[1:]
	}
	return b
}
