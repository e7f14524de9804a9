package guard

import (
	"cmp"
	"strings"

	"github.com/callgate/callgate/gateway/internal/ledger"
)

// tool is what the name of a tool says of it.
type tool struct {
	name  string
	deed       // its verbs are the words of the name that may be one, as bits of the toolbox
	vague bool // no word of the name is a verb
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
	calls    callFinder // of the tools
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
	b.calls = callFinder{b.byName, l.tools}
	for _, name := range names[:min(len(names), maxTools)] {
		if _, known := b.byName[name]; !known && name != "" {
			b.byName[name] = len(b.tools)
			b.tools = append(b.tools, b.describe(name))
		}
	}
	return b
}

// shared is what all tools are about, such as the name of what they belong to.
func shared(tools []tool) things {
	if len(tools) == 0 {
		return things{}
	}
	all := tools[0].things
	for i := range tools {
		all = things{all.known & tools[i].things.known, all.local & tools[i].things.local}
	}
	return all
}

// mostPoints returns the most points that a tool has which does one of some actions, or may do anything, and
// its name, or "" if two have as many, or none has any.
func mostPoints(tools []tool, does actions, points func(*tool) int) (most int, name string) {
	for i := range tools {
		t := &tools[i]
		if t.actions&(does|anything) == 0 {
			continue
		}
		switch n := points(t); {
		case n > most:
			most, name = n, t.name
		case n == most:
			name = ""
		}
	}
	return most, name
}

// get describes a tool by its name, offered or not.
func (b *toolbox) get(name string) tool {
	if i, ok := b.byName[name]; ok {
		return b.tools[i]
	}
	return b.describe(name)
}

// KindOf is what a tool does by its name, in any language.
func (b *toolbox) KindOf(name string) ledger.Kind {
	switch t := b.get(name); {
	case t.actions&anything != 0:
	case t.actions&changes == 0:
		return ledger.Reads
	case t.actions&finds == 0:
		return ledger.Changes
	}
	return ledger.Unknown
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
		t.things = t.things.or(b.lexicons.nameThing(before + " " + word))
		before = word
		t.handsOver = t.handsOver || others[word]
		if b.lexicons.idle[word] {
			continue
		}
		a, th := b.lexicons.nameVerb(words, i), b.lexicons.nameThing(word)
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
	noun := meaning{roles: ask, deed: deed{verbs: bit}}
	if thing {
		noun.roles |= object
		noun.things.local = bit
	}
	for _, form := range []string{word + "s", strings.TrimSuffix(word, "s"), ofUmlauts.Replace(word), word} {
		b.local.add(form, noun)
	}
	stem := strings.TrimSuffix(word, "e")
	for _, form := range []string{stem + "ed", stem + stem[len(stem)-1:] + "ed", strings.TrimSuffix(word, "y") + "ied"} {
		b.local.add(form, meaning{roles: participle, deed: deed{verbs: bit}})
	}
	b.local.add(stem+"ing", meaning{roles: doing, deed: deed{verbs: bit}})
	return bit
}
