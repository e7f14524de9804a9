package guard

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

//go:embed lexicon/*.txt
var lexiconFiles embed.FS

// lexicons are all words that the guard knows.
type lexicons struct {
	words     *trie
	lists     [][]meaning // by pattern: thousands of words mean the same, and have one
	spoken    []spoken    // by pattern
	spokenBy  [][]spoken  // by pattern: of each language
	languages []language
	english   int                // the place of English in languages
	tools     map[string]actions // words in the names of tools
	idle      map[string]bool    // words there that say nothing
	spelled   spellings
	spare     sync.Pool // of hits
	readings  sync.Pool // of reading
}

type language struct {
	code    string
	english bool
	// clause says that the verb may stand far behind its auxiliary.
	clause bool
	// framed says that a participle claims nothing without an auxiliary.
	framed bool
	// final says that a verb ends its clause.
	final bool
}

// lexiconReader takes the lines of the files.
type lexiconReader struct {
	lexicons *lexicons
	words    *trieBuilder
	meanings [][]meaning // by word; there is none of number 0
}

// loadLexicons reads the files of the folder, which are part of the program, so that an
// error is a mistake of its own. It takes some 50 milliseconds, once.
var loadLexicons = sync.OnceValue(func() *lexicons {
	l, err := readLexicons(lexiconFiles)
	if err != nil {
		panic(err)
	}
	return l
})

func readLexicons(fsys fs.FS) (*lexicons, error) {
	l := &lexicons{tools: map[string]actions{}, idle: map[string]bool{}}
	l.spelled = spellings{exact: map[string]things{}, open: map[string]things{}}
	r := &lexiconReader{lexicons: l, words: newTrieBuilder(someNodes), meanings: make([][]meaning, 1)}
	names, err := fs.Glob(fsys, "lexicon/*.txt")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		code := strings.TrimSuffix(path.Base(name), ".txt")
		add := r.addWords
		if code == "tools" {
			add = l.addTools
		} else {
			if code == "en" {
				l.english = len(l.languages)
			}
			l.languages = append(l.languages, language{code: code, english: code == "en"})
		}
		if err := readLines(string(text), add); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(l.languages) > maxLanguages {
		return nil, fmt.Errorf("got %d languages, want at most %d, which are bits of spoken", len(l.languages), maxLanguages)
	}
	r.sort()
	l.words = r.words.trie()
	l.speak()
	return l, nil
}

func readLines(text string, add func(key string, items []string) error) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, list, found := strings.Cut(line, ":")
		if !found {
			return fmt.Errorf("line %d: no colon behind a role", n)
		}
		var items []string
		for item := range strings.SplitSeq(list, ",") {
			if item = strings.TrimSpace(item); item != "" {
				for _, choice := range alternatives(item) {
					items = append(items, strings.Join(strings.Fields(choice), " "))
				}
			}
		}
		if err := add(strings.TrimSpace(key), items); err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
	}
	return nil
}

// alternatives are the items that one with round brackets stands for.
func alternatives(item string) []string {
	before, rest, found := strings.Cut(item, "(")
	inside, after, closed := strings.Cut(rest, ")")
	if !found || !closed {
		return []string{item}
	}
	var all []string
	for choice := range strings.SplitSeq(inside, "|") {
		for _, end := range alternatives(after) {
			all = append(all, before+choice+end)
		}
	}
	return all
}

// sort puts words together that mean the same: they have one pattern.
func (r *lexiconReader) sort() {
	type known struct {
		pattern int32 // of what is in front of it
		last    meaning
	}
	numbers, l := map[known]int32{}, r.lexicons
	patterns := make([]int32, len(r.meanings))
	l.lists = make([][]meaning, 1)
	for word, list := range r.meanings {
		for i, m := range list {
			k := known{patterns[word], m}
			if numbers[k] == 0 {
				numbers[k] = int32(len(l.lists))
				l.lists = append(l.lists, list[:i+1:i+1])
			}
			patterns[word] = numbers[k]
		}
	}
	r.words.renumber(patterns)
}

func (l *lexicons) addTools(key string, items []string) error {
	if key == "idle" {
		for _, item := range items {
			l.idle[item] = true
		}
		return nil
	}
	a, ok := actionNames[key]
	if !ok {
		return fmt.Errorf("unknown action %q", key)
	}
	for _, item := range items {
		l.tools[item] |= a
	}
	return nil
}

func (r *lexiconReader) addWords(key string, items []string) error {
	l := r.lexicons
	current := &l.languages[len(l.languages)-1]
	name, of, _ := strings.Cut(key, " ")
	if name == "order" {
		current.clause = slices.Contains(items, "clause")
		current.framed = slices.Contains(items, "framed")
		current.final = slices.Contains(items, "final")
		return nil
	}
	m := meaning{language: len(l.languages) - 1, roles: roleNames[name]}
	switch {
	case m.roles == 0:
		return fmt.Errorf("unknown role %q", name)
	case m.roles&verbal != 0:
		if m.actions = actionNames[of]; m.actions == 0 {
			return fmt.Errorf("unknown action %q", of)
		}
	case m.roles == object:
		bit := slices.Index(thingNames, of)
		if bit < 0 {
			return fmt.Errorf("unknown thing %q", of)
		}
		m.things.known = 1 << bit
	}
	for _, item := range items {
		r.addWord(item, m)
	}
	return nil
}

func (r *lexiconReader) addWord(item string, m meaning) {
	word, open := strings.CutSuffix(item, "*")
	folded := string(foldString(word))
	if m.roles == object {
		r.lexicons.spelled.add(folded, open, m.things)
	}
	pattern := r.words.add(folded, open)
	if *pattern == 0 {
		*pattern = int32(len(r.meanings))
		r.meanings = append(r.meanings, nil)
	}
	list := r.meanings[*pattern]
	for i := range list {
		if list[i].language == m.language {
			list[i].roles |= m.roles
			list[i].actions |= m.actions
			list[i].things = list[i].things.or(m.things)
			return
		}
	}
	r.meanings[*pattern] = append(list, m)
}
