package guard

import (
	"cmp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// tool is what the name of a tool says of it.
type tool struct {
	name    string
	actions actions
	things  things
	vague   bool   // no word of the name is a verb
	verbs   uint64 // words of the name that may be its verb, as bits of the toolbox
	// handsOver says that it gives the user to somebody else. Nothing but the user's own words
	// points to such a tool.
	handsOver bool
}

// others are the words in the names of tools that hand the user over.
var others = map[string]bool{"human": true, "agent": true, "agents": true, "supervisor": true, "representative": true, "handover": true, "handoff": true}

// toolbox is the tools of a request, and the calls of the turn in the same form.
type toolbox struct {
	lexicons *lexicons
	tools    []tool
	byName   map[string]int
	// local are the words in the names that no lexicon knows, each a bit, and their forms.
	local *localWords
	bits  int
	// shared says that others read the same words, which are not to be changed.
	shared bool
}

// maxTools bounds the tools of a request that an answer is held against. No model can
// choose among as many.
const maxTools = 512

func newToolbox(l *lexicons, names []string) *toolbox {
	b := &toolbox{lexicons: l, byName: make(map[string]int, len(names)), local: &localWords{words: map[string]meaning{}}}
	for _, name := range names[:min(len(names), maxTools)] {
		if _, known := b.byName[name]; !known && name != "" {
			b.byName[name] = len(b.tools)
			b.tools = append(b.tools, b.describe(name))
		}
	}
	return b
}

// common is what all tools are about, such as the name of what they belong to.
func (b *toolbox) common() things {
	if len(b.tools) == 0 {
		return things{}
	}
	all := b.tools[0].things
	for i := range b.tools {
		all = things{all.known & b.tools[i].things.known, all.local & b.tools[i].things.local}
	}
	return all
}

// get describes a tool by its name, offered or not.
func (b *toolbox) get(name string) tool {
	if i, ok := b.byName[name]; ok {
		return b.tools[i]
	}
	return b.describe(name)
}

// describe reads the name of a tool: "mcp__mail__sendMessage" sends something that is
// about mail and messages. A word such as "order" is a verb only where no other is one:
// "order_status" looks something up. A name without a verb may do anything.
func (b *toolbox) describe(name string) tool {
	t := tool{name: name}
	var certain, possible actions
	named := false // a word that may be a verb is in the place of a noun
	before := ""
	words := nameWords(name)
	for i, word := range words {
		t.things = t.things.or(b.thing(before + " " + word))
		before = word
		t.handsOver = t.handsOver || others[word]
		if b.lexicons.idle[word] {
			continue
		}
		a, th := b.verb(words, i), b.thing(word)
		t.things = t.things.or(th)
		if possible |= a; th.none() || a == anything {
			certain |= a
		} else if a != 0 {
			named = i > 0 && (named || possible == a)
		}
		if th.none() || a != 0 {
			bit := b.localWord(word, a == 0)
			if th.none() {
				t.verbs |= bit
			}
			if a == 0 {
				t.things.local |= bit
			}
		}
	}
	if named { // "sales_report"
		possible |= finds
	}
	if t.actions = cmp.Or(certain, possible); t.actions == 0 {
		t.actions, t.vague = anything, true
	}
	return t
}

// verb returns what the word at i of a name does, if it is a verb. In "open_orders" it is
// none: they are those that are open.
func (b *toolbox) verb(words []string, i int) actions {
	word := words[i]
	if i == 0 && word == "open" && len(words) > 1 && strings.HasSuffix(words[1], "s") {
		return finds
	}
	if a := b.lexicons.tools[word]; a != 0 || !b.thing(word).none() {
		return a
	}
	return b.foreignVerb(word)
}

// foreignVerb returns what a verb does that no list of tools' words has, but the lexicon
// of a language other than English.
func (b *toolbox) foreignVerb(word string) (a actions) {
	text := []byte(word)
	for _, found := range b.lexicons.words.match(nil, text, 0, 0) {
		if int(found.end) < len(text) || len(text) < 5 {
			continue
		}
		for _, m := range b.lexicons.lists[found.pattern] {
			if a == 0 && m.is(ask) && !b.lexicons.languages[m.language].english {
				a = m.actions &^ anything
			}
		}
	}
	return a
}

// thing returns what a word is about. Most tools are named in English; of the other
// languages the first that knows the word counts.
func (b *toolbox) thing(word string) (english things) {
	var foreign things
	text := []byte(word)
	for _, found := range b.lexicons.words.match(nil, text, 0, 0) {
		if int(found.end) < len(text) {
			continue
		}
		for _, m := range b.lexicons.lists[found.pattern] {
			switch {
			case !m.is(object):
			case b.lexicons.languages[m.language].english:
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
		return b.lexicons.spelled.thing(word)
	}
	return foreign
}

// localWord returns the bit of a word in the names of this request's tools, and notes
// its forms: as a verb, and as a thing if it may be one. Names have more words than there
// are bits in no list of tools that a model could use; the words that are too many are
// left out.
func (b *toolbox) localWord(word string, thing bool) uint64 {
	if len(word) < 3 {
		return 0
	}
	if m, ok := b.local.words[word]; ok {
		return m.verbs
	}
	if b.bits == 64 {
		return 0
	}
	b.own()
	bit := uint64(1) << b.bits
	b.bits++
	noun := meaning{roles: ask, verbs: bit}
	if thing {
		noun.roles |= object
		noun.things.local = bit
	}
	for _, form := range []string{word + "s", strings.TrimSuffix(word, "s"), ofUmlauts.Replace(word), word} {
		b.local.add(form, noun)
	}
	stem := strings.TrimSuffix(word, "e")
	for _, form := range []string{stem + "ed", stem + stem[len(stem)-1:] + "ed", strings.TrimSuffix(word, "y") + "ied"} {
		b.local.add(form, meaning{roles: participle, verbs: bit})
	}
	b.local.add(stem+"ing", meaning{roles: doing, verbs: bit})
	return bit
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
