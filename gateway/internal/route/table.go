package route

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// Any is the name of the entry for names that have no other.
const Any = Star

// Table finds what the name of a model leads to: the entry with that name; else the most
// specific pattern that has a "/" of its own; else, for "provider/model", a provider; else
// the most specific pattern; else the entry Any. The most specific of the patterns that
// match is the one with the most bytes besides stars, then with the fewest stars, then the
// first in the order of bytes. It is not changed once it is made.
type Table struct {
	entries   map[string]string // to what each is an alias of, or ""
	patterns  []Glob            // the most specific first, without Any
	providers map[string]bool
	hops      map[string]hop // of aliases, to what the name leads that they stand for
}

// hop is where a name leads, if anywhere.
type hop struct {
	found Found
	ok    bool
}

// Found is what a name leads to.
type Found struct {
	// Entry is the name of the entry, or "" where the name led to a provider.
	Entry string
	// Provider is that of a name that led to one, and "" otherwise.
	Provider string
	// Model is what an upstream is asked for whose target has no name of its own.
	Model string
	// Alias is the entry that the name led to first, if that was an alias.
	Alias string
}

// NewTable makes a table of entries, each with the name that it is an alias of or "", and
// of providers.
func NewTable(entries map[string]string, providers []string) *Table {
	t := &Table{entries: entries, providers: map[string]bool{}, hops: map[string]hop{}}
	for _, name := range providers {
		t.providers[name] = true
	}
	for name := range entries {
		if IsPattern(name) && name != Any {
			t.patterns = append(t.patterns, NewGlob(name))
		}
	}
	slices.SortFunc(t.patterns, func(x, y Glob) int {
		return cmp.Or(y.literal()-x.literal(), len(x.parts)-len(y.parts), strings.Compare(x.text, y.text))
	})
	for name, meant := range entries {
		if meant != "" {
			t.hops[name] = t.step(meant)
		}
	}
	return t
}

// Names are the names of all entries, aliases among them, but for patterns.
func (t *Table) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range t.entries {
			if !IsPattern(name) && !yield(name) {
				return
			}
		}
	}
}

// Find follows a name, through aliases if need be. ok is false if it leads nowhere, or
// through aliases that do not end.
func (t *Table) Find(model string) (f Found, ok bool) {
	at := t.step(model)
	if t.entries[at.found.Entry] == "" {
		return at.found, at.ok
	}
	alias := at.found.Entry
	for range MaxChain {
		at = t.hops[at.found.Entry]
		if !at.ok {
			break
		}
		if t.entries[at.found.Entry] == "" {
			at.found.Alias = alias
			return at.found, true
		}
	}
	return Found{}, false
}

// MaxChain is how many aliases may stand for one another in a row.
const MaxChain = 16

// End is how a chain of aliases ends.
type End int

// The ends.
const (
	Reached End = iota // an entry with targets, or a provider
	Looping            // a name that was there before
	Lost               // a name that leads nowhere
	TooLong            // more than MaxChain aliases
)

// Chain returns the names that an alias leads through, for a message: its own, then the
// entry that each one stands for, or the name itself where that leads to no entry.
func (t *Table) Chain(alias string) (names []string, end End) {
	names = []string{alias}
	for entry := alias; t.entries[entry] != ""; {
		at := t.hops[entry]
		next := cmp.Or(at.found.Entry, t.entries[entry])
		seen := slices.Contains(names, next)
		names = append(names, next)
		switch {
		case !at.ok:
			return names, Lost
		case seen:
			return names, Looping
		case len(names) > MaxChain && t.entries[next] != "":
			return names, TooLong
		}
		entry = at.found.Entry // "" for a provider's, which is the end
	}
	return names, Reached
}

// step finds what a name leads to, which may be an alias.
func (t *Table) step(model string) hop {
	entry := func(name string) hop { return hop{Found{Entry: name, Model: model}, true} }
	if _, ok := t.entries[model]; ok {
		return entry(model)
	}
	pattern := t.pattern(model)
	if strings.Contains(pattern, "/") {
		return entry(pattern)
	}
	if provider, rest, cut := strings.Cut(model, "/"); cut && rest != "" && t.providers[provider] {
		return hop{Found{Provider: provider, Model: rest}, true}
	}
	if pattern != "" {
		return entry(pattern)
	}
	if _, ok := t.entries[Any]; ok {
		return entry(Any)
	}
	return hop{}
}

// pattern is the most specific one that a name fits, or "".
func (t *Table) pattern(model string) string {
	for _, g := range t.patterns {
		if g.Match(model) {
			return g.text
		}
	}
	return ""
}
