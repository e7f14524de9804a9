package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestFingerprint holds that whatever changes the answers of a model changes its
// fingerprint, and that what has nothing to do with them does not.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	const file = `
listen: 127.0.0.1:8080
providers: {local: {type: openai, base_url: http://127.0.0.1:8000/v1, api_key: one, headers: {X-Beta: one}}}
defaults: {guard: report, answer_cache: memory}
models:
  m: {targets: [{provider: local, model: qwen}], answer_cache_ttl: 1h}
  n: {targets: [{provider: local, model: qwen}]}
`
	base := mustParse(t, file)
	if base.Fingerprints().Of("m") == base.Fingerprints().Of("n") {
		t.Error("got one fingerprint for two models that are not alike")
	}
	for _, row := range []struct {
		from, to string
		same     bool
	}{
		{"8000", "8001", false},
		{"X-Beta: one", "X-Beta: two", false},
		{"model: qwen}], answer", "model: qwen2}], answer", false},
		{"guard: report", "guard: off", false},
		{"ttl: 1h", "ttl: 2h", false},
		{"listen: 127.0.0.1:8080", "reasoning_field: reasoning", false},
		{"listen: 127.0.0.1:8080", `parsers: {mine: {start: "<<"}}`, false},
		{"127.0.0.1:8080", "127.0.0.1:8082", true},
		{"api_key: one", "api_key: two", true},
		{"model: qwen}]}", "model: qwen2}]}", true},
		{"  n:", "  o:", true},
	} {
		changed := mustParse(t, strings.Replace(file, row.from, row.to, 1))
		if same := changed.Fingerprints().Of("m") == base.Fingerprints().Of("m"); same != row.same {
			t.Errorf("%s for %s: got the same fingerprint: %v, want %v", row.to, row.from, same, row.same)
		}
	}
}

// TestFingerprintsOfMany holds that one model's fingerprint does not cost more where there are
// many models.
func TestFingerprintsOfMany(t *testing.T) { //nolint:paralleltest // it counts allocations
	cost := func(models int) float64 {
		text := "providers: {up: {type: openai, base_url: http://127.0.0.1:1/v1}}\nmodels:\n"
		for i := range models {
			text += fmt.Sprintf("  m%d: {targets: [{provider: up, model: up}]}\n", i)
		}
		prints := mustParse(t, text).Fingerprints()
		return testing.AllocsPerRun(10, func() { prints.Of("m1") })
	}
	if few, many := cost(2), cost(200); many > few+few/2 {
		t.Errorf("got %v allocations with 200 models and %v with 2", many, few)
	}
}
