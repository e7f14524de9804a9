package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
)

// Fingerprint stands for all in the configuration that the answers of a model can depend
// on: its entry, the defaults, the providers and the parsers. With another one an answer
// that was kept is not found any more. The headers of providers count with their values,
// which are secrets, so it is not for showing; their keys do not, since they say who pays.
// The model is named as its entry is, and a name without one is for "provider/model".
func (c *Config) Fingerprint(model string) string {
	effective := c.effective()
	var b bytes.Buffer
	for _, part := range []any{effective.Models[model], effective.Defaults, effective.Providers, effective.Parsers, effective.ReasoningField} {
		printValue(&b, reflect.ValueOf(part), 0)
	}
	for _, name := range sortedKeys(c.Providers) {
		headers := c.Providers[name].Headers
		for _, key := range sortedKeys(headers) {
			b.WriteString(quote(name) + quote(key) + headers[key].Reveal() + "\n")
		}
	}
	sum := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(sum[:])
}
