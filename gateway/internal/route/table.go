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
	t := &Table{entries: entries, providers: map[string]bool{}}
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
// aliases lead back to themselves.
func (t *Table) Find(model string) (f Found, ok bool) {
	f, ok = t.step(model)
	if !ok || t.entries[f.Entry] == "" {
		return f, ok
	}
	alias := f.Entry
	for range t.entries { // more steps than entries come back to one
		if f, ok = t.step(t.entries[f.Entry]); !ok {
			break
		}
		if t.entries[f.Entry] == "" {
			f.Alias = alias
			return f, true
		}
	}
	return Found{}, false
}

// Chain returns the names that an alias leads through, beginning with its own, for a
// message: what one is an alias of, and the entry that this is, if it is another. It ends
// with a name that is there already if the aliases lead back to themselves, which loops
// says, and with one that leads nowhere if lost says so.
func (t *Table) Chain(alias string) (names []string, loops, lost bool) {
	names = []string{alias}
	for entry := alias; t.entries[entry] != ""; {
		f, ok := t.step(t.entries[entry])
		next := cmp.Or(f.Entry, t.entries[entry])
		if seen := slices.Contains(names, next); seen || !ok {
			return append(names, next), seen, !ok
		}
		names = append(names, next)
		entry = f.Entry // "" for a provider's, which is the end
	}
	return names, false, false
}

// step finds what a name leads to, which may be an alias.
func (t *Table) step(model string) (Found, bool) {
	if _, ok := t.entries[model]; ok {
		return Found{Entry: model, Model: model}, true
	}
	pattern := t.pattern(model)
	if strings.Contains(pattern, "/") {
		return Found{Entry: pattern, Model: model}, true
	}
	if provider, rest, cut := strings.Cut(model, "/"); cut && rest != "" && t.providers[provider] {
		return Found{Provider: provider, Model: rest}, true
	}
	if pattern != "" {
		return Found{Entry: pattern, Model: model}, true
	}
	if _, ok := t.entries[Any]; ok {
		return Found{Entry: Any, Model: model}, true
	}
	return Found{}, false
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
