package accounts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callgate/callgate/gateway/usage"
)

// litellmKeys are its keys, of a price for one token, by ours.
var litellmKeys = map[string]string{ //nolint:gosec // keys of a file of prices
	"input_cost_per_token": "input", "cache_read_input_token_cost": "cache_read", "cache_creation_input_token_cost": "cache_write",
	"cache_creation_input_token_cost_above_1hr": "cache_write_1h", "output_cost_per_token": "output", "output_cost_per_reasoning_token": "reasoning",
	"input_cost_per_request": "request",
}

// litellmTier is a key of a tier, such as input_cost_per_token_above_200k_tokens.
var litellmTier = regexp.MustCompile(`^(.+)_above_(\d+)k_tokens$`)

func litellmOffers(data []byte) (out []offer, err error) {
	var models map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &models); err != nil {
		return nil, fmt.Errorf("it is not LiteLLM's model_prices_and_context_window.json: %w", err)
	}
	var names []string
	for name := range models {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // those with their provider in front count before others of the same name
		if with := strings.Contains(a, "/"); with != strings.Contains(b, "/") {
			if with {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	for _, name := range names {
		m := models[name]
		var provider string
		if name == "sample_spec" || json.Unmarshal(m["litellm_provider"], &provider) != nil || provider == "" {
			continue
		}
		short := strings.TrimPrefix(name, provider+"/")
		if strings.Contains(short, "*") {
			continue // not a model
		}
		f := offer{provider: provider, patterns: []string{short}, prices: map[string]*big.Rat{}, tiers: map[int64]map[string]*big.Rat{}}
		f.litellm(m)
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it is not LiteLLM's model_prices_and_context_window.json: no entry has a litellm_provider")
	}
	return out, nil
}

// litellm reads the prices of a model.
func (f *offer) litellm(m map[string]json.RawMessage) {
	if isThere(m["off_peak_pricing"]) {
		f.note = "its prices change in the course of a day"
		return
	}
	for key, raw := range m {
		above := int64(0)
		if tier := litellmTier.FindStringSubmatch(key); tier != nil {
			n, err := strconv.ParseInt(tier[2], 10, 32)
			if err != nil {
				continue
			}
			if key, above = tier[1], n*1000; f.provider == "xai" {
				above-- // its tiers begin with so many tokens, as LiteLLM counts
			}
		}
		if ours := litellmKeys[key]; ours == "" || above > 0 && (ours == "request" || !isThere(raw)) {
			continue
		}
		into := f.prices
		if above > 0 {
			if f.tiers[above] == nil {
				f.tiers[above] = map[string]*big.Rat{}
			}
			into = f.tiers[above]
		}
		f.litellmPrice(into, key, raw)
	}
	f.litellmTiers()
	if list := m["tiered_pricing"]; isThere(list) {
		f.litellmRanges(list)
	}
}

func isThere(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// litellmPrice reads one price.
func (f *offer) litellmPrice(into map[string]*big.Rat, key string, raw json.RawMessage) {
	ours := litellmKeys[key]
	if ours == "" || !isThere(raw) {
		return
	}
	p := number(raw)
	if p == nil {
		f.note = "its " + key + " is no number"
		return
	}
	if ours != "request" {
		p.Mul(p, big.NewRat(1_000_000, 1))
	}
	into[ours] = p
}

// litellmRanges reads a list of prices by the length of the prompt, as Qwen's models have. Its entries hold for more tokens than
// the range begins with, and take the place of what else is said of a token: what one leaves out costs as its input, or its output.
func (f *offer) litellmRanges(list json.RawMessage) {
	var entries []map[string]json.RawMessage
	if json.Unmarshal(list, &entries) != nil {
		f.note = "its tiered_pricing cannot be read"
		return
	}
	ranges := map[int64]map[string]*big.Rat{}
	for _, entry := range entries {
		var bounds []json.Number
		if json.Unmarshal(entry["range"], &bounds) != nil || len(bounds) == 0 {
			continue // by something else: how many results a search has
		}
		from, err := bounds[0].Float64()
		if err != nil || from != math.Trunc(from) || from < 0 || from > usage.MaxTokens {
			f.note = "its tiered_pricing has a range that begins at " + bounds[0].String()
			return
		}
		prices := map[string]*big.Rat{}
		for key, raw := range entry {
			f.litellmPrice(prices, key, raw)
		}
		if prices["input"] == nil {
			f.note = cmp.Or(f.note, "its tiered_pricing has no price for a token of input")
			return
		}
		ranges[int64(from)] = prices
	}
	switch lowest := ranges[0]; {
	case len(ranges) == 0:
	case lowest == nil:
		f.note = "its tiered_pricing does not begin at 0"
	default:
		f.takeRanges(ranges)
	}
}

// takeRanges has the prices of ranges be those of the model, and of its tiers. All say the same of what they have a price for: what a
// tier of ours leaves out costs as the model's, and not as the tier's.
func (f *offer) takeRanges(ranges map[int64]map[string]*big.Rat) {
	named := map[string]bool{}
	for _, prices := range ranges {
		if prices["output"] == nil && f.prices["output"] != nil {
			prices["output"] = f.prices["output"]
		}
		for key := range prices {
			named[key] = true
		}
	}
	for _, prices := range ranges {
		for key := range named {
			if prices[key] == nil && key == "reasoning" {
				prices[key] = prices["output"]
			} else if prices[key] == nil && key != "output" {
				prices[key] = prices["input"]
			}
		}
	}
	if request := f.prices["request"]; request != nil {
		ranges[0]["request"] = request
	}
	f.prices = ranges[0]
	delete(ranges, 0)
	f.tiers = ranges
}

// litellmTiers drops what says nothing, and gives a tier what the one below it says.
func (f *offer) litellmTiers() {
	if f.prices["output"] == nil {
		for _, t := range f.tiers {
			delete(t, "output")
		}
	}
	var above []int64
	for n := range f.tiers {
		above = append(above, n)
	}
	slices.Sort(above)
	for i, n := range above {
		if i == 0 {
			continue
		}
		for key, p := range f.tiers[above[i-1]] {
			if f.tiers[n][key] == nil {
				f.tiers[n][key] = p
			}
		}
	}
}
