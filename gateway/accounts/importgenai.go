package accounts

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The shape of genai-prices' data.json, as far as it is read.
type genaiProvider struct {
	ID     string
	Models []genaiModel
}

type genaiModel struct {
	ID     string
	Match  genaiClause
	Prices json.RawMessage
}

// genaiClause says which names are a model's.
type genaiClause struct {
	Equals     *string
	StartsWith *string `json:"starts_with"`
	EndsWith   *string `json:"ends_with"`
	Contains   *string
	Regex      *string
	Or, And    []genaiClause
}

type genaiPrice struct {
	Constraint *struct {
		StartDate string `json:"start_date"`
		StartTime string `json:"start_time"`
	}
	Prices map[string]json.RawMessage
}

// genaiKeys are its keys by ours; of several the first that is there counts.
var genaiKeys = map[string][]string{ //nolint:gochecknoglobals // a table
	"input": {"input_mtok", "input_text_mtok"}, "cache_read": {"cache_read_mtok", "cache_text_read_mtok"}, "cache_write": {"cache_write_5m_mtok", "cache_write_mtok"},
	"cache_write_1h": {"cache_write_1h_mtok"}, "output": {"output_mtok", "output_text_mtok"}, "reasoning": {"output_reasoning_mtok"}, "request": {"requests_kcount"},
}

func genaiOffers(data []byte, day time.Time) (out []offer, err error) {
	var providers []genaiProvider
	if err := json.Unmarshal(data, &providers); err != nil {
		return nil, fmt.Errorf("it is not genai-prices' data.json: %w", err)
	}
	for _, p := range providers {
		for i, m := range p.Models {
			f := offer{provider: p.ID}
			names, odd := m.Match.patterns()
			if !slices.Contains(names, m.ID) && m.Match.matches(m.ID) {
				names = append(names, m.ID)
			}
			for _, name := range names {
				// There the first model counts that a name fits, and here the longest pattern.
				exact := !strings.Contains(name, "*")
				if !exact || !slices.ContainsFunc(p.Models[:i], func(o genaiModel) bool { return o.Match.matches(name) }) {
					f.patterns = append(f.patterns, name)
				}
			}
			f.read(m.Prices, day)
			out = append(out, f)
			if odd && f.note == "" && len(f.patterns) > 0 {
				out = append(out, offer{provider: p.ID, patterns: []string{m.ID}, partly: "some of its names are told by a regular expression or by several words, which no pattern says; they are left out"})
			}
		}
	}
	return out, nil
}

// patterns are the names as a file of prices has them. odd says that there are others.
func (c *genaiClause) patterns() (out []string, odd bool) {
	switch {
	case c.Equals != nil:
		out = []string{*c.Equals}
	case c.StartsWith != nil:
		out = []string{*c.StartsWith + "*"}
	case c.EndsWith != nil:
		out = []string{"*" + *c.EndsWith}
	case c.Contains != nil:
		out = []string{"*" + *c.Contains + "*"}
	case len(c.Or) > 0:
		for i := range c.Or {
			more, moreOdd := c.Or[i].patterns()
			out, odd = append(out, more...), odd || moreOdd
		}
	default:
		odd = true
	}
	return out, odd
}

// matches reports whether a name is the model's.
func (c *genaiClause) matches(name string) bool {
	name = strings.ToLower(name)
	switch {
	case c.Equals != nil:
		return name == strings.ToLower(*c.Equals)
	case c.StartsWith != nil:
		return strings.HasPrefix(name, strings.ToLower(*c.StartsWith))
	case c.EndsWith != nil:
		return strings.HasSuffix(name, strings.ToLower(*c.EndsWith))
	case c.Contains != nil:
		return strings.Contains(name, strings.ToLower(*c.Contains))
	case c.Regex != nil:
		re, err := regexp.Compile(*c.Regex)
		return err == nil && re.MatchString(name)
	case len(c.Or) > 0:
		return slices.ContainsFunc(c.Or, func(o genaiClause) bool { return o.matches(name) })
	}
	return len(c.And) > 0 && !slices.ContainsFunc(c.And, func(o genaiClause) bool { return !o.matches(name) })
}

// read reads the prices of a day.
func (f *offer) read(raw json.RawMessage, day time.Time) {
	var prices map[string]json.RawMessage
	if json.Unmarshal(raw, &prices) != nil {
		var list []genaiPrice
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			f.note = "its prices cannot be read"
			return
		}
		prices = list[0].Prices
		for _, p := range list { // the last that holds counts
			switch {
			case p.Constraint == nil || p.Constraint.StartDate != "" && p.Constraint.StartDate <= day.Format(time.DateOnly):
				prices = p.Prices
			case p.Constraint.StartTime != "":
				f.note = "its prices change in the course of a day"
				return
			}
		}
	}
	f.prices, f.tiers = map[string]*big.Rat{}, map[int64]map[string]*big.Rat{}
	tiered := map[string][]genaiTier{}
	for ours, theirs := range genaiKeys {
		for _, key := range theirs {
			if raw, ok := prices[key]; ok {
				f.genai(ours, raw, tiered)
				break
			}
		}
	}
	f.genaiTiers(tiered)
	for key := range prices {
		f.more = f.more || !isGenaiKey(key)
	}
}

func isGenaiKey(key string) bool {
	for _, theirs := range genaiKeys {
		if slices.Contains(theirs, key) {
			return true
		}
	}
	return false
}

type genaiTier struct {
	Start int64
	Price json.RawMessage
}

// genai reads a price: a number, or one with tiers.
func (f *offer) genai(key string, raw json.RawMessage, tiered map[string][]genaiTier) {
	base := raw
	var whole struct {
		Base  json.RawMessage
		Tiers []genaiTier
	}
	if json.Unmarshal(raw, &whole) == nil && whole.Base != nil {
		base, tiered[key] = whole.Base, whole.Tiers
	}
	p := number(base)
	if p == nil {
		f.note = "its " + key + " is no number"
		return
	}
	if key == "request" {
		p.Quo(p, big.NewRat(1000, 1)) // theirs is for a thousand
		if len(whole.Tiers) > 0 {
			f.note = "its price of a request has tiers"
		}
	}
	f.prices[key] = p
}

// genaiTiers gives each beginning of a tier all prices that hold from there.
func (f *offer) genaiTiers(tiered map[string][]genaiTier) {
	for _, tiers := range tiered {
		for _, t := range tiers {
			if f.tiers[t.Start] == nil {
				f.tiers[t.Start] = map[string]*big.Rat{}
			}
		}
	}
	for start, prices := range f.tiers {
		for key, base := range f.prices {
			if key == "request" {
				continue
			}
			prices[key] = base
			highest := int64(-1)
			for _, t := range tiered[key] {
				if t.Start > start || t.Start <= highest {
					continue
				}
				highest = t.Start
				if prices[key] = number(t.Price); prices[key] == nil {
					f.note = "a tier of its " + key + " is no number"
					return
				}
			}
		}
	}
}
