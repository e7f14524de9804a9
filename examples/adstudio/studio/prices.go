package studio

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
)

// Prices are those of models, for a million tokens.
type Prices []Price

// Price is that of the models that a pattern fits.
type Price struct {
	Model     string  `json:"model"` // with * and ?
	Input     float64 `json:"input"`
	CacheRead float64 `json:"cache_read"`
	Output    float64 `json:"output"`
}

// ReadPrices reads the file that the gateway has, too: its YAML is written as JSON.
func ReadPrices(name string) (Prices, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var file struct {
		Prices Prices `json:"prices"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return file.Prices, nil
}

// of is the first price that fits a model.
func (p Prices) of(model string) (Price, bool) {
	for _, one := range p {
		if fits, err := path.Match(one.Model, model); err == nil && fits {
			return one, true
		}
	}
	return Price{}, false
}

// cost is what tokens cost, and what they would cost more without the cache.
func (p Price) cost(input, cached, output int64) (usd, saved float64) {
	const million = 1e6
	usd = (float64(input-cached)*p.Input + float64(cached)*p.CacheRead + float64(output)*p.Output) / million
	return usd, float64(cached) * (p.Input - p.CacheRead) / million
}
