package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nameVerb returns what the word at i of a name does, if it is a verb. In "open_orders" it is
// none: they are those that are open.
func (l *lexicons) nameVerb(words []string, i int) actions {
	word := words[i]
	if i == 0 && word == "open" && len(words) > 1 && strings.HasSuffix(words[1], "s") {
		return finds
	}
	if a := l.tools[word]; a != 0 || !l.nameThing(word).none() {
		return a
	}
	return l.foreignVerb(word)
}

// foreignVerb returns what a verb does that no list of tools' words has, but the lexicon
// of a language other than English.
func (l *lexicons) foreignVerb(word string) (a actions) {
	text := []byte(word)
	for _, found := range l.words.match(nil, text, 0, 0) {
		if int(found.end) < len(text) || len(text) < 5 {
			continue
		}
		for _, m := range l.lists[found.pattern] {
			if a == 0 && m.is(ask) && !l.languages[m.language].english {
				a = m.actions &^ anything
			}
		}
	}
	return a
}

// nameThing returns what a word is about. Most tools are named in English; of the other
// languages the first that knows the word counts.
func (l *lexicons) nameThing(word string) (english things) {
	var foreign things
	text := []byte(word)
	for _, found := range l.words.match(nil, text, 0, 0) {
		if int(found.end) < len(text) {
			continue
		}
		for _, m := range l.lists[found.pattern] {
			switch {
			case !m.is(object):
			case l.languages[m.language].english:
				english = english.or(m.things)
			case foreign.none():
				foreign = m.things
			}
		}
	}
	switch {
	case !english.none():
		return english
	case foreign.none():
		return l.spelled.thing(word)
	}
	return foreign
}

// nameWords cuts a name at what is no letter, and where a capital follows a small letter
// or begins a word behind an abbreviation, and folds the words.
func nameWords(name string) []string {
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	runes := []rune(name[:min(len(name), 256)])
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) || r == utf8.RuneError:
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && unicode.IsLower(runes[i-1]),
			unicode.IsUpper(r) && i+1 < len(runes) && unicode.IsLower(runes[i+1]):
			end()
		}
		if r = fold(r); r != dropped {
			word = append(word, r)
		}
	}
	end()
	return words
}
