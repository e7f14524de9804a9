package config_test

import (
	"strings"
	"testing"

	"github.com/callgate/callgate/gateway/config"
)

// TestUnmet holds that a key or a team whose models nobody can ask for is found, and no other.
func TestUnmet(t *testing.T) {
	t.Parallel()
	const hash = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	for models, want := range map[string]string{
		"[assistant]":               "",
		"[assistent]":               `keys[0].models[0]: no model fits "assistent"; did you mean "assistant"? known models: assistant, fast, gpt-*, local/*`,
		"[ass*, gpt-4o]":            "",
		"[fast, claude*]":           `keys[0].models[1]: no model fits "claude*"; known models: assistant, fast, gpt-*, local/*`,
		"[local/qwen3, l*, \"*\"]":  "",
		"[\"*-mini\", demo/hermes]": "",
		"[remote/*]":                `keys[0].models[0]: no model fits "remote/*"; known models: assistant, fast, gpt-*, local/*`,
		"[]":                        "",
	} {
		c, err := config.Parse("callgate.yaml", []byte("providers: {local: {type: demo}}\nmodels:\n  assistant: {targets: [{provider: local}]}\n"+
			"  fast: {alias: assistant}\n  gpt-*: {alias: assistant}\nkeys: [{name: a, hash: \""+hash+"\", models: "+models+"}]\nteams: {t: {models: [nothing]}}\n"), nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, u := range c.Unmet() {
			got = append(got, u.Where+": "+u.What)
		}
		all := strings.Join(got, "\n")
		if own := strings.TrimSpace(strings.TrimSuffix(all, `teams.t.models[0]: no model fits "nothing"; known models: assistant, fast, gpt-*, local/*`)); own != want || own == all {
			t.Errorf("%s: got %q, want %q and the team's", models, all, want)
		}
	}
}
