package accounts

import (
	"cmp"
	_ "embed"
	"path"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Price is what the tokens of some models cost. With a Currency all numbers are its units
// for a million tokens. Without one the price itself is not known, and they are multiples
// of it: Input is 1, and Output 0.
type Price struct {
	// Provider and Model are the patterns of the entry. An empty Provider is any.
	Provider, Model string
	// Currency is its code of ISO 4217, such as USD.
	Currency string
	// Input is the price of a token that was neither read from the cache nor written.
	Input, CacheRead, CacheWrite, CacheWriteLong float64
	// Output is 0 where the file does not say it.
	Output float64
}

// Prices is a list of prices. It is not changed once it is read, and may be used by many
// goroutines. The zero value knows no price.
type Prices struct {
	// Date is the day on which the prices were looked up, as 2026-11-21; "" if the file
	// does not say it.
	Date string

	entries []entry // the first that matches counts
	version string
	base    *Prices // is asked where none does
	found   *lru.Cache[names, found]
}

// names are what is looked for, and found is what there is: nil for nothing.
type names struct{ provider, model string }

type found struct {
	entry *entry
	file  *Prices
}

// Bounds of the names that are remembered: a file has up to 1000 patterns, and a request asks for its price five times.
const (
	maxFound  = 1024
	longNames = 512 // bytes; clients choose them
)

// entry is a price with its patterns made ready.
type entry struct {
	Price
	provider, model pattern
	tariff          *tariff // nil: there are only factors
}

// pattern is a glob of names, which are compared without case. Its * also crosses the
// slash of an organisation.
type pattern struct {
	glob   string
	prefix string // what a name must begin with, to tell most names apart at once
	weight int    // of how many bytes that are no wildcards
	exact  bool
}

func newPattern(glob string) (pattern, error) {
	p := pattern{glob: flat(glob)}
	first := strings.IndexAny(p.glob, `*?[\`)
	if p.exact = first < 0; p.exact {
		p.prefix, p.weight = p.glob, len(p.glob)
		return p, nil
	}
	p.prefix = p.glob[:first]
	p.weight = len(p.glob) - strings.Count(p.glob, "*") - strings.Count(p.glob, "?")
	_, err := path.Match(p.glob, "")
	return p, err
}

// flat is the form in which names and patterns are compared.
func flat(name string) string { return strings.ReplaceAll(strings.ToLower(name), "/", "-") }

func (p *pattern) matches(name string) bool {
	switch {
	case !strings.HasPrefix(name, p.prefix):
		return false
	case p.exact:
		return len(name) == len(p.prefix)
	case len(p.glob) == len(p.prefix)+1 && strings.HasSuffix(p.glob, "*"):
		return true
	}
	ok, err := path.Match(p.glob, name)
	return err == nil && ok
}

// compare puts the pattern first that says more of a name: the longer one, and of two
// equally long ones that without wildcards.
func (p *pattern) compare(q *pattern) int {
	switch {
	case p.weight != q.weight:
		return cmp.Compare(q.weight, p.weight)
	case p.exact == q.exact:
		return 0
	case p.exact:
		return -1
	}
	return 1
}

// find returns the entry for a provider's model and the file that has it, or nil.
func (p *Prices) find(provider, model string) (*entry, *Prices) {
	if p == nil || p.found == nil {
		return p.search(provider, model)
	}
	if f, ok := p.found.Get(names{provider, model}); ok {
		return f.entry, f.file
	}
	e, file := p.search(provider, model)
	if len(provider)+len(model) <= longNames {
		p.found.Add(names{strings.Clone(provider), strings.Clone(model)}, found{e, file})
	}
	return e, file
}

func (p *Prices) search(provider, model string) (*entry, *Prices) {
	provider, model = flat(provider), flat(model)
	for ; p != nil; p = p.base {
		for i := range p.entries {
			if e := &p.entries[i]; e.provider.matches(provider) && e.model.matches(model) {
				return e, p
			}
		}
	}
	return nil, nil
}

// remember has names looked for once.
func (p *Prices) remember() { p.found, _ = lru.New[names, found](maxFound) } // it fails for sizes below 1 alone

// Over returns the prices of p, and those of base for models that p does not know. It is
// for an operator's own file over the built-in one, whose entries count for less however
// long their patterns are. Date is p's.
func (p *Prices) Over(base *Prices) *Prices {
	over := *p
	if p.base != nil {
		base = p.base.Over(base)
	}
	over.base = base
	over.remember()
	return &over
}

//go:embed prices.yaml
var builtin []byte

// DefaultPrices returns what is built in. For most models that is only what reading from
// the cache and writing to it costs compared with other input: enough for the share that
// is saved, and no money. Prices move, and contracts differ: an operator who wants money
// writes a file of his own, and puts it over this one.
func DefaultPrices() *Prices { return defaultPrices() }

// defaultPrices reads them once: with every configuration they are asked for anew.
var defaultPrices = sync.OnceValue(func() *Prices { //nolint:gochecknoglobals // read once
	p, err := ParsePrices("prices.yaml", builtin)
	if err != nil {
		panic("accounts: " + err.Error()) // the file is part of the program
	}
	return p
})
