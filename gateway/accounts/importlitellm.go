package accounts

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	slices.Sort(names)
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
	for key, raw := range m {
		above := int64(0)
		if tier := litellmTier.FindStringSubmatch(key); tier != nil {
			n, err := strconv.ParseInt(tier[2], 10, 32)
			if err != nil {
				continue
			}
			key, above = tier[1], n*1000
		}
		ours := litellmKeys[key]
		if ours == "" || string(raw) == "null" || above > 0 && ours == "request" {
			continue
		}
		p := number(raw)
		if p == nil {
			f.note = "its " + key + " is no number"
			return
		}
		if ours != "request" {
			p.Mul(p, big.NewRat(1_000_000, 1))
		}
		into := f.prices
		if above > 0 {
			if f.tiers[above] == nil {
				f.tiers[above] = map[string]*big.Rat{}
			}
			into = f.tiers[above]
		}
		into[ours] = p
	}
	f.litellmTiers()
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
