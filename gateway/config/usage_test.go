package config_test

import (
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestUsageStore holds where the ledger is.
func TestUsageStore(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{
		"":                                  {"memory", "", ""},
		"store: {kind: off}":                {"memory", "", ""},
		"store: {kind: sqlite, path: a.db}": {"sqlite", "a.db", ""},
		"store: {kind: postgres, url: postgres://h/d}":                                     {"postgres", "", "postgres://h/d"},
		"store: {kind: sqlite, path: a.db}\nusage: {store: memory}":                        {"memory", "", ""},
		"store: {kind: sqlite, path: a.db}\nusage: {store: off}":                           {"off", "", ""},
		"store: {kind: sqlite, path: a.db}\nusage: {store: sqlite, path: b.db}":            {"sqlite", "b.db", ""},
		"store: {kind: sqlite, path: a.db}\nusage: {store: sqlite}":                        {"sqlite", "a.db", ""},
		"store: {kind: sqlite, path: a.db}\nusage: {store: postgres, url: postgres://h/e}": {"postgres", "", "postgres://h/e"},
	} {
		cfg, err := config.Parse("callgate.yaml", []byte("providers: {local: {type: demo}}\n"+text), func(string) (string, bool) { return "", false })
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		kind, file, url := cfg.UsageStore()
		if got := [3]string{kind, file, url.Reveal()}; got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
