package yamldoc

import (
	"strconv"

	"github.com/callgate/callgate/internal/spelling"
)

// Nearest returns the word of known that text is a likely misspelling of, or "".
func Nearest(text string, known []string) string {
	// Of a word that is changed in all its letters nothing is left.
	slips := spelling.Rule{Most: 1, Longest: 64, Changes: func(word, known string) int { return min((len(word)+2)/3, len(known)-1) }}
	if near := slips.Near(text, known); len(near) > 0 {
		return near[0]
	}
	return ""
}

// Quote writes text for a message, shortened to 80 characters.
func Quote(text string) string {
	const most = 80
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(text)
}
