package accounts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ImportOptions say what is wanted of a file that somebody else publishes.
type ImportOptions struct {
	// Providers are those whose models are wanted. There must be one.
	Providers []ImportProvider
	// Models are patterns of models, as those of a file of prices; none are all.
	Models []string
	// Day is that whose prices are wanted.
	Day time.Time
}

// ImportProvider is a provider by its name in the file, and by that in the configuration. Without the latter
// the prices are for all providers if it is the only one, and else for one with the file's name.
type ImportProvider struct{ Theirs, Ours string }

// Imported is a file of prices that was made of another.
type Imported struct {
	// File is the text. ParsePrices takes it.
	File []byte
	// Notes say in sentences what was left out.
	Notes []string
}

// MaxImport is how many bytes the other file may have: those that are published have two megabytes.
const MaxImport = 64 << 20

// offer is what a file says of a model. Prices are for a million tokens, and exact.
type offer struct {
	provider string
	patterns []string // names, or patterns with *
	prices   map[string]*big.Rat
	tiers    map[int64]map[string]*big.Rat // by the tokens of the prompt that they are above
	note     string                        // why it cannot be had
	partly   string                        // it stands for what cannot be had of another one
	more     bool                          // there are prices for more than tokens of text
}

// Import makes a file of prices of genai-prices' data.json or LiteLLM's model_prices_and_context_window.json.
// It fetches nothing. What has other prices than those of tokens and requests, or changes in the course of
// a day, is left out and noted; so are prices of images and sounds, which are counted as other tokens.
func Import(data []byte, o ImportOptions) (Imported, error) {
	if len(data) > MaxImport {
		return Imported{}, fmt.Errorf("the file has %d bytes; the most is %d", len(data), MaxImport)
	}
	var offers []offer
	var err error
	switch first := bytes.TrimLeft(data, " \t\r\n"); {
	case bytes.HasPrefix(first, []byte("[")):
		offers, err = genaiOffers(data, o.Day)
	case bytes.HasPrefix(first, []byte("{")):
		offers, err = litellmOffers(data)
	default:
		err = errors.New("it is neither genai-prices' data.json nor LiteLLM's model_prices_and_context_window.json: those are JSON")
	}
	if err != nil {
		return Imported{}, err
	}
	if offers, err = chosen(offers, o); err != nil {
		return Imported{}, err
	}
	return written(offers, o)
}

// chosen are the offers that are wanted.
func chosen(offers []offer, o ImportOptions) (out []offer, err error) {
	counts := map[string]int{}
	for _, f := range offers {
		counts[f.provider]++
	}
	var there []string
	for name := range counts {
		there = append(there, name)
	}
	slices.Sort(there)
	for i, name := range there {
		there[i] = fmt.Sprintf("%s (%d)", name, counts[name])
	}
	if len(o.Providers) == 0 {
		return nil, fmt.Errorf("say whose models are wanted, such as --provider openai; the file has %s", strings.Join(there, ", "))
	}
	patterns, err := patternsOf(o.Models)
	if err != nil {
		return nil, err
	}
	for _, p := range o.Providers {
		if counts[p.Theirs] == 0 {
			return nil, fmt.Errorf("the file has no provider %q; it has %s", p.Theirs, strings.Join(there, ", "))
		}
		for _, f := range offers {
			if f.provider != p.Theirs {
				continue
			}
			f.patterns = slices.DeleteFunc(slices.Clone(f.patterns), func(name string) bool {
				return len(patterns) > 0 && !slices.ContainsFunc(patterns, func(p pattern) bool { return p.matches(flat(name)) })
			})
			if f.provider = p.Ours; p.Ours == "" && len(o.Providers) > 1 {
				f.provider = p.Theirs
			}
			if len(f.patterns) > 0 {
				out = append(out, f)
			}
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no model is wanted: no name fits --model")
	}
	return out, nil
}

// patternsOf reads patterns of models.
func patternsOf(texts []string) (patterns []pattern, err error) {
	for _, text := range texts {
		p, err := newPattern(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern: a bracket or a backslash is not ended", text)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// written makes the file.
func written(offers []offer, o ImportOptions) (out Imported, err error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by callgate prices import. Prices move: nobody renews this file but you.\ndate: %s\ncurrency: USD\nprices:\n", o.Day.Format(time.DateOnly))
	seen, entries := map[[2]string]bool{}, 0
	var more []string
	for _, f := range offers {
		if f.partly != "" {
			out.Notes = append(out.Notes, fmt.Sprintf("%s: %s", f.patterns[0], f.partly))
			continue
		}
		if f.note == "" {
			f.note = f.unfit()
		}
		if f.more && f.note == "" {
			more = append(more, f.patterns[0])
		}
		for _, name := range f.patterns {
			key := [2]string{flat(f.provider), flat(name)}
			switch {
			case seen[key]:
				continue // the file's own order: the first counts
			case f.note != "":
				out.Notes = append(out.Notes, fmt.Sprintf("%s is left out: %s", name, f.note))
				continue
			}
			seen[key] = true
			entries++
			b.WriteString("  - {")
			if f.provider != "" {
				b.WriteString("provider: " + strconv.Quote(f.provider) + ", ")
			}
			b.WriteString("model: " + strconv.Quote(name) + f.text() + "}\n")
		}
	}
	if len(more) > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d models have prices of their own for sounds, images or searches, which are not read; their tokens count as text: %s", len(more), strings.Join(more, ", ")))
	}
	out.File = b.Bytes()
	if entries > maxEntries || len(out.File) > MaxFile {
		return out, fmt.Errorf("these are %d entries in %d bytes; the most is %d in %d; choose some by --provider and --model", entries, len(out.File), maxEntries, MaxFile)
	}
	if entries == 0 {
		return out, errors.New("nothing is left: " + strings.Join(out.Notes, "; "))
	}
	if _, err := ParsePrices("the file that it makes", out.File); err != nil {
		return out, err
	}
	return out, nil
}

// unfit says why a file of prices cannot have the offer.
func (f *offer) unfit() string {
	for _, p := range f.patterns {
		if len(p) > maxText || strings.ContainsAny(p, "?[\\") {
			return "its name is none that a pattern can say"
		}
	}
	sets := []map[string]*big.Rat{f.prices}
	for _, t := range f.tiers {
		sets = append(sets, t)
	}
	for _, prices := range sets {
		for key, p := range prices {
			if _, exact := decimal(p); !exact || p.Sign() < 0 || p.Cmp(big.NewRat(maxPrice, 1)) > 0 {
				return "its " + key + " is no price of up to nine digits behind the point"
			}
		}
	}
	switch input, read := f.prices["input"], f.prices["cache_read"]; {
	case input == nil:
		return "it has no price for a token of input"
	case read != nil && read.Cmp(input) > 0:
		return "a read from its cache costs more than other input"
	case len(f.tiers) > maxTiers:
		return "it has too many tiers"
	}
	return ""
}

// decimal writes a number with at most nine digits behind the point. One that a calculation in floats was off by, as in
// 1.0000000000000001e-07, is what was meant.
func decimal(r *big.Rat) (text string, exact bool) {
	text = r.FloatString(places)
	back, _ := new(big.Rat).SetString(text)
	text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	off, noise := new(big.Rat).Sub(back, r), big.NewRat(1, 1_000_000_000_000)
	return cmp.Or(text, "0"), off.Abs(off).Cmp(noise.Mul(noise, new(big.Rat).Abs(r))) <= 0
}

// text writes the prices.
func (f *offer) text() string {
	var b strings.Builder
	write := func(prices map[string]*big.Rat, lead string) {
		for _, key := range append(slices.Clone(tokenKeys), "request") {
			if p := prices[key]; p != nil {
				text, _ := decimal(p)
				b.WriteString(lead + key + ": " + text)
				lead = ", "
			}
		}
	}
	write(f.prices, ", ")
	if len(f.tiers) == 0 {
		return b.String()
	}
	var above []int64
	for n := range f.tiers {
		above = append(above, n)
	}
	slices.Sort(above)
	b.WriteString(", tiers: [")
	for i, n := range above {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "{above: %d", n)
		write(f.tiers[n], ", ")
		b.WriteString("}")
	}
	b.WriteString("]")
	return b.String()
}

// number reads a JSON number or a text of one, exactly; nil if it is none.
func number(raw json.RawMessage) *big.Rat {
	text := strings.Trim(string(raw), `"`)
	if len(text) > maxImportNumber || strings.Trim(text, "0123456789.eE+-") != "" {
		return nil
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 { // 1e-999999999 is a long number
		if n, err := strconv.Atoi(text[i+1:]); err != nil || n > 30 || n < -30 {
			return nil
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

// maxImportNumber is how long a number may be there.
const maxImportNumber = 40
