package accounts

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strconv"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
	"github.com/callgate/callgate/gateway/usage"
)

// The keys of what tokens cost, in an entry and in its tiers.
var tokenKeys = []string{"input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning"} //nolint:gochecknoglobals // a list

// maxTiers bounds the tiers of an entry.
const maxTiers = 8

// tariff reads an entry with prices once more, in whole numbers. Where its numbers are no prices, that
// was said before.
func (f *priceFile) tariff(m section, e *entry, at yamldoc.Path) {
	before := f.problems.Len()
	f.number(m, "reasoning", at, 0)
	f.number(m, "request", at, 0)
	t := &tariff{rates: f.rates(m, at), dollars: e.Currency == "USD", hasOutput: m["output"] != nil, request: f.exact(m, "request", at, 0)}
	if f.problems.Len() > before {
		return
	}
	list := f.list(m["tiers"], at.Key("tiers"))
	if len(list) > maxTiers {
		f.add(m["tiers"], at.Key("tiers"), "there are %d tiers; the most is %d", len(list), maxTiers)
		return
	}
	for i, n := range list {
		f.tier(n, m, t, at.Key("tiers").At(i))
	}
	slices.SortFunc(t.tiers, func(a, b tier) int { return cmp.Compare(b.above, a.above) })
	e.tariff = t
}

// tier reads what the tokens of long prompts cost. What it leaves out costs as the entry says.
func (f *priceFile) tier(n *yamldoc.Node, entry section, t *tariff, at yamldoc.Path) {
	m := f.mapping(n, at, append([]string{"above"}, tokenKeys...)...)
	if m == nil {
		return
	}
	above, before := m["above"], f.problems.Len()
	tokens, err := 0, error(nil)
	if above != nil {
		tokens, err = strconv.Atoi(above.Text)
	}
	switch {
	case above == nil:
		f.add(n, at.Key("above"), "the key is missing; write the number of tokens above which a prompt costs this, such as 272000")
	case above.Kind != yamldoc.Number || err != nil || tokens < 1 || tokens > usage.MaxTokens:
		f.add(above, at.Key("above"), "expected a number of tokens from 1 to %d", usage.MaxTokens)
	case slices.ContainsFunc(t.tiers, func(o tier) bool { return o.above == int64(tokens) }):
		f.add(above, at.Key("above"), "there is a tier above %d already; keep one", tokens)
	}
	for _, key := range tokenKeys {
		f.number(m, key, at, 0)
	}
	if m["output"] != nil && entry["output"] == nil {
		f.add(m["output"], at.Key("output"), "the entry has no price of output; write it there too")
	}
	if f.problems.Len() > before {
		return
	}
	whole := maps.Clone(entry)
	maps.Copy(whole, m)
	t.tiers = append(t.tiers, tier{f.rates(whole, at), int64(tokens)})
}

// rates reads the prices of tokens. What is left out costs as input does, or as output.
func (f *priceFile) rates(m section, at yamldoc.Path) (r rates) {
	r.input = f.exact(m, "input", at, 0)
	r.cacheRead = f.exact(m, "cache_read", at, r.input)
	r.cacheWrite = f.exact(m, "cache_write", at, r.input)
	r.cacheWriteLong = f.exact(m, "cache_write_1h", at, r.cacheWrite)
	r.output = f.exact(m, "output", at, 0)
	r.reasoning = f.exact(m, "reasoning", at, r.output)
	return r
}

// places is how many digits a price may have behind the point.
const places = 9

// exact is a price that [priceFile.number] accepts, in units of its last place, or otherwise the given one.
func (f *priceFile) exact(m section, key string, at yamldoc.Path, otherwise int64) int64 {
	n := m[key]
	if n == nil || n.Kind != yamldoc.Number || len(n.Text) > maxNumber {
		return otherwise
	}
	x, ok := new(big.Rat).SetString(n.Text)
	if !ok || x.Sign() < 0 || x.Cmp(big.NewRat(maxPrice, 1)) > 0 {
		return otherwise
	}
	if x.Mul(x, big.NewRat(1_000_000_000, 1)); !x.IsInt() {
		f.add(n, at.Key(key), "%s has more than %d digits behind the point", n.Text, places)
		return otherwise
	}
	return x.Num().Int64()
}
