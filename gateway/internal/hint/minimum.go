package hint

import (
	_ "embed" // the table
	"strconv"
	"strings"
	"sync"
)

//go:embed minimum.txt
var minimumText string

type minimum struct {
	name   string // "*" is any
	tokens int
}

// minimums reads the table, once.
var minimums = sync.OnceValue(func() (list []minimum) {
	for line := range strings.Lines(minimumText) {
		line, _, _ = strings.Cut(line, "#")
		if words := strings.Fields(line); len(words) == 2 {
			tokens, _ := strconv.Atoi(words[1]) // a test reads them all
			list = append(list, minimum{words[0], tokens})
		}
	}
	return list
})

// Minimum is how many tokens a prompt has at least for a model to cache it by a mark.
func Minimum(model string) int {
	model = strings.ReplaceAll(strings.ToLower(model), ".", "-")
	for _, m := range minimums() {
		if m.name == "*" || strings.Contains(model, m.name) {
			return m.tokens
		}
	}
	return 0
}

// bytesPerToken is how much JSON a token is on average: 3.71 bytes of an agent's
// conversations by OpenAI's o200k. An image counts far more here than it does there, which
// costs nothing: a mark on too little is passed over.
const bytesPerToken = 3.7

// Tokens estimates how many tokens so many bytes of JSON are.
func Tokens(bytes int) int { return int(float64(bytes) / bytesPerToken) }
