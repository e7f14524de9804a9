package guard

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tool is what the name of a tool says of it.
type tool struct {
	name    string
	actions actions
	things  things
}

// toolbox is the tools of a request, and the calls of the turn in the same form.
type toolbox struct {
	lexicons *lexicons
	tools    []tool
	byName   map[string]int
	// local are the words in the names that no lexicon knows, each a bit, and their forms.
	local map[string]meaning
	bits  int
}

func newToolbox(l *lexicons, names []string) *toolbox {
	b := &toolbox{lexicons: l, byName: make(map[string]int, len(names)), local: map[string]meaning{}}
	for _, name := range names {
		if _, known := b.byName[name]; !known && name != "" {
			b.byName[name] = len(b.tools)
			b.tools = append(b.tools, b.describe(name))
		}
	}
	return b
}

// get describes a tool by its name, offered or not.
func (b *toolbox) get(name string) tool {
	if i, ok := b.byName[name]; ok {
		return b.tools[i]
	}
	return b.describe(name)
}

// describe reads the name of a tool: "mcp__mail__sendMessage" sends something that is
// about mail and messages. A name without a verb may do anything.
func (b *toolbox) describe(name string) tool {
	t := tool{name: name}
	var verbs actions
	before := ""
	for _, word := range nameWords(name) {
		t.things = t.things.or(b.thing(before + " " + word))
		before = word
		if b.lexicons.idle[word] {
			continue
		}
		a, th := b.lexicons.tools[word], b.thing(word)
		verbs |= a
		t.things = t.things.or(th)
		if a == 0 && th.known == 0 || a != 0 && th.known == 0 && len(word) > 2 {
			t.things.local |= b.localWord(word)
		}
	}
	if t.actions = verbs; verbs == 0 {
		t.actions = anything
	}
	return t
}

// thing returns what a word is about. Most tools are named in English; of the other
// languages the first that knows the word counts.
func (b *toolbox) thing(word string) (english things) {
	var foreign things
	text := []byte(word)
	b.lexicons.words.match(text, 0, func(end int, pattern int32) {
		if end < len(text) {
			return
		}
		for _, m := range b.lexicons.meanings[pattern] {
			switch {
			case !m.is(object):
			case b.lexicons.languages[m.language].english:
				english = english.or(m.things)
			case foreign.none():
				foreign = m.things
			}
		}
	})
	if english.none() {
		return foreign
	}
	return english
}

// localWord returns the bit of a word that only this request's tools know. Names have
// more words than there are bits in no list of tools that a model could use; the words
// that are too many are left out.
func (b *toolbox) localWord(word string) uint64 {
	if len(word) < 3 {
		return 0
	}
	if m, ok := b.local[word]; ok {
		return m.things.local
	}
	if b.bits == 64 {
		return 0
	}
	m := meaning{roles: object, things: things{local: 1 << b.bits}}
	b.bits++
	b.local[word] = m
	for _, plural := range []string{word + "s", strings.TrimSuffix(word, "s")} {
		b.local[plural] = m
	}
	stem := strings.TrimSuffix(word, "e")
	m.roles |= participle | ask
	b.local[word] = meaning{roles: object | ask, things: m.things}
	b.local[stem+"ed"] = m
	b.local[stem+stem[len(stem)-1:]+"ed"] = m
	b.local[strings.TrimSuffix(word, "y")+"ied"] = m
	m.roles = object | doing
	b.local[stem+"ing"] = m
	return m.things.local
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

// does reports whether a tool does one of some actions.
func (t *tool) does(a actions) bool { return t.actions&(a|anything) != 0 }
