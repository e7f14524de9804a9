package accounts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// FileError holds all that is wrong with a file of prices, in the order of the file.
type FileError = yamldoc.Error

// MaxFile is how many bytes a file of prices may have.
const MaxFile = 256 << 10

// limits are the bounds on a file.
var limits = yamldoc.Limits{Bytes: MaxFile, Depth: 8}

// maxPrice bounds a price and a factor: above it somebody has slipped a unit.
const maxPrice = 1e6

// maxNumber is how long a number may be. It is read exactly, and 1e-99999999 is a long one.
const maxNumber = 24

// maxEntries bounds the patterns that a request's model is compared with.
const maxEntries = 1000

// versionBytes is how much of a file's hash its version is.
const versionBytes = 6

// ParsePrices reads a file of prices; name is for errors. The form is that of the built-in
// file, which explains it. Reading is strict: an unknown or repeated key, a number that is
// negative or above a million, a pattern that is there twice and a read from the cache
// that costs more than other input are errors, all reported at once in a *FileError.
func ParsePrices(name string, data []byte) (*Prices, error) {
	f := &priceFile{prices: &Prices{}, seen: map[[2]string]int{}}
	root := yamldoc.Read(data, limits, &f.problems)
	switch {
	case root != nil:
		f.file(root)
	case f.problems.Len() == 0:
		f.problems.Add(0, 0, "", "the file is empty")
	}
	if err := f.problems.Err(name); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	f.prices.version = hex.EncodeToString(sum[:versionBytes])
	// Those that name a provider come before those for all, then the longest pattern of models
	// first, then as they stand in the file.
	slices.SortStableFunc(f.prices.entries, func(a, b entry) int {
		return cmp.Or(a.provider.compare(&b.provider), a.model.compare(&b.model))
	})
	f.prices.remember()
	return f.prices, nil
}

// priceFile reads a file.
type priceFile struct {
	problems yamldoc.Problems
	prices   *Prices
	currency string
	seen     map[[2]string]int // the line of each pair of patterns
}

func (f *priceFile) file(root *yamldoc.Node) {
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
		f.text(n, yamldoc.Path("sources").At(i))
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
		f.entry(n, yamldoc.Path("prices").At(i))
	}
}

// entry reads the price of some models.
func (f *priceFile) entry(n *yamldoc.Node, at yamldoc.Path) {
	m := f.mapping(n, at, "provider", "model", "currency", "input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning", "request", "tiers", "factors")
	if m == nil {
		return
	}
	e := entry{Price: Price{Currency: f.currency}}
	if p := m["currency"]; p != nil {
		e.Currency = f.code(p, at.Key("currency"))
	}
	f.patterns(n, m, &e, at)
	if m["factors"] != nil {
		f.factors(m, &e.Price, at)
	} else {
		f.money(n, m, &e.Price, at)
		f.tariff(m, &e, at)
	}
	f.prices.entries = append(f.prices.entries, e)
}

// patterns reads whose price it is.
func (f *priceFile) patterns(n *yamldoc.Node, m section, e *entry, at yamldoc.Path) {
	e.provider = pattern{glob: "*"}
	if p := m["provider"]; p != nil {
		e.Provider, e.provider = f.glob(p, at.Key("provider"))
	}
	if m["model"] == nil {
		f.add(n, at.Key("model"), "the key is missing; write a model's name, or a pattern such as gpt-4o*")
		return
	}
	e.Model, e.model = f.glob(m["model"], at.Key("model"))
	both := [2]string{e.provider.glob, e.model.glob}
	switch line := f.seen[both]; {
	case e.Model == "": // is no text
	case line > 0:
		f.add(m["model"], at.Key("model"), "%q has a price in line %d already; keep one", e.Model, line)
	default:
		f.seen[both] = m["model"].Line
	}
}

func (f *priceFile) glob(n *yamldoc.Node, at yamldoc.Path) (string, pattern) {
	text := f.text(n, at)
	p, err := newPattern(text)
	if err != nil {
		f.add(n, at, "%q is not a pattern: a bracket or a backslash is not ended", text)
	}
	return text, p
}

// money reads prices. What is left out costs as input does.
func (f *priceFile) money(n *yamldoc.Node, m section, p *Price, at yamldoc.Path) {
	if m["input"] == nil {
		f.add(n, at.Key("input"), "the key is missing; write the price of a million tokens, or factors where it is not known")
		return
	}
	before := f.problems.Len()
	p.Input = f.number(m, "input", at, 0)
	p.CacheRead = f.number(m, "cache_read", at, p.Input)
	p.CacheWrite = f.number(m, "cache_write", at, p.Input)
	p.CacheWriteLong = f.number(m, "cache_write_1h", at, p.CacheWrite)
	p.Output = f.number(m, "output", at, 0)
	if f.problems.Len() == before && p.CacheRead > p.Input {
		f.add(m["cache_read"], at.Key("cache_read"), "%v is more than the %v of input", p.CacheRead, p.Input)
	}
}

// factors reads multiples of the price of input.
func (f *priceFile) factors(m section, p *Price, at yamldoc.Path) {
	for _, key := range []string{"currency", "input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning", "request", "tiers"} {
		if m[key] != nil {
			f.add(m[key], at.Key(key), "an entry has either prices or factors")
		}
	}
	at = at.Key("factors")
	m = f.mapping(m["factors"], at, "cache_read", "cache_write", "cache_write_1h")
	p.Currency, p.Input = "", 1
	p.CacheRead = f.number(m, "cache_read", at, 1)
	p.CacheWrite = f.number(m, "cache_write", at, 1)
	p.CacheWriteLong = f.number(m, "cache_write_1h", at, p.CacheWrite)
	if p.CacheRead > 1 {
		f.add(m["cache_read"], at.Key("cache_read"), "%v is more than input costs, which is 1", p.CacheRead)
	}
}

// code reads a currency.
func (f *priceFile) code(n *yamldoc.Node, at yamldoc.Path) string {
	text := f.text(n, at)
	if text != "" && (len(text) != 3 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
		f.add(n, at, "%q is not a currency's code, such as USD", text)
	}
	return text
}

// maxText is how many bytes a name may have.
const maxText = 256

// section holds the values of a mapping by their keys.
type section map[string]*yamldoc.Node

func (f *priceFile) add(n *yamldoc.Node, at yamldoc.Path, format string, args ...any) {
	f.problems.Add(n.Line, n.Column, at, format, args...)
}

// mapping returns the values of a mapping that may have the given keys, or nil.
func (f *priceFile) mapping(n *yamldoc.Node, at yamldoc.Path, keys ...string) section {
	if n.Kind != yamldoc.Map {
		f.add(n, at, "expected a mapping with some of the keys %s, got %s", strings.Join(keys, ", "), n.Kind)
		return nil
	}
	found := make(section, len(n.Entries))
	for _, e := range n.Entries {
		if !slices.Contains(keys, e.Key) {
			f.problems.UnknownKey(at, e, keys)
			continue
		}
		found[e.Key] = e.Value
	}
	return found
}

// list returns the elements of a list, none where it is left out.
func (f *priceFile) list(n *yamldoc.Node, at yamldoc.Path) []*yamldoc.Node {
	if n != nil && n.Kind != yamldoc.List {
		f.add(n, at, "expected a list, got %s", n.Kind)
	}
	if n == nil {
		return nil
	}
	return n.Items
}

// text reads text.
func (f *priceFile) text(n *yamldoc.Node, at yamldoc.Path) string {
	switch {
	case n.Kind == yamldoc.Number || n.Kind == yamldoc.Bool:
		f.add(n, at, "expected text, got %s; put it in quotes", n.Kind)
		return ""
	case n.Kind != yamldoc.Text:
		f.add(n, at, "expected text, got %s", n.Kind)
		return ""
	case n.Text == "" || len(n.Text) > maxText:
		f.add(n, at, "the text has %d bytes; it must have 1 to %d", len(n.Text), maxText)
		return ""
	}
	return n.Text
}

// number reads a price or a factor, which is otherwise the given one.
func (f *priceFile) number(m section, key string, at yamldoc.Path, otherwise float64) float64 {
	n := m[key]
	if n == nil {
		return otherwise
	}
	x, err := strconv.ParseFloat(n.Text, 64)
	at = at.Key(key)
	switch {
	case n.Kind != yamldoc.Number || err != nil || strings.Trim(n.Text, "0123456789.eE+-") != "":
		f.add(n, at, "expected a decimal number, such as 0.25")
	case x < 0:
		f.add(n, at, "%.40s is negative", n.Text)
	case len(n.Text) > maxNumber:
		f.add(n, at, "the number has %d digits; it may have %d", len(n.Text), maxNumber)
	case x > maxPrice:
		f.add(n, at, "%.40s is more than %d", n.Text, int(maxPrice))
	default:
		return x
	}
	return otherwise
}
