package config

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/callgate/callgate/gateway/internal/language"
	"github.com/callgate/callgate/gateway/internal/route"
	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// lists are the target lists of a model and of its rules, each with its place.
func (m Model) lists(p path) iter.Seq2[path, []Target] {
	return func(yield func(path, []Target) bool) {
		if !yield(p.Key("targets"), m.Targets) {
			return
		}
		for i, rule := range m.Rules {
			if !yield(p.Key("rules").At(i).Key("targets"), rule.Targets) {
				return
			}
		}
	}
}

// checkAlias checks a model that is another name. One that only leads to a mistake has
// none of its own.
func (n *modelNames) checkAlias(r *report, name string, m Model) {
	at := path("models").Key(name).Key("alias")
	v := reflect.ValueOf(m)
	for _, f := range fieldsOf(v.Type()) {
		if f.name != "alias" && !v.FieldByIndex(f.index).IsZero() {
			r.add(at, "an alias takes everything from the model that it stands for; leave out %s, or the alias", f.name)
			return
		}
	}
	if route.IsPattern(m.Alias) {
		r.add(at, "%s stands for several names; an alias is one of them", r.src.show(at, m.Alias))
		return
	}
	names, end := n.table.Chain(name)
	switch {
	case end == route.Lost && len(names) == 2 && !r.bad["providers"]:
		others := slices.DeleteFunc(slices.Clone(n.known), func(known string) bool { return known == name })
		r.add(at, "there is no model %s%s", r.src.show(at, m.Alias), r.suggest(at, m.Alias, "models", others))
	case end == route.Looping && names[len(names)-1] == name && slices.Min(names) == name: // or it is said of another one
		r.add(at, "the alias leads back to itself: %s; let one of them stand for a model with targets", steps(r, names))
	case end == route.TooLong:
		r.add(at, "more than %d aliases stand for one another; let this one stand for the model itself", route.MaxChain)
	}
}

// steps writes the names of a chain of aliases, each with its line but for the last.
func steps(r *report, names []string) string {
	var parts []string
	for _, name := range names[:len(names)-1] {
		if m := r.src.find(path("models").Key(name).Key("alias")); m.line > 0 {
			name = fmt.Sprintf("%s (line %d)", name, m.line)
		}
		parts = append(parts, name)
	}
	return strings.Join(append(parts, names[len(names)-1]), " → ")
}

// modelNames are the names that an alias may stand for.
type modelNames struct {
	table *route.Table
	known []string // for suggestions
}

func (c *Config) modelNames() *modelNames {
	n := &modelNames{table: c.table()}
	n.known = slices.Collect(n.table.Names())
	for name := range c.Providers {
		n.known = append(n.known, name+"/MODEL")
	}
	slices.Sort(n.known)
	return n
}

func (c *Config) checkRules(r *report, p path, rules []Rule) {
	seen := map[string]path{} // by what is written
	for i, rule := range rules {
		at := p.At(i).Key("when")
		c.checkWhen(r, at, rule.When)
		if r.isBad(at) || r.hasBad(at) {
			continue
		}
		text := fmt.Sprintf("%q", rule.When)
		if first, repeated := seen[text]; repeated {
			r.add(at, "the conditions are those of an earlier rule (%s), so that this one is never met; keep one of them", r.where(first))
		}
		seen[text] = cmp.Or(seen[text], at)
	}
}

// checkWhen refuses what no request could meet.
func (c *Config) checkWhen(r *report, p path, w When) {
	checkWordTable(r, p.Key("metadata"), w.Metadata)
	if _, unnamed := w.Metadata[""]; unnamed {
		r.add(p.Key("metadata").Key(""), "the name is empty; write for example metadata: {budget: premium}")
	}
	checkWordTable(r, p.Key("headers"), w.Headers)
	checkHeaderNames(r, p.Key("headers"), w.Headers)
	checkLanguages(r, p.Key("language"), w.Language)
	least, most := p.Key("size").Key("min"), p.Key("size").Key("max")
	switch s := w.Size; {
	case s.Min > 0 && s.Max > 0 && s.Min > s.Max:
		r.add(least, "the least size is above the largest, %s (%s), so that no request has it", s.Max, r.where(most))
	case s.Min > c.Limits.Body && !r.isBad("limits.body"):
		r.add(least, "requests have %s at most (%s), so that none has this size", c.Limits.Body, r.where("limits.body"))
	}
	if r.written(p.Key("size")) && w.Size == (SizeRange{}) {
		r.add(p.Key("size"), "the section is empty; write for example size: {min: 32KiB}")
	}
}

// checkWordTable checks the values of names.
func checkWordTable(r *report, p path, table map[string]Words) {
	if table != nil && len(table) == 0 {
		r.add(p, "the mapping is empty, and asks for nothing; leave it out")
	}
	for _, name := range sortedKeys(table) {
		checkWords(r, p.Key(name), table[name])
	}
}

// checkWords checks one text, or several.
func checkWords(r *report, p path, words Words) {
	if words != nil && len(words) == 0 {
		r.add(p, "the list is empty, so that nothing is good enough; leave the key out")
	}
	seen := map[string]bool{}
	for i, word := range words {
		at := parserPath(p, Parsers(words), i)
		switch {
		case word == "":
			r.add(at, "the text is empty; leave it out")
		case seen[word]:
			r.add(at, "%s is in the list twice", r.src.show(at, word))
		}
		seen[word] = true
	}
}

func checkHeaderNames(r *report, p path, headers map[string]Words) {
	seen := map[string]string{}
	for _, name := range sortedKeys(headers) {
		if !route.Visible(name) {
			r.add(p.Key(name), "no rule sees the header %s: it holds a key, stays with the gateway, or is none", yamldoc.Quote(name))
		}
		folded := strings.ToLower(name)
		if first, repeated := seen[folded]; repeated {
			r.add(p.Key(name), "the header is here already, as %s", yamldoc.Quote(first))
		}
		seen[folded] = cmp.Or(seen[folded], name)
	}
}

func checkLanguages(r *report, p path, words Words) {
	checkWords(r, p, words)
	codes := language.Codes()
	for i, word := range words {
		at := parserPath(p, Parsers(words), i)
		if word == "" || slices.Contains(codes, word) {
			continue
		}
		if base := language.Base(word); slices.Contains(codes, base) {
			r.add(at, "%s is not a language of ISO 639-1; write %s", r.src.show(at, word), base)
			continue
		}
		r.add(at, "%s is not a language of ISO 639-1 that can be told%s", r.src.show(at, word), r.suggest(at, word, "languages", codes))
	}
}
