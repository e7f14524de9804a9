package guard

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/conversation"
)

// intents are the operator's rules, with the words of all in one trie.
type intents struct {
	words *trie
	of    [][]expected // by pattern
}

// expected is a tool that a rule wants called, and the word that it wants it for.
type expected struct{ tool, word string }

// maxIntentText bounds how much of a message the rules are held against.
const maxIntentText = 32 << 10

func compileIntents(rules []Intent) *intents {
	words := newTrieBuilder()
	c := &intents{of: make([][]expected, 1)}
	for _, rule := range rules {
		for _, item := range rule.Match {
			word, open := strings.CutSuffix(strings.TrimSpace(item), "*")
			folded := foldWords(word)
			if len(folded) == 0 || rule.Expect == "" {
				continue
			}
			pattern := words.add(string(folded), open)
			if *pattern == 0 {
				*pattern = int32(len(c.of))
				c.of = append(c.of, nil)
			}
			c.of[*pattern] = append(c.of[*pattern], expected{rule.Expect, word})
		}
	}
	if len(c.of) == 1 {
		return nil
	}
	c.words = words.trie()
	return c
}

// expect returns the tools that a message calls for, of those that are offered and were
// not called since, each once.
func (c *intents) expect(message string, offered []string, since []conversation.Exchange) []expected {
	var found []expected
	text := foldWords(cutMiddle(message, maxIntentText, maxIntentText/2))
	inWord := false
	for i, r := range string(text) {
		word := isWord(r)
		if !inWord || isUnspaced(r) { // "/delete" as well, but not that of "a/delete"
			c.words.match(text, i, i, func(_ int, pattern int32) {
				for _, e := range c.of[pattern] {
					known := slices.ContainsFunc(found, func(f expected) bool { return f.tool == e.tool })
					if !known && slices.Contains(offered, e.tool) {
						found = append(found, e)
					}
				}
			})
		}
		inWord = word && !isUnspaced(r)
	}
	return slices.DeleteFunc(found, func(e expected) bool {
		return slices.ContainsFunc(since, func(x conversation.Exchange) bool { return x.Name == e.tool })
	})
}

// foldWords folds a text and leaves one space between words.
func foldWords(text string) []byte { return foldString(strings.Join(strings.Fields(text), " ")) }
