package accounts

import (
	"fmt"
	"strings"
	"time"
)

// FileError holds all that is wrong with a file of prices, in the order of the file.
type FileError struct {
	// File is the name given to ParsePrices.
	File string
	// Problems has at least one element, and no more than a hundred.
	Problems []Problem
}

// Problem is one thing wrong.
type Problem struct {
	// Line and Column begin at 1; they are 0 for the file as a whole.
	Line, Column int
	// Field leads to the value, such as prices[2].cache_read.
	Field   string
	Message string
}

// Error gives one line a problem, each beginning with file, line and column as compilers
// write them, so that editors find the place.
func (e *FileError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(e.File + ":")
		if p.Line > 0 {
			fmt.Fprintf(&b, "%d:%d:", p.Line, p.Column)
		}
		if p.Field != "" {
			b.WriteString(" " + p.Field + ":")
		}
		b.WriteString(" " + p.Message)
	}
	return b.String()
}

// maxPrice bounds a price and a factor: above it somebody has slipped a unit.
const maxPrice = 1e6

// maxEntries bounds the patterns that a request's model is compared with.
const maxEntries = 1000

// ParsePrices reads a file of prices; name is for errors. The form is that of the built-in
// file, which explains it. Reading is strict: an unknown or repeated key, a number that is
// negative or above a million, a pattern that is there twice and a read from the cache
// that costs more than other input are errors, all reported at once in a *FileError.
func ParsePrices(name string, data []byte) (*Prices, error) {
	f := &priceFile{prices: &Prices{}, seen: map[[2]string]int{}}
	if root := f.tree(data); root != nil {
		f.file(root)
	}
	if len(f.problems) > 0 {
		return nil, &FileError{name, f.sorted()}
	}
	f.prices.order()
	return f.prices, nil
}

// priceFile reads a file.
type priceFile struct {
	report
	prices   *Prices
	currency string
	seen     map[[2]string]int // the line of each pair of patterns
}

func (f *priceFile) file(root *node) {
	m := f.mapping(root, "", "date", "currency", "sources", "prices")
	if m == nil {
		return
	}
	if n := m["date"]; n != nil {
		f.prices.Date = f.text(n, "date")
		if _, err := time.Parse(time.DateOnly, f.prices.Date); err != nil && f.prices.Date != "" {
			f.add(n, "date", "%q is not a day, written such as 2026-11-21", f.prices.Date)
		}
	}
	f.currency = "USD"
	if n := m["currency"]; n != nil {
		f.currency = f.code(n, "currency")
	}
	for i, n := range f.list(m["sources"], "sources") {
		f.text(n, fmt.Sprintf("sources[%d]", i))
	}
	if m["prices"] == nil {
		f.add(root, "prices", "the key is missing")
		return
	}
	entries := f.list(m["prices"], "prices")
	if len(entries) > maxEntries {
		f.add(m["prices"], "prices", "there are %d entries; the most is %d", len(entries), maxEntries)
		return
	}
	for i, n := range entries {
		f.entry(n, fmt.Sprintf("prices[%d]", i))
	}
}

// entry reads the price of some models.
func (f *priceFile) entry(n *node, at string) {
	m := f.mapping(n, at, "provider", "model", "currency", "input", "cache_read", "cache_write", "cache_write_1h", "output", "factors")
	if m == nil {
		return
	}
	e := entry{Price: Price{Currency: f.currency}}
	if p := m["currency"]; p != nil {
		e.Currency = f.code(p, at+".currency")
	}
	f.patterns(n, m, &e, at)
	if m["factors"] != nil {
		f.factors(m, &e.Price, at)
	} else {
		f.money(n, m, &e.Price, at)
	}
	f.prices.entries = append(f.prices.entries, e)
}

// patterns reads whose price it is.
func (f *priceFile) patterns(n *node, m map[string]*node, e *entry, at string) {
	e.provider = pattern{glob: "*"}
	if p := m["provider"]; p != nil {
		e.Provider, e.provider = f.glob(p, at+".provider")
	}
	if m["model"] == nil {
		f.add(n, at+".model", "the key is missing; write a model's name, or a pattern such as gpt-4o*")
		return
	}
	e.Model, e.model = f.glob(m["model"], at+".model")
	both := [2]string{e.provider.glob, e.model.glob}
	switch line := f.seen[both]; {
	case e.Model == "": // is no text
	case line > 0:
		f.add(m["model"], at+".model", "%q has a price in line %d already; keep one", e.Model, line)
	default:
		f.seen[both] = m["model"].line
	}
}

func (f *priceFile) glob(n *node, at string) (string, pattern) {
	text := f.text(n, at)
	p, err := newPattern(text)
	if err != nil {
		f.add(n, at, "%q is not a pattern: a bracket or a backslash is not ended", text)
	}
	return text, p
}

// money reads prices. What is left out costs as input does.
func (f *priceFile) money(n *node, m map[string]*node, p *Price, at string) {
	if m["input"] == nil {
		f.add(n, at+".input", "the key is missing; write the price of a million tokens, or factors where it is not known")
		return
	}
	before := len(f.problems)
	p.Input = f.number(m, "input", at, 0)
	p.CacheRead = f.number(m, "cache_read", at, p.Input)
	p.CacheWrite = f.number(m, "cache_write", at, p.Input)
	p.CacheWriteLong = f.number(m, "cache_write_1h", at, p.CacheWrite)
	p.Output = f.number(m, "output", at, 0)
	if len(f.problems) == before && p.CacheRead > p.Input {
		f.add(m["cache_read"], at+".cache_read", "%v is more than the %v of input", p.CacheRead, p.Input)
	}
}

// factors reads multiples of the price of input.
func (f *priceFile) factors(m map[string]*node, p *Price, at string) {
	for _, key := range []string{"currency", "input", "cache_read", "cache_write", "cache_write_1h", "output"} {
		if m[key] != nil {
			f.add(m[key], at+"."+key, "an entry has either prices or factors")
		}
	}
	at += ".factors"
	m = f.mapping(m["factors"], at, "cache_read", "cache_write", "cache_write_1h")
	p.Currency, p.Input = "", 1
	p.CacheRead = f.number(m, "cache_read", at, 1)
	p.CacheWrite = f.number(m, "cache_write", at, 1)
	p.CacheWriteLong = f.number(m, "cache_write_1h", at, p.CacheWrite)
	if p.CacheRead > 1 {
		f.add(m["cache_read"], at+".cache_read", "%v is more than input costs, which is 1", p.CacheRead)
	}
}

// code reads a currency.
func (f *priceFile) code(n *node, at string) string {
	text := f.text(n, at)
	if text != "" && (len(text) != 3 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		f.add(n, at, "%q is not a currency's code, such as USD", text)
	}
	return text
}
