package anthropic

import (
	"strconv"
	"strings"
	"unicode"
)

// generation is the version that a Claude model has in its name: 3.7 of
// claude-3-7-sonnet-20250219, 4.0 of claude-sonnet-4-20250514, 4.5 of
// us.anthropic.claude-haiku-4-5-20251001-v1:0. The zero value is that of a model
// that is none of Claude's, behind some other server with the same API.
type generation struct{ major, minor int }

// newest stands for a name without a number.
var newest = generation{major: 1000}

func generationOf(model string) generation {
	_, rest, ok := strings.Cut(strings.ToLower(model), "claude")
	if !ok {
		return generation{}
	}
	words := strings.FieldsFunc(rest, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, word := range words {
		if major, ok := version(word); ok {
			g := generation{major: major}
			if i+1 < len(words) {
				g.minor, _ = version(words[i+1])
			}
			return g
		}
	}
	return newest
}

// version reads a word that is part of a version, and not a date.
func version(word string) (int, bool) {
	n, err := strconv.Atoi(word)
	if err != nil || len(word) > 2 {
		return 0, false
	}
	return n, true
}

func (g generation) claude() bool { return g != generation{} }

// before says whether the model is a Claude older than a version.
func (g generation) before(major, minor int) bool {
	return g.claude() && (g.major < major || g.major == major && g.minor < minor)
}
