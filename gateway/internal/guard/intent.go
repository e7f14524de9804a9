package guard

import (
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/ledger"
	"github.com/callgate/callgate/internal/plaintext"
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

// maxAsked is how many places of a message are looked at. What none of them asks for is not asked
// for behind them either.
const maxAsked = 32

func compileIntents(rules []Intent) *intents {
	words := newTrieBuilder(0)
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
// not called since, each once. A word counts in a clause that asks, and not in one that tells:
// "I'm done for today" wants nothing done.
func (c *intents) expect(l *lexicons, message string, offered []string, since []ledger.Call) []expected {
	var found []expected
	var hits []hit
	text := foldWords(plaintext.Ends(message, maxIntentText, maxIntentText/2))
	var wants func(at int) bool
	asked := 0
	inWord := false
	for i, r := range string(text) {
		word := isWord(r)
		if !inWord || isUnspaced(r) { // "/delete" as well, but not that of "a/delete"
			hits = c.words.match(hits[:0], text, i, i)
			for _, h := range hits {
				for _, e := range c.of[h.pattern] {
					known := slices.ContainsFunc(found, func(f expected) bool { return f.tool == e.tool })
					if known || asked == maxAsked || !slices.Contains(offered, e.tool) {
						continue
					}
					if wants == nil {
						wants = l.wants(string(text))
					}
					if asked++; wants(i) {
						found = append(found, e)
					}
				}
			}
		}
		inWord = word && !isUnspaced(r)
	}
	return slices.DeleteFunc(found, func(e expected) bool {
		return slices.ContainsFunc(since, func(x ledger.Call) bool { return x.Name == e.tool })
	})
}

// foldWords folds a text and leaves one space between words.
func foldWords(text string) []byte { return foldString(strings.Join(strings.Fields(text), " ")) }

// wants reads a message, and returns what says of a place in it whether its clause asks for
// something. In doubt it does.
func (l *lexicons) wants(text string) func(at int) bool {
	r := l.newReading()
	r.text = append(r.text[:0], text...)
	best, hits := l.recognize(r, nil, make([]int, maxLanguages)[:len(l.languages)])
	l.finish(r, hits, best)
	return func(at int) bool {
		i := slices.IndexFunc(r.sentences, func(s sentence) bool { return at < s.end })
		if i < 0 {
			return true
		}
		s := &r.sentences[i]
		if s.closed == '?' || s.asks() || isOpened(s) {
			return true
		}
		clause := at
		for clause > s.start && !isClauseEnd(r.text[clause-1]) {
			clause--
		}
		for k := range s.marks {
			m := &s.marks[k]
			switch {
			case m.start < clause || m.start > at:
			case m.is(telling) && s.opensClause(m.start) && m.end <= at, isReported(s, k) && m.start <= at && at < m.end:
				return false
			}
		}
		return true
	}
}
