package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"

	"github.com/callgate/callgate/gateway/internal/yamldoc"
)

// Fingerprints are those of a configuration's models.
type Fingerprints struct {
	config *Config
	common []byte // what they all have in common
}

// Fingerprints makes what the fingerprints of all models have in common: the defaults, the
// providers and the parsers. The headers of providers count with their values, which are
// secrets, so it is not for showing; their keys do not, since they say who pays.
func (c *Config) Fingerprints() *Fingerprints {
	var b bytes.Buffer
	for _, part := range []any{c.fill(c.Defaults).printable(), c.effectiveProviders(), c.Parsers, c.ReasoningField} {
		printValue(&b, reflect.ValueOf(part), 0)
	}
	for _, name := range sortedKeys(c.Providers) {
		headers := c.Providers[name].Headers
		for _, key := range sortedKeys(headers) {
			b.WriteString(yamldoc.Quote(name) + yamldoc.Quote(key) + headers[key].Reveal() + "\n")
		}
	}
	sum := sha256.Sum256(b.Bytes())
	return &Fingerprints{config: c, common: sum[:]}
}

// Of stands for all in the configuration that the answers of a model can depend on: its
// entry, and what all have in common. With another one an answer that was kept is not found
// any more. The model is named as its entry is, and a name without one is for
// "provider/model".
func (f *Fingerprints) Of(model string) string {
	var b bytes.Buffer
	b.Write(f.common)
	if m, ok := f.config.Models[model]; ok {
		printValue(&b, reflect.ValueOf(f.config.effectiveModel(m)), 0)
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}
