package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/callgate/callgate/gateway/config"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	tests := map[string]config.Size{
		"0": 0, "100": 100, "7B": 7, "64KB": 64000, "1KiB": 1024, "3MB": 3e6, "1MiB": 1 << 20, "2GB": 2e9, "4GiB": 4 << 30,
	}
	for text, want := range tests {
		if got, err := config.ParseSize(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "1mib", "1 MiB", "1.5MiB", "-1", "+1", "1_000", "0x10", "1MiBB", "9999999999GiB"} {
		if got, err := config.ParseSize(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

func TestUnitStrings(t *testing.T) {
	t.Parallel()
	tests := []struct {
		got  fmt.Stringer
		want string
	}{
		{config.Size(0), "0B"},
		{config.Size(1), "1B"},
		{config.Size(-5), "-5B"},
		{config.Size(64e6), "64MB"},
		{config.Size(32 << 20), "32MiB"},
		{config.Size(4096), "4KiB"},
		{config.Duration(0), "0s"},
		{config.Duration(time.Minute), "1m"},
		{config.Duration(10 * time.Hour), "10h"},
		{config.Duration(90 * time.Minute), "1h30m"},
		{config.Duration(time.Hour + time.Second), "1h0m1s"},
		{config.Duration(100 * time.Millisecond), "100ms"},
		{config.Parsers{"a", "b"}, "a, b"},
	}
	for _, test := range tests {
		if got := test.got.String(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
	text, err := json.Marshal([]any{config.Size(2048), config.Duration(time.Second)})
	if want := `["2KiB","1s"]`; err != nil || string(text) != want {
		t.Errorf("got %s, %v, want %s", text, err, want)
	}
}

// TestNumbers checks the key that takes a fraction: what is read, and that it is
// printed as something that reads the same.
func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := map[string]float64{
		"0": 0, "1": 1, "0.25": 0.25, "1.0": 1, ".5": 0.5, "1.0e-3": 0.001, "2.5E-7": 2.5e-7, "+0.5": 0.5, "0.1e1": 1,
		"${SHARE}": 0.75, "${NONE:-0.1}": 0.1,
	}
	for text, want := range tests {
		c, err := config.Parse("f", []byte("tracing: {sample: \""+text+"\"}"), env("SHARE=0.75"))
		if !strings.Contains(text, "$") {
			c, err = config.Parse("f", []byte("tracing:\n  sample: "+text+"\n"), env())
		}
		if err != nil || c.Tracing.Sample != want {
			t.Errorf("%s: got %+v, %v, want %v", text, c, err, want)
			continue
		}
		again, err := config.Parse("f", c.YAML(), nil)
		if err != nil || again.Tracing.Sample != want {
			t.Errorf("%s: got error %v of what was printed, want %v again:\n%s", text, err, want, c.YAML())
		}
	}
	for _, text := range []string{"-0.1", "1.1", ".nan", "-.inf", "half", "0x1p-2", "true", "[1]", "\"0.5\"", "1_0e-3", ""} {
		if c, err := config.Parse("f", []byte("tracing:\n  sample: "+text+"\n"), nil); err == nil {
			t.Errorf("%s: got %v, want an error", text, c.Tracing.Sample)
		}
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	s := config.NewSecret(canary)
	if got := s.Reveal(); got != canary {
		t.Errorf("got %q, want %q", got, canary)
	}
	if !config.NewSecret("").IsZero() || s.IsZero() {
		t.Error("got a wrong IsZero")
	}
	if got := (config.Secret{}).Reveal(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "s", s, "in", struct{ S config.Secret }{s})
	text, err := json.Marshal(map[string]any{"s": s, "in": struct{ S config.Secret }{s}})
	if err != nil {
		t.Fatal(err)
	}
	hidden := struct{ s config.Secret }{s}
	outputs := []string{s.String(), s.GoString(), log.String(), string(text), fmt.Sprintf("%v %+v", hidden, &hidden)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		outputs = append(outputs, fmt.Sprintf(verb, s), fmt.Sprintf(verb, []config.Secret{s}))
	}
	for _, out := range outputs {
		if strings.Contains(out, canary) || strings.Contains(out, fmt.Sprintf("%x", canary)) {
			t.Errorf("got %s, want no secret", out)
		}
	}
	if got := fmt.Sprint(s); got != "[redacted]" {
		t.Errorf("got %q, want [redacted]", got)
	}
}

// TestConfigHidesSecrets prints a whole configuration in every way.
func TestConfigHidesSecrets(t *testing.T) {
	t.Parallel()
	c, err := config.Parse("f", read(t, "testdata/good/full.yaml"), env("CLOUD_URL=http://127.0.0.1/v1"))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Providers["local-vllm"].APIKey.Reveal(); got != canary {
		t.Fatalf("got key %q, want %q", got, canary)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%v %+v %#v %s %s", c, c, *c, text, c.YAML())
	for _, secret := range []string{canary, config.HashKey("dev"), config.HashKey("key"), strings.TrimPrefix(config.HashKey("dev"), "sha256:")} {
		if strings.Contains(out, secret) {
			t.Errorf("the output holds %s:\n%s", secret, out)
		}
	}
}

func TestHashKey(t *testing.T) {
	t.Parallel()
	const want = "sha256:2c70e12b7a0646f92279f427c7b38e7334d8e5389cff167a1dc30e73f826b683"
	if got := config.HashKey("key"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
